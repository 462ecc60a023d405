"""Reads shell commands: the words of each, where its output goes, and the files that it writes.

A script inside a command is searched for files that it opens to write them.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.summaries.tool_calls.families import PATCHED_FILE

_LONGEST_PATH = 300
_PATH = compile_late(
    r"(?!\w+://)(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][^\s/\\:*?\"<>|]{1,200}){1,40}/?"  # absolute
    r"|(?!\w+://)[^\s/\\:*?\"'<>|()=,;]{1,200}(?:[/\\][^\s/\\:*?\"<>|]{1,200}){1,40}"  # relative
    r"|[\w@+-][\w@+.-]{0,150}\.[A-Za-z]\w{0,9}|Makefile|Dockerfile|\.[a-z][\w.]{2,40}"  # a bare name
)
# Scripts that open a file to write it.
_OPENED = compile_late(
    r"\bopen\([rbuf]{0,2}[\"']([^\"'\n]{1,200})[\"'][ ]?,[ ]?(?:mode=)?[\"'][wax]"
    r"|\bPath\([\"']([^\"'\n]{1,200})[\"']\)\.write_"
    r"|\bwriteFile(?:Sync)?\([\"'`]([^\"'`\n]{1,200})[\"'`]"
)
_NOT_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_PATTERN = compile_late(r"[{}$*`]")
"""signs of a name that only the shell or a script knows in full"""
_COMMAND_CHARS = 20_000
_APPLIERS = compile_late(r"(?:^|[\s/])(?:apply_?patch|patch|git (?:-C \S{1,200} )?(?:apply|am))(?:\s|$)")
_VERB_WORDS = 8
_PATCH_ENDING = compile_late(r"\.(?:patch|diff)$")
_GOES_ON = ("\\", "&&", "||", "|", "(", "{", ";", "then", "do")
_COMMITS = compile_late(r"\bgit\b.{0,80}\bcommit\b")

_HERE_DOCUMENT = compile_late(r"<<-?[ \t]{0,3}[\\\"']?(\w{1,40})[\"']?")
_TOKEN = compile_late(
    r"(?P<space>[ \t\r]+)|(?P<op>\|\||&&|>>|>\||[;|&\n()<>])"
    r"|(?P<word>(?:\"(?:[^\"\\]|\\.){0,20000}\"|'[^']{0,20000}'|\\.|[^\s;|&()<>\"'\\])+)|(?P<odd>.)",
    re.DOTALL,
)
_OUTPUTS = (">", ">>", ">|")
_ARROW_ENDS = ("-", "=")
_LEADS = frozenset({"sudo", "xargs", "time", "nohup", "env", "then", "do", "else", "if", "while", "!"})
_ASSIGNMENT = compile_late(r"\w{1,60}=")
_ALL_FILES = frozenset(
    {"touch", "mv", "rm", "tee", "patch", "truncate", "black", "isort", "git mv", "git rm"}
)
_LAST_FILE = frozenset({"cp", "install", "ln", "rsync", "scp"})
_ALWAYS_IN_PLACE = frozenset({"ruff format"})
_IN_PLACE = frozenset({"sed", "perl", "gofmt", "prettier", "ruff check", "eslint"})
_IN_PLACE_OPTION = compile_late(r"-i\S{0,6}|-[a-zA-Z]{1,4}i\S{0,6}|--in-place\S{0,20}|-w|--write|--fix")
_ONLY_LOOKS = ("--check", "--dry-run", "--diff")
_OUTPUT_OPTIONS = ("-o", "-O", "--output", "--output-document")
_SOURCE_AND_TARGET = 2
_FILE_ENDING = compile_late(r"\.[A-Za-z]{1,5}$")
_TAKES_A_SCRIPT = frozenset({"sed", "perl"})


def is_path(text: str) -> bool:
    """Whether a text looks like the name of a file or folder, and nothing else."""
    return 1 < len(text) <= _LONGEST_PATH and _PATH.fullmatch(text) is not None


def last_name(path: str) -> str:
    """Return the last part of a path."""
    return path.replace("\\", "/").rpartition("/")[2]


def patched_files(patch: str) -> list[str]:
    """List the files that a patch names."""
    return list(dict.fromkeys(path.strip() for path in PATCHED_FILE.findall(patch)))


def written_files(text: str, commands: Sequence["ShellCommand"] | None = None) -> list[str]:
    """List the files that a shell line, or a script inside it, writes to; `commands` are those read of it."""
    text = text[:_COMMAND_CHARS]
    commands = read_commands(text) if commands is None else commands
    paths = (path for path in _written(text, commands) if path not in _NOT_FILES)
    return list(dict.fromkeys(path for path in paths if not _PATTERN.search(path)))


def _written(text: str, commands: Sequence["ShellCommand"]) -> Iterator[str]:
    for command in commands:
        for target in command.outputs:
            if target[0] in "\"'" or is_path(target):
                yield target.strip("\"'")
        yield from filter(is_path, _named_files(command))
    for names in _OPENED.findall(text):
        yield from filter(None, names)
    if ("*** " in text or "+++ " in text) and applies_patch(commands):
        yield from patched_files(text)


def applies_patch(commands: Sequence["ShellCommand"]) -> bool:
    """Whether a shell line applies a patch; one that is only written to a file changes nothing else."""
    return any(_APPLIERS.search(" ".join(command.words[:_VERB_WORDS])) for command in commands)


def drafted_files(text: str, commands: Sequence["ShellCommand"]) -> list[str]:
    """List the files that a patch names which a shell line writes to a file, to be applied later."""
    text = text[:_COMMAND_CHARS]
    is_draft = "+++ " in text and not applies_patch(commands) and any(each.outputs for each in commands)
    return patched_files(text) if is_draft else []


@dataclass(slots=True)
class ShellCommand:
    """One command of a line: its words without quotes, and where its output goes."""

    words: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    """the files that it reads in the place of what is typed"""
    is_piped: bool = False
    """it reads what the command before it prints"""


def read_commands(text: str) -> list[ShellCommand]:
    """Return the commands of a shell line or script; what is fed to them as a text is passed over."""
    return list(_read_commands(text[:_COMMAND_CHARS]))


def _read_commands(text: str) -> Iterator[ShellCommand]:
    command, pending, last = ShellCommand(), "", ""
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
                command = ShellCommand(is_piped=said == "|")
            pending, last = "", said
    yield command


def _named_files(command: ShellCommand) -> Sequence[str]:
    """Return the words of a command that stand for files which it changes."""
    words = without_leads(command.words)
    if not words:
        return ()
    verb, rest = words[0].rpartition("/")[2], words[1:]
    if verb in ("git", "ruff") and rest:
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    if verb in ("curl", "wget"):
        return [word for option, word in pairwise(rest) if option in _OUTPUT_OPTIONS]
    changes_in_place = verb in _IN_PLACE and any(_IN_PLACE_OPTION.fullmatch(word) for word in rest)
    if (
        any(word in _ONLY_LOOKS for word in rest)
        or (verb == "git rm" and "--cached" in rest)
        or not (changes_in_place or verb in _ALWAYS_IN_PLACE or verb in _ALL_FILES or verb in _LAST_FILE)
    ):
        return ()
    files = [word for word in _without_script(verb, rest) if not word.startswith("-")]
    files = [word for word in files if not _PATCH_ENDING.search(word)] if verb == "patch" else files
    return files[-1:] if verb in _LAST_FILE else files


_READERS = frozenset({"cat", "bat", "head", "tail", "sed", "nl", "less", "more", "Get-Content", "gc"})
_ASIDE = frozenset({"cd", "pushd", "popd", "echo", "printf", "pwd", "true", "Set-Location"})


def shown_files(commands: Sequence[ShellCommand]) -> list[str]:
    """List the files that a shell line only shows; empty where it does anything else."""
    files: list[str] = []
    for command in commands:
        words = without_leads(command.words)
        verb, rest = (words[0].rpartition("/")[2], words[1:]) if words else ("", [])
        if not _NOT_FILES.issuperset(command.outputs):
            return []
        if not verb or verb in _ASIDE:
            continue
        edits = verb in _IN_PLACE and any(_IN_PLACE_OPTION.fullmatch(word) for word in rest)
        if verb not in _READERS or edits:
            return []
        files += [word for word in _without_script(verb, rest) if is_path(word) and not _PATTERN.search(word)]
    return list(dict.fromkeys(files))


_REMOVERS = frozenset({"rm", "git rm", "del", "Remove-Item", "unlink", "rmdir"})
_MOVERS = frozenset({"mv", "git mv", "Move-Item", "ren"})
_RESTORERS = frozenset({"git checkout", "git restore"})
_BACKUP = compile_late(r"[.~_-]?(?:bak|backup|orig|original|old|save|copy)\d{0,3}$|~$", re.IGNORECASE)
_INDEX_ONLY = frozenset({"--staged", "-S", "--cached"})
RESET = "reset"
"""what becomes of all files with a hard reset"""
STASHED, UNSTASHED = "stashed", "unstashed"
EVERYTHING = (".", "./", ":/", "*")
"""how a command names all files"""


def undone_files(commands: Sequence[ShellCommand]) -> dict[str, str]:
    """Return the files that are no longer what they were, each with what became of it: patterns, too."""
    undone: dict[str, str] = {}
    for command in commands:
        words = without_leads(command.words)
        verb, rest = (words[0].rpartition("/")[2], words[1:]) if words else ("", [])
        if verb == "git" and rest:
            verb, rest = f"git {rest[0]}", rest[1:]
        files = [word for word in rest if not word.startswith("-")]
        if not _INDEX_ONLY.isdisjoint(rest) and verb in ("git rm", "git restore"):
            continue  # the files themselves stay as they are
        if verb in _REMOVERS:
            undone.update(dict.fromkeys(files, "deleted"))
        elif verb in _MOVERS and len(files) == _SOURCE_AND_TARGET:
            undone[files[0]] = f"moved to {files[1]}"
        elif verb == "cp" and len(files) == _SOURCE_AND_TARGET and _is_backup(*files):
            undone[files[1]] = "reverted"
        elif verb == "git reset" and "--hard" in rest:
            undone["."] = RESET
        elif verb == "git stash" and files[:1] in ([], ["push"], ["save"]):
            undone["."] = STASHED
        elif verb == "git stash" and files[:1] in (["pop"], ["apply"]):
            if undone.pop(".", "") != STASHED:
                undone["."] = UNSTASHED
        elif verb == "git worktree" and files[:1] == ["remove"]:
            undone.update(dict.fromkeys(files[1:], "deleted"))
        elif verb in _RESTORERS and (verb == "git restore" or "--" in rest or files == ["."]):
            undone.update(dict.fromkeys(files, "reverted"))
        elif verb in _RESTORERS:  # a name with an ending is that of a file rather than of a branch
            undone.update(dict.fromkeys(filter(_FILE_ENDING.search, files), "reverted"))
    return undone


def _is_backup(source: str, target: str) -> bool:
    """Whether a copy puts back what a file was: its name with a mark of a backup behind it."""
    kept, file = source.rpartition("/")[2], target.rpartition("/")[2]
    mark = kept.removeprefix(file)
    return (not file and bool(_BACKUP.search(kept))) or (mark != kept and _BACKUP.fullmatch(mark) is not None)


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


def sum_up(text: str) -> str:
    """Write a script as one line, without the texts fed to it but for the subject of a commit."""
    text = text.strip()[:_COMMAND_CHARS]
    first, _, body = text.partition("\n")
    lines = [line.strip() for line in _without_documents(text).split("\n")]
    if _COMMITS.search(first) and _HERE_DOCUMENT.search(first):
        subject = body.lstrip().partition("\n")[0].strip()
        lines[0] = f"{lines[0]} {subject}"
    joined = ""
    for line in filter(None, lines):
        within = joined.count('"') % 2 or joined.endswith(_GOES_ON)
        joined = f"{joined}{' ' if within else '; '}{line}" if joined else line
    return joined


def _take(command: ShellCommand, word: str, pending: str) -> None:
    if pending == "output":
        command.outputs.append(word)
    else:
        (command.inputs if pending == "input" else command.words).append(_unquote(word))


def _unquote(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0] else word


def without_leads(words: list[str]) -> list[str]:
    """Leave out what stands before the program: `sudo`, `time`, values of variables."""
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
