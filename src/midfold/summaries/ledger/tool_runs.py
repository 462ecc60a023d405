"""Reads one call and its result: what it was about, which files it touched, how it ended, what went wrong.

Files are found in arguments, in patches, and in what a shell command writes to.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice

from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.messages import ToolCall, ToolResult
from midfold.summaries.ledger.arguments import Leaf, is_long, read_details, read_leaves
from midfold.summaries.ledger.commands import find_script, read_invocations, unwrap
from midfold.summaries.ledger.invocations import SCRIPT_RUNNERS, Invocation, RunEnd
from midfold.summaries.ledger.run_ends import read_ending, tests_passed
from midfold.summaries.ledger.shell import (
    ShellCommand,
    drafted_files,
    is_path,
    patched_files,
    read_commands,
    shown_files,
    sum_up,
    undone_files,
    written_files,
)
from midfold.summaries.ledger.values import ToolRun
from midfold.summaries.ledger.words import DEFINITION
from midfold.summaries.tool_calls.families import (
    CONTENTS,
    FAMILIES,
    PATHS,
    TEXTS_AFTER,
    TEXTS_BEFORE,
    arguments_of,
    bare_name,
    family_of,
    first_of,
    format_argument,
    kind_of,
)
from midfold.summaries.tool_calls.output import cut_at_word, read_outcome

SUBJECT_CHARS = 600
_SCRIPT_CHARS = 200
_MOST_CONTENT_LINES = 24
_CONTENT_LINE_CHARS = 300
_STATUS = compile_late(
    r"(?:exit(?:ed)?|return)[\s_-]?(?:with )?(?:code|status)\"?[>:=\s]{1,4}-?\d{1,10}(?:</\w{1,20}>|[\])])?",
    re.IGNORECASE,
)
_BEFORE_STATUS = compile_late(r"(?:\b(?!with\b)\w{1,12} )?[\"<(\[]?$")
_BEFORE_STATUS_CHARS = 16
_STATUS_CHARS = 400
_PATH_NAMES = frozenset(map(bare_name, (*PATHS, "notebook_path", "paths", "file_paths", "files")))
_CONTENT_NAMES = frozenset(map(bare_name, (*CONTENTS, *TEXTS_BEFORE, *TEXTS_AFTER)))
_BEFORE_NAMES = frozenset(map(bare_name, TEXTS_BEFORE))
_AFTER_NAMES = frozenset(map(bare_name, (*TEXTS_AFTER, *CONTENTS)))
_PATCH = compile_late(r"^(?:\*\*\* |\+\+\+ |@@ )", re.MULTILINE)
_MOST_PATCH_LINES = 600
_SEARCH_REPLACE = compile_late(
    r"^[<-]{5,9} ?SEARCH[^\n]{0,40}\n(?::[^\n]{0,40}\n){0,4}(?:-{5,9}\n)?(.{0,20000}?)"
    r"^={5,9}\n(.{0,20000}?)^[>+]{5,9} ?REPLACE",
    re.MULTILINE | re.DOTALL,
)
"""an edit that is written as what to look for and what to put in its place"""
_ESCAPED = compile_late(r"[\n\"\\\t]")
_FILE_KINDS = {"read": False, "edit": True, "write": True}
_NEVER_RAN = (126, 127)
_WAYS = ("cd", "pushd", "Set-Location")
"""what only goes to the place where the work is done"""


def read_tool_run(call: ToolCall, result: ToolResult | None, redact: Callable[[str], str]) -> ToolRun:
    """Take a call and its result apart; every text of the run has been through `redact`."""
    call = ToolCall(call.id, redact(call.name), redact(call.arguments))
    kind = kind_of(call)
    leaves = [_redact_leaf(leaf, redact) for leaf in read_leaves(arguments_of(call))]
    subject = _find_subject(call, kind, leaves, redact)
    told = unwrap(" ".join(leaf.text for leaf in leaves)) if _only_tells(call, kind) else subject
    commands = read_commands(told) if kind == "shell" or told is not subject else []
    reads, changes = _files_in_words(call, kind, leaves) or _files(kind, told, leaves, commands)
    long_texts = [leaf.text for leaf in leaves if is_long(leaf.text)]
    edit = _read_edit(leaves) if kind in ("edit", "write") or (kind == "shell" and changes) else None
    lead = _introduce(told or "".join(long_texts[:1]), is_script=bool(commands) and kind == "shell")
    output = redact(result.text) if result else ""
    retry_key = _retry_key(call, kind, subject, (*reads, *changes))
    invocations = _invocations(call, kind, told, commands, (*reads, *changes), retry_key)
    ending = read_ending(call, result, output, kind=kind, commands=commands, invocation=invocations[-1])
    details = () if commands and told is not subject else read_details(leaves, call.name, kind, subject)
    if commands and not ending.has_failed and not changes and (shown := shown_files(commands)):
        kind, reads = "read", tuple(shown)
    return ToolRun(
        tool=call.name or "tool",
        kind=kind,
        retry_key=retry_key,
        subject=lead,
        details=tuple(details),
        content=edit.added if edit else tuple(_content(long_texts, lead)),
        removed=edit.removed if edit else frozenset(),
        has_parts=_has_parts(commands, output),
        is_whole=kind == "write",
        undone=undone_files(commands) if commands else _deleted(call, leaves, output),
        reads=reads,
        changes=changes,
        drafts=tuple(drafted_files(told, commands)) if changes else (),
        status=_status(output) if kind in ("shell", "") and ending.end is not RunEnd.LOOKED else "",
        failures=ending.failures,
        output=output,
        has_failed=ending.has_failed,
        end=ending.end,
        invocations=invocations,
        has_tested=_has_tested(invocations, ending.end, output),
    )


def _has_tested(invocations: Sequence[Invocation], end: RunEnd, output: str) -> bool:
    is_script = any(each.program in SCRIPT_RUNNERS for each in invocations)
    return is_script and end is RunEnd.PASSED and tests_passed(output)


def _has_parts(commands: Sequence[ShellCommand], output: str) -> bool:
    """Whether a shell line does several things, one of which may have failed alone."""
    never_ran = read_outcome(output).exit_code in _NEVER_RAN
    parts = [command for command in commands if command.words and not command.is_piped]
    return not never_ran and sum(1 for command in parts if command.words[0] not in _WAYS) > 1


def _find_subject(call: ToolCall, kind: str, leaves: list[Leaf], redact: Callable[[str], str]) -> str:
    """Return what a call is about, in full; of a question tool, its questions."""
    if not kind:
        return ""
    asked = " / ".join(leaf.text for leaf in leaves if leaf.key == "question") if kind == "ask" else ""
    about = first_of(arguments_of(call), FAMILIES[kind][1])
    if kind == "shell":
        about = find_script(about)
    return asked or redact(format_argument(about))


def _find_place(commands: Sequence[ShellCommand]) -> str:
    """Return the folder that a shell line goes to first."""
    words = commands[0].words if commands else []
    return words[1] if len(words) > 1 and words[0] in ("cd", "pushd") else ""


def _only_tells(call: ToolCall, kind: str) -> bool:
    """Whether a tool for commands has its command in an argument of a name that nobody knows."""
    return not kind and family_of(call.name) == "shell"


def _invocations(
    call: ToolCall,
    kind: str,
    told: str,
    commands: Sequence[ShellCommand],
    files: tuple[str, ...],
    retry_key: str,
) -> tuple[Invocation, ...]:
    """Say what a call tries: the programs of a command, a file, or else just this call."""
    if commands:
        place = _find_place(commands)
        return tuple(replace(each, place=place) for each in read_invocations(told, commands, retry_key))
    if kind in _FILE_KINDS and files:
        verb = "change" if _FILE_KINDS[kind] else "read"
        return (Invocation(verb, frozenset(path.replace("\\", "/").rpartition("/")[2] for path in files)),)
    return (Invocation(call.name, frozenset({retry_key})),)


@dataclass(frozen=True, slots=True)
class _EditedLines:
    """The lines that an edit wrote, as far as they are quoted, and those that it replaced."""

    added: tuple[str, ...]
    removed: frozenset[str]


def _read_edit(leaves: Sequence[Leaf]) -> _EditedLines | None:
    """Read what an edit changed, from its texts before and after or from a patch."""
    old = _lines_of(leaf.text for leaf in leaves if bare_name(leaf.key) in _BEFORE_NAMES)
    new = _lines_of(leaf.text for leaf in leaves if bare_name(leaf.key) in _AFTER_NAMES)
    if not old and not new:
        patches = [leaf.text for leaf in leaves if _PATCH.search(leaf.text)]
        lines = [line for patch in patches for line in patch.split("\n", _MOST_PATCH_LINES)]
        old = _lines_of(line[1:] for line in lines if line.startswith("-") and not line.startswith("---"))
        new = _lines_of(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))
    if not old and not new:
        pairs = [pair for leaf in leaves for pair in _SEARCH_REPLACE.findall(leaf.text)]
        old, new = _lines_of(before for before, _ in pairs), _lines_of(after for _, after in pairs)
    if not old and not new:
        return None
    added = [line for line in new if line not in old]
    if len(added) > _MOST_CONTENT_LINES:
        telling = [line for line in added if DEFINITION.match(line)]
        chosen = frozenset([*telling, *added][:_MOST_CONTENT_LINES])
        added = [line for line in added if line in chosen]
    return _EditedLines(tuple(added), frozenset(old) - frozenset(new))


def _lines_of(texts: Iterable[str]) -> dict[str, None]:
    lines = (line for text in texts for line in text.split("\n", _MOST_PATCH_LINES)[:_MOST_PATCH_LINES])
    bare = (cut_at_word(line.strip(), _CONTENT_LINE_CHARS) for line in lines)
    return dict.fromkeys(line for line in bare if len(line) > 2)


def _redact_leaf(leaf: Leaf, redact: Callable[[str], str]) -> Leaf:
    """Take secrets out of a value that JSON escapes; its name often says what it is.

    The arguments as a whole have been through `redact` before.
    """
    if _ESCAPED.search(leaf.text) is None:
        return leaf
    lead = f"{leaf.key}="
    said = redact(f"{lead}{leaf.text}")
    return Leaf(leaf.key, said.removeprefix(lead))


def _retry_key(call: ToolCall, kind: str, subject: str, files: tuple[str, ...]) -> str:
    """Name what stays the same when something is tried again; a digest, since it is only compared."""
    if kind == "shell":
        what = subject
    elif kind in _FILE_KINDS and files:
        what = "\n".join(files)
    else:
        what = call.arguments
    return blake2b(f"{call.name} {what}".encode("utf-8", "replace"), digest_size=12).hexdigest()


def _introduce(said: str, *, is_script: bool) -> str:
    """Say what a call is about in one line: its first, or all of a script in short."""
    return (
        cut_at_word(sum_up(said), _SCRIPT_CHARS) if is_script and "\n" in said.strip() else _first_line(said)
    )


def _first_line(text: str) -> str:
    return cut_at_word(text.strip().partition("\n")[0].rstrip(), SUBJECT_CHARS)


def _content(texts: list[str], lead: str) -> Iterator[str]:
    """Yield the first lines of long arguments that say something, each once."""
    seen = {lead}
    lines = (line for text in texts for line in text.split("\n", _MOST_CONTENT_LINES)[:_MOST_CONTENT_LINES])
    for line in islice(lines, _MOST_CONTENT_LINES):
        bare = cut_at_word(line.strip(), _CONTENT_LINE_CHARS)
        if len(bare) > 2 and bare not in seen:
            seen.add(bare)
            yield bare


def _files(
    kind: str, command: str, leaves: list[Leaf], commands: Sequence[ShellCommand]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files a call read, and those it changed."""
    if commands:
        return (), tuple(written_files(command, commands))
    paths = [leaf.text for leaf in leaves if is_path(leaf.text) and _names_a_file(leaf.key, kind)]
    has_content = any(is_long(leaf.text) for leaf in leaves)
    if not paths and has_content and kind in ("edit", ""):
        paths = [path for leaf in leaves if is_long(leaf.text) for path in patched_files(leaf.text)]
    paths = list(dict.fromkeys(paths))
    if _FILE_KINDS.get(kind, has_content and not kind):
        return (), tuple(paths)
    return (tuple(paths), ()) if kind == "read" else ((), ())


