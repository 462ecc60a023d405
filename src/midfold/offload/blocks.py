"""Blocks that stand in the conversation for results that are not there as a whole."""

from midfold.late_dataclasses import dataclass
from midfold.offload.budgets import READER
from midfold.offload.safe_text import SafeText
from midfold.summaries.prompts import neutralize
from midfold.texts import read_text

# A longer path would make the block longer than it may be; the reference is enough to read it.
_MAX_PATH_CHARS = 260


@dataclass(frozen=True, slots=True)
class Original:
    """The size of a result before it was offloaded or cut."""

    chars: int
    bytes: int

    @property
    def size(self) -> str:
        """The bytes in the unit that people use."""
        if self.bytes < 1 << 20:
            return f"{self.bytes / (1 << 10):,.1f} KB"
        return f"{self.bytes / (1 << 20):,.1f} MB"


def measure(text: str, safe: SafeText) -> Original:
    """Measure a result of which `safe` is kept; what that differs from is measured by itself."""
    size = safe.size if text == safe else len(text.encode("utf-8", "surrogatepass"))
    return Original(len(text), size)


def write_block(original: Original, text: SafeText, reference: str, *, where: str, preview_chars: int) -> str:
    """Write what stands for an offloaded result: how large it is, where, how to read it, how it begins.

    What imitates a tag in the preview, the end of the block above all, is written with round brackets.
    """
    # The text is cut once more, as what is put around imitations makes it longer.
    preview = neutralize(text[:preview_chars])[:preview_chars]
    is_changed = len(text) != original.chars
    is_path = where != reference and len(where) <= _MAX_PATH_CHARS
    return _text("block.md").format(
        reference=reference,
        chars=original.chars,
        size=original.size,
        kept=_text("kept.md").format(kept_chars=len(text)) if is_changed else "",
        kept_chars=len(text),
        reader=READER,
        path=_text("path.md").format(path=where) if is_path else "",
        preview_chars=len(preview),
        preview=preview,
    )


def write_cut(original: Original, text: SafeText, reason: str, *, cut_chars: int) -> str:
    """Keep both ends of a result that cannot be kept elsewhere, and say between them what is missing and why.

    The result has at most `cut_chars`, and a text that has no more comes back as it is.
    """
    if len(text) <= cut_chars:
        return text
    longest = _write_note(original, len(text), reason)
    room = max(cut_chars - len(longest) - 2, 0)
    head, tail = text[: room - room // 2], text[len(text) - room // 2 :]
    note = _write_note(original, len(text) - room, reason)
    return f"{head}\n{note}\n{tail}"


def _write_note(original: Original, cut_chars: int, reason: str) -> str:
    return _text("cut.md").format(
        cut_chars=cut_chars, chars=original.chars, size=original.size, reason=reason
    )


def _text(name: str) -> str:
    return read_text("midfold.offload", f"texts/{name}")
