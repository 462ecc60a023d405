"""What the code of an engine raised: which errors a host answers, and how it names them in one line."""

from asyncio import CancelledError

from midfold.redact import redact
from midfold.summaries.tool_calls import one_line

RAISED = (Exception, SystemExit, CancelledError)
"""An engine that exits, or is cancelled by a loop of its own, must not end the loop of its host."""

_HIDDEN = "***"
_ERROR_CHARS = 300


def describe_error(error: BaseException, *, hide: str = "") -> str:
    """Name an error of somebody else's code in one line; its words may quote credentials."""
    words = str(error).replace(hide, _HIDDEN) if hide else str(error)
    return one_line(redact(f"{type(error).__name__}: {words}"), _ERROR_CHARS)
