"""Nobody steers where a file goes, whose it is or who reads it: hostile names, planted links, open doors."""

import os
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from midfold.offload import FileSink, offload_result
from midfold.offload.names import is_reference

TEXT = "a line of output\n" * 8_000
HOSTILE = [
    "../../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/../../b",
    "a\0b",
    "CON",
    "..\\..\\windows",
    "x" * 5_000,
    "~root/.ssh/authorized_keys",
    "$(touch pwned)",
    "name\nwith\rbreaks",
    "\u202etxt.exe",
    "\ud800 half",
]
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def everything_below(folder):
    return sorted(path for path in folder.rglob("*"))


def modes(folder):
    return {stat.S_IMODE(path.lstat().st_mode) for path in everything_below(folder) if path.is_file()}


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_below_the_root(tmp_path, name):
    root = tmp_path / "inside" / "outputs"
    session = FileSink(root).session(name, tenant=name)
    reference = session.write(name, TEXT, tool=name)
    assert is_reference(reference)
    assert session.read(reference) == TEXT
    files = [path for path in everything_below(tmp_path) if path.is_file()]
    assert [path.parents[2] for path in files] == [root]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_names_stay_below_the_root(root, name, other):
    session = FileSink(root).session(name, tenant=other)
    assert session.read(session.write(other, "kept", tool=name)) == "kept"
    assert everything_below(root.parent)[0] == root


@pytest.mark.parametrize("reference", [*HOSTILE, "../session-x/terminal-" + "0" * 32])
def test_hostile_references_find_nothing(session, reference):
    session.write("call", TEXT)
    assert not session.holds(reference)
    with pytest.raises(FileNotFoundError):
        session.read(reference)


def test_a_reference_of_another_session_or_tenant_finds_nothing(files):
    owners = [(f"s{number % 5}", f"t{number // 5}") for number in range(25)]
    sessions = [files.session(session, tenant=tenant) for session, tenant in owners]
    references = [session.write("the same call", "the same text") for session in sessions]
    found = [[session.holds(reference) for reference in references] for session in sessions]
    assert found == [[row == column for column in range(25)] for row in range(25)]


def test_a_file_that_was_moved_to_another_session_finds_no_reader(files, root):
    mine, other = files.session("mine"), files.session("other")
    reference = mine.write("call", TEXT)
    other.write("call", "so that there is a folder")
    os.link(mine.path_of(reference), other.path_of(reference))
    with pytest.raises(FileNotFoundError):
        other.read(reference)
    assert [info.chars for info in other.outputs()] == [25]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_files_and_folders_are_private_whatever_the_umask(tmp_path, mask):
    root = tmp_path / "home" / "outputs"
    with umask(mask):
        FileSink(root).session("s").write("call", TEXT)
    assert modes(tmp_path) == {0o600}
    folders = [path for path in everything_below(tmp_path) if path.is_dir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert len(folders) == 4


def test_a_root_that_is_open_to_others_is_closed(root):
    root.mkdir(0o755)
    FileSink(root).session("s").write("call", TEXT)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_a_home_behind_a_link_is_used(tmp_path):
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "home").symlink_to(tmp_path / "real")
    session = FileSink(tmp_path / "home" / "outputs").session("s")
    assert session.read(session.write("call", TEXT)) == TEXT
    assert modes(tmp_path / "real") == {0o600}


def test_a_link_in_the_place_of_the_file_keeps_its_target(session, tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    reference = session.write("call", TEXT)
    place = Path(session.path_of(reference))
    place.unlink()
    place.symlink_to(target)
    assert not session.holds(reference)
    assert session.write("call", TEXT) == reference
    assert (session.read(reference), target.read_text()) == (TEXT, "mine")


def test_a_hard_link_in_the_place_of_the_file_keeps_its_target(session, tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    reference = session.write("call", TEXT)
    Path(session.path_of(reference)).unlink()
    os.link(target, session.path_of(reference))
    session.write("call", TEXT)
    assert target.read_text() == "mine"


@pytest.mark.timeout(10)
def test_a_pipe_in_the_place_of_the_file_holds_nobody_up(session):
    reference = session.write("call", TEXT)
    Path(session.path_of(reference)).unlink()
    os.mkfifo(session.path_of(reference))
    assert not session.holds(reference)
    assert session.write("call", TEXT) == reference
    assert session.holds(reference)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_link_in_the_place_of_a_folder_is_refused(session, root, tmp_path, depth):
    reference = session.write("call", TEXT)
    folder = [root, *everything_below(root)][depth]
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):  # noqa: PT011 - systems disagree about which
        session.write("another call", TEXT)
    assert not session.holds(reference)


def test_a_parent_that_everybody_may_write_to_is_refused(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    session = FileSink(tmp_path / "open" / "outputs").session("s")
    with pytest.raises(PermissionError):
        session.write("call", TEXT)
    cut = offload_result(TEXT, session).text
    assert "could not be kept (everybody may write to a directory above)" in cut
    (tmp_path / "open").chmod(0o1777)
    assert session.holds(session.write("call", TEXT))


@only_root
def test_a_folder_of_another_user_is_refused(root):
    root.mkdir()
    os.chown(root, 12_345, 12_345)
    with pytest.raises(PermissionError):
        FileSink(root).session("s").write("call", TEXT)
    assert everything_below(root) == []


@only_root
def test_a_file_of_another_user_finds_no_reader(session):
    reference = session.write("call", TEXT)
    os.chown(session.path_of(reference), 12_345, 12_345)
    assert not session.holds(reference)
