"""The notes that a fold left in a list of messages, for people: to read, and to correct."""

from collections.abc import Sequence

from midfold.errors import ConfigError
from midfold.folding import Compression, list_notes
from midfold.pipeline import correct_request
from midfold.summaries import Note, NoteChange
from midfold.tokens import TokenCounter
from midfold.wire import parse, read_request

__all__ = ["Note", "NoteChange", "correct_notes", "read_notes"]


def read_notes(messages: Sequence[object]) -> tuple[Note, ...]:
    """List the notes that stand for what was folded, numbered; none where nothing was."""
    return list_notes(parse(messages))


def correct_notes(
    messages: Sequence[object],
    *,
    strike: Sequence[int] = (),
    edit: tuple[int, str] | None = None,
    add: str | None = None,
) -> Compression[object]:
    """Strike, change or add notes, one of these at a time; the input is never changed.

    The model reads the result as its user's correction, and later folds of the list obey it. Raises
    `NoteNotFound`, also where nothing is folded.
    """
    changes = [
        *([NoteChange.strike(*strike)] if strike else []),
        *([NoteChange.edit(*edit)] if edit else []),
        *([NoteChange.add(add)] if add is not None else []),
    ]
    if len(changes) != 1:
        raise ConfigError("correct_notes", len(changes), hint="one of strike=[n], edit=(n, text), add=text")
    request = read_request(messages)
    return correct_request(request, changes[0], count=TokenCounter(request.model))
