"""Agents without tool calls: the model writes a command into its words, the answer comes as a user message.

Such user messages are the output of tools, not the words of a person, and are read like any tool's output.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.messages import Message, ToolCall
from midfold.provenance import Author, read_segments, segments_at

_FENCE = "```"
_LAST_TAG = compile_late(r"</([A-Za-z_][\w.-]{0,60})>\s{0,20}$")
_FUNCTION = compile_late(r"=\s?[\"']?([\w.-]{1,80})")
_PARAMETER = compile_late(r"<(?:parameter[= ](?:name=)?[\"']?([\w-]{1,60})[\"']?|([\w-]{1,60}))>")
_MOST_PARAMETERS = 50
_MOST_TAG_CHARS = 30_000
_ACTION = compile_late(
    r"^Action:[ \t]*([^\n]{1,100})\n+[ \t]*Action Input:[ \t]*(.+)\Z", re.MULTILINE | re.DOTALL
)
_LINE_EDIT = compile_late(r"edit[ \t]+\d+:\d+[^\n]*\n(.*?)(?:\n?end_of_edit\s*)?\Z", re.DOTALL)
_OPEN_FILE = compile_late(
    r"[(\[](?:Open file|Current file|File): ([^()\[\]\n]{2,300}?)(?: \(\d[^)\n]{0,40}\))?[)\]]"
)
_SHOWN_CHARS = 1_000
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "input", "action_input", "params")
COMMAND = "command"
"""The name by which a bare command goes as a call."""
_TOLD_CALL = compile_late(r"^- \[[\d, …]{1,80}\] ([^\s:]{1,80}): ", re.MULTILINE)
"""how notes tell of a call"""
_MIN_EXCHANGES = 4
_LABEL_CHARS = 40
_PROMPT_CHARS = 6
_PERSON_MARKS = ("<feedback>", "<answer>", "<user_message>")
_MOST_EDITS = 40
_WORDED_EDIT = compile_late(
    r"^([^\s`<>]{1,200}\.\w{1,10})\n(?:```[^\n]{0,40}\n)?<{5,9} SEARCH\n(.{0,20000}?)^={5,9}\n"
    r"(.{0,20000}?)^>{5,9} REPLACE\n?(?:```)?",
    re.MULTILINE | re.DOTALL,
)
"""an edit among a model's words: the file, what to look for and what to put in its place"""
_SIGNS = ("[", "<", "{")
_TOOL_WORD = compile_late(r"observ|result|output|stdout|response|return|execut", re.IGNORECASE)
_OPENING_CHARS = 40
_COMMON_PART = 0.6
"""A conversation in which this part of the model's messages holds a command is led that way."""


@dataclass(frozen=True, slots=True)
class CommandProtocol:
    """The user messages that are observations; none where tools are called properly or not at all."""

    observations: frozenset[int] = field(default_factory=frozenset)

    def calls(self, text: str) -> bool:
        """Whether a model's message gives a command, be it one that nothing has answered yet."""
        return bool(self.observations) and _find_command(text) is not None

    def of_part(self, start: int, stop: int) -> "CommandProtocol":
        """Return it for the messages from `start` to `stop` alone."""
        inside = (index for index in self.observations if start <= index < stop)
        return CommandProtocol(frozenset(index - start for index in inside))

    def split(self, index: int, text: str) -> tuple[str, ToolCall | None]:
        """Part a model's message into its words and the call it made in them."""
        if index + 1 in self.observations:
            found = _find_command(text)
        else:  # a call that a person answered
            found = _tagged(text) if self.observations else None
        if found is None:
            return text, None
        return f"{text[: found.start]}{text[found.stop :]}", found.call


def looks_like_output(text: str) -> bool:
    """Whether a text is announced as what a tool gave back, whatever the protocol."""
    return bool(_forms(text)[0])


def told_calls(notes: str) -> frozenset[str]:
    """Return the names of the calls that notes on folded messages tell of."""
    return frozenset(_TOLD_CALL.findall(notes))


