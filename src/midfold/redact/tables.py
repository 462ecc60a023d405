"""Finds passwords in tables: in the rows below a cell that says so, with bars, commas or tabs between."""

from collections.abc import Iterator
from itertools import pairwise

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.redact.ascii_text import LOGIN_WORD
from midfold.redact.patterns import Pattern, Secret, has_letters_only, is_mixed, is_password, is_random
from midfold.redact.places import Place, is_value

_MAX_LINE_CHARS = 2_000
_LOGINS = (
    r"passwords?|passwd|passphrase|passcode|pwd|passwort|kennwort|wachtwoord|mot de passe|contrase.a|senha|"
    rf"has\?o|heslo|{LOGIN_WORD}"
)
_KEYS = r"(?:api|access|secret|auth)[ _-]?(?:key|token)|client[ _-]?secret"
_CELL = rf"(?:[a-z0-9]{{1,16}}[ _-])?(?:{_LOGINS}|{_KEYS})"
_EDGE = r"[*\"'`]{0,2}"
_NAMED = rf"{_EDGE}{_CELL}{_EDGE}[ ]{{0,64}}"
_REST = r"[^\r\n]{0,200}\r?\n"
_RULED = (
    rf"(?:(?m:^)|\|)[ ]{{0,16}}{_NAMED}(?:\|{_REST}|\r?\n)[ |:+=\t-]{{0,200}}--[ |:+=\t-]{{0,200}}\r?(?:\n|$)"
)
_BARE = (
    rf"(?:^|\n\r?\n|```[a-z]{{0,4}}\n|:\n)(?:[^\r\n|]{{0,120}}[,;\t])?{_NAMED}(?:[,;\t]{_REST}|\r?\n)[^\s]"
)
_ROW = rf"\|[ ]{{0,16}}{_NAMED}\|[ ]{{0,64}}{_EDGE}[^\s|]{{0,40}}[0-9!@#$%^&][^\s|]{{2}}"
SIGN = rf"(?i:(?:{_LOGINS}|{_KEYS}){_EDGE}[ ]{{0,64}}[|,;\t\r\n])".encode()
"""The end of a cell that names a password: without one there is no such table. Cheap, unlike `SCREEN`."""
SCREEN = rf"(?i:{_RULED}|{_BARE}|{_ROW})".encode()
"""A table's first line, if it names a password, or a row that does and has a value behind."""
_NAMES_LOGIN = compile_late(rf"(?i)(?:[a-z0-9]{{1,16}}[ _-])?(?:{_LOGINS})".encode())
_NAMES_KEY = compile_late(rf"(?i)(?:[a-z0-9]{{1,16}}[ _-])?(?:{_KEYS})".encode())
# Beside a column of users a word is a password, also without a rule below the titles.
_NAMES_USER = compile_late(
    rb"(?i)(?:user|username|user[ _-]name|login|e-?mail|account|benutzer\w*|usuario|utilisateur)"
)
_RULE = compile_late(rb"[ |:+=\t-]*--[ |:+=\t-]*\r?")
_TITLE = compile_late(rb"[\w .#?\"'-]{1,40}")
_SEPARATORS = (b"|", b"\t", b";", b",")
_TRIMMED = b" \t\r*\"'`"


@dataclass(frozen=True, slots=True)
class _Cell:
    start: int
    text: bytes


def find_columns(data: bytes, screen: Pattern) -> Iterator[Secret]:
    """Yield the credentials below the cells that `screen` finds; every line is read once."""
    position = 0
    while (match := screen.search(data, position)) is not None:
        at = match.start()
        while at < len(data) and data[at] in b"\r\n`:":  # it may begin with the end of what is before
            at += 1
        start = data.rfind(b"\n", max(0, at - _MAX_LINE_CHARS), at) + 1
        stop = data.find(b"\n", at)
        stop = stop if stop >= 0 else len(data)
        position = max(stop, match.start() + 1)
        if (start or at < _MAX_LINE_CHARS) and stop - at < _MAX_LINE_CHARS:
            secrets, position = _read_table(data, start, stop)
            yield from secrets


