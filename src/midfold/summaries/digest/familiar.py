"""Names that say nothing of this work: what all code has, and figures, colours and addresses without a name.

The standard library and local variables are known by a list, the rest by its shape.
"""

from functools import cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.summaries.digest.weights import NameUser, user_of
from midfold.summaries.ledger.name_uses import NameShape, NameUse
from midfold.texts import read_text

_FAMILIAR, _PRINTED = 0.85, 0.4
"""for what all code has, where the agent or a person used it, and where only tools did"""
_ORDER_NUMBER = compile_late(r"\d{6,}")
_ROUND = "000"
"""how a limit or a time ends"""
_FIGURE = compile_late(
    r"0x[0-9A-Fa-f]+|\d+p|[0-9A-Fa-f]{6}|[\dT:.-]+Z?|[\w.]*\d\.[x\d](?:[+/][\w.+/]*)?|\w{1,3}[+-]\d[\w+-]*"
    r"|(?:call|toolu|chatcmpl|msg)_\w+"
)
"""an address, lines to print, a colour, a moment, a version, a sum, an id that a host gave a call"""
_UUID = compile_late(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def weigh_familiarity(use: NameUse) -> float:
    """Say how much a name belongs to this work: a mere figure is none of it, and little what all code has."""
    if _is_figure(use):
        return 0.0
    known, name = _common_names(), use.name
    owner, _, member = (
        name.partition(".") if use.shape in (NameShape.DOTTED, NameShape.FILE) else ("", "", "")
    )
    is_plain = owner in known.variables and member.isalpha() and member.islower()
    if name not in known.names and owner not in known.owners and not is_plain:
        return 1.0
    return _PRINTED if user_of(use) is NameUser.TOOL else _FAMILIAR


def _is_figure(use: NameUse) -> bool:
    name = use.name
    if use.shape is NameShape.NUMBER:
        return _ORDER_NUMBER.fullmatch(name) is None or name.endswith(_ROUND)
    if use.shape is NameShape.PATH:
        return False
    return _FIGURE.fullmatch(name) is not None or (
        user_of(use) is NameUser.TOOL and _UUID.fullmatch(name) is not None
    )


@dataclass(frozen=True, slots=True)
class _CommonNames:
    """What all code has: names, modules with all their members, and variables with plain members."""

    names: frozenset[str]
    owners: frozenset[str]
    variables: frozenset[str]


@cache
def _common_names() -> _CommonNames:
    groups = [
        group.partition("]")[2].split() for group in read_text(__package__, "common_names.txt").split("[")
    ]
    _, names, owners, variables = map(frozenset, groups)
    return _CommonNames(names, owners, variables)
