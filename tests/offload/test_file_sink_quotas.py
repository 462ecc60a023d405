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
    assert [bool(each.persisted) for each in offloaded] == [True, True, False, False, False]
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
    old = session.write("old", TEXT)
    age(session.path_of(old), clock, 25 * HOUR)
    assert sink.sweep().files == 1
    assert not Path(session.path_of(old)).parent.exists()
    assert session.write("new", TEXT)


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
