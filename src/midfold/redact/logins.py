"""Finds passwords by the form of a login: SQL, mail and file servers, `.pgpass`, directives, calls."""

from midfold.late_patterns import compile_late
from midfold.redact.forms import Form, make_readers, make_screen, read_form
from midfold.redact.patterns import Detection, Secret, is_argument, is_mixed, is_password, is_random


def _is_given(value: bytes) -> bool:
    return is_password(value, is_quoted=True)


def _is_directive(value: bytes) -> bool:
    return is_password(value, is_quoted=True) and not _PROSE.fullmatch(value)


def _is_base64(value: bytes) -> bool:
    return is_random(value, min_chars=8)


_PROSE = compile_late(
    rb"[0-9]|[a-z]{1,4}|[A-Z_]+|option|phrase|command|setting|config\w*|directive|parameter\w*|string"
)
_QUOTE = r"\\{0,3}[\"']"
_IN_QUOTES = r"[^\s\"'\\][^\"'\\\r\n\f]{3,200}"
_IN_QUOTES_BEGINS = r"[^\s\"'\\]"
_RUN = r"[^\s\"'`\\;|<>]"
_USER = r"[\w.@+\\-]{1,64}"
_PAIRS = (
    r"networkcredential|pscredential|basicauth|basic_auth|passwordauthentication|\bauth[ \t]{0,2}=|"
    r"passwordcredentials?|wifi\.begin|\.login|auth_header"
)
# What writes a setting, and how those are named that hold a credential.
_SETS = (
    r"config[ \t](?:set|add)|CONFIG[ \t]SET|kv[ \t]put|etcdctl[ \t]put|secrets?[ \t](?:set|put|create|add)"
)
_SET_NAMES = r"(?i:password|passwd|pwd|_pass|requirepass|passphrase|secret|token)"
_DIGITS = [b"%d" % digit for digit in range(10)]
_LEAST_DIGITS = 3
_CONNECTS = r"(?:mysqli?_connect|mysqli|PDO|pg_connect|ftp_login|imap_open)[ \t]{0,2}\([ \t]{0,2}"
FORMS = (
    Form(
        "password",
        r"#[ \t]{0,4}define[ \t]{1,4}\w{0,40}(?:(?:PASS|PWD|_PSK|PASSWD)|PASSWORD|PASSPHRASE)[ \t]{1,16}\"",
        _IN_QUOTES_BEGINS,
        _IN_QUOTES,
        _is_given,
        screen=r"#[ \t]{0,4}define[ \t]{1,4}\w{1,40}[ \t]{1,16}\"",
    ),
    Form(
        "password",
        r"\b(?:IDENTIFIED[ \t]{1,4}(?:WITH[ \t]{1,4}\w{1,32}[ \t]{1,4})?BY[ \t]{1,4}\\{0,3}[\"']|"
        r"identified[ \t]{1,4}(?:with[ \t]{1,4}\w{1,32}[ \t]{1,4})?by[ \t]{1,4}\\{0,3}'|"
        rf"(?i:password)[ \t]{{0,4}}[ =(][ \t]{{0,4}}[nN]?{_QUOTE})",
        _IN_QUOTES_BEGINS,
        _IN_QUOTES,
        _is_given,
    ),
    Form(
        "password",
        r"(?i:convertto-securestring)[ \t]{1,4}(?:-(?i:string|asplaintext|force)[ \t]{1,4}){0,3}[\"']?",
        r"[^\s\"'$(-]",
        r"[^\"'\s][^\"'\r\n\f]{2,199}(?=[\"'])|[^\s\"'|;()]{4,200}",
        is_argument,
    ),
    Form(
        "password",
        rf"(?i:{_PAIRS})[ \t]{{0,2}}\([ \t]{{0,2}}"
        rf"{_QUOTE}{_USER}{_QUOTE},[ \t]{{0,4}}{_QUOTE}",
        _IN_QUOTES_BEGINS,
        _IN_QUOTES,
        _is_given,
        screen=rf"(?i:{_PAIRS})[ \t]{{0,2}}\([ \t]{{0,2}}[\"']",
    ),
    Form(
        "password",
        rf"{_CONNECTS}(?:{_QUOTE}?[^\"'\s,()]{{1,120}}{_QUOTE}?,[ \t]{{0,4}}){{2}}{_QUOTE}",
        _IN_QUOTES_BEGINS,
        _IN_QUOTES,
        _is_given,
        screen=rf"{_CONNECTS}[\"']",
    ),
    Form(
        "password",
        r"[\w*]:(?:[0-9]{4,5}|\*):[\w*-]{1,64}:[A-Za-z*][\w*.@-]{0,63}:",
        r"[^\s:/]",
        r"(?:[^\s:\\\"'`,;)]|\\[:\\]){4,200}(?=\s|$|\\n)",
        _is_given,
        screen=r"[\w*]:(?:[0-9]{4,5}|\*):[\w*-]{1,16}:[A-Za-z*]",
    ),
    Form(
        "password",
        rf"\b(?:requirepass|masterauth|(?<![a-z,][ \t])enable[ \t]{{1,4}}(?:secret|password)|"
        rf"username[ \t]{{1,4}}(?!and\b|or\b){_USER}[ \t]{{1,4}}"
        rf"(?:privilege[ \t]{{1,4}}[0-9]{{1,2}}[ \t]{{1,4}})?"
        rf"(?:secret|password)|neighbor[ \t]{{1,4}}[\w.:]{{1,60}}[ \t]{{1,4}}password|"
        rf"snmp-server[ \t]{{1,4}}community|wpa-psk)"
        rf"[ \t]{{1,4}}(?:[0-9][ \t]{{1,4}})?[\"']?",
        _RUN,
        _RUN + r"{4,200}",
        _is_directive,
        screen=r"\b(?:requirepass|masterauth|enable[ \t]{1,4}(?:secret|password)|username|neighbor|"
        r"snmp-server[ \t]{1,4}community|wpa-psk)[ \t]",
    ),
    Form(
        "password",
        r"[a-z]\.(?:psk|password)[ \t]{1,8}",
        _RUN,
        _RUN + r"{4,200}(?=[ \t]{0,4}(?:$|[\r\n]))",
        _is_directive,
    ),
    Form(
        "password",
        rf"(?i:redis|valkey)[^\s>]{{0,40}}>[ \t]{{0,2}}(?i:auth)[ \t]{{1,4}}(?:{_USER}[ \t]{{1,4}})?",
        _RUN,
        _RUN + r"{4,200}",
        _is_given,
    ),
    Form(
        "password",
        rf"[0-9][ \t]LOGIN[ \t]{{1,2}}[\"']?{_USER}[\"']?[ \t]{{1,2}}[\"']?",
        _RUN,
        _RUN + r"{4,200}(?=[\"']?[ \t]{0,4}(?:$|[\r\n\\]))",
        _is_given,
    ),
    Form(
        "password",
        rf"\bUSER[ \t]{{1,2}}{_USER}(?:\r?\n|\\r\\n|\\n)"
        r"(?:[^\r\n\\]{0,120}(?:\r?\n|\\r\\n|\\n))?[^\r\n\\]{0,20}?"
        r"\bPASS[ \t]{1,2}",
        _RUN,
        _RUN + r"{3,200}",
        _is_given,
        screen=r"\bUSER[ \t]{1,2}[\w.@+\\-]",
    ),
    Form(
        "password",
        r"(?:\b(?:ENV|ARG|setx|SetEnv)|\bset[ \t]{1,2}-[a-zA-Z]{1,4})[ \t]{1,4}"
        r"[A-Z][A-Z0-9_]{0,40}?(?:PASSWORD|PASSWD|PASS|PWD|TOKEN|SECRET|KEY)"
        r"(?:_[A-Z0-9]{1,12})?[ \t]{1,4}[\"']?",
        r"[^\s\"'$]",
        r"[^\s\"'$][^\s\"']{3,200}",
        is_argument,
        screen=r"(?:\b(?:ENV|ARG|setx|SetEnv)|\bset[ \t]{1,2}-[a-zA-Z]{1,4})[ \t]{1,4}[A-Z][A-Z0-9_]{2}",
    ),
    Form(
        "url-password",
        r"\bjdbc:oracle:[a-z0-9]{1,8}:[\w.$#-]{1,40}/",
        r"[^\s@]",
        r"[^\s@\"']{3,100}(?=@)",
        is_argument,
    ),
    Form(
        "password",
        rf"(?i:\b(?:credentials?|creds|logins?)(?:[ \t]{{0,2}}[:=])?[ \t]{{1,2}})"
        rf"{_USER}[ \t]{{0,2}}[/:|][ \t]{{0,2}}",
        r"[^\s]",
        r"[^\s\"'`,;/|]{5,100}",
        is_mixed,
        screen=r"(?i:\b(?:credentials?|creds|logins?)(?:[ \t]{0,2}[:=])?[ \t]{1,2})[\w.@+\\-]",
    ),
    Form(
        "token",
        r"(?i:_authtoken|secret_access_key|access_token|api_?key|secret_?key|auth_?token)[ \t]{1,4}[\"']?",
        r"[\w+/=-]{16}",
        r"[\w+/=-]{16,400}",
        lambda value: is_random(value) and sum(map(value.count, _DIGITS)) >= _LEAST_DIGITS,
    ),
    Form(
        "password",
        rf"\b(?:{_SETS})[ \t]{{1,4}}(?:-[\w=-]{{1,30}}[ \t]{{1,4}})?"
        rf"[\w./:-]{{0,80}}(?:{_SET_NAMES})[ \t]{{1,4}}[\"']?",
        _RUN,
        _RUN + r"{5,200}",
        is_mixed,
        screen=rf"\b(?:{_SETS})[ \t]{{1,4}}",
    ),
    Form(
        "password",
        r"(?:^|[^<])<<<[ \t]{0,4}\$?[\"']?",
        r"[^\s\"'`<]",
        r"[^\s\"'`;|<>]{6,200}?(?=[\"'`;|]|\s|\\|$)",
        is_mixed,
    ),
    Form(
        "password",
        r"\b(?:with|using)[ \t](?:password|passwd|pw|pass|passphrase)[ \t]{1,2}",
        r"[^\s\"'`]",
        r"[^\s\"'`,;]{6,128}",
        lambda value: is_mixed(value.rstrip(b".!?)")),
    ),
    Form(
        "password",
        r"(?i:[.>\s](?:set|with|use)_?(?:password|passwd|pwd|passphrase)\([ \t]{0,2}\\{0,3}[\"'])",
        _IN_QUOTES_BEGINS,
        _IN_QUOTES,
        _is_given,
    ),
    Form(
        "password", r":[ \t]{1,4}(?:PSK|EAP|XAUTH)[ \t]{1,4}[\"']", _IN_QUOTES_BEGINS, _IN_QUOTES, _is_given
    ),
    Form(
        "api-key",
        r"\bdefine\([ \t]{0,2}[\"'][A-Z_]{0,30}(?:KEY|SALT)[\"'][ \t]{0,4},[ \t]{0,4}[\"']",
        r"[^\s\"']",
        r"[^\"'\r\n\f]{20,200}(?=[\"'])",
        lambda value: is_random(value.replace(b" ", b"")),
        screen=r"\bdefine\([ \t]{0,2}[\"'][A-Z_]",
    ),
    Form(
        "password",
        rf"\b[a-z]{{2,20}}(?:Password|Passphrase)[ \t]{{1,4}}{_QUOTE}",
        _IN_QUOTES_BEGINS,
        _IN_QUOTES,
        _is_given,
    ),
    # What a script types where a password is asked for.
    Form(
        "password",
        r"assword[^\r\n]{0,12}[;\r\n \t]{1,6}send[ \t]{1,4}(?:--[ \t]{1,4})?\\{0,3}[\"{]",
        r"[^\s\"\\$}]",
        r"[^\"\\}\r\n$]{3,100}(?=\\{1,4}[rn])",
        is_argument,
    ),
    # A command that prints a password, and is told which.
    Form(
        "password",
        r"(?i:(?:pass(?:word|wd|phrase)?|credentials?|secret|token)[_-]?(?:command|cmd|eval|program))"
        r"\\{0,3}[\"']?[ \t]{0,4}[ =:][ \t]{0,4}\[?\\{0,3}[\"']?"
        r"(?:/\w{1,16}){0,3}/?(?:echo|printf)[ \t\"',\\]{1,6}",
        r"[^\s\"'`$]",
        r"[^\s\"'`\\;|]{3,200}",
        is_argument,
    ),
    Form(
        "private-key",
        r"<(?:D|P|Q|DP|DQ|InverseQ)>",
        r"[A-Za-z0-9+/]{16}",
        r"[A-Za-z0-9+/]{40,4000}={0,2}(?=</)",
        _is_base64,
    ),
    Form(
        "private-key",
        r"\\{0,3}\"d\\{0,3}\"[ \t]{0,4}:[ \t]{0,4}\\{0,3}\"",
        r"[\w-]{16}",
        r"[\w-]{40,4000}(?=\\{0,3}\")",
        _is_base64,
    ),
    Form(
        "secret",
        r"(?i:\b(?:seed|mnemonic|recovery)(?:[ _-]?(?:phrase|words|seed))?[\"']?)"
        r"(?:[ \t]{0,3}[:=]|[ \t]is[ \t]?:?)[ \t]{0,3}[\"']?",
        r"[a-z]{3,8} [a-z]{3}",
        r"(?:[a-z]{3,8} ){11,23}[a-z]{3,8}",
        lambda _value: True,
    ),
    Form("password", r"\bftp>[ \t]{0,4}PASS[ \t]{1,2}", _RUN, _RUN + r"{4,200}", _is_given),
    Form(
        "password",
        r"\b(?:machine[ \t]{1,8}[^\s]{1,80}|default)\s{1,8}login\s{1,8}[^\s]{1,80}\s{1,8}password\s{1,8}",
        r"[^\s]",
        r"[^\s]{4,200}",
        _is_given,
        screen=r"\b(?:machine[ \t]{1,4}[\w.-]{4}|default\s{1,4}login\s)",
    ),
    Form(
        "basic-auth",
        r"\bAUTH[ \t]{1,2}(?:PLAIN|LOGIN|XOAUTH2)[ \t]{1,2}",
        r"[A-Za-z0-9+/]{8}",
        r"[A-Za-z0-9+/]{8,4000}={0,2}",
        _is_base64,
    ),
    Form(
        "password",
        r"(?i:\b(?:user|username|login|account)\b[ \t:]{1,3}[\w.@+-]{1,40}[ \t,;/]{1,3}"
        r"(?:and[ \t]|with[ \t])?(?:the[ \t])?(?:password|passwd|pass|pw)[ \t]{1,3})",
        r"[^\s\"'`]",
        r"[^\s\"'`,;]{5,128}",
        lambda value: is_password(value.rstrip(b".!)"), is_quoted=False),
    ),
)
SCREEN = make_screen(FORMS).encode()
_READERS = make_readers(FORMS)


