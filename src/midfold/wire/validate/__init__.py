"""Whether a provider would take a list of messages, told before it is sent.

Each dialect answers two questions: what its provider refuses, and what we refuse besides. Limits and habits
that differ between providers stand in `profiles`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from midfold.errors import ConfigError, UnknownDialect
from midfold.ports import Fault
from midfold.wire.dialect import describe
from midfold.wire.validate import anthropic, openai_chat, openai_responses
from midfold.wire.validate.profiles import PROFILES, Profile, get_profile, profile_for, sanitize_id
from midfold.wire.validate.reading import Outgoing, is_waiting, read_list

__all__ = [
    "PROFILES",
    "Profile",
    "continues_stored_history",
    "find_errors",
    "get_profile",
    "is_waiting",
    "profile_for",
    "sanitize_id",
    "validate",
]


def validate(
    messages: Sequence[object],
    *,
    dialect: str,
    system: object = None,
    tools: Sequence[object] | None = None,
    profile: Profile | str | None = None,
    mode: Literal["report", "enforce"] = "report",
    thinking: bool = False,
    continues: bool = False,
) -> list[Fault]:
    """Name the rules that a list of wire items breaks, in the order of the messages.

    The list is legal when no fault is an error. `report` names only what the provider would refuse;
    `enforce` adds our own stricter rules, and warnings for what some compatible servers or models refuse.

    `tools` is `None` when unknown and empty when none are offered. `thinking` says that the request turns
    thinking on for certain; adaptive thinking, which may skip it, does not count. `continues` says that the
    provider keeps a history before these messages. `profile` is that of the dialect's own provider unless
    given.

    Takes any JSON-shaped value without raising. Raises `UnknownDialect` and, for an unknown profile or
    mode, `ConfigError`.
    """
    rules = _get_rules(dialect)
    if mode not in ("report", "enforce"):
        raise ConfigError("mode", mode, hint="report or enforce")
    chosen = get_profile(profile or profile_for(None, dialect))
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        return list(_check_no_list(messages, rules))
    outgoing = Outgoing(
        messages=read_list([*messages]) or [],
        system=system,
        tools=read_list(tools),
        profile=chosen,
        thinking=thinking,
        continues=continues,
        enforce=mode == "enforce",
    )
    return sorted(rules.check(outgoing), key=_position)


def find_errors(
    messages: Sequence[object],
    *,
    dialect: str,
    system: object = None,
    tools: Sequence[object] | None = None,
    continues: bool = False,
) -> list[Fault]:
    """Name what makes a list illegal; an empty answer means that the provider takes it.

    A call that waits for its result at the end of the list is legal: the host adds the result.
    """
    faults = validate(messages, dialect=dialect, system=system, tools=tools, continues=continues)
    return [fault for fault in faults if not is_waiting(fault)]


def continues_stored_history(body: Mapping[str, object] | None) -> bool:
    """Tell a request body that goes on where the provider's stored conversation ends."""
    return body is not None and any(body.get(key) is not None for key in _STORED)


_STORED = ("previous_response_id", "conversation")


def _position(fault: Fault) -> int:
    """Put faults of the list as a whole first."""
    return -1 if fault.index is None else fault.index


def _check_no_list(value: object, rules: "_Rules") -> Iterator[Fault]:
    if not (rules.takes_text and isinstance(value, str)):
        yield Fault(rules.shape, None, f"expected a list of messages, found {describe(value)}")


def _check_sharegpt(outgoing: Outgoing) -> Iterator[Fault]:
    """Check trajectories, which no provider takes but every reader of ours does."""
    for index, turn in enumerate(outgoing.messages):
        if not isinstance(turn, dict):
            yield Fault("SG1", index, f"expected an object, found {describe(turn)}")
            continue
        for code, key in (("SG2", "from"), ("SG3", "value")):
            if not isinstance(turn.get(key), str):
                yield Fault(code, index, f"{key} is {describe(turn.get(key))}; expected text")


@dataclass(frozen=True, slots=True)
class _Rules:
    """What is checked for one dialect."""

    check: Callable[[Outgoing], Iterator[Fault]]
    shape: str
    """The code for what is no list of messages at all."""
    takes_text: bool = False
    """Plain text may stand in place of the list."""


_RULES = {
    "openai_chat": _Rules(openai_chat.check, "OC1"),
    "openai_responses": _Rules(openai_responses.check, "OR6", takes_text=True),
    "anthropic": _Rules(anthropic.check, "AN1"),
    "sharegpt": _Rules(_check_sharegpt, "SG1"),
}


def _get_rules(dialect: str) -> _Rules:
    if dialect not in _RULES:
        raise UnknownDialect(f"{dialect!r}; the known ones are {', '.join(sorted(_RULES))}")
    return _RULES[dialect]
