"""The session store: its files, whether they are sound, and what can be done if they are not."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from midfold.cli.checkup.findings import Finding, Level, fine
from midfold.cli.checkup.holders import Holder, find_holders
from midfold.cli.finding import ID_CHARS
from midfold.cli.overview import count_of
from midfold.cli.plain import printable
from midfold.cli.when import tell_size
from midfold.config import Settings
from midfold.config.stores import open_own_store
from midfold.errors import SchemaTooNew, StoreCorrupt, StoreError, StoreUnavailable
from midfold.store.rescue import find_kept, parts_of, read_facts, replace_damaged
from midfold.store.sqlite.health import Area, Problem

_AREA = "store"
_LARGE_LOG_BYTES = 256_000_000
_MOST_CHARS = 300
_MOST_PROBLEMS = 5


def check_store(path: Path, settings: Settings) -> Iterator[Finding]:
    """Look at the file of the store; it is opened by SQLite alone."""
    if not path.exists():
        yield fine(_AREA, f"{path} does not exist yet; the first session makes it")
        return
    holders = find_holders(parts_of(path))
    yield from _check_files(path)
    yield from _check_holders(holders)
    try:
        with open_own_store(settings) as store:
            problems, status = store.check(), store.status
    except StoreCorrupt as error:
        yield _damaged(path, error.reason, holders)
        return
    except SchemaTooNew as error:
        yield Finding(
            _AREA, Level.PROBLEM, str(error), "use the version of midfold that wrote it, or a later one"
        )
        return
    except StoreError as error:
        yield Finding(_AREA, Level.PROBLEM, _one_line(str(error)), _advise(error))
        return
    if status.problem and not problems:
        yield Finding(_AREA, Level.WARN, f"cannot be written: {_one_line(status.problem)}")
    yield from _tell_problems(path, settings, problems, holders)
    if not any(problem.area is Area.FILE for problem in problems):
        yield _check_facts(path)


def _check_files(path: Path) -> Iterator[Finding]:
    sizes = {part.name.removeprefix(path.name): part.stat().st_size for part in parts_of(path)}
    log = sizes.get("-wal", 0)
    text = f"{path}, {tell_size(sizes[''])} and {tell_size(log)} of log"
    if log > _LARGE_LOG_BYTES:
        yield Finding(_AREA, Level.WARN, text, "a process that reads for long keeps the log from shrinking")
    else:
        yield fine(_AREA, text)
    for kept in find_kept(path):
        size = tell_size(kept.stat().st_size)
        yield fine(
            _AREA, f"{kept.name}, {size}, was damaged and put aside; delete it when nothing is missing"
        )


def _check_holders(holders: list[Holder]) -> Iterator[Finding]:
    for holder in holders:
        text = f"process {holder.pid} ({printable(holder.name, 30)}) has it open"
        if holder.is_foreign:
            advice = "copy a store with midfold sessions export or SQLite's backup, never file by file"
            yield Finding(_AREA, Level.WARN, text, advice)
        else:
            yield fine(_AREA, text)


def _tell_problems(
    path: Path, settings: Settings, problems: list[Problem], holders: list[Holder]
) -> Iterator[Finding]:
    by_area = {area: [problem.text for problem in problems if problem.area is area] for area in Area}
    if not problems:
        yield fine(_AREA, "integrity, index, sequences and chains are sound")
    if by_area[Area.FILE]:
        yield _damaged(path, "; ".join(by_area[Area.FILE][:2]), holders)
    elif by_area[Area.INDEX]:
        yield Finding(
            _AREA,
            Level.PROBLEM,
            f"search index: {_join(by_area[Area.INDEX])}",
            "midfold doctor --fix makes it anew from the messages, which are sound",
            lambda: _rebuild(settings),
        )
    for area in (Area.MESSAGES, Area.LINEAGE):
        if by_area[area]:
            advice = "export these conversations; nothing is repaired that could be lost by it"
            yield Finding(_AREA, Level.PROBLEM, f"{area}: {_join(by_area[area])}", advice)


def _damaged(path: Path, reason: str, holders: list[Holder]) -> Finding:
    text = f"the file is damaged: {_one_line(reason)}"
    if holders:
        pids = ", ".join(str(holder.pid) for holder in holders)
        return Finding(_AREA, Level.PROBLEM, text, f"end the processes that have it open ({pids}) first")
    advice = "midfold doctor --fix moves it aside, saves what can be read, and goes on with that"
    return Finding(_AREA, Level.PROBLEM, text, advice, lambda: _rescue(path))


def _rescue(path: Path) -> str:
    replaced = replace_damaged(path)
    saved = replaced.salvaged
    messages, conversations = (
        count_of(saved.messages, "message"),
        count_of(saved.conversations, "conversation"),
    )
    rest = "nothing was lost" if saved.is_whole else "what could not be read is missing, and folds are undone"
    if saved.missing:
        rest += f"; nothing could be read of {_name_missing(saved.missing)}"
    return f"saved {messages} of {conversations}; {rest}; the damaged file is kept as {replaced.kept_as.name}"


def _name_missing(missing: Sequence[str]) -> str:
    names = ", ".join(printable(name[:ID_CHARS]) for name in missing[:_MOST_PROBLEMS])
    more = f" and {len(missing) - _MOST_PROBLEMS:,} more" if len(missing) > _MOST_PROBLEMS else ""
    return f"{count_of(len(missing), 'conversation')} ({names}{more})"


def _rebuild(settings: Settings) -> str:
    with open_own_store(settings) as store:
        return f"made the search index of {count_of(store.rebuild_index(), 'message')} anew"


def _check_facts(path: Path) -> Finding:
    facts = read_facts(path, time.time())
    sessions, messages = count_of(len(facts.sessions), "session"), count_of(facts.messages, "message")
    text = f"schema {facts.schema}, {sessions}, {messages}"
    if facts.stale_leases:
        text += f"; {count_of(facts.stale_leases, 'lease')} ran out, whoever comes next takes over"
    return fine(_AREA, text)


def _advise(error: StoreError) -> str:
    return "wait for the other process, or make room" if isinstance(error, StoreUnavailable) else ""


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()), _MOST_CHARS)


def _join(texts: list[str]) -> str:
    shown = "; ".join(map(_one_line, texts[:_MOST_PROBLEMS]))
    return shown if len(texts) <= _MOST_PROBLEMS else f"{shown}; and {len(texts) - _MOST_PROBLEMS} more"
