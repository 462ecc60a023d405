"""`midfold chat` in tmux, which shows what a person would see on the screen."""

import re
import shlex
import shutil
import subprocess
import time

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
TIMEOUT_SECONDS = 40.0


class Pane:
    """A terminal in a tmux server of its own."""

    def __init__(self, socket, command, environment, folder):
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        settings = [f"{name}={value}" for name, value in environment.items() if name.startswith("MIDFOLD_")]
        start = ["new-session", "-d", "-x", "100", "-y", "30", "-c", str(folder)]
        self._run(*start, shlex.join(["env", "-u", "COLUMNS", "-u", "LINES", *settings, *command]))

    def screen(self):
        return self._run("capture-pane", "-p").rstrip("\n")

    def type(self, *keys):
        self._run("send-keys", *keys)

    def expect(self, pattern):
        """Wait until the screen matches, and return it."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not re.search(pattern, screen := self.screen()):
            assert time.monotonic() < deadline, f"no {pattern!r} on:\n{screen}"
            self._run("wait-for", "-S", "nothing")  # a moment: a round trip to the server
        return screen

    def resize(self, columns, rows):
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self):
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def _run(self, *arguments):
        return subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tmux")


@pytest.fixture(scope="module")
def kept_pane(folder, chat_command, chat_environment):
    """One chat for all tests of this module: to start one takes longer than what is tested."""
    opened = Pane(folder / "tmux", chat_command(), chat_environment(folder / "home"), folder)
    opened.expect("cache off")
    yield opened
    opened.close()


@pytest.fixture
def pane(kept_pane):
    """The same chat on an empty screen."""
    kept_pane.resize(100, 30)
    kept_pane.type("C-u", "C-l")
    kept_pane.expect(r"^>\s+scripted .*cache off$")
    return kept_pane


@pytest.mark.slow
def test_screen_has_the_conversation_and_the_status_and_nothing_else(pane, folder):
    (folder / "notes.txt").write_text("the lamp is green\n")
    pane.type("read notes.txt", "Enter")
    pane.expect("The tool said")
    pane.type("run echo lit", "Enter")
    pane.expect("run it")
    pane.type("y", "Enter")
    screen = pane.expect(r"The tool said: lit\n\n>\s+scripted .*cache off$")
    seconds = r"\d+\.\d s"
    wanted = [
        r"> read notes.txt",
        r"I look\.",
        r"",
        rf"→ read_file notes\.txt  {seconds}, \d+ bytes",
        r"",
        r"The tool said: 1 +the lamp is green",
        r"",
        r"> run echo lit",
        r"I look\.",
        r"",
        r"terminal asks before it runs:",
        r"  echo lit",
        r"  run it\? .*: y",
        rf"→ terminal echo lit  {seconds}, \d+ bytes",
        r"",
        r"The tool said: lit",
        r"",
        r">",
    ]
    lines = [line.rstrip() for line in screen.splitlines()]
    assert all(re.fullmatch(*pair) for pair in zip(wanted, lines, strict=False)), screen
    assert set(lines[len(wanted) : -1]) <= {""}
    assert re.fullmatch(r"scripted █+░+\|░ \d+% · cost unknown · cache off", lines[-1])


@pytest.mark.slow
def test_keys_that_are_pressed_meanwhile_tear_nothing_and_are_kept(pane):
    pane.type("run sleep 1", "Enter")
    pane.expect("run it")
    pane.type("y", "Enter")
    pane.expect("using tools")
    pane.type("typed meanwhile")
    screen = pane.expect(r"The tool said: .*\n\n> typed meanwhile")
    assert screen.count("typed meanwhile") == 1
    assert "using tools" not in screen


def test_words_are_laid_out_anew_on_a_narrower_terminal(pane):
    pane.type("slowly", "Enter")
    pane.expect("answering 1 s")
    pane.resize(40, 30)
    pane.expect(r"The harbour lamp number 0 was cleaned,\noiled")
    pane.type("C-c")
    screen = pane.expect(r"interrupted\n\n>")
    assert "answering" not in screen


@pytest.mark.slow
def test_keys_typed_before_a_question_are_no_answer_and_wait_for_the_prompt(pane, folder):
    pane.type("run sleep 1", "Enter")
    pane.expect("run it")
    pane.type("y", "Enter")
    pane.expect("using tools")
    pane.type("run touch planted", "Enter", "y")
    pane.expect(r"touch planted\n\s+run it\? \[y\]es.*:\s*\Z")
    pane.type("n", "Enter")
    pane.expect(r"> y")
    assert not (folder / "planted").exists()


@pytest.fixture
def shell(tmp_path, chat_command, chat_environment):
    """A chat that was started from a shell with jobs."""
    environment = chat_environment(tmp_path / "home")
    opened = Pane(tmp_path / "tmux", ["bash", "--norc", "--noprofile", "-i"], environment, tmp_path)
    opened.type(f"PS1='$ '; {shlex.join(chat_command())}", "Enter")
    opened.expect("cache off")
    yield opened
    opened.close()


@pytest.mark.slow
def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_comes_back(shell):
    shell.type("C-z")
    shell.expect(r"Stopped")
    shell.type("echo shown-$((6*7))", "Enter")
    shell.expect(r"\n\$ echo shown-\$\(\(6\*7\)\)\nshown-42\n")
    shell.type("fg", "Enter")
    shell.type("hello again", "Enter")
    shell.expect("You said: hello again")


@pytest.mark.slow
def test_ctrl_z_during_a_turn_stops_it_until_fg(shell):
    shell.type("slowly", "Enter")
    shell.expect("answering")
    shell.type("C-z")
    shell.expect(r"Stopped")
    shell.type("echo shown-$((6*7))", "Enter")
    shell.expect(r"echo shown-\$\(\(6\*7\)\)\nshown-42\n")
    shell.type("fg", "Enter")
    shell.type("C-c")
    shell.expect(r"interrupted\n\n>")