def find_protocol(messages: Sequence[Message], *, told: Container[str] = ()) -> CommandProtocol:
    """Recognise a conversation that is led by commands in words.

    People answer code with words of all kinds; what runs commands answers in one form. Notes that tell of
    calls by a name that these commands have show that it was found before: then few need to follow a fold.
    """
    if any(True for message in messages for _ in message.calls):
        return CommandProtocol()
    models = [index for index, message in enumerate(messages) if message.role == "assistant"]
    found = {index: command for index in models if (command := _find_command(messages[index].text))}
    was_found = any(command.call.name in told for command in found.values())
    commands = [index for index, command in found.items() if not was_found or command.call.name in told]
    enough = 1 if was_found else max(_MIN_EXCHANGES, len(models) * _COMMON_PART)
    answers = [index + 1 for index in commands if index + 1 < len(messages)]
    answers = [index for index in answers if messages[index].role == "user"]
    if len(answers) < enough:
        return CommandProtocol()
    task = next((message.text for message in messages if message.role == "user"), "")
    opening = task.lstrip()[:_OPENING_CHARS]
    # What begins as the first task did is another task.
    texts = {index: messages[index].text for index in answers}
    texts = {index: text for index, text in texts.items() if not text.lstrip().startswith(opening)}
    if was_found and len(texts) < _MIN_EXCHANGES:
        return CommandProtocol(frozenset(index for index, text in texts.items() if any(_forms(text))))
    people = {index for index in texts if _speaks(messages[index])}
    return CommandProtocol(_in_one_form(texts) - people)


def _speaks(message: Message) -> bool:
    """Whether a client hands on a person's words where a tool's answer is expected."""
    if not any(mark in message.text for mark in _PERSON_MARKS):
        return False
    authors = {segment.author for segment in read_segments(message)}
    return Author.PERSON in authors and Author.TOOL not in authors


def observed_text(messages: Sequence[Message], index: int) -> str:
    """Return what a tool gave back in a user message, without what the client adds behind it."""
    text = messages[index].text
    if not text.rstrip().endswith(">"):
        return text
    segments = list(segments_at(messages, index))
    while segments and segments[-1].author is Author.HOST and segments[-1].source:
        text = text[: segments.pop().start]
    return text


def split_edits(text: str) -> tuple[str, list[ToolCall]]:
    """Part a model's words from the edits that it writes in them, each below the name of its file."""
    if "SEARCH" not in text or "REPLACE" not in text:
        return text, []
    edits = [
        _call("edit", {"path": found[1], "old_text": found[2], "new_text": found[3]})
        for found in islice(_WORDED_EDIT.finditer(text), _MOST_EDITS)
    ]
    return (_WORDED_EDIT.sub("", text), edits) if edits else (text, [])


def _in_one_form(texts: Mapping[int, str]) -> frozenset[int]:
    """Return the texts that have the form which most of them have; none if there is no such form."""
    best: frozenset[int] = frozenset()
    for forms in zip(*map(_forms, texts.values()), strict=True):
        common = Counter(filter(None, forms)).most_common(1)
        alike = (index for index, form in zip(texts, forms, strict=True) if common and form == common[0][0])
        best = max(best, frozenset(alike), key=len)
    return best if len(best) >= max(_MIN_EXCHANGES, len(texts) * _COMMON_PART) else frozenset()


def _forms(text: str) -> tuple[str, str, str]:
    """Say in what form a tool may have written a text: its label, its first sign, how it ends."""
    bare = text.strip()
    label, colon, _ = bare[:_LABEL_CHARS].partition(":")
    is_label = colon and "\n" not in label and _TOOL_WORD.search(label)
    last_line = bare[bare.rfind("\n") + 1 :]
    ends_boxed = last_line.startswith("[") and last_line.endswith("]")
    ends_in_prompt = last_line.endswith(("$", "#", ">>>", "%"))
    return (
        label if is_label else "",
        bare[:1] if bare[:1] in _SIGNS else "",
        "[]" if ends_boxed else last_line[-_PROMPT_CHARS:] if ends_in_prompt else "",
    )


