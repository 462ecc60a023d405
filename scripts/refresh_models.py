"""Rewrite the snapshot of model windows and prices that ships with midfold.

    python scripts/refresh_models.py            # fetches the newest litellm wheel, which carries the table
    python scripts/refresh_models.py WHEEL      # reads a wheel that is already here

Only facts are taken: windows, output limits, prices, and whether prompts are cached.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from midfold.tokens.models import VENDORS, bare_name

TARGET = Path(__file__).parents[1] / "src" / "midfold" / "tokens" / "data" / "models.json"
TABLE = re.compile(r"litellm/model_prices_and_context_window.*\.json")
HIGHEST_PRICE = Decimal("0.001")  # a thousand dollars per million tokens: above is a slip of units
MODES = {"chat", "responses", "completion"}
# The table is at odds with itself about these: some rows count the output into the input. A conversation that
# is trusted to fill the larger figure fails before anything is compressed.
WHOLE_WINDOW = re.compile(r"gpt-5")
INPUT_OF_WHOLE = {400_000: 272_000, 1_050_000: 922_000}  # 128,000 tokens of output set apart
# Rows that carry a price and nothing else, for models that are still asked for.
WINDOWS = {"gemini-2-0-flash": 1_048_576, "gemini-2-0-flash-lite": 1_048_576}
BUCKETS = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "cache_creation_input_token_cost_above_1hr",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "wheel", nargs="?", type=Path, help="a litellm wheel; the newest is fetched without one"
    )
    parser.add_argument("--output", type=Path, default=TARGET, help="where to write the snapshot")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel or fetch(Path(folder))
        rows = dict(sorted(read_rows(read_table(wheel))))
    models = drop_repeats(rows)
    source = f"litellm {wheel.name.split('-')[1]}, model_prices_and_context_window (MIT)"
    text = spell(datetime.now(UTC).date().isoformat(), source, models)
    options.output.write_text(text, encoding="utf-8")
    print(f"{len(models)} models, {len(text):,} characters: {options.output}")


def fetch(folder: Path) -> Path:
    """Download the newest wheel, without what it depends on."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "litellm"]
    subprocess.run(pip, check=True)
    return next(folder.glob("litellm-*.whl"))


def read_table(wheel: Path) -> dict[str, dict[str, Any]]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if TABLE.fullmatch(name))
        table: dict[str, dict[str, Any]] = json.loads(archive.read(name), parse_float=Decimal)
    return table


def read_rows(table: dict[str, dict[str, Any]]) -> Iterator[tuple[str, list[object]]]:
    """Yield the models that talk, each as a row of the snapshot."""
    for name, entry in table.items():
        if entry.get("mode") not in MODES:
            continue
        tiers = list(read_tiers(entry))
        base = read_prices(entry)
        window, output = correct_window(name, entry), entry.get("max_output_tokens") or None
        if not base and tiers:  # the first tier of a graded price list is the base
            base = tiers.pop(0)[1]
        if window or base:
            caching = bool(entry.get("supports_prompt_caching"))
            yield name.lower(), [entry["litellm_provider"], window, output, caching, base, tiers]


def correct_window(name: str, entry: dict[str, Any]) -> int | None:
    """Return how many tokens of input a model takes, where that is known."""
    window: int | None = entry.get("max_input_tokens") or None
    bare = bare_name(name.lower())
    if window in INPUT_OF_WHOLE and WHOLE_WINDOW.match(bare):
        return INPUT_OF_WHOLE[window]
    return window or WINDOWS.get(bare)


def read_prices(entry: dict[str, Any], suffix: str = "") -> list[Decimal | None]:
    """Return dollars per million tokens by bucket; nothing where neither input nor output has a price.

    A price of nothing for everything marks a model nobody listed a price for, or one that has none.
    """
    prices = [per_million(entry.get(bucket + suffix)) for bucket in BUCKETS]
    if not any(prices[:2]):
        return []
    while prices[-1] is None:
        prices.pop()
    return prices


def read_tiers(entry: dict[str, Any]) -> Iterator[tuple[int, list[Decimal | None]]]:
    """Yield the prices of long prompts, each with the number of tokens above which they hold."""
    for graded in entry.get("tiered_pricing") or []:
        if "range" in graded and (prices := read_prices(graded)):
            yield int(graded["range"][0]), prices
    suffixes = {match[0] for key in entry if (match := re.search(r"_above_\d+k_tokens$", key))}
    for thousands, suffix in sorted((int(re.findall(r"\d+", suffix)[0]), suffix) for suffix in suffixes):
        if prices := read_prices(entry, suffix):
            yield thousands * 1_000, prices


def per_million(price: object) -> Decimal | None:
    if not isinstance(price, Decimal | int) or not 0 <= price < HIGHEST_PRICE:
        return None
    return (Decimal(price) * 1_000_000).quantize(Decimal("0.000001")).normalize()


def drop_repeats(rows: dict[str, list[object]]) -> dict[str, list[object]]:
    """Leave out hosts and regions that say just what a model's vendor says: a lookup finds that."""
    own = {bare_name(name): row for name, row in rows.items() if row[0] in VENDORS and "/" not in name}
    return {
        name: row
        for name, row in rows.items()
        if row[0] in VENDORS or own.get(bare_name(name), [None])[1:] != row[1:]
    }


def spell(date: str, source: str, models: dict[str, list[object]]) -> str:
    """Write one model a line, so that a refresh shows what changed."""
    lines = ",\n".join(f"{json.dumps(name)}:{compact(row)}" for name, row in models.items())
    return f"[{json.dumps(date)},{json.dumps(source)},{{\n{lines}\n}}]\n"


def compact(row: list[object]) -> str:
    facts, price_lists = row[:4], [prices for prices in row[4:] if prices]
    return json.dumps(facts + price_lists, separators=(",", ":"), default=plain_number)


def plain_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


if __name__ == "__main__":
    main()
