"""Finds credentials by the name they are given: in settings, code, JSON, YAML, options, queries, sentences.

The screen asks for a suspicious name, a sign of assignment and the beginning of a value; most of what a name
such as `token` is set to in code never gets further. What does is read here, and judged by `secrets`.
"""

import re
from itertools import groupby

from midfold.late_patterns import compile_late
from midfold.redact.ascii_text import KEY_WORD, LOGIN_WORD
from midfold.redact.patterns import (
    MAX_VALUE_CHARS,
    Detection,
    Secret,
    has_letters_only,
    is_argument,
    is_mixed,
    is_name,
    is_numbered,
    is_passphrase,
    is_password,
    is_random,
    is_short_key,
    is_word,
)
from midfold.redact.places import Place, find_place, is_value


def _one_of(words: str) -> str:
    """Choose between words by their first letter: a choice of few is quick where there is no automaton."""
    groups = groupby(sorted(words.split()), key=lambda word: word[0])
    choices = [f"{letter}(?:{'|'.join(word[1:] for word in group)})" for letter, group in groups]
    return f"(?:{'|'.join(choices)})"


_KEYS = (
    "access account admin api app application auth cipher client consumer crypto deploy encryption function "
    "hmac jwt license licence master preshared private root secret secret_?access server service session "
    "shared sharedaccess signing storage subscription webhook write"
)
# Names of several languages; in ASCII a letter with an accent is a question mark.
_PASSWORDS = (
    r"password passwd passphrase passcode pwd _pass -pass _pw psk secretstring requirepass masterauth "
    r"passwort kennwort wachtwoord contrase.a senha palavra.passe clave parola(?:n\?z)? salasana heslo "
    r"passord adgangskoden? mot.de.passe mdp has\?o l\?senord l\?senordet jelsz\? m\?t.kh\?u kata.sandi "
    r"kata.sandinya dbpass smbpass ftppass userpass adminpass rootpass mailpass smtppass ldappass sudopass "
    rf"{LOGIN_WORD}"
)
_SHORT_NAME = r"\b(?-i:[Pp]ass|[Pp]w|PW)"
_SECRETS = (
    rf"secret {KEY_WORD} token credentials? phpsessid jsessionid sessionid= "
    r"api.?schl\?ssel zugangsschl\?ssel cl\?.(?:d.)?api chiave.api chave.(?:d[ae].)?api api.?nyckel "
    r"jeton(?:.d.acc\?s)?"
)
_SETTINGS = r"(?-i:[A-Z0-9]_(?:KEY|PAT|AUTH|SALT))"
_TURKISH = r"\?ifre(?:si|miz|niz|m)?"
LOGIN_NAME = rf"(?:{_one_of(_PASSWORDS)}|{_TURKISH})"
"""A name for a password."""
NAME = rf"(?:{_one_of(f'{_PASSWORDS} {_SECRETS}')}|{_one_of(_KEYS)}[ _-]?key|{_SETTINGS}|{_TURKISH})"
"""A name for a password, a key or a token."""
_SUFFIX = (
    r"(?:[_-]?(?:[0-9]{1,3}|prod|production|dev|development|staging|test|live|old|new|value|primary|"
    r"secondary|b64|base64|base|hex|main|backup|default|data|plain))?"
)
# A terminal's colours and the ways to write a quote that are not one.
_WRAP = (
    r"(?:(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;]{0,12}m|&(?:quot|apos|#3[49]|#x2[27]);|%2[27]|\\u002[27]|"
    r"\\x2[27]|\\u200[b-f]|\\ufeff|\x1b\]8;[^\x07\x1b]{0,120}(?:\x07|\x1b\\)|<!\[cdata\[)"
)
_CLOSING = rf"\*{{0,2}}(?:\\{{0,3}}[\"'`]|{_WRAP})?\]?\*{{0,2}}[ \t]{{0,8}}"
_TYPE = r"[ \t]{0,2}(?:&(?:'static[ \t])?)?[a-z:]{0,8}(?:str|string|bytes)\??[ \t]{0,2}(?:\| ?none ?)?"
# Languages say "is", and what was done with it; in ASCII a letter with an accent is a question mark.
_BE = r"is|was|to|je|c.est|este|ist|war|lautet|est|es|era|er|jest|adalah|l\?|\?r|\?"
_DONE = (
    r"(?:is|was|has[ \t]been)[ \t](?:generated|created|set|reset|changed)"
    r"(?:[ \t](?:for|of)[ \t][^\s:]{1,60})?(?::|[ \t](?:to|as)\b:?)"
)
_IS = rf"[ \t](?:{_DONE}|(?:{_BE})\b:?)"
# What types a text into the field of that name.
_TYPES = r"(?:send_?keys|fill|type\w{0,10}|set_?value|val|enter_?text|press_?sequentially)"
_ATTRIBUTES = r"(?:[ \t][a-z-]+=[\"'][^\"'<>]*[\"']){0,3}"
# Other fields between the one with the name and the one with the value.
_FIELDS = r"(?:,[ \t\r\n]{0,20}\"[a-z]+\"[ ]?:[ ]?\"[a-z0-9_.-]*\")?"
_OPTIONS = r"(?:[ \t]{1,4}--[a-z-]+[ \t=]{1,4}[a-z]+){0,3}"
_SETTINGS_OF = r"(?:[a-z_]+[ \t]{0,12}=[^\r\n=]+\s{1,20}){0,3}"
_VALUE_OF = (
    rf"(?:[\"'\]]{{0,3}}\)\.{_TYPES}\(|[\"']?>\s{{0,20}}<(?:value|val|string)>|"
    rf"{_OPTIONS}[ \t]{{1,4}}--value[ \t=]{{1,4}}|{_ATTRIBUTES}[ \t]value=|"
    rf"{_FIELDS}[,;/ \t\r\n]{{1,40}}[\"']?value[\"']?[ \t]{{0,4}}[:=]|</key>\s{{0,20}}<string>|"
    rf"[ \t]{{0,4}}\{{\s{{0,20}}{_SETTINGS_OF}default[ \t]{{0,8}}=|"
    r"[ \t][a-z:]{1,20}=[\"'][^\"'<>]{0,100}[\"']>)"
)
_SIGN = (
    rf"(?:[=-]>|\.{{2,8}}:|:{_TYPE}=|:=|(?:\|\||\?{{1,2}})?={{1,3}}|:|%3[ad]|\\u003[ad]|\\x3[ad]|&#(?:58|61);|>|{_IS})\*{{0,2}}"
    r"[ \t]{0,8}(?:(?:new[ ])?(?:std::)?(?:string|securestring|str|bytes|buffer\.from)\([ ]{0,2})?"
)
_OF = (
    r"(?:'s)?[ \t](?:for|of|to|on|at|from|in|de|du|des|del|da|do|van|von|voor|till|pro|der|zum|zur|pour|para|"
    r"untuk|per|dla|"
    r"til|f\?r)"
    rf"(?:[ \t][a-z0-9_.@'/:-]{{1,32}}){{1,3}}(?:[ \t]{{1,2}}(?:{_BE}|to)[ \t]?:?|[ \t]?:)[ \t]{{1,4}}"
)
# A word between, of another script: "is".
_OTHER_SCRIPT = (
    rf"(?:{LOGIN_WORD}(?:[ ?]{{1,12}}[:=][ \t]{{0,4}}|[ \t]?\?{{1,4}}[ \t]{{1,2}}|[ \t]{{0,2}})|"
    r"\?ifre(?:si|miz|niz)[ \t]{1,2})"
)
_PAIR_SIGN = r"\\{0,3}[\"'],[ \t]{0,4}"
_OPTION = r"(?:--|[ \t]-)(?:[a-z0-9]{1,20}-){0,3}"
_STORE_OPTION = r"[ \t]-(?:src|dest)?(?:store|key)pass[ \t]{1,4}"
_QUERY = (
    r"(?:[?&;]|u0026)(?:key|sig|signature|auth|jwt|sid|pass|hmac|appid|code|"
    r"x-(?:amz|goog)-(?:signature|credential))="
)


