"""The session store: its files, whether they are sound, and what can be done if they are not."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from midfold.cli.checkup.findings import Finding, Severity, fine
from midfold.cli.conversations import ID_CHARS
from midfold.cli.render.format import count_of, format_size
from midfold.cli.terminal import printable
from midfold.config import Settings, open_own_store
from midfold.errors import SchemaTooNew, StoreCorrupt, StoreError, StoreUnavailable
from midfold.late_dataclasses import dataclass
from midfold.store import (
    Area,
    LostMessages,
    Problem,
    Salvaged,
    find_kept,
    finish_replacing,
    parts_of,
    read_facts,
    replace_damaged,
)

_PROCESSES = Path("/proc")
_OURS = ("midfold", "python", "pypy")
_AREA = "store"
_LARGE_LOG_BYTES = 256_000_000
_MOST_CHARS = 300
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a file open."""

    pid: int
    name: str

    @property
    def is_foreign(self) -> bool:
        """Whether it looks like anything but midfold."""
        return not self.name.lower().startswith(_OURS)


def check_store(path: Path, settings: Settings) -> Iterator[Finding]:
    """Look at the file of the store; it is opened by SQLite alone."""
    with suppress(OSError):  # opening it says what is the matter
        finish_replacing(path)
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
        yield _damaged(path, f"the file is damaged: {error.reason}", holders)
        return
    except SchemaTooNew as error:
        yield Finding(
            _AREA, Severity.PROBLEM, str(error), "use the version of midfold that wrote it, or a later one"
        )
        return
    except StoreError as error:
        yield Finding(_AREA, Severity.PROBLEM, _one_line(str(error)), _advise(error))
        return
    if status.problem and not problems:
        yield Finding(_AREA, Severity.WARN, f"cannot be written: {_one_line(status.problem)}")
    if status.warning:
        advice = "look for what is missing in copies and exports; midfold doctor --fix puts this line away"
        yield Finding(_AREA, Severity.WARN, status.warning, advice, lambda: _forget_loss(settings))
    yield from _list_problems(path, settings, problems, holders)
    if not any(problem.area is Area.FILE for problem in problems):
        yield _check_facts(path)


def _check_files(path: Path) -> Iterator[Finding]:
    sizes = {part.name.removeprefix(path.name): part.stat().st_size for part in parts_of(path)}
    log = sizes.get("-wal", 0)
    text = f"{path}, {format_size(sizes[''])} and {format_size(log)} of log"
    if log > _LARGE_LOG_BYTES:
        yield Finding(
            _AREA, Severity.WARN, text, "a process that reads for long keeps the log from shrinking"
        )
    else:
        yield fine(_AREA, text)
    for kept in find_kept(path):
        size = format_size(kept.stat().st_size)
        yield fine(
            _AREA, f"{kept.name}, {size}, was damaged and moved aside; delete it when nothing is missing"
        )


def _check_holders(holders: list[Holder]) -> Iterator[Finding]:
    for holder in holders:
        text = f"process {holder.pid} ({printable(holder.name, 30)}) has it open"
        if holder.is_foreign:
            advice = "copy a store with midfold sessions export or SQLite's backup, never file by file"
            yield Finding(_AREA, Severity.WARN, text, advice)
        else:
            yield fine(_AREA, text)


def _list_problems(
    path: Path, settings: Settings, problems: list[Problem], holders: list[Holder]
) -> Iterator[Finding]:
    by_area = {area: [problem.text for problem in problems if problem.area is area] for area in Area}
    if not problems:
        yield fine(_AREA, "integrity, index, sequences and chains are sound")
    rows = [*by_area[Area.MESSAGES], *by_area[Area.LINEAGE]]
    if by_area[Area.FILE]:
        yield _damaged(path, f"the file is damaged: {'; '.join(by_area[Area.FILE][:2])}", holders)
    elif rows:
        yield _damaged(path, _join(rows), holders)
    elif by_area[Area.INDEX]:
        yield Finding(
            _AREA,
            Severity.PROBLEM,
            f"search index: {_join(by_area[Area.INDEX])}",
            "midfold doctor --fix makes it anew from the messages, which are sound",
            lambda: _rebuild(settings),
        )


