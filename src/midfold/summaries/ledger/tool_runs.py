"""Reads one call and its result: what it was about, which files it touched, how it ended, what went wrong.

Files are found in arguments, in patches, and in what a shell command writes to.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice, pairwise

from midfold.messages import ToolCall, ToolResult
from midfold.summaries.ledger.values import ToolRun
from midfold.summaries.tool_calls.families import (
    CONTENTS,
    FAMILIES,
    PATCHED_FILE,
    PATHS,
    TEXTS_AFTER,
    TEXTS_BEFORE,
    arguments_of,
    bare_name,
    first_of,
    format_argument,
    kind_of,
)
from midfold.summaries.tool_calls.output import find_failures, read_outcome
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

_LONGEST_PATH = 300
_PATH = re.compile(
    r"(?!\w+://)(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][^\s/\\:*?\"<>|]{1,200}){1,40}/?"  # absolute
    r"|(?!\w+://)[^\s/\\:*?\"'<>|()=,;]{1,200}(?:[/\\][^\s/\\:*?\"<>|]{1,200}){1,40}"  # relative
    r"|[\w@+-][\w@+.-]{0,150}\.[A-Za-z]\w{0,9}|Makefile|Dockerfile|\.[a-z][\w.]{2,40}"  # a bare name
)
# Scripts that open a file to write it.
_OPENED = re.compile(
    r"\bopen\([rbuf]{0,2}[\"']([^\"'\n]{1,200})[\"'][ ]?,[ ]?(?:mode=)?[\"'][wax]"
    r"|\bPath\([\"']([^\"'\n]{1,200})[\"']\)\.write_"
    r"|\bwriteFile(?:Sync)?\([\"'`]([^\"'`\n]{1,200})[\"'`]"
)
_NOT_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_COMMAND_CHARS = 20_000

_HERE_DOCUMENT = re.compile(r"<<-?[ \t]{0,3}[\\\"']?(\w{1,40})[\"']?")
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+)|(?P<op>\|\||&&|>>|>\||[;|&\n()<>])"
    r"|(?P<word>(?:\"(?:[^\"\\]|\\.){0,20000}\"|'[^']{0,20000}'|\\.|[^\s;|&()<>\"'\\])+)|(?P<odd>.)",
    re.DOTALL,
)
_OUTPUTS = (">", ">>", ">|")
_ARROW_ENDS = ("-", "=")
_LEADS = frozenset({"sudo", "xargs", "time", "nohup", "env", "then", "do", "else", "if", "while", "!"})
_ASSIGNMENT = re.compile(r"\w{1,60}=")
_ALL_FILES = frozenset(
    {"touch", "mv", "rm", "tee", "patch", "truncate", "black", "isort", "git mv", "git rm"}
)
_LAST_FILE = frozenset({"cp", "install", "ln", "rsync", "scp"})
_ALWAYS_IN_PLACE = frozenset({"ruff format"})
_IN_PLACE = frozenset({"sed", "perl", "gofmt", "prettier", "ruff check", "eslint"})
_IN_PLACE_OPTION = re.compile(r"-i\S{0,6}|-[a-zA-Z]{1,4}i\S{0,6}|--in-place\S{0,20}|-w|--write|--fix")
_ONLY_LOOKS = ("--check", "--dry-run", "--diff")
_OUTPUT_OPTIONS = ("-o", "-O", "--output", "--output-document")
_TAKES_A_SCRIPT = frozenset({"sed", "perl"})


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


def is_path(text: str) -> bool:
    """Whether a text looks like the name of a file or folder, and nothing else."""
    return 1 < len(text) <= _LONGEST_PATH and _PATH.fullmatch(text) is not None


def patched_files(patch: str) -> list[str]:
    """List the files that a patch names."""
    return list(dict.fromkeys(path.strip() for path in PATCHED_FILE.findall(patch)))


def written_files(command: str) -> list[str]:
    """List the files that a shell command, or a script inside it, writes to."""
    command = command[:_COMMAND_CHARS]
    return list(dict.fromkeys(path for path in _written(command) if path not in _NOT_FILES))


def _written(text: str) -> Iterator[str]:
    for command in _read_commands(text):
        for target in command.outputs:
            if target[0] in "\"'" or is_path(target):
                yield target.strip("\"'")
        yield from filter(is_path, _named_files(command))
    for names in _OPENED.findall(text):
        yield from filter(None, names)
    if "*** " in text or "+++ " in text:
        yield from patched_files(text)


@dataclass(slots=True)
class _ShellCommand:
    """One command of a line: its words without quotes, and where its output goes."""

    words: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def _read_commands(text: str) -> Iterator[_ShellCommand]:
    """Yield the commands of a shell line or script; what is fed to them as a text is passed over."""
    command, pending, last = _ShellCommand(), "", ""
    for token in _TOKEN.finditer(_without_documents(text)):
        kind, said = token.lastgroup, token[0]
        if kind == "word":
            _take(command, said, pending)
            pending, last = "", said
        elif kind == "space":
            last = " "
        elif said in _OUTPUTS:
            pending = "" if last.endswith(_ARROW_ENDS) else "output"
            last = said
        elif said == "<":
            pending = "input"
        elif kind == "op":
            # `>&1` writes to no file.
            if not (said == "&" and last in _OUTPUTS):
                yield command
                command = _ShellCommand()
            pending, last = "", said
    yield command


def _named_files(command: _ShellCommand) -> Sequence[str]:
    """Return the words of a command that stand for files which it changes."""
    words = _without_leads(command.words)
    if not words:
        return ()
    verb, rest = words[0].rpartition("/")[2], words[1:]
    if verb in ("git", "ruff") and rest:
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    if verb in ("curl", "wget"):
        return [word for option, word in pairwise(rest) if option in _OUTPUT_OPTIONS]
    changes_in_place = verb in _IN_PLACE and any(_IN_PLACE_OPTION.fullmatch(word) for word in rest)
    if any(word in _ONLY_LOOKS for word in rest) or not (
        changes_in_place or verb in _ALWAYS_IN_PLACE or verb in _ALL_FILES or verb in _LAST_FILE
    ):
        return ()
    files = [word for word in _without_script(verb, rest) if not word.startswith("-")]
    return files[-1:] if verb in _LAST_FILE else files


def _without_documents(text: str) -> str:
    """Leave out here-documents: they are texts, not the shell's."""
    pieces: list[str] = []
    start = 0
    for opening in _HERE_DOCUMENT.finditer(text):
        if opening.start() < start:
            continue
        line_end = text.find("\n", opening.end())
        stop = text.find(f"\n{opening[1]}", line_end) if line_end >= 0 else -1
        if stop < 0:
            return "".join([*pieces, text[start : line_end if line_end >= 0 else len(text)]])
        pieces.append(text[start:line_end])
        start = stop + 1 + len(opening[1])
    return "".join([*pieces, text[start:]])


def _take(command: _ShellCommand, word: str, pending: str) -> None:
    if pending == "output":
        command.outputs.append(word)
    elif pending != "input":
        command.words.append(_unquote(word))


def _unquote(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0] else word


def _without_leads(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and (words[start] in _LEADS or _ASSIGNMENT.match(words[start])):
        start += 1
    return words[start:]


def _without_script(verb: str, words: list[str]) -> list[str]:
    """Leave out the script of an editor: what follows -e, or else its first word."""
    if verb not in _TAKES_A_SCRIPT:
        return words
    scripts = [index + 1 for index, word in enumerate(words) if re.fullmatch(r"-\w{0,4}e|--expression", word)]
    if not scripts:
        scripts = [index for index, word in enumerate(words) if not word.startswith("-")][:1]
    return [word for index, word in enumerate(words) if index not in scripts]
