"""Help as people read it: whole lines on a terminal of 80 columns, words instead of types."""

import gc
import os
import re
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from midfold.cli.main import COMMANDS, cli
from midfold.cli.options import read_token_count

MOST_CPU_SECONDS = 0.3


def every_command():
    for name in COMMANDS:
        command = import_module(f"midfold.cli.commands.{name}").command
        yield (name,), command
        if isinstance(command, click.Group):
            yield from (((name, each), command.commands[each]) for each in command.commands)


ALL = dict(every_command())


@pytest.mark.parametrize("names", [(), *ALL], ids=" ".join)
def test_help_fits_eighty_columns_and_cuts_nothing(names, run):
    status, out, _ = run(*names, "--help", columns=80)
    assert status == 0
    assert [line for line in out.splitlines() if len(line) > 80] == []
    listed = out.partition("Commands:")[2].partition("Examples:")[0]
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


def test_the_list_of_commands_is_in_sight_on_a_terminal_of_24_rows(run):
    out = run("--help", columns=80)[1]
    assert len(out.splitlines()) <= 24
    assert "--version" in out


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_every_option_is_explained_in_words(names, run):
    options = [option for option in ALL[names].params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help and not option.hidden] == []
    out = run(*names, "--help", columns=80)[1]
    assert re.findall(r"RANGE|INTEGER|FLOAT|READ_TEXT|<lambda>|\[x[<>]|\bx[<>]=", out) == []


def test_garbage_is_looked_for_rarely_and_nothing_calls_back_from_there(run):
    usual, callbacks = gc.get_threshold(), list(gc.callbacks)
    gc.set_threshold(700, *usual[1:])
    try:
        run("--help")
        assert gc.get_threshold()[0] > 10_000
        assert gc.callbacks == callbacks  # Python drops the exception of a signal that is handled in one
        gc.set_threshold(0)
        run("--help")
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*usual)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("20000", 20_000),
        ("20,000", 20_000),
        ("20_000", 20_000),
        ("20k", 20_000),
        ("20K", 20_000),
        ("1.5k", 1_500),
        ("1M", 1_000_000),
        ("0.2m", 200_000),
        ("20kb", None),
        ("k", None),
        ("1e5", None),
        ("", None),
        ("2,0", None),
    ],
)
def test_token_numbers_are_read_as_people_write_them(text, tokens):
    assert read_token_count(text) == tokens


def test_every_number_of_tokens_takes_a_k():
    asked = [
        option
        for command in ALL.values()
        for option in command.params
        if isinstance(option, click.Option)
        and re.search(r"tokens$|context_length|window$", option.name or "")
    ]
    assert len(asked) >= 6
    assert [option.type.convert("20k", option, None) for option in asked] == [20_000] * len(asked)


@pytest.mark.parametrize("command", [None, "serve", "wrap"])
def test_help_loads_no_gateway_no_fold_and_no_store(command):
    program = (
        "import sys; from midfold.cli.main import cli\n"
        "cli.main(sys.argv[1:], prog_name='midfold', standalone_mode=False)\n"
        "print(sorted({'midfold.gateway', 'midfold.folding', 'midfold.store'} & set(sys.modules)))"
    )
    words = [command, "--help"] if command else ["--help"]
    done = subprocess.run([sys.executable, "-c", program, *words], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_takes_little_processor_time():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "midfold", "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used <= MOST_CPU_SECONDS * 2  # a busy machine counts more


def test_a_shell_completes_sessions_and_models(put, monkeypatch):
    session = put("how deep is the harbour?")
    chat = ALL[("chat",)]
    by_name = {option.name: option for option in chat.params}
    context = click.Context(chat, parent=click.Context(cli))

    def offers(name, typed):
        return [item.value for item in by_name[name].shell_complete(context, typed)]

    assert offers("session", "") == ["latest", session[:8]]
    assert offers("session", "x") == []
    assert "openai/" in offers("model", "op")
    assert "openai/gpt-4.1" in offers("model", "openai/gpt-4")


@pytest.mark.parametrize("script", ["fetch_model", "refresh_models", "serve_model"])
def test_help_of_a_script_helps_and_does_nothing_else(script, tmp_path):
    path = Path(__file__).parents[2] / "scripts" / f"{script}.py"
    environment = {**os.environ, "MIDFOLD_MODEL_DIR": str(tmp_path / "models")}
    done = subprocess.run(
        [sys.executable, str(path), "--help"], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.startswith("usage:")
    assert list(tmp_path.iterdir()) == []
