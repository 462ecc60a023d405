"""The rules of a dialect as a value, and the profiles of providers: limits that drift, as values.

A check never knows a provider by name; it asks the profile. The values were last compared with reports and
documentation on 2026-11-15. In the request that is checked, SDK objects are read as the dicts they stand for.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from types import MappingProxyType

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.ports import Fault
from midfold.wire.dialect import plain

_MEBIBYTE = 1024 * 1024
_ALPHANUMERIC = "a-zA-Z0-9"
_ID = _ALPHANUMERIC + "_-"  # where the ids of calls are restricted


@dataclass(frozen=True, slots=True)
class Profile:
    """The limits and flags of one provider; the defaults are those of an OpenAI-compatible server."""

    name: str
    id_characters: str = ""
    """The inside of a regular expression's brackets; empty when a call id may hold anything."""
    id_chars_min: int = 1
    id_chars_max: int | None = None
    """`None` without a limit: some gateways carry whole signatures in an id."""
    id_chars_advised: int = 64
    """Longer ids pass here, yet some routes to the same provider refuse them."""
    pairs_by_id: bool = True
    """Calls and results must name the call; without it they are matched by their order."""
    typeless_calls: bool = False
    """A tool call may leave out its type, which then is that of a function."""
    object_arguments: bool = False
    """The arguments of a tool call may be an object as well as its JSON text."""
    tool_name_chars_max: int = 64
    tool_name_marks: str = "_-"
    """The marks that the name of a tool may hold beside letters and digits."""
    tools_max: int | None = None
    alternates: bool = False
    """Two messages of one role in a row are refused, and so is an assistant that speaks first."""
    text_beside_results: bool = True
    """A user may speak in the same turn in which tool results are handed over."""
    needs_tools: bool = False
    """A history with tool calls is refused when the request offers no tools."""
    wants_call_signature: bool = False
    """The first call of a turn should carry the signature that came with it."""
    cache_markers_max: int = 4
    image_base64_chars_max: int = 5 * _MEBIBYTE
    image_side_px_max: int = 8_000
    many_images: int = 20
    """Above this number of images in a request, the smaller limit of a side holds."""
    many_images_side_px_max: int = 2_000
    images_max: int = 100
    request_bytes_max: int = 32 * _MEBIBYTE

    def accepts_id(self, call_id: str) -> bool:
        """Say whether a tool call may have this id."""
        is_too_long = self.id_chars_max is not None and len(call_id) > self.id_chars_max
        if is_too_long or len(call_id) < self.id_chars_min:
            return False
        return not self.id_characters or _runs_of(self.id_characters).fullmatch(call_id) is not None

    def accepts_tool_name(self, name: str) -> bool:
        """Say whether a tool may be called this."""
        pattern = _names_with(self.tool_name_marks)
        return len(name) <= self.tool_name_chars_max and pattern.fullmatch(name) is not None

    @property
    def tool_name_hint(self) -> str:
        """Say which names of tools are accepted."""
        marks, last = " ".join(self.tool_name_marks[:-1]), self.tool_name_marks[-1]
        return f"1 to {self.tool_name_chars_max} letters, digits, {marks} or {last}"


@cache
def _runs_of(characters: str) -> re.Pattern[str]:
    return compile_late(f"[{characters}]+")


@cache
def _names_with(marks: str) -> re.Pattern[str]:
    return _runs_of(_ALPHANUMERIC + re.escape(marks))


