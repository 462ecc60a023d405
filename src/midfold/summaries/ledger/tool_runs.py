"""Reads one call and its result: what it was about, which files it touched, how it ended, what went wrong."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

from midfold.messages import ToolCall, ToolResult
from midfold.summaries.ledger.files import is_path, patched_files, written_files
from midfold.summaries.ledger.values import ToolRun
from midfold.summaries.tool_calls.excerpts import read_outcome
from midfold.summaries.tool_calls.failures import find_failures
from midfold.summaries.tool_calls.families import (
    CONTENTS,
    FAMILIES,
    PATHS,
    TEXTS_AFTER,
    TEXTS_BEFORE,
    arguments_of,
    bare_name,
    first_of,
    format_argument,
    kind_of,
)
from midfold.summaries.tool_calls.stubs import error_of

SUBJECT_CHARS = 600
_DETAIL_CHARS = 240
_MOST_DETAILS = 12
_MOST_CONTENT_LINES = 24
_CONTENT_LINE_CHARS = 300
_MOST_FAILURES = 5
_STATUS = re.compile(
    r"(?:exit(?:ed)?|return)[\s_-]?(?:with )?(?:code|status)\"?[>:=\s]{1,4}-?\d{1,10}(?:</\w{1,20}>|[\])])?",
    re.IGNORECASE,
)
_BEFORE_STATUS = re.compile(r"(?:\b\w{1,12} )?[\"<(\[]?$")
_BEFORE_STATUS_CHARS = 16
_STATUS_CHARS = 400
_PATH_NAMES = frozenset(map(bare_name, (*PATHS, "notebook_path", "paths", "file_paths", "files")))
_CONTENT_NAMES = frozenset(map(bare_name, (*CONTENTS, *TEXTS_BEFORE, *TEXTS_AFTER)))
_ESCAPED = re.compile(r"[\n\"\\\t]")
_FILE_KINDS = {"read": False, "edit": True, "write": True}


@dataclass(frozen=True, slots=True)
class _Leaf:
    key: str
    text: str


def read_tool_run(call: ToolCall, result: ToolResult | None, redact: Callable[[str], str]) -> ToolRun:
    """Take a call and its result apart; every text of the run has been through `redact`."""
    call = ToolCall(call.id, redact(call.name), redact(call.arguments))
    arguments = arguments_of(call)
    kind = kind_of(call)
    subject = redact(format_argument(first_of(arguments, FAMILIES[kind][1]))) if kind else ""
    leaves = [_redact_leaf(leaf, redact) for leaf in _leaves(arguments)]
    reads, changes = _files(kind, subject, leaves)
    long_texts = [leaf.text for leaf in leaves if _is_long(leaf.text)]
    lead = _first_line(subject if kind else "".join(long_texts[:1]))
    output = redact(result.text) if result else ""
    failures = _failures(call, result, output)
    return ToolRun(
        tool=call.name or "tool",
        kind=kind,
        retry_key=_retry_key(call, kind, subject, (*reads, *changes)),
        subject=lead,
        details=tuple(_details(leaves, subject)),
        content=tuple(_content(long_texts, lead)),
        reads=reads,
        changes=changes,
        status=_status(output),
        failures=failures,
        output=output,
        has_failed=bool(failures) or (result is not None and result.is_error),
    )


def _redact_leaf(leaf: _Leaf, redact: Callable[[str], str]) -> _Leaf:
    """Take secrets out of a value that JSON escapes; its name often says what it is.

    The arguments as a whole have been through `redact` before.
    """
    if _ESCAPED.search(leaf.text) is None:
        return leaf
    lead = f"{leaf.key}="
    said = redact(f"{lead}{leaf.text}")
    return _Leaf(leaf.key, said.removeprefix(lead))


def _retry_key(call: ToolCall, kind: str, subject: str, files: tuple[str, ...]) -> str:
    """Name what stays the same when something is tried again; a digest, since it is only compared."""
    if kind == "shell":
        what = subject
    elif kind in _FILE_KINDS and files:
        what = "\n".join(files)
    else:
        what = call.arguments
    return blake2b(f"{call.name} {what}".encode("utf-8", "replace"), digest_size=12).hexdigest()


def _leaves(arguments: object) -> Iterator[_Leaf]:
    """Yield the plain values inside arguments in order, each with the name it goes by; however deep."""
    waiting = [("", arguments)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(str(name), inner) for name, inner in value.items()][::-1]
        elif isinstance(value, list):
            waiting += [(key, inner) for inner in reversed(value)]
        elif isinstance(value, str):
            yield _Leaf(key, value)
        elif value is not None and value is not False:
            yield _Leaf(key, json.dumps(value))


def _is_long(text: str) -> bool:
    return len(text) > _DETAIL_CHARS or "\n" in text


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()[:SUBJECT_CHARS]


def _details(leaves: list[_Leaf], subject: str) -> Iterator[str]:
    short = (leaf for leaf in leaves if leaf.text and leaf.text != subject and not _is_long(leaf.text))
    for leaf, _ in zip(short, range(_MOST_DETAILS), strict=False):
        yield f"{leaf.key}={leaf.text}" if leaf.key else leaf.text


def _content(texts: list[str], lead: str) -> Iterator[str]:
    """Yield the first lines of long arguments that say something, each once."""
    seen = {lead}
    lines = (line for text in texts for line in text.split("\n", _MOST_CONTENT_LINES)[:_MOST_CONTENT_LINES])
    for line in islice(lines, _MOST_CONTENT_LINES):
        bare = line.strip()[:_CONTENT_LINE_CHARS]
        if len(bare) > 2 and bare not in seen:
            seen.add(bare)
            yield bare


def _files(kind: str, subject: str, leaves: list[_Leaf]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files a call read, and those it changed."""
    if kind == "shell":
        return (), tuple(written_files(subject))
    paths = [leaf.text for leaf in leaves if is_path(leaf.text) and _names_a_file(leaf.key, kind)]
    has_content = any(_is_long(leaf.text) for leaf in leaves)
    if not paths and has_content and kind in ("edit", ""):
        paths = [path for leaf in leaves if _is_long(leaf.text) for path in patched_files(leaf.text)]
    paths = list(dict.fromkeys(paths))
    if _FILE_KINDS.get(kind, has_content and not kind):
        return (), tuple(paths)
    return (tuple(paths), ()) if kind == "read" else ((), ())


def _names_a_file(key: str, kind: str) -> bool:
    """Whether an argument of this name is a file: by the name, or as what a tool for files is about."""
    bare = bare_name(key)
    return bare in _PATH_NAMES or (kind in _FILE_KINDS and bare not in _CONTENT_NAMES and "path" in bare)


def _status(output: str) -> str:
    """Quote how a process ended, from the first or the last words of its output."""
    for part in (output[:_STATUS_CHARS], output[-_STATUS_CHARS:]):
        if "code" in part or "tatus" in part:
            found = _STATUS.search(part)
            if found is not None:
                before = _BEFORE_STATUS.search(
                    part[max(0, found.start() - _BEFORE_STATUS_CHARS) : found.start()]
                )
                return f"{before[0] if before else ''}{found[0]}"
    return ""


def _failures(call: ToolCall, result: ToolResult | None, output: str) -> tuple[str, ...]:
    """Quote what went wrong, where something did."""
    if result is None:
        return ()
    error = error_of(call, ToolResult(result.call_id, output, result.is_error, (), result.name))
    if not error:
        return ()
    found = find_failures(read_outcome(output).text, _MOST_FAILURES)
    return tuple(found) if found else (error.strip()[:_CONTENT_LINE_CHARS],)
