"""Entries of names: each under the file, the program or the tool it belongs to.

The notes cannot quote every line that holds a name, and a name alone is cheap. So those that will most likely
be used again are listed by what they belong to, the newest first. Names that all code has weigh little.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.messages import Message, newest_request
from midfold.summaries.digest.entries import DigestEntry, EntryKind, Trait, Unit, format_indices
from midfold.summaries.digest.kept import as_kept
from midfold.summaries.digest.weights import NameUser, Outlook, user_of, weigh_name
from midfold.summaries.ledger.name_uses import NamePlace, NameShape, NameTopic, NameUse, find_words
from midfold.summaries.ledger.values import FINISHED, Ledger
from midfold.texts import read_text

_WEIGHT = 30.0
"""what a name weighs that is used again for sure, relative to other things in a digest"""
_FULL_ROOM = 0.065
"""Notes with less room than this part of what they stand for hold standing facts before names."""
_SCARCITY = 2.0
_LEAST_CHANCE = 0.02
_TEXT_CHARS = 40_000
_FIGURES = compile_late(r"[0-9]{1,18}")
_SERIES = 5
"""as many names that differ by their numbers alone are written as one"""
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


def look_ahead(
    messages: Sequence[Message], turns: Sequence[int], numbers: Sequence[int], ledger: Ledger
) -> Outlook:
    """Find what tells how much a name matters: how far the conversation goes, and what is under way."""
    newest = newest_request(messages)
    asked = "" if newest is None else messages[newest].text[:_TEXT_CHARS]
    steps = [step.text for step in ledger.steps if step.state not in FINISHED]
    oldest = numbers[turns[0]] if turns else 0
    return Outlook(oldest, numbers[-1], find_words("\n".join([asked, *steps])))


def list_names(
    uses: Iterable[NameUse], kept: Iterable[Message], outlook: Outlook, *, room: float = 1.0
) -> list[DigestEntry]:
    """Write an entry for each topic with the names that belong to it, but for those in messages that stay.

    `room` is the size of the notes, as a part of what they stand for.
    """
    weight = _WEIGHT * min(1.0, room / _FULL_ROOM) ** _SCARCITY
    there = as_kept(kept).words
    topics: dict[NameTopic, list[tuple[NameUse, float]]] = {}
    for use in uses:
        if use.name not in there and use.name != use.topic.label:
            chance = weigh_name(use, outlook)
            chance *= weigh_familiarity(use) if chance >= _LEAST_CHANCE else 0.0
            if chance:
                topics.setdefault(use.topic, []).append((use, chance))
    return [_entry(topic, found, weight) for topic, found in topics.items()]


def _entry(topic: NameTopic, found: list[tuple[NameUse, float]], weight: float) -> DigestEntry:
    found.sort(key=lambda each: (-each[0].last, -each[1], each[0].name))
    units = [Unit(name, weight * chance, trait=Trait.NAME) for name, chance in _join_series(found)]
    # A changed file stands elsewhere with its path.
    label = topic.label.rpartition("/")[2] if topic.place is NamePlace.CHANGED else topic.label
    head = f"{' '.join(label.split())} {format_indices(topic.indices)}:"
    return DigestEntry(EntryKind.NAMES, topic.indices[0], head, 0.0, units)


def _join_series(found: Sequence[tuple[NameUse, float]]) -> list[tuple[str, float]]:
    """Write names that only tools printed and that differ by their numbers alone as one: first to last."""
    series: dict[str, list[tuple[NameUse, float]]] = {}
    for use, chance in found:
        if user_of(use) is NameUser.TOOL and use.shape is not NameShape.NUMBER:
            series.setdefault(_FIGURES.sub("#", use.name), []).append((use, chance))
    joined: dict[str, tuple[str, float]] = {}
    for alike in series.values():
        if len(alike) >= _SERIES:
            ordered = sorted([use.name for use, _ in alike], key=_numbers_in)
            text = f"{ordered[0]} … {ordered[-1]} ({len(ordered)})"
            chance = max(chance for _, chance in alike)
            joined |= dict.fromkeys(ordered, (text, chance))
    return list(dict.fromkeys(joined.get(use.name, (use.name, chance)) for use, chance in found))


def _numbers_in(name: str) -> list[int]:
    return [int(figures) for figures in _FIGURES.findall(name)]


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
