"""Keys are used and never shown."""

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from midfold.cli.main import cli
from midfold.errors import ConfigError
from midfold.providers import ApiKey, Model, find_endpoint, read_key_file
from midfold.providers.keys import SecretHeaders
from midfold.testing import transcript
from midfold.testing.upstream import Received, Reply, Upstream

KEY = "sk-secret-0123456789abcdef"


def test_secret_is_had_by_asking_for_it_alone():
    assert ApiKey(f" {KEY}\n").reveal() == KEY


@pytest.mark.parametrize(
    "show",
    [repr, str, "{}".format, "{!r:>40}".format, lambda secret: f"{secret}", lambda secret: repr([secret])],
)
def test_secret_shows_nothing(show):
    assert KEY not in show(ApiKey(KEY))


@pytest.mark.parametrize("leak", [pickle.dumps, copy.deepcopy, json.dumps])
def test_secret_does_not_travel(leak):
    with pytest.raises(TypeError):
        leak(ApiKey(KEY))


def test_headers_are_read_like_any_and_show_their_names_alone():
    headers = SecretHeaders({"Authorization": f"Bearer {KEY}", "Accept": "*/*"})
    assert dict(headers) == {"Authorization": f"Bearer {KEY}", "Accept": "*/*"}
    assert (
        f"{headers} {headers!r}"
        == "SecretHeaders(Authorization, Accept) SecretHeaders(Authorization, Accept)"
    )


def test_endpoint_and_model_show_no_key():
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
        ApiKey(key)
    assert "ApiKey(***)" in str(caught.value)
    assert not key.strip() or key.strip() not in str(caught.value)


def test_key_is_taken_out_of_texts():
    assert ApiKey(KEY).mask(f"wrong key {KEY}!") == "wrong key ***!"
    assert ApiKey(KEY).mask_bytes(KEY.encode() * 2) == b"******"


def test_key_file_holds_a_key_alone(tmp_path):
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    assert read_key_file(path) == ApiKey(KEY)


def test_key_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"key_file is '.*missing'; .* \(No such file or directory\)"):
        read_key_file(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not text"):
        read_key_file(tmp_path / "binary")


def test_no_command_takes_a_key_as_an_option():
    words = ("key", "token", "secret", "password")
    options = [
        option
        for name in cli.list_commands(None)
        for parameter in cli.get_command(None, name).params
        for option in parameter.opts
    ]
    assert [option for option in options if set(option.strip("-").split("-")) & set(words)] == []


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["key_env: HOUSE_API_KEY", "key_file: {folder}/house.key"])
def test_key_reaches_its_provider_and_is_in_no_command_line(setting, tmp_path):
    (tmp_path / "house.key").write_text(KEY)
    (tmp_path / "session.json").write_text(json.dumps(transcript(turns=30, result_chars=1_200)))
    seen: list[str] = []

    def look_around(_: Received) -> Reply:
        seen.extend(command_lines())
        return Reply("## Goal\nThe new zones.")

    with Upstream(look_around) as up:
        own = setting.format(folder=tmp_path)
        (tmp_path / "config.yaml").write_text(f"providers: {{house: {{base_url: {up.url}, {own}}}}}\n")
        compress = "compress session.json --max-tokens 5000 -o out.json --summary-model house/m"
        subprocess.run(
            [sys.executable, "-m", "midfold", *compress.split()],
            env={"HOUSE_API_KEY": KEY, "MIDFOLD_HOME": ".", "PYTHONPATH": ":".join(sys.path)},
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        assert up.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert any("house/m" in line for line in seen)
    assert not any(KEY in line for line in seen)


def command_lines() -> Iterator[str]:
    """What `ps` shows of every process, also to other users."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            yield path.read_text("utf-8", "replace")
