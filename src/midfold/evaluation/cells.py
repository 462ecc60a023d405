"""Tables of words, and how figures are written in them."""

from midfold.late_dataclasses import dataclass

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of words."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def write_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def write_percent(part: float | None) -> str:
    if part is None:
        return NOTHING
    # What is not all must not look like all.
    return "99.9 %" if 0.9995 <= part < 1 else f"{part * 100:.1f} %".replace(".0 %", " %")
