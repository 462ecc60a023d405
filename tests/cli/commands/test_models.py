"""`midfold models` shows the windows that were learnt, and forgets them."""

import json

import pytest
from click.testing import CliRunner

from midfold.cli.main import cli
from midfold.tokens import LIMITS_FILE, LearnedLimits


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDFOLD_HOME", str(tmp_path))
    return lambda *args: CliRunner().invoke(cli, ["models", *args])


def test_learnt_windows_are_listed_and_forgotten(run, tmp_path):
    assert run().output == "No windows were learnt.\n"
    limits = LearnedLimits(tmp_path / LIMITS_FILE)
    limits.learn("https://llm.example.com", "house-model", 131_072, configured_tokens=200_000)
    assert "131,072" in run().output
    [listed] = json.loads(run("--json").output)
    assert (listed["model"], listed["limit_tokens"]) == ("house-model", 131_072)
    assert "no window of other was learnt" in run("forget", "other").output
    assert run("forget", "house-model").output == "Forgot the window of house-model: 131,072 tokens.\n"
    assert run("forget").output == "No windows were learnt.\n"
