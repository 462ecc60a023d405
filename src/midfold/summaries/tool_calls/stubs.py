"""One line for what a tool gave back: which tool, what it was asked, how it went, how much it said."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from midfold.late_patterns import compile_late
from midfold.messages import ToolCall, ToolResult
from midfold.summaries.tool_calls.families import (
    COMMANDS,
    CONTENTS,
    FAMILIES,
    FOLDERS,
    PATCHED_FILE,
    PATCHES,
    PATHS,
    STEPS,
    TEXTS_AFTER,
    TEXTS_BEFORE,
    URLS,
    arguments_of,
    family_of,
    first_of,
    format_argument,
    kind_of,
    subject_of,
)
from midfold.summaries.tool_calls.output import (
    DECISIVE_CHARS,
    find_failure,
    find_rejection,
    first_words,
    last_words,
    one_line,
    read_json,
    read_outcome,
)

StubWriter: TypeAlias = Callable[[ToolCall, ToolResult], str]
"""Says what follows the tool's name in a stub; the error, where there is one, is added to it."""

STUB_CHARS = 300
_ERROR_CHARS = 130
"""The least room of an error, however much there is to say besides."""
_LONGEST_STUB_CHARS = 400
_NAME_CHARS = 60
_SUBJECT_CHARS = 120
_GIST_CHARS = 120
_VALUE_CHARS = 60
_OPENING_CHARS = 4_000

_TITLE = compile_late(r'"title":\s?"([^"\\]{1,200})')
_ANSWER = compile_late(r'"="([^"]{1,300})"')


def _write_shell(call: ToolCall, result: ToolResult) -> str:
    outcome = read_outcome(result.text)
    ended = "failed, " if result.is_error else ""
    if outcome.exit_code is not None:
        ended = f"exit {outcome.exit_code}, "
    return f"ran `{_subject(call, 'shell')}` -> {ended}{_count(outcome.text, 'line', 'lines')} output"


def _write_read(call: ToolCall, result: ToolResult) -> str:
    verb = "could not read" if _has_failed(result) else "read"
    source = _subject(call, "read")
    where = "" if "://" in source else f" {_lines_read(arguments_of(call))}"
    return f"{verb} {source}{where} ({len(result.text):,} chars)"


def _write_written(call: ToolCall, result: ToolResult) -> str:
    verb = "could not write" if _has_failed(result) else "wrote"
    content = first_of(arguments_of(call), CONTENTS)
    size = _count(content, "line", "lines") if isinstance(content, str) else _result_size(result)
    return f"{verb} {_subject(call, 'write')} ({size})"


def _write_edit(call: ToolCall, result: ToolResult) -> str:
    verb = "could not edit" if _has_failed(result) else "edited"
    arguments = arguments_of(call)
    before, after = first_of(arguments, TEXTS_BEFORE), first_of(arguments, TEXTS_AFTER)
    patch = first_of(arguments, PATCHES)
    if isinstance(patch, str) and not first_of(arguments, PATHS):
        files = ", ".join(dict.fromkeys(PATCHED_FILE.findall(patch[:_OPENING_CHARS])))
        return f"{verb} {one_line(files or patch, _SUBJECT_CHARS)} ({_count(patch, 'line', 'lines')} patch)"
    size = _result_size(result)
    if isinstance(before, str) or isinstance(after, str):
        size = f"-{_line_count(before)} +{_line_count(after)} lines"
    return f"{verb} {_subject(call, 'edit')} ({size})"


def _write_search(call: ToolCall, result: ToolResult) -> str:
    arguments = arguments_of(call)
    folder = first_of(arguments, (*FOLDERS, *PATHS))
    where = f" in {one_line(format_argument(folder), _SUBJECT_CHARS)}" if folder else ""
    return f"searched for '{_subject(call, 'search')}'{where} -> {_matches(arguments, result.text)}"


def _write_list(call: ToolCall, result: ToolResult) -> str:
    return f"listed {_subject(call, 'list')} ({_count(read_outcome(result.text).text, 'entry', 'entries')})"


def _write_web(call: ToolCall, result: ToolResult) -> str:
    url = format_argument(first_of(arguments_of(call), URLS))
    if url:
        return f"fetched {one_line(url, _SUBJECT_CHARS)} ({len(result.text):,} chars){_gist(result, url)}"
    found = result.text.count('"url"')
    title = _TITLE.search(result.text[:_OPENING_CHARS])
    first = f", first: {one_line(title[1], _GIST_CHARS)}" if title else ""
    size = f"{found} results{first}" if found else f"{len(result.text):,} chars"
    return f"searched the web for '{_subject(call, 'web')}' -> {size}"


