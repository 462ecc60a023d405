"""A row of a data set: finding the trajectory in it, and putting a shorter one in its place.

Rows differ in where they keep their turns, in how these are written, and in whether a column holds a list or
its JSON. All other columns of a row stay as they are.
"""

import json
import re
from collections.abc import Mapping, Sequence
from operator import is_

from midfold.errors import DialectError, MalformedMessage, UnknownDialect
from midfold.late_dataclasses import dataclass, replace
from midfold.trajectories.metrics import CompressedTrajectory, RowStatus, TrajectoryMetrics, Turn
from midfold.wire import (
    ConversionLoss,
    convert,
    describe,
    describe_keys,
    is_known_speaker,
    parse,
    read_request,
)

COLUMN = "conversations"
"""Where turns in ShareGPT form stand, and where converted ones are put."""
_COLUMNS = (COLUMN, "messages")
_EMPTY: tuple[object, ...] = ([], "", "[]")
_SYSTEM = "system"
_KIND = re.compile(r"\s*[\[('\"\d].*", re.DOTALL)
_BESIDE = (_SYSTEM, "tools")
"""Columns that say more about how messages are written."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """A row as it comes out. Where it was rejected there is none, and no metrics."""

    status: RowStatus
    row: object
    reason: str | None = None
    """why it is kept, rejected, or still too large"""
    metrics: TrajectoryMetrics | None = None
    losses: tuple[ConversionLoss, ...] = ()
    """what a conversion to ShareGPT could not say"""
    speakers: tuple[str, ...] = ()
    """who speaks that nobody knows, once for each of their turns"""

    @property
    def lost_kinds(self) -> list[str]:
        """The kinds of loss, without the particulars."""
        return [_KIND.sub("", loss.what) or "image or file" for loss in self.losses]


@dataclass(frozen=True, slots=True)
class RowTrajectory:
    """The trajectory of a row, and what it takes to write it back."""

    turns: list[Turn]
    row: object
    column: str | None = None
    """`None` where the row is a bare list of turns"""
    is_json: bool = False
    is_converted: bool = False
    system_column: str | None = None
    """the column with the system prompt, where that has become a turn"""
    losses: tuple[ConversionLoss, ...] = ()
    speakers: tuple[str, ...] = ()

    def write(self, turns: list[Turn]) -> object:
        """Return the row with these turns; the row itself where they are those that it holds."""
        is_same = len(turns) == len(self.turns) and all(map(is_, turns, self.turns))
        if is_same and not self.is_converted:
            return self.row
        if not isinstance(self.row, dict):
            return turns
        written: dict[object, object] = {}
        for key, value in self.row.items():
            if key == self.column:
                written[COLUMN if self.is_converted else key] = _to_json(turns) if self.is_json else turns
            elif key != self.system_column and not (self.is_converted and key == COLUMN):
                written[key] = value
        return written


def read_row(row: object) -> RowTrajectory | RowResult:
    """Find the trajectory of a row, converted to ShareGPT where it is written otherwise.

    Where there is none, or none that can be read, the row is rejected.
    """
    try:
        return _read_row(row)
    except DialectError as error:
        return RowResult(RowStatus.REJECTED, None, str(error))


def _read_row(row: object) -> RowTrajectory:
    if isinstance(row, list):
        return _read_turns(RowTrajectory(row, row), {})
    if not isinstance(row, dict):
        raise UnknownDialect(f"expected an object or a list of turns, found {describe(row)}")
    there = [name for name in _COLUMNS if row.get(name) is not None]
    # Data sets that were merged have both, and one of them is empty.
    column = next((name for name in there if row[name] not in _EMPTY), there[0] if there else None)
    if column is None and not row.keys().isdisjoint(_COLUMNS):
        raise UnknownDialect(f"{next(name for name in _COLUMNS if name in row)} is null")
    if column is None:
        raise UnknownDialect(f"no column {' or '.join(_COLUMNS)}; there are {describe_keys(row)}")
    value = row[column]
    turns = _parse(column, value) if isinstance(value, str) else value
    if not isinstance(turns, list):
        raise UnknownDialect(f"{column} is {describe(turns)}; expected a list of turns")
    return _read_turns(RowTrajectory(turns, row, column, is_json=turns is not value), row)


def _read_turns(reading: RowTrajectory, beside: Mapping[str, object]) -> RowTrajectory:
    turns: list[object] = [*reading.turns]
    if not turns:
        raise UnknownDialect("there are no turns")
    if isinstance(turns[0], dict) and not turns[0].keys().isdisjoint(_COLUMNS):
        raise UnknownDialect("this is a list of rows; expected one row a line, as jq -c '.[]' writes them")
    if isinstance(turns[0], dict) and "from" in turns[0]:
        check_turns(turns)
        return replace(reading, speakers=_find_unknown(turns))
    request = read_request({name: beside[name] for name in _BESIDE if name in beside} | {"messages": turns})
    conversion = convert(parse(request.messages, request.dialect), "sharegpt")
    converted = [turn for turn in conversion.messages if isinstance(turn, dict)]
    if request.system_text:
        converted.insert(0, {"from": "system", "value": request.system_text})
    if not converted:
        raise UnknownDialect("there are no turns")
    return replace(
        reading,
        turns=converted,
        is_converted=True,
        system_column=_SYSTEM if request.system_text else None,
        losses=conversion.losses,
    )


def check_turns(turns: Sequence[object]) -> None:
    """Raise `MalformedMessage` for the first turn that is not in ShareGPT form."""
    for index, turn in enumerate(turns):
        if not isinstance(turn, dict):
            raise MalformedMessage(index, f"expected an object, found {describe(turn)}")
        for key in ("value", "from"):
            if not isinstance(turn.get(key), str):
                raise MalformedMessage(index, f"{key} is {describe(turn.get(key))}; expected text")


def _find_unknown(turns: Sequence[object]) -> tuple[str, ...]:
    said = [str(turn["from"]) for turn in turns if isinstance(turn, dict)]
    unknown = {speaker for speaker in set(said) if not is_known_speaker(speaker)}
    return tuple(speaker for speaker in said if speaker in unknown) if unknown else ()


def finish_row(reading: RowTrajectory, outcome: CompressedTrajectory) -> RowResult:
    """Write a row back, and say what became of it."""
    metrics = outcome.metrics
    status, reason = RowStatus.COMPRESSED, None
    if metrics.failure is not None and not metrics.was_compressed:
        status, reason = RowStatus.KEPT, metrics.failure
    elif metrics.still_over_limit:
        status, reason = RowStatus.OVER_LIMIT, _why_over(metrics)
    elif metrics.skipped_under_target:
        status = RowStatus.SKIPPED
    return RowResult(status, reading.write(outcome.turns), reason, metrics, reading.losses, reading.speakers)


def _why_over(metrics: TrajectoryMetrics) -> str:
    left = f"{metrics.compressed_tokens:,} tokens are left"
    if metrics.was_compressed:
        return f"{left}, as the turns that may not be folded are too large"
    return f"{left}, as too little may be folded to make it smaller"


def _parse(column: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UnknownDialect(f"{column} is text that is not JSON") from None


def _to_json(turns: list[Turn]) -> str:
    text = json.dumps(turns, ensure_ascii=False)
    # Half an emoji has no place in a text, only in the JSON of one.
    return text if _is_sayable(text) else json.dumps(turns)


def _is_sayable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