_PROFILES = (
    Profile("openai", id_chars_max=64, id_chars_advised=40, tools_max=128),
    Profile("azure", id_chars_max=64, id_chars_advised=40, tools_max=128),
    Profile("anthropic", id_characters=_ID, id_chars_max=64, tool_name_chars_max=128),
    Profile(
        "bedrock",
        id_characters=_ID,
        id_chars_max=64,
        tool_name_chars_max=128,
        alternates=True,
        text_beside_results=False,
        needs_tools=True,
    ),
    Profile(
        "mistral",
        id_characters=_ALPHANUMERIC,
        id_chars_min=9,
        id_chars_max=9,
        id_chars_advised=9,
        typeless_calls=True,
        object_arguments=True,
        text_beside_results=False,
    ),
    # Chat templates of vLLM, llama.cpp and many models of Hugging Face.
    Profile("strict_alternation", alternates=True, text_beside_results=False),
    # Its calls have a name and an object, its results at most the name of the tool.
    Profile("ollama", pairs_by_id=False, typeless_calls=True, object_arguments=True),
    # Models of the third generation refuse a replayed call without its signature; older ones send none.
    Profile("gemini", wants_call_signature=True, tool_name_marks="_.:-"),
    # Whether reasoning must or must not come back depends on the model, so nothing is asked here.
    Profile("deepseek"),
    # Its own ids look like `functions.Bash:0`: fine here, not elsewhere.
    Profile("kimi"),
    # Refuses what OC5 and OC14 name, in its own words: code 2013.
    Profile("minimax"),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in _PROFILES})


def get_profile(profile: Profile | str) -> Profile:
    """Return the profile of that name; raise `ConfigError` with the names there are."""
    if isinstance(profile, Profile):
        return profile
    if profile not in PROFILES:
        raise ConfigError("profile", profile, hint=f"one of {', '.join(PROFILES)}")
    return PROFILES[profile]


BEDROCK_MODELS = r"bedrock/|([\w-]+\.)?anthropic\.claude"
"""The names under which Bedrock serves a model, in whatever dialect."""

_HASH_CHARS = 12
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def sanitize_id(call_id: str, profile: Profile | str) -> str:
    """Return the id under which `profile` accepts this call; the id itself where it already does.

    A changed id ends in a hash of the old one, so the same id always becomes the same and different ids
    stay different. Use it on a call and its results alike, on the way out only.
    """
    profile = get_profile(profile)
    if profile.accepts_id(call_id):
        return call_id
    suffix = _hash(call_id)[: profile.id_chars_max]
    kept = re.sub(f"[^{profile.id_characters or _ID}]", "", call_id)
    room = len(kept) if profile.id_chars_max is None else profile.id_chars_max - len(suffix)
    return kept[:room] + suffix


def _hash(text: str) -> str:
    """Write a hash of `text` in letters and digits, the only characters that every provider takes."""
    number = int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest())
    digits = []
    for _ in range(_HASH_CHARS):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)


STILL_WAITING = "is still waiting for its result"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as far as its messages depend on it."""

    messages: list[object]
    system: object
    tools: list[object] | None
    """`None` when nobody said which tools are offered, which differs from none being offered."""
    profile: Profile
    thinking: bool
    continues: bool
    """The provider keeps a history before the messages, so what they lack may stand there."""
    enforce: bool
    """Ask for more than the provider does."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The things that the provider of a dialect refuses."""

    check: Callable[[Outgoing], Iterator[Fault]]
    """Name what the provider would refuse, and what we refuse besides when the rules are enforced."""
    not_a_list: str
    """the code for what is no list of messages at all"""
    takes_text: bool = False
    """plain text may stand in place of the list"""
    profile: str = "openai"
    """of the dialect's own provider"""
    profiles_by_model: Mapping[str, str] = field(default_factory=dict)
    """the profiles of others who serve this dialect, by a pattern that the model's name matches"""


def is_waiting(fault: Fault) -> bool:
    """Whether a call is open at the end of the list, not one that the list went on without answering."""
    return fault.reason.endswith(STILL_WAITING)


def read_list(values: object) -> list[object] | None:
    """Read a list whose members may be SDK objects; `None` for what is no list."""
    if not isinstance(values, (list, tuple)):
        return None
    # Asking for the type first spares the common case a call.
    return [value if type(value) is dict else plain(value) for value in values]


def read_text(item: dict[str, object], key: str) -> str | None:
    """Return what stands under `key` when it is text."""
    value = item.get(key)
    return value if isinstance(value, str) else None


_SHOWN_CHARS = 80


def shown(text: str) -> str:
    """Quote a text from the request, shortened so that a reason stays one line."""
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")