def _read_table(data: bytes, start: int, stop: int) -> tuple[list[Secret], int]:
    """Read the table whose first line is data[start:stop]; return what it holds, and where it ends."""
    header = data[start:stop]
    separator = next((each for each in _SEPARATORS if each in header), b"")
    titles = _split(header, start, separator)
    columns = [
        (index, _NAMES_LOGIN.fullmatch(title.text) is not None)
        for index, title in enumerate(titles)
        if _NAMES_LOGIN.fullmatch(title.text) or _NAMES_KEY.fullmatch(title.text)
    ]
    position = stop + 1
    rule = _line(data, position)
    is_ruled = _RULE.fullmatch(rule) is not None
    if not columns or not (is_ruled or _is_bare(data, start, separator, titles)):
        return _read_row(titles) if separator == b"|" else [], stop
    names_users = any(_NAMES_USER.fullmatch(title.text) for title in titles)
    found: list[Secret] = []
    rows: dict[bytes, list[Secret] | None] = {}
    while position < len(data):
        line = _line(data, position)
        if line not in rows:
            rows[line] = _read_cells(
                line, separator, titles, columns, may_be_word=bool(separator) and (is_ruled or names_users)
            )
        row = rows[line]
        if row is None:
            break
        found += [Secret(each.kind, position + each.start, position + each.stop) for each in row]
        position += len(line) + 1
    return found, position


def _read_cells(
    line: bytes, separator: bytes, titles: list[_Cell], columns: list[tuple[int, bool]], *, may_be_word: bool
) -> list[Secret] | None:
    """Return the credentials of a row, counted from its beginning; `None` where the table is over."""
    if _RULE.fullmatch(line):
        return []
    cells = _split(line, 0, separator)
    if len(cells) != len(titles) or not line.strip():
        return None
    return [
        Secret("password" if is_login else "api-key", cells[index].start, _stop(cells[index]))
        for index, is_login in columns
        if _is_credential(cells[index].text, is_login=is_login, may_be_word=may_be_word)
    ]


def _read_row(cells: list[_Cell]) -> list[Secret]:
    """Read a row in which the cell behind a name holds its value."""
    return [
        Secret("password", value.start, _stop(value))
        for name, value in pairwise(cells)
        if (_NAMES_LOGIN.fullmatch(name.text) or _NAMES_KEY.fullmatch(name.text)) and is_mixed(value.text)
    ]


def _is_bare(data: bytes, start: int, separator: bytes, titles: list[_Cell]) -> bool:
    """Whether this is the first line of values with separators: names only, and nothing right before it."""
    if separator in (b"", b"|") or not all(_TITLE.fullmatch(title.text) for title in titles):
        return False
    return start == 0 or data[:start].endswith(
        (b"\n\n", b"\r\n\r\n", b"```\n", b"csv\n", b":\n"), max(0, start - 4)
    )


def _split(line: bytes, start: int, separator: bytes) -> list[_Cell]:
    """Return the cells of a line, without blanks, quotes and emphasis around them."""
    cells = []
    for text in line.split(separator) if separator else [line]:
        inner = text.lstrip(_TRIMMED)
        cells.append(_Cell(start + len(text) - len(inner), inner.rstrip(_TRIMMED)))
        start += len(text) + 1
    return cells


def _stop(cell: _Cell) -> int:
    return cell.start + len(cell.text)


def _is_credential(value: bytes, *, is_login: bool, may_be_word: bool) -> bool:
    if b" " in value:
        return False
    if not is_login:
        return is_random(value)
    if has_letters_only(value):
        return may_be_word and is_value(value, Place.SENTENCE, may_be_type=True) and _is_long(value)
    return is_password(value, is_quoted=False)


def _is_long(value: bytes) -> bool:
    return is_password(value.replace(b"?", b""), is_quoted=True)


def _line(data: bytes, start: int) -> bytes:
    stop = data.find(b"\n", start)
    return data[start : stop if stop >= 0 else len(data)]
