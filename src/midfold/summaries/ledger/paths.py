"""Files in what a model asked for: in arguments, in patches, in what a command writes to; names in words."""

import re
from collections.abc import Iterator

from midfold.summaries.ledger.shell import named_files, read_commands
from midfold.summaries.tool_calls.families import PATCHED_FILE

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
_NAME = re.compile(r"(?<![\w./@#-])[\w.@#-]{0,80}(?:[/_.-]|\d|[a-z][A-Z])[\w./@#-]{0,200}\w")
_NOT_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_COMMAND_CHARS = 20_000


def is_path(text: str) -> bool:
    """Whether a text looks like the name of a file or folder, and nothing else."""
    return 1 < len(text) <= _LONGEST_PATH and _PATH.fullmatch(text) is not None


def find_names(text: str) -> list[str]:
    """List the names of files and other things in a text: words with a digit, a slash, a joint."""
    return _NAME.findall(text)


def patched_files(patch: str) -> list[str]:
    """List the files that a patch names."""
    return list(dict.fromkeys(path.strip() for path in PATCHED_FILE.findall(patch)))


def written_files(command: str) -> list[str]:
    """List the files that a shell command, or a script inside it, writes to."""
    command = command[:_COMMAND_CHARS]
    return list(dict.fromkeys(path for path in _written(command) if path not in _NOT_FILES))


def _written(text: str) -> Iterator[str]:
    for command in read_commands(text):
        for target in command.outputs:
            if target[0] in "\"'" or is_path(target):
                yield target.strip("\"'")
        yield from filter(is_path, named_files(command))
    for names in _OPENED.findall(text):
        yield from filter(None, names)
    if "*** " in text or "+++ " in text:
        yield from patched_files(text)
