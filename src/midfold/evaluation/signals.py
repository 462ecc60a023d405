"""Signs of a rule, an error, an identifier or a figure in a text, and the subject of a tool call.

Languages and tools have no common vocabulary, so words, names and keys are read for what they commonly mean.
"""

import re
from collections.abc import Iterator

from midfold.late_dataclasses import dataclass
from midfold.messages import ToolCall

_RULE_WORDS = re.compile(
    r"""\b(?:never|must(?:\ not|n't)?|always|do\ not|don't|avoid|only|at\ most|at\ least|no\ more\ than|
        make\ sure|required?|forbidden|not\ allowed|without|instead\ of|keep|
        nie(?:mals)?|immer|muss|darf|dürfen|nicht|höchstens|mindestens|nur|ohne|
        nunca|siempre|debes?|deben|no\ (?:uses|hagas|toques|cambies)|como\ máximo|solo|sólo|evita|sin|
        jamais|toujours|ne\ (?:pas|jamais)|doit|doivent|au\ plus|seulement|sans|évite[rz]?|
        nunca|sempre|deve|não|apenas|no\ máximo|mai|devi|non|soltanto|
        никогда|всегда|нельзя|должен|должны|только|не\ более)\b
      | 必须|不要|不得|禁止|不能|务必|只能|最多|至少|一定要|请勿|
        必ず|しないで|ないこと|禁止|のみ|以内|してください|
        반드시|하지\ 마|금지|항상|절대""",
    re.IGNORECASE | re.VERBOSE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！\uff1f])|\n+")