def _write_plan(call: ToolCall, result: ToolResult) -> str:
    steps = first_of(arguments_of(call), STEPS)
    if not isinstance(steps, list):
        return _write_anything(call, result)
    items = [step for step in steps if isinstance(step, dict)]
    done = sum(step.get("status") in ("completed", "done") for step in items)
    now = next((step for step in items if step.get("status") == "in_progress"), {})
    text = first_of(now, ("content", "description", "step", "title"))
    doing = f"; in progress: {one_line(format_argument(text), _GIST_CHARS)}" if text else ""
    return f"set {len(steps)} steps, {done} done{doing}"


def _write_ask(_: ToolCall, result: ToolResult) -> str:
    answers = "; ".join(_ANSWER.findall(result.text[:_OPENING_CHARS]))
    return f"asked -> {one_line(answers or result.text, DECISIVE_CHARS)}"


def _write_agent(call: ToolCall, result: ToolResult) -> str:
    task = _subject(call, "agent")
    return f"delegated '{task}' -> {len(result.text):,} chars{_gist(result, task)}"


def _write_anything(call: ToolCall, result: ToolResult) -> str:
    given = _pairs(arguments_of(call))
    lines = _line_count(result.text)
    size = f"{len(result.text):,} chars" + (f", {lines:,} lines" if lines > 1 else "")
    return f"{given} -> {size}{_gist(result, given)}".lstrip()


BUILT_IN: Mapping[str, StubWriter] = MappingProxyType(
    {
        "shell": _write_shell,
        "read": _write_read,
        "write": _write_written,
        "edit": _write_edit,
        "search": _write_search,
        "list": _write_list,
        "web": _write_web,
        "plan": _write_plan,
        "ask": _write_ask,
        "agent": _write_agent,
    }
)
"""The writers of the known families. A key is a family or, for a tool of its own, the tool's name."""


def write_stub(
    call: ToolCall | None, result: ToolResult, writers: Mapping[str, StubWriter] = BUILT_IN
) -> str:
    """Say in one line what a result was: which tool, its key argument, what happened, how big it was.

    Where the result holds an error, its decisive line is part of the stub.
    """
    call = call or ToolCall(result.call_id, name_of(call, result), "")
    kind = kind_of(call)
    by_name = None if call.name in FAMILIES else writers.get(call.name)
    writer = by_name or writers.get(kind) or _write_anything
    name = name_of(call, result)
    error = error_of(call, result)
    if not error:
        return f"[{name}] {one_line(writer(call, result), STUB_CHARS)}"
    said = f"[{name}] {one_line(writer(call, result), STUB_CHARS - _ERROR_CHARS)}"
    return f"{said}; {one_line(error, max(STUB_CHARS - len(said), _ERROR_CHARS))}"


def write_pointer(call: ToolCall | None, result: ToolResult, later: ToolCall | None) -> str:
    """Say that the same output stands, in full, with a later call."""
    kind = kind_of(later) if later else ""
    about = f"{later.name} {_subject(later, kind) if kind else ''}" if later else "tool"
    later_call = f"`{one_line(about, _SUBJECT_CHARS)}` call"
    return f"[{name_of(call, result)}] same output as the later {later_call} ({len(result.text):,} chars)"


def name_of(call: ToolCall | None, result: ToolResult) -> str:
    """Return the name under which a stub speaks of a tool."""
    return one_line(call.name if call else result.name, _NAME_CHARS) or "tool"


def is_stub(call: ToolCall | None, result: ToolResult) -> bool:
    """Recognise a line that was written here for this call."""
    text = result.text
    return (
        len(text) <= _LONGEST_STUB_CHARS
        and text.startswith(f"[{name_of(call, result)}] ")
        and "\n" not in text
    )


def decisive_line(text: str) -> str | None:
    """Return the line of a tool's output that says what went wrong, if one does."""
    outcome = read_outcome(text)
    return one_line(outcome.complaint, DECISIVE_CHARS) if outcome.complaint else find_failure(outcome.text)


_QUOTING_FAMILIES = frozenset({"web", "agent", "edit", "search", "list", "write", "read"})
# Commands that print what others wrote, where a mention of an error is not an error.
_QUOTING_COMMAND = compile_late(
    r"(?:(?:bash|zsh|sh)\s-l?c\s)?[\"']?(?:cd\s[^;&|\n]{1,300}(?:&&|;)\s{0,4})?(?:\w{1,60}=\S{0,200}\s){0,5}"
    r"(?:cat(?!\s{0,4}>)|head|tail|sed|less|nl|awk|[ef]?grep|rg|ag|find|ls|diff|jq"
    r"|git\s(?:-\S{1,100}\s){0,3}(?:show|log|diff|blame|grep))\b"
)
_OWN_ERROR_CHARS = 1_000
_REASON_LINES = 12
"""An error of so few lines begins with its reason, and may end with how to call the program."""