def _lead(name: str) -> str:
    return (
        rf"(?:{_OPTION}(?:{name}|pass)(?:[ \t]{{1,4}}|=)|{_STORE_OPTION}|"
        rf"{name}[\"']?{_VALUE_OF}[ \t]{{0,4}}|"
        rf"{name}{_SUFFIX}(?:{_CLOSING}{_SIGN}|{_PAIR_SIGN}|{_OF})|"
        rf"{_SHORT_NAME}[\"'`]?[ \t]{{0,4}}{_SIGN}|{_OTHER_SCRIPT})"
    )


_LEAD = rf"(?:{_QUERY}|{_lead(NAME)})"
_OPENING = rf"(?:[bruf@]{{0,2}}\\{{0,3}}(?:\"{{3}}|'{{3}}|[\"'`])|(?:{_WRAP}[ \t]{{0,2}}){{1,2}})"

# How a value begins. In quotes it may be a word that is closed again. Out of quotes, what has neither digit
# nor sign is a word, unless nothing but a value can stand there.
_QUOTED_SIGN = r"(?:[^a-z\"'`\s=:\\]|[=:][^\"'`\s]| [^\"'`\r\n\f]{2})"
_BARE_SIGN = r"[0-9!@#%^*+/~?-]"
_BEGINNING = (
    rf"(?:{_OPENING}(?:[a-z]{{4,64}}(?:[\"'`\\\r\n\f&%\x1b]|$)|[a-z]{{4,64}}{_QUOTED_SIGN}|"
    rf"[a-z]{{0,3}}{_QUOTED_SIGN}[^\"'`\r\n\f]{{1}})|"
    rf"[a-z]{{20}}|[a-z_.:,;&$]{{4,64}}{_BARE_SIGN}|[a-z_.:,;&$]{{0,3}}{_BARE_SIGN}[^\s\"'`]{{1}})"
)
_BARE_WORD = r"(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|SECRET|TOKEN|_KEY)[A-Z0-9_]{0,12}=[A-Za-z]{5}"

