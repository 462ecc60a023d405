"""Commands run when they are let, for a bounded time, and leave nothing running."""

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from midfold.agent import ToolFailed
from midfold.agent.tools import terminal
from midfold.agent.tools.processes import VARIABLE, ProcessMark, end_all
from midfold.testing.upstream import Upstream
from support.pace import LONG_SECONDS

needs_environments = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="the system does not show environments"
)


def test_a_command_says_what_it_printed_and_how_it_ended(use, workspace):
    assert use("terminal", command="pwd") == f"{workspace}\n"
    with pytest.raises(ToolFailed, match=r"oops\n\n\[exit status 3\]"):
        use("terminal", command="echo oops >&2; exit 3")
    assert use("terminal", command="cat").startswith("[no output")


@pytest.mark.slow
def test_a_command_that_takes_too_long_is_ended_with_all_it_started(use, workspace, has_ended):
    started = time.monotonic()
    with pytest.raises(ToolFailed, match="stopped after 1 s"):
        use("terminal", command="sleep 60 & echo $! > pid; wait", timeout_seconds=1)
    assert time.monotonic() - started < LONG_SECONDS
    assert has_ended(int((workspace / "pid").read_text()))


def test_a_command_that_leaves_something_running_is_done_when_it_is_done(use, workspace, has_ended):
    started = time.monotonic()
    shown = use("terminal", command="sleep 60 & echo $! > pid; echo started")
    assert time.monotonic() - started < LONG_SECONDS
    assert shown == f"started\n\n{terminal.LEFT_BEHIND}"
    assert has_ended(int((workspace / "pid").read_text()))


def test_endless_output_is_cut_in_the_middle(use):
    shown = use("terminal", command="echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert len(shown) < terminal.HEAD_BYTES + terminal.TAIL_BYTES + 100
    assert shown.startswith("first\n")
    assert shown.endswith("last\n")
    assert "bytes cut" in shown


def test_commands_do_not_see_the_keys_of_providers(make_agent, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with Upstream() as up:
        [command] = [each for each in make_agent(up).tools if each.name == "terminal"]
        assert "sk-1" not in asyncio.run(command.run({"command": "env"}))


@pytest.mark.slow
@needs_environments
@pytest.mark.skipif(not shutil.which("setsid"), reason="there is no setsid")
def test_a_process_that_left_the_group_is_ended_too(use, workspace, recwarn, has_ended):
    use("terminal", command="setsid sh -c 'echo $$ > pid; exec sleep 60' & until [ -s pid ]; do :; done")
    assert has_ended(int((workspace / "pid").read_text()))
    gc.collect()  # a transport that was left open would complain about its loop
    assert not list(recwarn)


@pytest.mark.parametrize("start", ["nohup sleep 60 > log 2>&1 &", "nohup sleep 60 > log 2>&1 & exit 3"])
def test_a_server_that_was_started_the_usual_way_is_said_to_be_ended(use, start):
    try:
        said = use("terminal", command=start)
    except ToolFailed as failed:
        said = str(failed).removesuffix("\n[exit status 3]")
    assert said == terminal.LEFT_BEHIND


def test_the_model_is_told_beforehand_that_nothing_goes_on_in_the_background(make_agent):
    with Upstream() as up:
        [command] = [each for each in make_agent(up).tools if each.name == "terminal"]
    assert "leaves running in the background is ended with it" in " ".join(command.description.split())


def test_what_ends_by_itself_in_a_moment_is_let(use, workspace):
    said = use("terminal", command="(sleep 0.05; echo done > late) > log 2>&1 &")
    assert said.startswith("[no output")
    assert (workspace / "late").exists()


def test_what_is_left_running_may_clean_up_first(use, workspace):
    polite = "(trap 'echo > cleaned; exit' TERM; echo > ready; while :; do sleep 0.02; done) > log 2>&1 &"
    use("terminal", command=f"{polite} until [ -e ready ]; do :; done")
    assert (workspace / "cleaned").exists()


@pytest.mark.slow
def test_what_does_not_end_when_it_is_asked_to_is_killed(use, workspace, has_ended):
    deaf = "(trap '' TERM; sh -c 'echo $PPID' > pid; while :; do sleep 0.02; done) > log 2>&1 &"
    assert use("terminal", command=f"{deaf} until [ -s pid ]; do :; done") == terminal.LEFT_BEHIND
    assert has_ended(int((workspace / "pid").read_text()))


@needs_environments
def test_a_command_inside_of_a_command_is_ended_with_the_outer_one(monkeypatch):
    nobody = subprocess.Popen(["true"])
    nobody.wait()
    outer, stranger = ProcessMark.make(), ProcessMark.make()
    monkeypatch.setenv(VARIABLE, outer.value)
    inner = ProcessMark.make()
    marked = [
        subprocess.Popen(["sleep", "60"], env={**os.environ, VARIABLE: mark.value}, start_new_session=True)
        for mark in (inner, stranger)
    ]
    try:
        assert end_all(nobody.pid, outer)
        assert marked[0].wait(5) == -signal.SIGTERM
        assert marked[1].poll() is None
    finally:
        for process in marked:
            process.kill()
            process.wait()


def test_commands_do_not_see_what_is_named_like_a_credential_unless_it_is_allowed(make_agent, monkeypatch):
    ours = ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "CLIENT_SECRET", "MAIL_API_KEY")
    others = ("PGPASSWORD", "MYSQL_PWD", "SECRET_KEY", "STRIPE_KEY", "GH_PAT", "GPG_PASSPHRASE")
    for name in (*ours, *others):
        monkeypatch.setenv(name, "hush-hush")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "plain")
    monkeypatch.setenv("NPM_TOKEN", "let-through")
    with Upstream() as up:
        tools = make_agent(up, shown_variables=["NPM_TOKEN"]).tools
        [command] = [each for each in tools if each.name == "terminal"]
        seen = asyncio.run(command.run({"command": "env"}))
    assert "hush-hush" not in seen
    assert "TOKENIZERS_PARALLELISM=plain" in seen
    assert "NPM_TOKEN=let-through" in seen
    assert "\nPWD=" in f"\n{seen}"
