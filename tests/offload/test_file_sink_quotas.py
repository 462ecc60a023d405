"""A disk that is not filled: quotas, age, and what killed processes leave behind."""

import errno
import os
from pathlib import Path

import pytest

from midfold.offload import FileSink, Quotas, enforce

TEXT = "a line of output\n" * 8_000
HOUR = 3_600.0


@pytest.mark.parametrize(
    "quotas",
    [Quotas(session_bytes=300_000), Quotas(tenant_bytes=300_000), Quotas(total_bytes=300_000)],
)
def test_a_quota_ends_writing_but_not_the_turn(root, turn, quotas):
    session = FileSink(root, quotas=quotas).session("s", tenant="t")
    offloaded = [enforce(turn(f"{number}{TEXT}"), session) for number in range(5)]
    assert [bool(each.offloaded) for each in offloaded] == [True, True, False, False, False]
    assert [cut.reason for cut in offloaded[4].cut.values()] == ["the quota for kept output is used up"]
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) <= 300_000


def test_a_quota_of_one_session_is_no_matter_to_another(root):
    sink = FileSink(root, quotas=Quotas(session_bytes=200_000))
    sink.session("greedy").write("call", TEXT)
    with pytest.raises(OSError) as refused:  # noqa: PT011 - the code is what matters
        sink.session("greedy").write("another call", TEXT)
    assert refused.value.errno == errno.EDQUOT
    assert sink.session("other").write("call", TEXT)


def test_a_new_process_counts_what_is_there_already(root):
    quotas = Quotas(session_bytes=200_000)
    FileSink(root, quotas=quotas).session("s").write("call", TEXT)
    with pytest.raises(OSError, match="quota"):
        FileSink(root, quotas=quotas).session("s").write("another call", TEXT)


def test_many_small_files_count_as_the_blocks_they_take(root):
    session = FileSink(root, quotas=Quotas(session_bytes=40_960)).session("s")
    with pytest.raises(OSError, match="quota"):
        [session.write(str(number), "x") for number in range(11)]


def test_a_failed_write_is_not_counted(root, monkeypatch):
    session = FileSink(root, quotas=Quotas(session_bytes=200_000)).session("s")
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", _raise_io_error)
        for _ in range(3):
            with pytest.raises(OSError, match="error"):
                session.write("call", TEXT)
    assert session.write("call", TEXT)


def _raise_io_error(_descriptor):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def age(path, clock, seconds):
    os.utime(path, (clock.now - seconds, clock.now - seconds))


def test_old_output_is_swept_and_used_output_stays(root, clock):
    quotas = Quotas(max_age_seconds=24 * HOUR)
    session = FileSink(root, quotas=quotas, clock=clock).session("s")
    old, used = session.write("old", TEXT), session.write("used", TEXT)
    for reference in (old, used):
        age(session.path_of(reference), clock, 25 * HOUR)
    os.utime(session.path_of(used), (clock.now, clock.now))
    clock.now += HOUR
    session.write("new", TEXT)
    assert (session.holds(old), session.holds(used)) == (False, True)


def test_sweeping_makes_room_under_the_quota(root, clock):
    quotas = Quotas(session_bytes=200_000, max_age_seconds=24 * HOUR)
    sink = FileSink(root, quotas=quotas, clock=clock)
    session = sink.session("s")
    old, other = session.write("old", TEXT), sink.session("other").write("call", "x")
    age(session.path_of(old), clock, 25 * HOUR)
    age(sink.session("other").path_of(other), clock, HOUR)
    assert sink.sweep().files == 1
    assert not Path(session.path_of(old)).parent.exists()
    assert session.write("new", TEXT)


def test_a_clock_that_jumps_ahead_sweeps_nothing(root, clock):
    """What is swept does not come back with the clock; nor is it lost when the jump lasts."""
    kept = FileSink(root, clock=clock).session("s").write("call", TEXT)
    clock.now += 10 * 365 * 24 * HOUR
    for number in range(3):
        session = FileSink(root, clock=clock).session("s")
        reference = session.write(f"after the jump {number}", TEXT)
        os.utime(session.path_of(reference), (clock.now, clock.now))  # as a jump of the system's clock would
        clock.now += 2 * HOUR
    assert session.holds(kept)


def test_output_grows_old_only_where_no_store_keeps_its_session(root, clock):
    quotas = Quotas(max_age_seconds=24 * HOUR)
    stored = FileSink(root, store="the id of a store", quotas=quotas, clock=clock).session("stored")
    loose = FileSink(root, quotas=quotas, clock=clock).session("loose")
    references = [(session, session.write("call", TEXT)) for session in (stored, loose)]
    loose.write("today's", TEXT)
    for session, reference in references:
        age(session.path_of(reference), clock, 25 * HOUR)
    clock.now += 2 * HOUR
    FileSink(root, quotas=quotas, clock=clock).session("another").write("call", TEXT)
    assert [session.holds(reference) for session, reference in references] == [True, False]


def test_a_file_that_is_none_of_ours_is_never_swept(root, clock):
    sink = FileSink(root, quotas=Quotas(max_age_seconds=HOUR), clock=clock)
    session = sink.session("s")
    old = session.write("call", TEXT)
    folder = Path(session.path_of(old)).parent
    mine = [folder / name for name in ("notes.txt", ".tmp-mine", f"terminal-{'0a' * 16}.txt")]
    for path in mine:
        path.write_text("my own words")
    for path in (*mine, session.path_of(old)):
        age(path, clock, 100 * 24 * HOUR)
    assert sink.sweep().files == 1
    assert not session.holds(old)
    assert all(path.exists() for path in mine)


def test_what_a_killed_process_left_is_swept_after_an_hour(root, clock):
    sink = FileSink(root, clock=clock)
    session = sink.session("s")
    folder = Path(session.path_of(session.write("call", TEXT))).parent
    for name, seconds in ((".tmp-0123456789abcdef", 2 * HOUR), (".tmp-fedcba9876543210", 60.0)):
        (folder / name).write_bytes(b"half of it")
        age(folder / name, clock, seconds)
    assert sink.sweep().files == 1
    assert [info.chars for info in session.outputs()] == [len(TEXT)]
    assert (folder / ".tmp-fedcba9876543210").exists()
