"""Draw the pictures of the chat: the real `midfold chat` in tmux, with a scripted model; needs tmux."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from draw_pictures import ROOT, draw_svg
from rich.console import Console
from rich.text import Text

from midfold.messages import ToolCall
from midfold.testing import Reply, Upstream

MODEL = "anthropic/claude-sonnet-4-6"
COLUMNS, ROWS = 88, 60
TIMEOUT_SECONDS = 60
_POLL_SECONDS = 0.1

LAMP = """LIMIT = 4


def brightness(level):
    if level > LIMIT:
        raise ValueError(level)
    return level * 25
"""
TEST = """from lamp import brightness


def test_full():
    assert brightness(4) == 100


def test_off():
    assert brightness(-1) == 0
"""
ANSWER = """**`brightness(-1)` was -25.** A level below zero now counts as zero.

| test | before | now |
|---|---|---|
| test_full | passed | passes |
| test_off | failed | passes |
"""


def call(number: int, name: str, **arguments: str) -> ToolCall:
    return ToolCall(f"call_{number}", name, json.dumps(arguments))


MEND = [
    Reply("I run the tests first.", (call(1, "terminal", command="python -m pytest -q 2>&1 | tail -3"),)),
    Reply("One test fails. I look at the code.", (call(2, "read_file", path="lamp.py"),)),
    Reply(
        "",
        (
            call(
                3,
                "edit_file",
                path="lamp.py",
                old_string="return level * 25",
                new_string="return max(level, 0) * 25",
            ),
        ),
    ),
    Reply(ANSWER),
]
SUMMARY = """## Goal
Light every lamp of the row.

## Completed Actions
- Lamps 1 to 10 are lit.
"""
NOTE = "Its socket was loose, the cable is dry, and the fuse of the row holds. " * 12


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture: the replies, the options, and each text to type with the words to wait for."""

    name: str
    replies: Sequence[Reply]
    steps: Sequence[tuple[str, str]]
    options: tuple[str, ...] = ()
    unseen: int = 0
    """so many first steps are typed and cleared from the screen"""


WALK = [("walk on to the next lamp", f"Lamp {number} is lit") for number in range(1, 11)]
LIT = [Reply(f"Lamp {number} is lit. {NOTE}") for number in range(1, 11)]
SCENES = [
    Scene(
        "chat-tools",
        MEND,
        [
            ("which test fails? mend the code, not the test", "run it\\?"),
            ("y", "write it\\?"),
            ("y", "test_off +failed"),
        ],
    ),
    Scene(
        "chat-fold",
        [*LIT, Reply("Ten lamps are lit."), Reply(SUMMARY), Reply("Lamp 7 stays on, as you said.")],
        [
            *WALK,
            ("never switch lamp 7 off. how far are you?", "Ten lamps are lit"),
            ("/compress", "continues in session"),
            ("so what about lamp 7?", "Lamp 7 stays on"),
            ("/undo", "Undone"),
        ],
        ("--context-length", "20k"),
        unseen=len(WALK),
    ),
    Scene(
        "chat-context",
        [*LIT[:5], Reply("Five lamps are lit.")],
        [*WALK[:5], ("how far are you?", "Five lamps"), ("/context", "section"), ("/usage", "fresh input")],
        ("--context-length", "20k"),
        unseen=5,
    ),
]


class Pane:
    """A terminal in a tmux server of its own."""

    def __init__(self, socket: Path, command: Sequence[str], folder: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        size = ["-x", str(COLUMNS), "-y", str(ROWS), "-c", str(folder)]
        self._run("new-session", "-d", *size, shlex.join(["env", "-u", "COLUMNS", "-u", "LINES", *command]))

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)
        self._run("send-keys", "Enter")

    def clear(self) -> None:
        self._run("send-keys", "C-l")

    def wait_for(self, pattern: str) -> None:
        """Wait until the words are there and the chat waits for the person."""
        until = time.monotonic() + TIMEOUT_SECONDS
        while not (re.search(pattern, screen := self._run("capture-pane", "-p")) and "waiting" not in screen):
            if time.monotonic() > until:
                raise SystemExit(f"no {pattern!r} on:\n{screen}")
            time.sleep(_POLL_SECONDS)

    def lines(self) -> list[Text]:
        """Return the screen with its colours."""
        # In one piece: a style goes on from row to row.
        return list(Text.from_ansi(self._run("capture-pane", "-p", "-e").rstrip("\n")).split("\n"))

    def close(self) -> None:
        """Leave the chat; the server ends with it."""
        self.type("/quit")
        while subprocess.run([*self._tmux, "has-session"], capture_output=True, check=False).returncode == 0:
            time.sleep(_POLL_SECONDS)

    def _run(self, *arguments: str) -> str:
        return subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True).stdout


@contextmanager
def chat(scene: Scene) -> Iterator[Pane]:
    with TemporaryDirectory() as folder, Upstream(scene.replies) as up:
        work = Path(folder, "lamps")
        work.mkdir()
        (work / "lamp.py").write_text(LAMP, "utf-8")
        (work / "test_lamp.py").write_text(TEST, "utf-8")
        python = f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"
        command = [f"MIDFOLD_HOME={folder}/home", "ANTHROPIC_API_KEY=sk-scripted", python]
        command += ["midfold", "chat", "--model", MODEL, "--base-url", up.url, *scene.options]
        pane = Pane(Path(folder, "tmux"), command, work)
        pane.wait_for("cache on")
        yield pane
        pane.close()


def draw(scene: Scene) -> None:
    """Play a scene, and write what the screen shows."""
    with chat(scene) as pane:
        for number, (text, words) in enumerate(scene.steps):
            if number == scene.unseen and number:
                pane.clear()
            pane.type(text)
            pane.wait_for(words)
        time.sleep(10 * _POLL_SECONDS)  # the status line follows the answer
        lines = pane.lines()
    console = Console(record=True, width=COLUMNS, highlight=False, file=io.StringIO())
    blank = 0
    for line in lines:
        blank = 0 if line.plain.strip() else blank + 1
        if blank <= 1:
            console.print(line, soft_wrap=True)
    draw_svg(console, scene.name, title="midfold chat")


if __name__ == "__main__":
    for each in SCENES:
        draw(each)
        print(ROOT / "docs" / "images" / f"{each.name}.svg")
