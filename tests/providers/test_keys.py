"""Keys are used and never shown."""

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import asdict

import pytest

from midfold.cli.main import cli
from midfold.errors import ConfigError
from midfold.providers import Model, Secret, find_endpoint, read_key_file

KEY = "sk-secret-0123456789abcdef"


def test_secret_is_had_by_asking_for_it_alone():
    assert Secret(f" {KEY}\n").reveal() == KEY


@pytest.mark.parametrize(
    "show",
    [repr, str, "{}".format, "{!r:>40}".format, lambda secret: f"{secret}", lambda secret: repr([secret])],
)
def test_t24_secret_shows_nothing(show):
    assert KEY not in show(Secret(KEY))


@pytest.mark.parametrize("leak", [pickle.dumps, copy.deepcopy, json.dumps])
def test_t24_secret_does_not_travel(leak):
    with pytest.raises(TypeError):
        leak(Secret(KEY))


def test_t24_endpoint_and_model_show_no_key():
    endpoint = find_endpoint("openai/gpt-5-mini", key=KEY)
    assert KEY not in repr(endpoint)
    assert KEY not in repr(Model.open("openai/gpt-5-mini", key=KEY))
    with pytest.raises(TypeError):
        asdict(endpoint)


@pytest.mark.parametrize(
    "key", ["", "  ", "two words", "line\nbreak", "nul\0", "ключ", "a\r\nHost: evil", "k" * 20_000]
)
def test_what_cannot_be_a_key_is_refused_and_not_shown(key):
    with pytest.raises(ConfigError) as caught:
        Secret(key)
    assert "Secret(***)" in str(caught.value)
    assert not key.strip() or key.strip() not in str(caught.value)


def test_key_is_taken_out_of_texts():
    assert Secret(KEY).mask(f"wrong key {KEY}!") == "wrong key ***!"
    assert Secret(KEY).mask_bytes(KEY.encode() * 2) == b"******"


def test_key_file_holds_a_key_alone(tmp_path):
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    assert read_key_file(path) == Secret(KEY)


def test_key_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"key_file is '.*missing'; .* \(No such file or directory\)"):
        read_key_file(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not text"):
        read_key_file(tmp_path / "binary")


def test_t35_no_command_takes_a_key_as_an_option():
    words = ("key", "token", "secret", "password")
    options = [
        option
        for name in cli.list_commands(None)
        for parameter in cli.get_command(None, name).params
        for option in parameter.opts
    ]
    assert [option for option in options if set(option.strip("-").split("-")) & set(words)] == []


def test_t35_key_from_the_environment_is_in_no_command_line():
    code = (
        "import pathlib; from midfold.providers import find_endpoint;"
        "found = find_endpoint('openai/gpt-5-mini').key.reveal();"
        "print(found in pathlib.Path('/proc/self/cmdline').read_text(), len(found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"OPENAI_API_KEY": KEY, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", str(len(KEY))]
