"""Finds passwords on command lines: in the options and arguments by which each tool takes one.

The screen knows the names of the tools, and what every tool has in common: a user's option with a password's
next to it. A command is read to the end of its line, and no further than some hundred characters.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.redact.patterns import Detection, Secret, is_argument

_MAX_COMMAND_CHARS = 400
_GAP = r"[ \t]{1,8}"
_TO_OPTION = r"(?:[^|;\r\n\f]{0,300}?[ \t])??(?:\\\r?\n[ \t]{0,16})?"
_ARGUMENT = r"(?:'[^'\r\n\f]{0,200}'|\"[^\"\r\n\f]{0,200}\"|[^\s'\"|;&<>`\f-][^\s'\"|;&<>`\f]{0,200})"
_JOINT = rf"(?:{_GAP}|=)"


@dataclass(frozen=True, slots=True)
class PasswordCommand:
    """A tool that takes a password: its names, what stands between them and it, what must follow."""

    names: str
    lead: str
    after: str = ""


def _option(names: str, joint: str = _JOINT) -> str:
    return rf"{_GAP}{_TO_OPTION}(?:{names}){joint}"


_LOGINS = "docker podman nerdctl buildah skopeo helm oras crane az oc cf npm flyctl"
_END = r"[ \t]{0,8}(?:$|[\r\n|;&>])"
_PIPE = r"[ \t]{0,4}\|[ \t]{0,4}"
COMMANDS = (
    PasswordCommand(r"(?:mysql|mariadb|percona-)[a-z-]{0,16}", _option("-p", r"(?=[^\s-])")),
    PasswordCommand(
        rf"(?:{_LOGINS.replace(' ', '|')})",
        rf"{_GAP}(?:[\w./:-]{{1,80}}[ \t]{{1,4}}){{0,3}}login{_option('-p')}",
    ),
    PasswordCommand("sshpass", _option("-p", r"[ \t]{0,4}")),
    PasswordCommand("(?:redis|valkey|keydb)-(?:cli|benchmark)", _option("-a|--pass")),
    PasswordCommand("mongo(?:sh|dump|restore|export|import|stat|top|files)?", _option("-p")),
    PasswordCommand(
        "ldap(?:search|add|modify|delete|passwd|whoami|compare|modrdn)", _option("-[wsa]", r"[ \t]{0,4}")
    ),
    PasswordCommand(
        r"(?:smbclient|rpcclient|smbmap|smbget|smbcacls|winexe|net|mount\.cifs)",
        _option(r"-U[ =]{0,2}['\"]?[^\s%'\"]{1,80}%|--user=['\"]?[^\s%'\"]{1,80}%", ""),
    ),
    PasswordCommand(
        "net",
        rf"{_GAP}(?i:use){_GAP}(?:[\w*]:|\\\\)\S{{0,120}}{_GAP}(?:\\\\\S{{1,120}}{_GAP})?(?i:/user:\S{{1,80}}{_GAP})?",
    ),
    PasswordCommand("net", rf"{_GAP}(?i:user){_GAP}[\w.\\-]{{1,80}}{_GAP}", r"[ \t]{0,4}(?:/|$|[\r\n])"),
    PasswordCommand(
        "htpasswd",
        rf"{_GAP}-[A-Za-z]{{0,6}}b[A-Za-z]{{0,6}}(?:{_GAP}-[A-Za-z]{{1,4}}){{0,2}}(?:{_GAP}{_ARGUMENT}){{1,2}}{_GAP}",
        _END,
    ),
    PasswordCommand("openssl", _option("-pass(?:in|out)?", rf"{_JOINT}[\"']?pass:")),
    PasswordCommand("openssl", _option("-k", _GAP)),
    PasswordCommand("ssh-keygen", _option("-N", _GAP)),
    PasswordCommand("ssh-keygen", _option("-P", _GAP)),
    PasswordCommand("(?:useradd|usermod)", _option("-p|--password")),
    PasswordCommand("mc", rf"{_GAP}(?:alias|config host){_GAP}(?:set|add)(?:{_GAP}{_ARGUMENT}){{3}}{_GAP}"),
    PasswordCommand("(?:zip|unzip)", _option("-P", _GAP)),
    PasswordCommand("(?:7z[azr]?|7zz|rar|unrar)", _option("-h?p", r"(?=[^\s-])")),
    PasswordCommand("(?:https?|xh)", _option("-a|--auth", rf"{_JOINT}[\"']?[^\s:\"']{{1,80}}:")),
    PasswordCommand("(?:lftp|sftp)", _option("-u", rf"{_GAP}[\"']?[^\s,\"']{{1,80}},")),
    PasswordCommand(
        "(?:ncftp|ncftpput|ncftpget|cadaver|evil-winrm|crackmapexec|hydra|medusa|netexec|nxc|mycli|pgcli)",
        _option("-p"),
    ),
    PasswordCommand("(?:sqlcmd|bcp|isql|osql|tsql|sqsh|ipmitool)", _option("-P")),
    PasswordCommand(
        "rabbitmqctl",
        rf"{_GAP}(?:[^\s;|]{{1,80}}{_GAP}){{0,3}}(?:add_user|change_password){_GAP}{_ARGUMENT}{_GAP}",
    ),
    PasswordCommand("(?:[xw]freerdp3?|rdesktop|cmdkey|schtasks)", rf"{_GAP}{_TO_OPTION}/(?i:p|pass|rp):"),
    PasswordCommand("wpa_passphrase", rf"{_GAP}{_ARGUMENT}{_GAP}"),
    PasswordCommand(
        "(?:sqlplus|impdp|expdp|sqlldr|rman)",
        rf"{_GAP}(?:-[A-Za-z]{{1,4}}{_GAP}){{0,3}}[\"']?[\w.$#]{{1,40}}/",
    ),
    PasswordCommand("(?:kinit|cryptsetup|sudo|passwd)", _option("<<<", r"[ \t]{0,4}")),
    PasswordCommand("chpasswd", _option("<<<", r"[ \t]{0,4}[\"']?[\w.-]{1,32}:")),
    PasswordCommand("twine", _option("-p")),
    PasswordCommand(
        "vault", rf"{_GAP}login{_GAP}(?:-[\w=/-]{{1,40}}{_GAP}){{0,3}}(?=[A-Za-z.-]{{0,40}}[0-9])", _END
    ),
    PasswordCommand("snmp[a-z]{2,12}", _option("-A", _GAP)),
    PasswordCommand("snmp[a-z]{2,12}", _option("-X", _GAP)),
    PasswordCommand(
        "impacket-[A-Za-z]{2,20}", rf"{_GAP}{_TO_OPTION}[\"']?(?:[\w.-]{{1,40}}/)?[\w.-]{{1,40}}:"
    ),
    PasswordCommand("nmcli", _option(r"password|[\w.-]{1,40}\.psk", _GAP)),
    PasswordCommand(
        "aws", rf"{_GAP}configure{_GAP}set{_GAP}[\w.-]{{0,60}}(?:secret_access_key|session_token){_GAP}"
    ),
    PasswordCommand("(?:gh|glab)", _option("--with-token", _GAP)),
    PasswordCommand(
        "(?:echo|printf)", rf"(?:{_GAP}-[neE]{{1,3}})?{_GAP}", rf"{_PIPE}sudo[ \t]{{1,4}}-[A-Za-z]{{0,4}}S"
    ),
    PasswordCommand(
        "(?:echo|printf)",
        rf"(?:{_GAP}-[neE]{{1,3}})?{_GAP}",
        rf"{_PIPE}(?:sudo[ \t]{{1,4}})?(?:[^|;\r\n]{{0,80}}--(?:password-)?stdin|kinit|cryptsetup)",
    ),
    PasswordCommand(
        "(?:echo|printf)",
        rf"(?:{_GAP}-[neE]{{1,3}})?{_GAP}(?=[^\s|]{{0,40}}[0-9])",
        rf"[\"']?{_PIPE}[^|;\r\n]{{0,40}}\b(?:secrets?|passw\w{{0,4}})\b",
    ),
    PasswordCommand("doveadm", _option("-p", _GAP)),
    PasswordCommand("security", rf"{_GAP}(?:add|set)-[a-z-]{{4,40}}{_TO_OPTION}-[wpP]{_GAP}"),
    PasswordCommand(
        "(?:echo|printf)",
        rf"(?:{_GAP}-[neE]{{1,3}})?{_GAP}[\"']?[\w.-]{{1,32}}:",
        rf"[\"']?{_PIPE}(?:sudo[ \t]{{1,4}})?chpasswd",
    ),
)
# What many tools have in common, whatever their names.
_USER = r"(?:-[uU]|--user(?:name)?)[ \t=]{0,2}[\"']?[A-Za-z][\w.@\\-]{0,40}[\"']?"
_GIVEN = r"-[pP](?:[ \t]{1,4}|=)"
_PAIR_BEGINS = rf"[ \t]{_USER}[ \t]{{1,4}}{_GIVEN}[^\s-]"
_PAIR = rf"[ \t]{_USER}[ \t]{{1,4}}{_GIVEN}"
_NAMES = "|".join(dict.fromkeys(tool.names for tool in COMMANDS))

SCREEN = rf"\b(?:{_NAMES})(?:\.exe)?[ \t]{{1,8}}[^\s]|{_PAIR_BEGINS}".encode()

_NAME = compile_late(rf"\b(?:{_NAMES})(?:\.exe)?(?=[ \t])".encode())
_MAX_NAMES = 4
"""More tools than that are not started on one line; what follows is a line of its own."""
_PAIR_READER = compile_late(_PAIR.encode())
_VALUE = compile_late(
    rb"'(?P<single>[^'\r\n\f]{1,200})'|\"(?P<double>[^\"\r\n\f]{1,200})\"|(?P<bare>[^\s'\"|;&<>`\f]{1,200}+)"
)
_LINE = compile_late(rb"(?:[^\r\n\f\\]|\\\r?\n|\\[^\r\n\f]){1,%d}+" % _MAX_COMMAND_CHARS)


@dataclass(frozen=True, slots=True)
class _CommandReader:
    lead: re.Pattern[bytes]
    after: re.Pattern[bytes]


_NAMED_READERS = tuple(
    (
        compile_late(tool.names.encode()),
        _CommandReader(compile_late(tool.lead.encode()), compile_late(tool.after.encode())),
    )
    for tool in COMMANDS
)


@lru_cache(256)
def _readers(name: bytes) -> tuple[_CommandReader, ...]:
    """Return the readers for a tool's name; there are few tools, but for those that begin alike."""
    return tuple(reader for names, reader in _NAMED_READERS if names.fullmatch(name.removesuffix(b".exe")))