def place_edit(call: ToolCall, shown: str) -> ToolCall:
    """Return an edit of lines with the file that it edits: the one that the tool said is open."""
    if "edit " not in call.arguments:
        return call
    said = call.parse_arguments()
    texts = [value for value in said.values() if isinstance(value, str)] if isinstance(said, dict) else []
    edit = next(filter(None, map(_LINE_EDIT.match, texts)), None)
    is_open = _OPEN_FILE.search(shown[-_SHOWN_CHARS:]) or _OPEN_FILE.search(shown[:_SHOWN_CHARS])
    if edit is None or is_open is None:
        return call
    return _call("edit", {"path": is_open[1].strip(), "new_text": edit[1]})


@dataclass(frozen=True, slots=True)
class _Command:
    """Where a command stands in a model's words, and what it says."""

    start: int
    stop: int
    call: ToolCall


def _find_command(text: str) -> _Command | None:
    """Find the command in a model's words: the element or the action they end with, or a fenced block."""
    return _tagged(text) or _action(text) or _fenced(text)


def _action(text: str) -> _Command | None:
    """Read `Action: tool` with `Action Input: …` below it, or a whole message that is a call in JSON."""
    found = _ACTION.search(text[-_MOST_TAG_CHARS:])
    if found is not None:
        start = max(0, len(text) - _MOST_TAG_CHARS) + found.start()
        given = found[2].strip()
        call = _read_json_call(f'{{"name": {json.dumps(found[1].strip())}, "arguments": {given}}}')
        return _Command(start, len(text), call or _call(found[1].strip(), {"input": given}))
    start = text.find("{")
    json_call = _read_json_call(text[start:].strip()) if start >= 0 and text.rstrip().endswith("}") else None
    return _Command(start, len(text), json_call) if json_call else None


def _read_json_call(text: str) -> ToolCall | None:
    """Read an object with a name and arguments, under the names that they commonly go by."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENT_KEYS if isinstance(value.get(key), dict)), None)
    if name is None or arguments is None:
        return None
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False))


def _fenced(text: str) -> _Command | None:
    stop = text.rfind(_FENCE)
    start = text.rfind(_FENCE, 0, stop) if stop > 0 else -1
    said = text[start:stop].partition("\n")[2].strip() if start >= 0 else ""
    if not said:
        return None
    return _Command(start, stop + len(_FENCE), _read_json_call(said) or _call(COMMAND, {"command": said}))


def _tagged(text: str) -> _Command | None:
    last = _LAST_TAG.search(text[-100:])
    stop = len(text.rstrip()) if last else 0
    start = text.rfind(f"<{last[1]}", 0, stop - 1) if last else -1
    if last is None or start < 0 or stop - start > _MOST_TAG_CHARS:
        return None
    opening, _, inner = text[start : text.rfind("</", 0, stop)].partition(">")
    named = _FUNCTION.search(opening)
    values = dict(islice(_parameters(inner), _MOST_PARAMETERS))
    if not values:
        call = _read_json_call(inner.strip()) or _call(COMMAND, {"command": inner.strip()})
        return _Command(start, stop, call) if inner.strip() else None
    return _Command(start, stop, _call(named[1] if named else last[1], values))


def _parameters(inner: str) -> Iterator[tuple[str, str]]:
    """Yield the elements inside a call, each with its name."""
    position = 0
    while (opening := _PARAMETER.search(inner, position)) is not None:
        name, tag = opening[1], opening[2]
        stop = inner.find(f"</{'parameter' if name else tag}>", opening.end())
        if stop < 0:
            return
        yield name or tag, inner[opening.end() : stop].strip()
        position = stop


def _call(name: str, arguments: Mapping[str, str]) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False))
