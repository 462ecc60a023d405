"""Terminals for tests: a chat in a process of its own on a real pseudo-terminal, and a model it talks to."""

import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The chat gets the terminal as its own, so that Ctrl-C reaches it as a signal.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])|\r")
TIMEOUT_SECONDS = 40.0


class ScriptedModel:
    """A model that obeys its prompts; see `scripted_model.py`."""

    def __init__(self, log: Path) -> None:
        self._log = log
        command = [sys.executable, str(HERE / "scripted_model.py"), str(log)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self._process.stdout.readline().strip()

    @property
    def requests(self):
        """What it was sent, oldest first."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def close(self):
        self._process.communicate()


class Terminal:
    """A program on a pseudo-terminal. What is expected is looked for after what was found before."""

    def __init__(self, command, environment, folder, columns=100, rows=30):
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env={
                **environment,
                "TERM": "xterm-256color",
                "PROMPT_TOOLKIT_NO_CPR": "1",
                "COLUMNS": "",
                "LINES": "",
            },
            start_new_session=True,
        )
        os.close(slave)
        self.folder = folder
        self._bytes = b""
        self._hit_heading = 0

    @property
    def text(self):
        """All that was printed so far, without colours and movements."""
        return ESCAPES.sub("", self._bytes.decode("utf-8", "replace"))

    def type(self, keys):
        os.write(self._master, keys.encode())

    def enter(self, line):
        self.type(line + "\r")

    def expect(self, pattern):
        """Wait until something is printed that matches, and return the match."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not (found := re.compile(pattern).search(self.text, self._hit_heading)):
            ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
            chunk = self._read() if ready else b""
            if not chunk:
                raise AssertionError(f"no {pattern!r} in:\n{self.text[self._hit_heading :]}")
            self._bytes += chunk
        self._hit_heading = found.end()
        return found

    def wait(self):
        """Return the exit status; what is printed until then is read."""
        with suppress(AssertionError):
            self.expect("(?!)")
        return self.process.wait(TIMEOUT_SECONDS)

    def close(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)

    def _read(self):
        try:
            return os.read(self._master, 65_536)
        except OSError:  # Linux reports the end of a terminal as an error
            return b""


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    served = ScriptedModel(tmp_path_factory.mktemp("model") / "requests.jsonl")
    yield served
    served.close()


@pytest.fixture(scope="session")
def chat_environment():
    """Return the environment of a chat that keeps its sessions in a folder."""

    def make(home):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MIDFOLD_")}
        return {**kept, "MIDFOLD_HOME": str(home)}

    return make


@pytest.fixture(scope="session")
def chat_command(model):
    """Return the command that starts a chat with the scripted model."""

    def make(*options):
        arguments = ("--model", "scripted", "--base-url", model.url, "--context-length", "8000", *options)
        return [sys.executable, "-m", "midfold", "chat", *arguments]

    return make


@pytest.fixture
def open_chat(chat_command, chat_environment, tmp_path):
    """Open chats on terminals of their own; all share a home."""
    opened = []

    def opener(*options):
        environment = chat_environment(tmp_path / "chat-home")
        opened.append(Terminal(chat_command(*options), environment, tmp_path))
        return opened[-1]

    yield opener
    for terminal in opened:
        terminal.close()


@pytest.fixture(scope="module")
def kept_chat(chat_command, chat_environment, tmp_path_factory):
    """One chat for all tests of a module: to start one takes longer than most of what is tested."""
    folder = tmp_path_factory.mktemp("kept")
    terminal = Terminal(chat_command(), chat_environment(folder / "home"), folder)
    yield terminal
    terminal.close()


@pytest.fixture
def chat(kept_chat, model):
    """The same chat with a session of its own, and the model it began with."""
    kept_chat.enter("/new")
    kept_chat.expect(r"window .* session \w{8}")
    kept_chat.enter(f"/model scripted --base-url {model.url} --context-length 8000")
    kept_chat.expect(r"scripted  window 8,000 .* session \w{8}")
    return kept_chat