_BARE_KEY = r"(?:secret|token|api_?key)=[a-z]{5}"

SCREEN = (
    rf"(?i:{_LEAD}{_BEGINNING}|{_lead(LOGIN_NAME)}{_WRAP}?[a-z]{{4}}|{_BARE_KEY})|{_BARE_WORD}"
).encode()

_LEAD_PATTERN = compile_late(rf"(?i)(?P<lead>{_LEAD})(?P<quote>{_OPENING})?".encode())
# Names that end like a credential's and are none.
_NOT_SECRET = compile_late(
    rb"(?:page|next|continuation|cursor|sync|bos|eos|pad|unk|sep|cls|mask|stop|special)[_-]?token|"
    rb"(?:public|publishable|primary|foreign|cache|sort|partition|unique)[_-]?key|"
    rb"(?-i:\$PWD|OLDPWD|\bPWD[ \t])",
    re.IGNORECASE,
)
_NOT_SECRET_CHARS = 16
_IS_PASSWORD = compile_late(rf"(?i){LOGIN_NAME}|pass\b|\bpw\b".encode())
_IS_SHORT = compile_late(rf"{_SHORT_NAME}\b".encode())
_PAIR = compile_late(_PAIR_SIGN.encode() + rb"$")
_CAPITALS = compile_late(rb"[A-Z0-9_]+[\"']")
_SETTER = compile_late(rb"(?i:(?:set|put|add|env|define|with|prop|param)\w{0,20}\(\s{0,4}[\"'][\w.]{0,40}$)")
_NO_SIGN = compile_late(rb"(?:" + LOGIN_WORD.encode() + rb"|\?ifre\w{0,3})[ \t?]*", re.IGNORECASE)
_TO = compile_late(rb"[ \t](?:to|je)[ \t]?:?[ \t]+$", re.IGNORECASE)
_PHRASE = compile_late(rb"(?i:psk|wpa)")
_SMALL = compile_late(rb"[a-z]")
_ENVIRONMENT = compile_late(rb"[A-Z0-9_]+=")
# A comma, a semicolon or an ampersand ends a value only where another assignment follows.
_BARE = compile_late(
    rb"(?:[^\s\"'`\\,;&|<>(){}\[\]\x1b%%]|[,;&](?![\w.%%-]{0,60}[=:]|[\s,;&]|quot;|$)|"
    rb"%%(?!2[267])|\\(?!u00|x[0-9a-f])[^nrt\"'`\s]){1,%d}+" % MAX_VALUE_CHARS
)
# Behind a name of another script, the rest of the sentence may follow without a blank.
_BARE_ASCII = compile_late(rb"[^\s\"'`\\,;&|<>(){}\[\]\x1b?]{1,%d}+" % MAX_VALUE_CHARS)
# Letters of another script with a number or the like behind, and nothing more of that script.
_FOREIGN = compile_late(rb"(?:\?{2,32}[A-Za-z0-9!@#$%^&*_]{3,32}|\?{5,32}[0-9]{2})(?=[\s,.;!\"'`)]|$)")
_QUOTED = {
    quote: compile_late(rb"(?:[^\\\r\n\f%b]|\\[^\r\n\f]){1,%d}+" % (quote, MAX_VALUE_CHARS))
    for quote in (b'"', b"'", b"`")
}
_IN_ESCAPED_QUOTES = compile_late(rb"[^\\\"'`\r\n\f]{1,%d}+" % MAX_VALUE_CHARS)
_IN_OTHER_SCRIPT = compile_late(rb"[?\x02\x03]")
_TRAILING = b".,;:?)]}>\\&"
_CALLS = (b"(", b"[", b"{")
# Before what is no field: a type's name of several parts, the name of a resource.
_IN_PATH = compile_late(rb"(?:\w::\w{1,60}::\w{0,40}|\barn:[\w*-]{1,20}:[^\s\"']{0,160}:)$")
_PATH_CHARS = 200
_KEY_TYPE = compile_late(rb"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Key|Token|Credential|Secret)(?:Types?|s)?")
_CONSTANT = compile_late(rb"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_DEFAULT = compile_late(rb"[ \t]=[ \t]")
# A key that signs may be a sentence that someone made up.
_SIGNS = compile_late(
    rb"(?i:(?:sign(?:ing)?|jwt|hmac|encryption|session|cookie|app(?:lication)?)[ _-]?(?:key|secret))"
)


def read_assignment(data: bytes, start: int) -> Detection:
    """Read the assignment that the screen found at `start`."""
    lead = _LEAD_PATTERN.match(data, start)
    if lead is None:
        return Detection((), start + 1)
    quote = _quote(lead)
    # An object holds names and values of its own.
    value = None if data.startswith(b"{", lead.end()) else _value_pattern(lead, quote).match(data, lead.end())
    if value is None and not quote and (foreign := _FOREIGN.match(data, lead.end())):
        return Detection((Secret(kind_of(lead["lead"]), *foreign.span()),), foreign.end())
    if value is None:
        return Detection((), lead.end())
    found = value[0] if quote else _without_trail(data, value)
    stop = value.start() + len(found)
    if not _is_credential(data, lead, found, stop):
        return Detection((), value.end())
    if _NOT_SECRET.search(data, max(0, start - _NOT_SECRET_CHARS), lead.end()):
        return Detection((), value.end())
    return Detection((Secret(kind_of(lead["lead"]), value.start(), stop),), stop)


def _without_trail(data: bytes, value: re.Match[bytes]) -> bytes:
    """Return a bare value without the stop behind it; a question mark at a line's end may be a letter."""
    found: bytes = value[0].rstrip(_TRAILING)
    is_letter = value[0] == found + b"?" and data[value.end() : value.end() + 1] in (b"", b"\n", b"\r", b"<")
    return value[0] if is_letter and has_letters_only(found) else found


def _quote(lead: re.Match[bytes]) -> bytes:
    """Return the quote that opens the value, or nothing; a colour is none, and an entity ends by itself."""
    quote: bytes = lead["quote"] or b""
    return quote if quote[-1:] in _QUOTED else b""


def _value_pattern(lead: re.Match[bytes], quote: bytes) -> re.Pattern[bytes]:
    if not quote:
        return _BARE_ASCII if _IN_OTHER_SCRIPT.match(lead["lead"]) else _BARE
    return _IN_ESCAPED_QUOTES if b"\\" in quote else _QUOTED[quote[-1:]]


def _is_credential(data: bytes, lead: re.Match[bytes], value: bytes, stop: int) -> bool:
    name: bytes = lead["lead"]
    is_quoted = bool(lead["quote"])
    if not is_quoted and data[stop : stop + 1] in _CALLS:
        return False
    if _is_of_code(data, lead, value, stop):
        return False
    if _IS_SHORT.match(name) and _is_part(data, lead):
        return False
    is_setting = is_quoted or _ENVIRONMENT.fullmatch(name) is not None
    if _PAIR.search(name):  # as likely a list of names
        return is_quoted and _is_second(data, lead, value)
    if not _IS_PASSWORD.search(name):
        is_phrase = is_quoted and _SIGNS.match(name) is not None and is_passphrase(value)
        return is_phrase or is_random(value) or _is_key(data, lead, value, stop)
    if not is_quoted and (_NO_SIGN.fullmatch(name) or _TO.search(name)):
        # A word behind another is a password only if it reads as none.
        return is_mixed(value)
    if is_quoted and (_PHRASE.match(name) or _ENVIRONMENT.fullmatch(name)):  # several words, too
        return is_argument(value)
    if b" " in value and is_passphrase(value) and _is_alone(data, lead, stop):
        return True
    if not is_setting and (has_letters_only(value) or is_numbered(value)):
        return is_password(value, is_quoted=False) or (
            (is_word(value) or is_numbered(value)) and _is_value(data, lead, value, stop)
        )
    return is_password(value, is_quoted=is_setting)


def _is_alone(data: bytes, lead: re.Match[bytes], stop: int) -> bool:
    """Whether a value in quotes is all that a line of settings sets, without blanks around its sign."""
    before = data[data.rfind(b"\n", max(0, lead.start() - _PATH_CHARS), lead.start()) + 1 : lead.start()]
    return (
        lead["lead"].endswith(b"=")
        and not before.strip(b" \t#;")
        and data[stop + 1 : stop + 2] in (b"", b"\n", b"\r")
    )


def _is_part(data: bytes, lead: re.Match[bytes]) -> bool:
    """Whether a short name is the end of another one, or hands something over: pass it to a function."""
    return (
        data[max(0, lead.start() - 1) : lead.start()] in (b"-", b":") or _TO.search(lead["lead"]) is not None
    )


def _is_of_code(data: bytes, lead: re.Match[bytes], value: bytes, stop: int) -> bool:
    """Whether the name is part of a longer one that names no field, or the value is a type."""
    if _IN_PATH.search(data, max(0, lead.start() - _PATH_CHARS), lead.start()):
        return True
    if lead["quote"]:
        return False
    return _KEY_TYPE.fullmatch(value) is not None or (
        b":" in lead["lead"] and _DEFAULT.match(data, stop) is not None
    )


def _is_value(data: bytes, lead: re.Match[bytes], value: bytes, stop: int) -> bool:
    """Whether a bare word is a password, from where it stands."""
    name: bytes = lead["lead"]
    place = find_place(data, lead.start(), name, stop)
    if place is Place.SENTENCE and _IS_SHORT.match(name):  # a pass over something
        return False
    return is_value(value.rstrip(b"?"), place, may_be_type=b":" in name)


def _is_second(data: bytes, lead: re.Match[bytes], value: bytes) -> bool:
    """Whether the second of two strings is the value of the first, and not another name."""
    if not _IS_PASSWORD.search(lead["lead"]):
        return is_random(value) and not _CONSTANT.fullmatch(value)
    is_set = _CAPITALS.match(lead["lead"]) or _SETTER.search(data, max(0, lead.start() - 64), lead.start())
    is_other = is_name(value) and not (is_set and _SMALL.search(value))
    return not is_other and is_password(value, is_quoted=True)


def _is_key(data: bytes, lead: re.Match[bytes], value: bytes, stop: int) -> bool:
    """Whether a value too short or too plain for a key is one, from where it stands."""
    name: bytes = lead["lead"]
    is_word_of_setting = not lead["quote"] and name.endswith(b"=") and is_word(value)
    if not is_word_of_setting and not is_short_key(value):
        return False
    if _ENVIRONMENT.fullmatch(name) or lead["quote"]:
        return not is_word_of_setting or is_value(value, Place.SETTING, may_be_type=False)
    place = find_place(data, lead.start(), name, stop)
    if is_word_of_setting:
        return is_value(value, place, may_be_type=False)
    return place is not Place.CODE


def kind_of(lead: bytes) -> str:
    """Name the credential by what it was called."""
    if _IS_PASSWORD.search(lead):
        return "password"
    name = lead.lower()
    return next((word for word in ("token", "secret", "credential") if word.encode() in name), "api-key")
