"""Weights that were learnt: how likely it is that the agent uses a name again.

A name's features are small whole numbers, such as the number of bits of its age. For each value of each
feature a table has a number; these are added up, and a logistic curve makes a probability of the sum. The
tables are a data file, which `scripts/fit_weights.py` writes. What the agent used itself, what a person said
and what only tools printed have tables of their own.
"""

import json
from collections.abc import Container, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from math import exp

from midfold.late_dataclasses import dataclass
from midfold.summaries.digest.entries import Trait
from midfold.summaries.ledger.name_uses import NamePlace, NameShape, NameUse
from midfold.texts import read_text


class NameUser(StrEnum):
    """Who used a name: the agent, else a person, else only tools."""

    AGENT = "agent"
    PERSON = "person"
    TOOL = "tool"


_COMMON = {"shape": len(NameShape), "age": 12, "place": len(NamePlace), "part": 5, "printed": 5}
FEATURES: dict[NameUser, dict[str, int]] = {
    NameUser.AGENT: {**_COMMON, "own_age": 12, "own_uses": 5, "spoken": 3, "asked": 2, "focus": 2},
    NameUser.PERSON: {**_COMMON, "focus": 2},
    NameUser.TOOL: {**_COMMON, "company": 11, "focus": 2},
}
"""The features of a name, in the order of `describe_name`, each with the number of its values."""
_SHAPES = {shape: number for number, shape in enumerate(NameShape)}
_PLACES = {place: number for number, place in enumerate(NamePlace)}


@dataclass(frozen=True, slots=True)
class Outlook:
    """The rest of the conversation, as far as it says how much a name matters."""

    oldest: int
    newest: int
    focus: Container[str] = ()
    """names in the open steps of the newest plan and in the newest request"""


def user_of(use: NameUse) -> NameUser:
    """Say who used a name."""
    if use.last_own >= 0:
        return NameUser.AGENT
    return NameUser.PERSON if use.asked else NameUser.TOOL


def describe_name(use: NameUse, user: NameUser, outlook: Outlook) -> tuple[int, ...]:
    """Return the value of each feature."""
    age = outlook.newest - use.last
    common = (
        _SHAPES[use.shape],
        min(age.bit_length(), 11),
        _PLACES[use.topic.place],
        age * 5 // (outlook.newest - outlook.oldest + 1),
        min(use.printed.bit_length(), 4),
    )
    focus = 1 if use.name in outlook.focus else 0
    if user is NameUser.TOOL:
        return (*common, min(use.company.bit_length(), 10), focus)
    if user is NameUser.PERSON:
        return (*common, focus)
    return (
        *common,
        min((outlook.newest - use.last_own).bit_length(), 11),
        min(use.said + use.given, 4),
        0 if not use.given else 2 if use.said else 1,
        1 if use.asked else 0,
        focus,
    )


def weigh_name(use: NameUse, outlook: Outlook) -> float:
    """Return the probability that the agent uses a name again."""
    user = user_of(use)
    return _weigh(user, describe_name(use, user, outlook))


@lru_cache(maxsize=4096)
def _weigh(user: NameUser, values: tuple[int, ...]) -> float:
    """Add up the tables; names of one conversation have few different values."""
    bias, tables = _tables()[user]
    score = sum([table[value] for table, value in zip(tables, values, strict=True)], bias)
    return 1.0 / (1.0 + exp(-score))


@dataclass(frozen=True, slots=True)
class EntryWeights:
    """By how much each kind of entry weighs more, and how much the names in a line add."""

    factors: Mapping[Trait, float]
    named: float


@cache
def entry_weights() -> EntryWeights:
    """Return the weights of entries."""
    found = json.loads(read_text(__package__, "weights.json"))["entries"]
    return EntryWeights({trait: found["factors"].get(trait, 1.0) for trait in Trait}, found["named"])


@cache
def _tables() -> dict[NameUser, tuple[float, list[list[float]]]]:
    found = json.loads(read_text(__package__, "weights.json"))["names"]
    return {
        user: (found[user]["bias"], [found[user][feature] for feature in features])
        for user, features in FEATURES.items()
    }