def read_login(data: bytes, start: int) -> Detection:
    """Read what the screen found at `start`."""
    found = read_form(_READERS, data, start)
    return Detection(tuple(_trimmed(data, secret) for secret in found.secrets), found.resume)


PIPED_SCREEN = (
    rb"[\"'][ \t]{0,4}\|[ \t]{0,4}(?i:convertto-securestring)|"
    rb"[ \t]as[ \t](?:(?:the|a|my|your|its|our)[ \t])?(?i:password|passphrase|passcode|passwort|kennwort)\b"
)
"""A string that is piped into what makes a password of it, or a word that is named as one behind."""
PIPED_CHARS = 200
_PIPED = compile_late(rb"[\"'](?P<value>[^\"'\r\n\f]{3,%d})$" % (PIPED_CHARS - 1))

_WORD_BEFORE = compile_late(rb"(?<![^\s\"'`(])(?P<value>[^\s\"'`(]{5,100})[\"'`]?$")


def read_piped(data: bytes, start: int) -> Detection:
    """Read the string that ends at `start`."""
    is_word = data[start] in b" \t"
    found = (_WORD_BEFORE if is_word else _PIPED).search(data, max(0, start - PIPED_CHARS), start)
    if found is None or not (is_mixed if is_word else is_argument)(found["value"]):
        return Detection((), start + 1)
    return Detection((Secret("password", *found.span("value")),), start + 1)


def _trimmed(data: bytes, secret: Secret) -> Secret:
    """Leave out the stop of a sentence."""
    value = data[secret.start : secret.stop]
    return Secret(secret.kind, secret.start, secret.start + len(value.rstrip(b".,)")))
