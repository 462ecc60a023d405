"""Messages that were said at several times, prepared for a store run by run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from midfold.store.base import ImportedMessage
from midfold.store.preparing import Prepared, prepare


@dataclass(frozen=True, slots=True)
class Run:
    """Rows that were said at one time; `None` is now."""

    prepared: Prepared
    at: float | None


def prepare_runs(said: Sequence[ImportedMessage], dialect: str, key: bytes | None) -> list[Run]:
    """Prepare what a file says for a session of this dialect."""
    return [_prepare(run, dialect, key) for run in _runs(said)]


def _prepare(run: Sequence[ImportedMessage], dialect: str, key: bytes | None) -> Run:
    counts = [said.tokens for said in run if said.tokens is not None]
    prepared = prepare(
        [said.item for said in run],
        dialect,
        key,
        tokens=counts if len(counts) == len(run) else None,
        finish_reason=run[-1].finish_reason,
    )
    rows = tuple(
        replace(row, is_redacted=True) if said.is_redacted and not row.is_redacted else row
        for row, said in zip(prepared.rows, run, strict=True)
    )
    return Run(replace(prepared, rows=rows), run[0].at)


def _runs(said: Sequence[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    """Part messages into those that are prepared together: said at one time, the last with a reason to
    stop, all of them counted or none."""
    run: list[ImportedMessage] = []
    for each in said:
        if run and not _goes_on(run[-1], each):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _goes_on(before: ImportedMessage, after: ImportedMessage) -> bool:
    return (
        before.at == after.at
        and before.finish_reason is None
        and (before.tokens is None) == (after.tokens is None)
    )
