"""Says before a list of messages is sent whether its provider would take it.

The rules of each dialect stand in the module of its name: what its provider refuses, and what we refuse
besides. Limits and habits that differ between providers stand in `profiles`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from midfold.errors import ConfigError
from midfold.ports import Fault
from midfold.wire.dialect import describe
from midfold.wire.dialects import DIALECTS, get_dialect
from midfold.wire.validate.profiles import (
    PROFILES,
    Outgoing,
    Profile,
    Rules,
    get_profile,
    is_waiting,
    read_list,
    sanitize_id,
)

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
    rules = get_dialect(dialect).load_rules() or _NO_RULES
    if mode not in ("report", "enforce"):
        raise ConfigError("mode", mode, hint="report or enforce")
    chosen = get_profile(profile or profile_for(None, dialect))
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        if rules.takes_text and isinstance(messages, str):
            return []
        return [Fault(rules.not_a_list, None, f"expected a list of messages, found {describe(messages)}")]
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
    """Recognise a request body that goes on where the provider's stored conversation ends."""
    return body is not None and any(body.get(key) is not None for key in _STORED)


_STORED = ("previous_response_id", "conversation")


def _position(fault: Fault) -> int:
    """Put faults of the list as a whole first."""
    return -1 if fault.index is None else fault.index


def profile_for(model: str | None, dialect: str) -> Profile:
    """Return the profile of the provider that serves `model`; of the dialect's own where nobody knows."""
    spoken = DIALECTS.get(dialect)
    rules = (spoken.load_rules() if spoken else None) or _NO_RULES
    name = (model or "").strip().lower()
    served = (profile for pattern, profile in rules.profiles_by_model.items() if re.match(pattern, name))
    return PROFILES[next(served, rules.profile)]


def _check_nothing(_outgoing: Outgoing) -> Iterator[Fault]:
    return iter(())


_NO_RULES = Rules(_check_nothing, not_a_list="")