_DELETES = frozenset({"delete", "remove", "unlink"})
_NAMED = compile_late(r"[\w@+./\\-]{1,200}\.[A-Za-z]\w{0,9}", re.ASCII)
_TOLD_CHARS = 200


def _deleted(call: ToolCall, leaves: list[Leaf], output: str) -> dict[str, str]:
    """Return the files that a tool for that deleted, by its arguments or else by what it said."""
    words = frozenset(call.name.lower().replace("-", "_").split("_"))
    if words.isdisjoint(_DELETES) or "file" not in call.name.lower():
        return {}
    paths = [leaf.text for leaf in leaves if is_path(leaf.text)]
    paths = paths or _NAMED.findall(output[:_TOLD_CHARS].partition("\n")[0])
    return dict.fromkeys(paths, "deleted")


def _files_in_words(
    call: ToolCall, kind: str, leaves: list[Leaf]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the files that a call tells of in words, as exported conversations do: "Edit file: a.py"."""
    family = family_of(call.name)
    if kind or family not in _FILE_KINDS:
        return None
    last = [leaf.text.rpartition(" ")[2] for leaf in leaves if not is_long(leaf.text)]
    paths = tuple(dict.fromkeys(word for word in last if is_path(word) and ("/" in word or "." in word)))
    if not paths:
        return None
    return ((), paths) if _FILE_KINDS[family] else (paths, ())


def _names_a_file(key: str, kind: str) -> bool:
    """Whether an argument of this name is a file: by the name, or as what a tool for files is about."""
    bare = bare_name(key)
    return bare in _PATH_NAMES or (kind in _FILE_KINDS and bare not in _CONTENT_NAMES and "path" in bare)


def _status(output: str) -> str:
    """Quote how a process ended, from the first or the last words of its output."""
    for part in (output[:_STATUS_CHARS], output[-_STATUS_CHARS:]):
        if "code" in part or "tatus" in part:
            found = _STATUS.search(part)
            if found is not None and (output[0] in "{[<" or _opens_line(part, found.start())):
                before = _BEFORE_STATUS.search(
                    part[max(0, found.start() - _BEFORE_STATUS_CHARS) : found.start()]
                )
                return f"{before[0] if before else ''}{found[0]}"
    return ""


def _opens_line(text: str, position: int) -> bool:
    """Whether no more than a word or two stand before a position: else it is a line of a log."""
    return position - (text.rfind("\n", 0, position) + 1) <= _BEFORE_STATUS_CHARS
