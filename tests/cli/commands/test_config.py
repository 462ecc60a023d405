"""`midfold config`, as a person runs it."""

import json
import re
import sys

import pytest

from midfold.cli.main import main
from midfold.config import SETTINGS


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; returns its status, output and errors."""

    def runner(*arguments):
        monkeypatch.setattr(sys, "argv", ["midfold", "config", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "140")
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return left.value.code, captured.out, captured.err

    return runner


@pytest.fixture
def write(tmp_path):
    """Write a file of settings; returns where it is."""

    def writer(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, "utf-8")
        return path

    return writer


def line_of(out, key):
    return next(line.split() for line in out.splitlines() if line.startswith(f"{key} "))


def test_every_key_is_shown_with_its_value_and_origin(run, write, monkeypatch):
    monkeypatch.setenv("MIDFOLD_MODEL__NAME", "claude-sonnet-4-5")
    path = write("compression: {threshold: 0.6}")
    status, out, err = run("show", "--path", path)
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == str(path)
    assert all(setting.key in out for setting in SETTINGS)
    assert line_of(out, "compression.enabled")[1:] == ["true", "default"]
    assert line_of(out, "compression.threshold")[1:] == ["0.6", "mine.yaml"]
    assert line_of(out, "compression.summary_model")[1:] == ["null", "default"]
    assert line_of(out, "tool_output.per_tool.read_file")[1:] == ["inf", "default"]
    assert line_of(out, "model.name")[1:] == ["claude-sonnet-4-5", "environment", "MIDFOLD_MODEL__NAME"]


def test_without_a_file_the_defaults_are_shown(run):
    status, out, _ = run("show")
    assert status == 0
    assert out.startswith("no settings file\n")


def test_what_is_not_a_default_stands_out_on_a_terminal(run, write, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    _, out, _ = run("show", "--path", write("compression: {threshold: 0.6}"))
    styles = dict(re.findall(r"^\x1b\[([\d;]+)mcompression\.(\w+)", out, re.MULTILINE))
    assert len(styles) == 2, "one style for defaults, one for the rest"
    assert "threshold" in styles.values()


def test_json_has_every_key(run, write):
    path = write("compression: {threshold: 0.6}\nproviders: {hosts: [{wait: .inf}]}")
    told = json.loads(run("show", "--json", "--path", path)[1], parse_constant=pytest.fail)
    assert told["file"] == str(path)
    assert told["settings"]["compression.threshold"] == {"value": 0.6, "origin": "mine.yaml"}
    assert told["settings"]["compression.strategy"] == {"value": "staged", "origin": "default"}
    assert told["settings"]["tool_output.per_tool.read_file"] == {"value": "inf", "origin": "default"}
    assert told["settings"]["providers.hosts"]["value"] == [{"wait": "inf"}]
    assert json.loads(run("show", "--json")[1])["file"] is None


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"], ["check"]])
def test_credentials_are_hidden(run, write, arguments):
    path = write(
        "providers: {openai: {api_key: sk-hunter2}}\nstore: {url: 'postgresql://me:hunter2@host/db'}"
    )
    status, out, err = run(*arguments, "--path", path)
    assert status == (2 if arguments[0] == "check" else 0)  # nobody opens such a store
    assert "hunter2" not in out + err
    assert ("set (hidden)" in out) == (arguments[0] == "show")


def test_control_characters_in_a_file_do_not_reach_the_terminal(run, write):
    path = write('providers: {"\\e[31mred": "\\a\\u202eevil"}')
    _, out, _ = run("show", "--path", path)
    assert "evil" in out
    assert not any(mark in out for mark in ("\x1b", "\x07", "\u202e"))


def test_settings_that_are_wrong_are_not_shown(run, write):
    status, out, err = run("show", "--path", write("compression: {threshold: 5}"))
    assert (status, out) == (2, "")
    assert err == (
        "midfold: compression.threshold is 5; expected a number above 0 and at most 1 (from mine.yaml)\n"
    )


def test_check_names_every_problem_in_a_line_of_its_own(run, write, monkeypatch):
    monkeypatch.setenv("MIDFOLD_COMPRESSION__STILE", "stub")
    status, out, err = run("check", "--path", write("compression: {threshold: 5, tail_tokens: 0}\nmodle: 1"))
    assert (status, out) == (2, "")
    assert [line.split()[1] for line in err.splitlines()] == [
        "compression.threshold",
        "compression.tail_tokens",
        "modle",
        "compression.stile",
    ]
    assert all(line.startswith("midfold: ") for line in err.splitlines())


def test_check_has_nothing_to_say_about_settings_of_other_parts(run, write):
    path = write(
        "context: {engine: compressor}\nauxiliary: {mode: custom, custom: {compression: openai/gpt-5}}\n"
        "tool_output: {turn_chars: 5}\nstore: {url: sqlite:///x.db}\n"
        "gateway: {port: 1}\nproviders: {x: {base_url: http://127.0.0.1:1/v1}}"
    )
    assert run("check", "--path", path) == (0, f"no problems: {path}\n", "")


@pytest.mark.parametrize(
    ("written", "remark"),
    [
        ("compression.threshold: 0.95", "compression.threshold 0.95 is capped at 85 % of the window"),
        (
            "compression.enabled: false",
            "compression.enabled is false: nothing is compressed unless asked for",
        ),
        ("compression.tail_tokens: 5", "compression.tail_tokens counts only with compression.budget: fixed"),
        (
            "model.context_length: 100000",
            "compression.threshold 0.5 of 100,000 tokens is raised: compression starts at 64,000",
        ),
    ],
)
def test_check_notes_what_has_another_effect_than_it_seems(run, write, written, remark):
    status, out, err = run("check", "--path", write(written))
    assert (status, err) == (0, "")
    assert out.splitlines()[1:] == [f"note: {remark}"]


def test_fixed_budgets_are_no_news_where_they_count(run, write):
    path = write("compression: {budget: fixed, head_tokens: 5, tail_tokens: 5, summary_tokens: 5}")
    assert run("check", "--path", path)[1] == f"no problems: {path}\n"


def test_check_notes_a_variable_that_lacks_an_underscore(run, monkeypatch):
    monkeypatch.setenv("MIDFOLD_COMPRESSION_THRESHOLD", "0.6")
    _, out, _ = run("check")
    assert out.splitlines() == [
        "no problems: no settings file",
        "note: MIDFOLD_COMPRESSION_THRESHOLD is not read; MIDFOLD_COMPRESSION__THRESHOLD is",
    ]


@pytest.mark.parametrize("arguments", [["show"], ["check"]])
def test_a_missing_file_is_one_line_and_status_two(run, tmp_path, arguments):
    status, out, err = run(*arguments, "--path", tmp_path / "none.yaml")
    assert (status, out) == (2, "")
    assert err == f"midfold: {tmp_path / 'none.yaml'} is missing; expected a YAML or TOML file\n"


def test_help_says_which_source_wins(run):
    status, out, _ = run("--help")
    assert status == 0
    for words in ("MIDFOLD_SECTION__KEY", "MIDFOLD_CONFIG", "show", "check"):
        assert words in out
