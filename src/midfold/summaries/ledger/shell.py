"""Which files a shell command writes to: a reader of words, quotes, redirections and commands."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
_TELLS_IN_PLACE = re.compile(r"-i\S{0,6}|-[a-zA-Z]{1,4}i\S{0,6}|--in-place\S{0,20}|-w|--write|--fix")
_ONLY_LOOKS = ("--check", "--dry-run", "--diff")
_OUTPUT_OPTIONS = ("-o", "-O", "--output", "--output-document")
_TAKES_A_SCRIPT = frozenset({"sed", "perl"})


@dataclass(slots=True)
class Command:
    """One command of a line: its words without quotes, and where its output goes."""

    words: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def read_commands(text: str) -> Iterator[Command]:
    """Yield the commands of a shell line or script; what is fed to them as a text is passed over."""
    command, pending, last = Command(), "", ""
    for token in _TOKEN.finditer(without_documents(text)):
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
                command = Command()
            pending, last = "", said
    yield command


def named_files(command: Command) -> Sequence[str]:
    """Return the words of a command that stand for files which it changes."""
    words = _without_leads(command.words)
    if not words:
        return ()
    verb, rest = words[0].rpartition("/")[2], words[1:]
    if verb in ("git", "ruff") and rest:
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    if verb in ("curl", "wget"):
        return [word for option, word in pairwise(rest) if option in _OUTPUT_OPTIONS]
    changes_in_place = verb in _IN_PLACE and any(_TELLS_IN_PLACE.fullmatch(word) for word in rest)
    if any(word in _ONLY_LOOKS for word in rest) or not (
        changes_in_place or verb in _ALWAYS_IN_PLACE or verb in _ALL_FILES or verb in _LAST_FILE
    ):
        return ()
    files = [word for word in _without_script(verb, rest) if not word.startswith("-")]
    return files[-1:] if verb in _LAST_FILE else files


def without_documents(text: str) -> str:
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


def _take(command: Command, word: str, pending: str) -> None:
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
    scripts = [place + 1 for place, word in enumerate(words) if re.fullmatch(r"-\w{0,4}e|--expression", word)]
    if not scripts:
        scripts = [place for place, word in enumerate(words) if not word.startswith("-")][:1]
    return [word for place, word in enumerate(words) if place not in scripts]