def error_of(call: ToolCall, result: ToolResult) -> str | None:
    """Find the decisive line of a result that failed.

    Tools that show other people's text quote errors that are not theirs: unless they say that they failed,
    only a short answer that begins with an error counts.
    """
    outcome = read_outcome(result.text)
    text = outcome.text
    if outcome.complaint:
        return outcome.complaint
    quotes = family_of(call.name) in _QUOTING_FAMILIES or _QUOTING_COMMAND.match(
        format_argument(first_of(arguments_of(call), COMMANDS))
    )
    if result.is_error or (outcome.exit_code and not quotes):
        is_long = kind_of(call) == "shell" and text.count("\n") > _REASON_LINES
        return find_failure(text) or (last_words(text) if is_long else first_words(text))
    if quotes and not outcome.exit_code:
        if len(text) <= _OWN_ERROR_CHARS and _begins_wrong(text):
            return find_failure(text)
        return find_rejection(text)
    return find_failure(text) or find_rejection(text)


def _begins_wrong(text: str) -> bool:
    return find_failure(text[:_OWN_ERROR_CHARS].lstrip().partition("\n")[0]) is not None


def _has_failed(result: ToolResult) -> bool:
    return result.is_error or bool(read_outcome(result.text).complaint)


def _subject(call: ToolCall, kind: str) -> str:
    return one_line(subject_of(call, kind), _SUBJECT_CHARS)


def _pairs(values: Mapping[str, object]) -> str:
    limit = _VALUE_CHARS if len(values) > 1 else _SUBJECT_CHARS
    said = [f"{key}={one_line(format_argument(value), limit)}" for key, value in values.items() if value]
    return one_line(" ".join(said), _SUBJECT_CHARS)


def _result_size(result: ToolResult) -> str:
    return f"{len(result.text):,} chars result"


def _count(text: str, one: str, many: str) -> str:
    number = _line_count(text)
    return f"{number:,} {one if number == 1 else many}"


def _line_count(text: object) -> int:
    return text.strip("\n").count("\n") + 1 if isinstance(text, str) and text else 0


_FIRST_LINES = ("offset", "start_line", "line_number", "line_start")
_MAX_LINE = 1_000_000_000  # beyond it, a number in some argument is no line


def _lines_read(arguments: Mapping[str, object]) -> str:
    """Say which lines of a file a call asked for."""
    given = arguments.get("view_range")
    numbers = given if isinstance(given, list) else []
    first = _number(numbers[0] if numbers else first_of(arguments, _FIRST_LINES)) or 1
    last = _number(numbers[1] if len(numbers) > 1 else arguments.get("end_line"))
    limit = _number(arguments.get("limit"))
    if last is None and limit is not None:
        last = first + limit - 1
    return f"from line {first}" if last is None else f"lines {first}-{last}"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and 0 < value < _MAX_LINE else None


_FOUND = compile_late(r"\bfound ([\d,]{1,12}) (?:total )?([a-z]{1,20})", re.IGNORECASE)
_COUNT_KEYS = ("total_count", "total_matches", "match_count", "total", "count")
_CONTEXT_FLAGS = ("-A", "-B", "-C", "context", "context_lines")


def _matches(arguments: Mapping[str, object], text: str) -> str:
    """Say how much a search found: in its own words where it says so, else by the lines it printed."""
    found = _FOUND.search(text[:_GIST_CHARS])
    if found is not None:
        return f"{found[1]} {found[2]}"
    answer = read_json(text)
    if isinstance(answer, dict):
        number = first_of(answer, _COUNT_KEYS)
        return f"{number} matches" if isinstance(number, int) else f"{len(text):,} chars"
    one, many = ("line", "lines") if first_of(arguments, _CONTEXT_FLAGS) else ("match", "matches")
    return _count(text, one, many)


_STATUS_FIELDS = ("status", "state", "success", "message")


def _gist(result: ToolResult, known: str) -> str:
    """Say behind a colon how a result begins: fields of JSON that are not `known` yet, or its first line."""
    answer = read_json(result.text)
    if answer is None:
        said = "" if result.is_error or _begins_wrong(result.text) else first_words(result.text)
    elif isinstance(answer, list):
        noun = "item" if len(answer) == 1 else "items"
        said = f"{len(answer)} {noun} {_fields(answer[0] if answer else None, known)}"
    else:
        said = _fields(answer, known)
    return f": {one_line(said, _GIST_CHARS)}" if said else ""


def _fields(answer: object, known: str) -> str:
    """Write the plain fields of an object but its error, first those that say how it went."""
    if not isinstance(answer, dict):
        return ""
    keys = sorted(answer, key=lambda key: key not in _STATUS_FIELDS)
    plain = {key: answer[key] for key in keys if key != "error" and not isinstance(answer[key], dict)}
    return _pairs({key: value for key, value in plain.items() if str(value) not in known})