_CODE = re.compile(r"```.*?(?:```|\Z)|^(?: {4}|\t|>|\|).*$", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<[/\w!]")
_RULE_CHARS = range(12, 301)

_ERROR_LINE = re.compile(
    r"""^\s*(?:[\w./\\:-]{0,80}?\b)?
        (?:\w*(?:Error|Exception|Panic)\b|error|fatal|panic|FAIL(?:ED|URE)?|ERR!?|E\ \ +\w|
           错误|失败|エラー|失敗|Fehler|erreur|Ошибка|에러|오류)
        [^\n]{0,200}$""",
    re.VERBOSE | re.MULTILINE,
)
_ERROR_CHARS = range(12, 221)
_STATUS = re.compile(
    r"""(?:\bexit(?:ed)?(?:\ with)?\ (?:code|status):?\ *|<returncode>|\breturned\ non-zero\ exit\ status\ |
        "exit_code":\ ?|\[exit:?\ )
        [1-9]\d{0,2}(?:</returncode>|\])?""",
    re.VERBOSE | re.IGNORECASE,
)

_IDENTIFIERS = {
    "url": re.compile(r"https?://[\w.-]+(?::\d+)?(?:/[\w./%~+@-]*[\w/])?"),
    "uuid": re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    "hash": re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b"),
    "version": re.compile(r"\bv?\d{1,4}\.\d{1,4}\.\d{1,6}(?:[-+][\w.]{1,20})?\b"),
    "ticket": re.compile(r"\b[A-Z][A-Z0-9]{1,9}-\d{2,8}\b"),
    "variable": re.compile(r"\b[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)+\b"),
    "address": re.compile(r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost):\d{2,5}\b"),
}
_NUMBER = re.compile(
    r"""(?<![\w.])(?:[$€£¥]\ ?\d[\d,.]*\d|
        \d[\d,.]*\s?(?:ms|[kKMG]i?B|%|seconds?|minutes?|tests?|files?|lines?|passed|failed|errors?|
        warnings?|rows?|items?|requests?|元|円|人|次|个|件))(?!\w)""",
    re.VERBOSE,
)


def find_rules(text: str) -> Iterator[str]:
    """Yield the sentences in which somebody sets a rule, outside code, quotes and markup."""
    for sentence in _SENTENCE_END.split(_CODE.sub("\n", text)):
        said = sentence.strip().lstrip("-*•0123456789.) ").strip()
        if len(said) in _RULE_CHARS and _RULE_WORDS.search(said) and not _TAG.search(said):
            yield said


def find_errors(text: str) -> Iterator[str]:
    """Yield the lines that say what went wrong."""
    for match in _ERROR_LINE.finditer(text):
        line = match[0].strip()
        if len(line) in _ERROR_CHARS:
            yield line


def find_status(text: str) -> str | None:
    """Return the words with which a result says that its command failed."""
    match = _STATUS.search(text)
    return match[0] if match else None


def find_identifiers(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield names that nobody can guess, each with what it is."""
    for name, pattern in _IDENTIFIERS.items():
        for match in pattern.finditer(text):
            yield name, match


def find_numbers(text: str) -> Iterator[re.Match[str]]:
    """Yield figures with their unit."""
    return _NUMBER.finditer(text)


_COMMAND_KEYS = ("command", "cmd", "script", "shell_command", "bash")
_PATH_KEYS = (
    "path",
    "file_path",
    "filepath",
    "file",
    "filename",
    "file_name",
    "target_file",
    "notebook_path",
)
_CONTENT_KEYS = frozenset(
    {
        *("content", "contents", "file_text", "new_source", "edits", "patch", "diff"),
        *("old_string", "old_str", "new_string", "new_str"),
    }
)
_CHANGING = re.compile(
    r"write|edit|crea|patch|replace|insert|append|delete|remove|rename|save|update|modif|"
    r"escrib|schreib|ersetz|écri|写|编辑|編集",
    re.IGNORECASE,
)
_READING = re.compile(r"read|view|open|cat|show|fetch_file|get_file|leer|lesen|lire|读|読", re.IGNORECASE)
_LOOKS_LIKE_PATH = re.compile(r"[~.]{0,2}/?(?:[\w.@+-]+/)+[\w.@+-]+\.\w{1,8}")
_PATH = re.compile(r"[^\n\0<>|*?]{1,300}")
_WRITTEN = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ b/(\S+)|(?:\bcat|\btee)\s*>{1,2}\s*([\w./~-]+)",
    re.MULTILINE,
)
_SHELL_BLOCK = re.compile(r"^```(?:bash|sh|shell|zsh|console)[^\n]*\n(.+?)\n```", re.MULTILINE | re.DOTALL)
_COMMAND_CHARS = 600
_VALUE_CHARS = range(4, 161)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call in common terms; `tool` is the name it goes by."""

    tool: str
    command: str = ""
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


def read_call(call: ToolCall) -> CallFacts:
    """Read a call; free text is taken for a patch or a command only where it looks like one."""
    arguments = call.parse_arguments()
    if not isinstance(arguments, dict):
        return CallFacts(call.name, changed=tuple(written_in_patch(str(arguments))))
    command = next((line for key in _COMMAND_KEYS if (line := _command_line(arguments.get(key)))), "")
    paths = tuple(
        value
        for key, value in arguments.items()
        if isinstance(value, str)
        and value.strip()
        and (_PATH.fullmatch(value) if key in _PATH_KEYS else _LOOKS_LIKE_PATH.fullmatch(value))
    )
    # An editor with several commands names them where a shell has its command line.
    is_verb = bool(paths) and re.fullmatch(r"\w+", command) is not None
    changes = _is_change(f"{call.name} {command if is_verb else ''}", arguments)
    others = tuple(
        (key, value)
        for key, value in arguments.items()
        if isinstance(value, str)
        and len(value) in _VALUE_CHARS
        and value == value.strip()
        and "\n" not in value
        and value not in (command, *paths)
        and key not in _CONTENT_KEYS
    )
    return CallFacts(
        tool=call.name,
        command="" if is_verb or len(command) > _COMMAND_CHARS else command,
        changed=paths if changes else (),
        read=paths if not changes and _READING.search(f"{call.name} {command}") else (),
        others=others,
    )


def written_in_patch(text: str) -> Iterator[str]:
    """Yield the files that a patch or a shell line writes."""
    for match in _WRITTEN.finditer(text):
        yield next(path for path in match.groups() if path).strip()


def shell_blocks(words: str) -> Iterator[str]:
    """Yield the commands of an agent that writes them into its words instead of calling a tool."""
    for match in _SHELL_BLOCK.finditer(words):
        if len(match[1]) <= _COMMAND_CHARS:
            yield match[1].strip()


def _is_change(name: str, arguments: dict[str, object]) -> bool:
    if re.search(r"\bview\b", name):
        return False
    return _CHANGING.search(name) is not None or not _CONTENT_KEYS.isdisjoint(arguments)


def _command_line(value: object) -> str:
    if isinstance(value, list) and len(value) > 2 and str(value[1]).startswith("-"):
        # Wrappers such as ["bash", "-lc", "…"] hold the command in their last word.
        value = value[-1]
    return value.strip() if isinstance(value, str) else ""
