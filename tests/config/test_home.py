"""Where midfold keeps its things."""

from pathlib import Path

from midfold.config import find_home


def test_the_environment_decides_first():
    assert find_home({"MIDFOLD_HOME": "/srv/fold"}) == Path("/srv/fold")


def test_a_tilde_is_the_user_s_own_folder():
    assert find_home({"MIDFOLD_HOME": "~/fold"}) == Path.home() / "fold"


def test_the_user_s_data_directory_is_the_default(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert find_home({"XDG_DATA_HOME": "/data"}) == Path("/data/midfold")
    assert find_home({}) == Path.home() / ".local" / "share" / "midfold"


def test_looking_creates_nothing(tmp_path):
    find_home({"MIDFOLD_HOME": str(tmp_path / "x")})
    assert not (tmp_path / "x").exists()
