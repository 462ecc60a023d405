"""Where a bare word stands that is called a password: in a setting, or in code and prose.

A word without digit or sign is as often a variable, a type or the rest of a sentence. It is a value where
nothing but values stand: alone on the line of a settings file, behind an option, in an element, between the
separators of a connection string.
"""

import re
from enum import Enum, auto

from midfold.late_patterns import compile_late

_LINE_CHARS = 160


class Place(Enum):
    """Where a value stands."""

    SETTING = auto()
    SENTENCE = auto()
    CODE = auto()


# Before the name: an indent, a list's dash, a quote's or a comment's sign, the rest of the name.
_SETTING_LINE = compile_late(rb"[ \t>#*+;|!-]{0,40}(?:export |set |env )?[\w./?-]{0,80}[\"']?")
_EDGES = (b"\\n", b'":"', b'": "')
_LINE_END = compile_late(rb"[ \t]{0,8}(?:[ \t];[ \t]|\\{0,2}\\[nr]|[\r\n]|$|#|\x1b|\f)")
_SEPARATED = compile_late(rb"(?:[?&;]|(?:^|[ \t\"'(])[\w.-]{1,40}=[^\s=;&,]{1,60}[,; ])[\w .-]{0,40}$")
# An argument of a command, in a text without a call before; a user's name with its password behind.
_ARGUMENT = compile_late(rb"^[^(,\[{]*[ \t=][\"']?[\w.-]{0,40}$")
_AFTER_USER = compile_late(
    rb"(?i:user(?:name)?|login|e-?mail|account)[\"']?[:=][ \t]{0,4}[^\s,;/|]{1,60}"
    rb"(?:[ \t]{0,2}[,;/|][ \t]{0,2}|[ \t]{1,2})\w{0,20}$"
)
_ARGUMENT_END = compile_late(rb"\s|$|[\"']|,[\w.-]{1,60}=")
_BLANK = compile_late(rb"\s|$")
_OPTION = compile_late(rb"--|[ \t]-")
# Before an option that is spoken of, and listed with another name for it.
_SAID = compile_late(
    rb"(?i:(?:,|\b(?:and|or|the|an|with|of|to|now|in|if|when|is|use|via|by|new|added))[ \t]{0,4}$)"
)
_VALUE_OF = compile_late(rb"(?i)\svalue[\"']?[ \t]{0,4}[:=]")
_ELEMENT_END = compile_late(rb"</")
_SPOKEN = compile_late(rb"(?:[a-z]|[ \t][a-z]{2,9}:)[ \t]{0,8}$", re.IGNORECASE)
# "My password: …", the rest of the line being the password.
_OWNED = compile_late(rb"(?i:\b(?:my|our|your|his|her|their|the)[ \t](?:[\w-]{1,20}[ \t]){0,2}$)")
# "La password è …": a colon stands for the verb, which is one letter with an accent.
_ARTICLE = compile_late(rb"(?i:(?:^|[ \t])(?:la|a|il|o|sua|tua|nuova|nova|minha)[ \t]$)")
_VERB = compile_late(rb"[ \t]:[ \t]{1,4}$")
_SENTENCE_END = compile_late(rb"[\"'`)]?[.!]?(?:\s|$|[\"'`)])")


def find_place(data: bytes, start: int, lead: bytes, stop: int) -> Place:
    """Say where the value stands that `lead`, at `start`, gives a name to; it ends at `stop`."""
    if _OPTION.match(lead):
        return Place.CODE if _SAID.search(_line_before(data, start)) else Place.SETTING
    if lead.rstrip().endswith(b">"):
        return Place.SETTING if _ELEMENT_END.match(data, stop) else Place.CODE
    if _VALUE_OF.search(lead):
        return Place.SETTING if _LINE_END.match(data, stop) else Place.CODE
    before = _line_before(data, start)
    if _SEPARATED.search(before) and b"=" in lead and b" =" not in lead:
        return Place.SETTING
    if lead.endswith(b"=") and _ARGUMENT.search(before) and _ARGUMENT_END.match(data, stop):
        return Place.SETTING
    if _AFTER_USER.search(before) and _BLANK.match(data, stop):
        return Place.SETTING
    if _SPOKEN.search(lead) or (_VERB.search(lead) and _ARTICLE.search(before)):
        return Place.SENTENCE if _SENTENCE_END.match(data, stop) else Place.CODE
    if _LINE_END.match(data, stop):
        if _SETTING_LINE.fullmatch(before):
            return Place.SETTING
        if b":" in lead and _OWNED.search(before):
            return Place.SENTENCE
    return Place.CODE


def _line_before(data: bytes, position: int) -> bytes:
    """Return what stands before `position` on its line; one may be escaped in a string of JSON."""
    before = data[max(0, position - _LINE_CHARS) : position]
    line = before[max(before.rfind(b"\n"), before.rfind(b"\r"), before.rfind(b"\f")) + 1 :]
    return line[max((at + len(edge) for edge in _EDGES if (at := line.rfind(edge)) >= 0), default=0) :]


# A setting's word that is no value: a type, a label, a word of a sentence, what stands for nothing.
_NO_VALUE = compile_late(
    rb"(?i:pass|(?:passw|passwd|password|passphrase|pwd|token|string|str|bytes?|object|number|bool|boolean|int|text|"
    rb"varchar|char|field|input|value|default|prompt|requir|optional|unknown|username|user|none|null|nil|true|false|yes|no|"
    rb"undefined|hidden|secret|credential|auto|generated|random|file|env|stdin|keyring|plain|encrypted|hash)"
    rb"[a-z]{0,3})|[A-Z_]+"
)
_TYPE_NAME = compile_late(rb"[A-Z]+[a-z]+[A-Z][A-Za-z]*")
_FUNCTION_WORD = compile_late(
    rb"(?i:and|are|but|can|for|from|has|have|into|its|may|must|not|only|option|options|flags?|that|the|then|this|"
    rb"when|where|which|will|with|would|your|should|using|used|also|they|there|same|been|were|what|command|description|respectively)"
)
# What is said of a password: its state, how it is kept, what became of it.
_STATE = compile_late(
    rb"(?i:[a-z]+(?:ed|ing|able|ible|ory|ent|ant|ive|ual|less|ful|ly|own|ten|al|ous|ary)|(?:in)?correct|"
    rb"(?:in)?valid|wrong|empty|right|weak|strong|short|long|bad|good|blank|safe|un?known|null|none|true|"
    rb"false|fine|okay|gone|lost|old|new|here|there|below|above|case|just|left|later|either|other|over|under|rather|sent|kept|set|too|also|always|"
    rb"never|now|still|yours|mine|simple|easy|hard|public|private|in|on|at|by|of|so|up|same|secure|insecure|"
    rb"plain|plaintext|text|unique|random|clear|cleartext|string|obsolete|useless|legal|illegal|read|written|"
    rb"given|found|longer|shorter|older|newer|stronger|weaker|about|last|similar|unset|available|next|first|equal|"
    rb"hash|base|sure|like|such|what|how|why|as|asked|known|shown|chosen|broken|built|meant|made|done|out)"
)


def is_value(word: bytes, place: Place, *, may_be_type: bool) -> bool:
    """Whether a word that is called a password is one, where it stands."""
    if place is Place.CODE or _NO_VALUE.fullmatch(word) or _FUNCTION_WORD.fullmatch(word):
        return False
    if may_be_type and _TYPE_NAME.fullmatch(word):
        return False
    return place is Place.SETTING or not _STATE.fullmatch(word)