def read_command(data: bytes, start: int) -> Detection:
    """Read the command that the screen found at `start`, and those that follow on its line."""
    pair = _PAIR_READER.match(data, start)
    if pair:
        secret = _read_value(data, pair.end())
        return Detection((secret,) if secret else (), secret.stop if secret else pair.end())
    line = _LINE.match(data, start)
    stop = line.end() if line else start + 1
    found: list[Secret] = []
    for number, name in enumerate(_NAME.finditer(data, start, stop)):
        if number == _MAX_NAMES:
            stop = name.start()
            break
        found += _read_tool(data, name[0], name.end(), stop)
    if not found and (pair := _PAIR_READER.search(data, start, stop)):
        found += filter(None, [_read_value(data, pair.end())])
    return Detection(tuple(found), max([stop, *(secret.stop for secret in found)]))


def _read_tool(data: bytes, name: bytes, start: int, stop: int) -> Iterator[Secret]:
    """Yield the password of a tool, if it is given one before `stop`."""
    for reader in _readers(name):
        lead = reader.lead.match(data, start, stop)
        secret = _read_value(data, lead.end()) if lead else None
        if secret and reader.after.match(data, secret.stop + (data[secret.start - 1] in b"\"'")):
            yield secret


def _read_value(data: bytes, start: int) -> Secret | None:
    value = _VALUE.match(data, start)
    if value is None or not is_argument(value[value.lastgroup or 0]):
        return None
    return Secret("password", *value.span(value.lastgroup or 0))