def _damaged(path: Path, reason: str, holders: list[Holder]) -> Finding:
    text = _one_line(reason)
    if holders:
        pids = ", ".join(str(holder.pid) for holder in holders)
        return Finding(_AREA, Severity.PROBLEM, text, f"end the processes that have it open ({pids}) first")
    advice = "midfold doctor --fix saves all that is sound into a new file, and keeps the damaged one"
    return Finding(_AREA, Severity.PROBLEM, text, advice, lambda: _rescue(path))


def _rescue(path: Path) -> str:
    replaced = replace_damaged(path)
    saved = replaced.salvaged
    messages = count_of(saved.messages, "message")
    conversations = count_of(saved.conversations, "conversation")
    parts = [f"saved {messages} of {conversations}", *_describe_losses(saved)]
    return f"{'; '.join(parts)}; the damaged file is kept as {replaced.kept_as.name}"


def _describe_losses(saved: Salvaged) -> Iterator[str]:
    """Report the lost messages, and where they were."""
    if saved.is_whole:
        yield "nothing was lost"
    if saved.has_read_nothing:
        yield "nothing could be read"
    if saved.lost:
        shown = ", ".join(map(_name_lost, saved.lost[:_MOST_PROBLEMS]))
        more = (
            f" and of {len(saved.lost) - _MOST_PROBLEMS:,} more" if len(saved.lost) > _MOST_PROBLEMS else ""
        )
        lost = count_of(saved.lost_messages, "message")
        yield f"{lost} could not be read, a mark is in each place: {shown}{more}"
    for count, noun in ((saved.lost_folds, "fold"), (saved.lost_calls, "recorded call")):
        if count:
            yield f"{count_of(count, noun)} could not be read"
    if saved.unfolded:
        yield f"folds are undone in {_name_sessions(saved.unfolded)}"
    if saved.unnamed:
        yield f"messages of unknown conversations are in {_name_sessions(saved.unnamed)}"


def _name_lost(lost: LostMessages) -> str:
    """Name messages by their numbers, as `sessions show` does: 3, 7-9."""
    runs: list[list[int]] = []
    for position in lost.positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1][1:] = [position]
        else:
            runs.append([position])
    numbers = ", ".join("-".join(map(str, run)) for run in runs[:_MOST_PROBLEMS])
    more = ", ..." if len(runs) > _MOST_PROBLEMS else ""
    return f"{printable(lost.session[:ID_CHARS])} #{numbers}{more}"


def _name_sessions(ids: Sequence[str]) -> str:
    names = ", ".join(printable(name[:ID_CHARS]) for name in ids[:_MOST_PROBLEMS])
    more = f" and {len(ids) - _MOST_PROBLEMS:,} more" if len(ids) > _MOST_PROBLEMS else ""
    return f"{count_of(len(ids), 'session')} ({names}{more})"


def _forget_loss(settings: Settings) -> str:
    with open_own_store(settings) as store:
        store.forget_loss()
    return "put away what is missing from the log"


def _rebuild(settings: Settings) -> str:
    with open_own_store(settings) as store:
        return f"made the search index of {count_of(store.rebuild_index(), 'message')} anew"


def _check_facts(path: Path) -> Finding:
    facts = read_facts(path, time.time())
    sessions, messages = count_of(len(facts.sessions), "session"), count_of(facts.messages, "message")
    text = f"schema {facts.schema}, {sessions}, {messages}"
    if facts.lost:
        text += f"; {count_of(facts.lost, 'mark')} in place of messages that were lost"
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


def find_holders(files: Sequence[Path]) -> list[Holder]:
    """Find the processes that have one of `files` open, as far as the system lets us look."""
    wanted = {str(file.resolve()) for file in files}
    pids = [int(entry.name) for entry in _scan(_PROCESSES) if entry.name.isdigit()]
    return [
        Holder(pid, _name_process(pid)) for pid in pids if pid != os.getpid() and wanted & set(_targets(pid))
    ]


def _targets(pid: int) -> Iterator[str]:
    for entry in _scan(_PROCESSES / str(pid) / "fd"):
        with suppress(OSError):
            yield str(Path(entry.path).readlink())


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _name_process(pid: int) -> str:
    try:
        return (_PROCESSES / str(pid) / "comm").read_text().strip()
    except OSError:
        return "unknown"
