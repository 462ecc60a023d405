"""A chat that is ended from outside ends what it runs."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def wait_for(path, seconds=20.0):
    until = time.monotonic() + seconds
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < until, f"no {path.name}"
        time.sleep(0.02)
    return int(path.read_text())


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _heed_all_signals():
    """Undo what a shell sets for background commands, and `nohup` for all: signals that are ignored."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def start(chat_command, chat_environment, tmp_path):
    started = []

    def starting(*options, preexec_fn=_heed_all_signals, **settings):
        command = chat_command("--yes", *options, "-p", "run sleep 300 & echo $! > pid; wait")
        environment = chat_environment(tmp_path / "home")
        started.append(
            subprocess.Popen(
                command,
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=preexec_fn,
                **settings,
            )
        )
        return started[-1], wait_for(tmp_path / "pid")

    yield starting
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_the_running_command_ends_with_the_chat(start, number):
    process, pid = start()
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert b"Traceback" not in errors
    assert not is_running(pid)


def test_a_chat_that_ignores_the_end_of_its_terminal_goes_on(start):
    process, pid = start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    assert is_running(pid)
    os.kill(pid, signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 0
