"""The prompts of a summarising model, and the text that the next model reads.

The texts are the `.md` files of this folder, read on first use; the code here only chooses among them and
fills in blanks. Everything that comes from a conversation is fenced and neutralised on its way in. `legacy/`
lists how summaries began and ended in older versions and elsewhere, a line each.
"""

from collections.abc import Sequence
from hashlib import sha256

from midfold.late_patterns import compile_late
from midfold.settings import Template
from midfold.summaries.prompts.fencing import (
    BRIEF_PREFIX,
    PREFIX,
    SUMMARY_MARKER,
    fence,
    find_body,
    has_fence,
    is_brief,
    is_sealed,
    known_prefixes,
    neutralize,
    read_paragraph,
    seal_notes,
    seal_summary,
    wrap_summary,
)
from midfold.summaries.sections import HEADINGS, SUBHEADINGS
from midfold.texts import read_text

__all__ = [
    "BRIEF_PREFIX",
    "HEADINGS",
    "KNOWN_PREFIXES",
    "PREFIX",
    "SUBHEADINGS",
    "SUMMARY_MARKER",
    "SUMMARY_PREFIX",
    "SYSTEM_NOTE",
    "fence",
    "find_body",
    "has_fence",
    "is_brief",
    "is_sealed",
    "neutralize",
    "render_prompt",
    "seal_notes",
    "seal_summary",
    "wrap_summary",
    "write_note",
]

SUMMARY_PREFIX: str
"""The beginning of a summary message."""
SYSTEM_NOTE: str
"""The note that is appended to the system prompt once, and found again by its text."""
KNOWN_PREFIXES: tuple[str, ...]
"""The beginnings by which summaries are known, longest first."""

_FOCUS_LOW, _FOCUS_HIGH = 0.60, 0.70
_NONCE_CHARS = 12
_MEMORY_FILES = ("MEMORY.md", "USER.md")
_BLANK = compile_late(r"\{\{(\w+)\}\}")


def __getattr__(name: str) -> object:
    match name:
        case "SUMMARY_PREFIX":
            return read_paragraph("prefix.md")
        case "SYSTEM_NOTE":
            return read_paragraph("note.md")
        case "KNOWN_PREFIXES":
            return known_prefixes()
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def write_note(system_text: str) -> str:
    """Return the note for a system prompt: the one it has, else `SYSTEM_NOTE`.

    A prompt that holds memory files gets one more sentence, which keeps their authority.
    """
    plain: str = read_paragraph("note.md")
    full = f"{plain.removesuffix(']')} {read_paragraph('memory_note.md')}]"
    if plain in system_text:
        return plain
    return full if any(name in system_text for name in _MEMORY_FILES) else plain


def render_prompt(
    *,
    template: Template,
    turns: str,
    budget_tokens: int,
    previous: str | None = None,
    focus: str | None = None,
    facts: Sequence[str] = (),
    part: tuple[int, int] | None = None,
) -> str:
    """Write the prompt for a summary of `turns`, or with `previous` for an update of that summary.

    `facts` are exact strings that must survive. `part` is (k, n) when the turns are the k-th of n pieces.
    """
    listed = "\n".join([f"- {_one_line(fact)}" for fact in facts])
    nonce = _nonce(turns, previous or "", listed)
    budget = f"{budget_tokens:,}"
    blocks = [
        _fill("update.md" if previous else "first.md"),
        _fill("part.md", number=str(part[0]), total=str(part[1])) if part else "",
        _fill("rules.md", budget=budget),
        _fill(f"{template.value}.md"),
        _focus(focus, budget_tokens) if focus else "",
        _fill("facts.md", facts=fence(listed, nonce)) if listed else "",
        _fill("previous.md", previous=fence(previous, nonce)) if previous else "",
        _fill("turns.md", turns=fence(turns, nonce)),
        _fill("finish.md", budget=budget, heading=HEADINGS[template][0]),
    ]
    return "\n\n".join([block for block in blocks if block])


def _focus(topic: str, budget_tokens: int) -> str:
    return _fill(
        "focus.md",
        focus=neutralize(_one_line(topic)),
        low=f"{int(budget_tokens * _FOCUS_LOW):,}",
        high=f"{int(budget_tokens * _FOCUS_HIGH):,}",
    )


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _nonce(*texts: str) -> str:
    """Derive a nonce from all that is fenced with it: no text can contain the hash of itself."""
    return sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:_NONCE_CHARS]


def _fill(name: str, **values: str) -> str:
    """Put `values` into the blanks of a text; what looks like a blank inside a value stays as it is."""
    return _BLANK.sub(lambda blank: values[blank[1]], read_text(__name__, name))
