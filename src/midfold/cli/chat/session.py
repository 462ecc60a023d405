"""A chat: from options to an agent, and with it on a terminal, over pipes, or for one turn."""

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from midfold.agent import Agent, ContinuedElsewhere, NothingToAnswer, Options, ToolFailed
from midfold.cli.chat.approvals import DANGER, EDITS_ACCEPTED, Approvals
from midfold.cli.chat.editor import Editor, LineReader, kept_keys, open_editor
from midfold.cli.chat.signals import ended_by_signals
from midfold.cli.chat.slash import complete, is_command, run_command
from midfold.cli.chat.slash.base import ChatContext, NextStep, UsageProblem
from midfold.cli.chat.slash.own_commands import run_own_command
from midfold.cli.chat.slash.sessions import SOURCE, find_chat, recall
from midfold.cli.chat.turns import take_turn
from midfold.cli.chat.user_input import attach_files, complete_file, read_piped_input
from midfold.cli.chat.view.base import ChatView
from midfold.cli.chat.view.json_events import JsonView, describe_end, describe_start
from midfold.cli.chat.view.lines import failure, farewell, remark, start_line, status_line, warning
from midfold.cli.chat.view.plain import PlainView
from midfold.cli.conversations import ID_CHARS, warn_of
from midfold.cli.render.console import make_console
from midfold.cli.terminal import OutputClosed
from midfold.config import Settings, find_home
from midfold.errors import MidfoldError
from midfold.late_dataclasses import dataclass

if TYPE_CHECKING:
    from midfold.cli.commands.chat import ChatOptions

_TRY_AGAIN = "your prompt is saved; /continue tries again"


@dataclass(slots=True)
class Chat:
    """A person and an agent."""

    context: ChatContext
    editor: Editor
    approvals: Approvals
    _has_warned: bool = False

    def hold(self) -> int:
        """Talk until the person leaves; return the status of the last turn, for pipes."""
        is_well = True
        while (line := self._read()) is not None:
            after = self._obey(line)
            if after is NextStep.QUIT:
                break
            if after is NextStep.GO_ON:
                is_well = self._take_turn(None if is_command(line) else line)
        self._end_session()
        return 0 if is_well or self.editor.can_ask else 1

    def _obey(self, line: str) -> NextStep:
        """Do what a line asks of us; what is for the model is the next step."""
        if is_command(line):
            return self._run_safely(run_command, line)
        # In a pipe nobody can be asked, and lines may be anybody's.
        if line.startswith(_OWN_COMMAND) and line[1:].strip() and self.editor.can_ask:
            return self._run_safely(run_own_command, line[1:].strip())
        return NextStep.GO_ON if line.strip() else NextStep.PROMPT

    def _read(self) -> str | None:
        """Return the next line; `None` where the person leaves, with Ctrl-D or with Ctrl-C twice."""
        try:
            status, spending = self.context.agent.status(), self.context.agent.usage()
            self.context.view.set_status(status, spending)
            line = self.editor.read(status_line(status, spending))
        except EOFError:
            return None
        except KeyboardInterrupt:
            if self._has_warned:
                return None
            self._has_warned = True
            self.context.view.say(remark("press Ctrl-C again, or Ctrl-D, to leave"))
            return ""
        self._has_warned = False
        return line

    def _run_safely(self, run: Callable[[ChatContext, str], NextStep], argument: str) -> NextStep:
        try:
            return run(self.context, argument)
        except (UsageProblem, ToolFailed) as problem:
            self.context.view.say(failure(str(problem)))
        except (MidfoldError, OSError) as error:
            self.context.view.say(failure(str(error)))
        except KeyboardInterrupt:
            self.context.view.say(Text("interrupted", style="yellow"))
        except Exception as error:  # noqa: BLE001 - a bug of ours should not end the talk
            self._report_crash(error)
        return NextStep.PROMPT

    def _take_turn(self, prompt: str | None) -> bool:
        """Take a turn; false where it failed or was stopped."""
        agent, view = self.context.agent, self.context.view
        is_done = False
        try:
            view.say(*(warning(problem) for problem in attach_files(agent, prompt or "")))
            is_done = take_turn(agent, prompt, view, self.approvals.answer)
        except ContinuedElsewhere as error:
            view.say(failure(str(error)), remark(f"/resume {error.session_id[:ID_CHARS]} does so"))
        except NothingToAnswer as error:
            view.say(failure(str(error)))
        except MidfoldError as error:
            view.say(failure(str(error)), remark(_TRY_AGAIN))
        except OutputClosed:  # nobody reads any more
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours should not end the talk
            self._report_crash(error)
        if not self.editor.can_ask:
            view.say(status_line(agent.status(), agent.usage()))
        return is_done

    def _report_crash(self, error: Exception) -> None:
        """Report an error of our own code, and go on; with `MIDFOLD_TRACEBACK` set, raise it."""
        if os.environ.get("MIDFOLD_TRACEBACK"):
            raise error
        self.context.view.say(failure(f"internal error: {type(error).__name__}: {error}"))

    def _end_session(self) -> None:
        agent = self.context.agent
        self.context.view.say(*farewell(agent.status(), agent.usage()))


_HISTORY_FILE = "chat_history"
_FROM_INPUT = "-"
_OWN_COMMAND = "!"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The changes that are made without asking."""

    edits: bool = False
    everything: bool = False

    @property
    def warnings(self) -> list[Text]:
        """Say so, as it can be forgotten."""
        words = DANGER if self.everything else EDITS_ACCEPTED if self.edits else ""
        return [warning(words)] if words else []

    def approvals(self, view: ChatView, editor: Editor) -> Approvals:
        return Approvals(view, editor, everything=self.everything, edits=self.edits)


def start(
    settings: Settings,
    given: "ChatOptions",
    *,
    prompt: str | None,
    as_json: bool,
    session: str | None,
    allowed: Allowed,
) -> int:
    """Hold a chat, or take the one turn that is asked for; return the exit status."""
    with ended_by_signals(), Agent.from_settings(settings, **_options(given)) as agent:
        if session is not None:
            _resume(agent, session)
        if prompt is None:
            return _run_chat(agent, settings, is_resumed=session is not None, allowed=allowed)
        warn_of(agent.store)
        text = sys.stdin.read() if prompt == _FROM_INPUT else prompt
        if not text.strip():
            raise click.UsageError("the prompt is empty")
        if prompt != _FROM_INPUT:
            for problem in attach_files(agent, text):
                click.echo(f"midfold: warning: {problem}", err=True)
            piped = read_piped_input().strip("\n")
            text = f"{text}\n\n{piped}" if piped.strip() else text
        return (run_json if as_json else run_plain)(agent, text, allowed=allowed)


def _options(given: "ChatOptions") -> Options:
    options = Options(
        source=SOURCE,
        allow=given["allow"],
        built_in_tools=not given["no_tools"],
        shown_variables=given["env"],
        asks_server=True,
    )
    if given["workspace"]:
        options["workspace"] = given["workspace"]
    if given["base_url"]:
        options["base_url"] = given["base_url"]
    if given["api"]:
        options["api"] = given["api"]
    if given["context_length"]:
        options["context_length"] = given["context_length"]
    return options


def _resume(agent: Agent, name: str) -> None:
    try:
        agent.resume(find_chat(agent.store, name).id)
    except UsageProblem as problem:
        raise click.UsageError(str(problem)) from None


def _run_chat(agent: Agent, settings: Settings, *, is_resumed: bool, allowed: Allowed) -> int:
    """Hold a conversation, on a terminal or over pipes."""
    console = make_console()
    is_terminal = sys.stdin.isatty() and console.is_terminal
    view = _open_live(console) if is_terminal else PlainView(sys.stdout, make_console(stderr=True))
    context = ChatContext(agent, console, view, settings)
    editor = open_editor(
        find_home() / _HISTORY_FILE, lambda line: complete(context, line) or complete_file(agent, line)
    )
    view.say(start_line(agent.status()))
    if agent.store.status.warning:
        view.say(warning(f"{agent.store.status.warning}; see midfold doctor"))
    view.say(*allowed.warnings)
    if is_resumed:
        view.say(*recall(agent.messages))
    with kept_keys() if editor.can_ask else nullcontext():
        return Chat(context, editor, allowed.approvals(view, editor)).hold()


def _open_live(console: Console) -> ChatView:
    from midfold.cli.chat.view.live import LiveView  # a hundred modules lay out words for a terminal

    return LiveView(console)


_FAILED = 1
_STOPPED = 130


def run_plain(agent: Agent, prompt: str | None, *, allowed: Allowed) -> int:
    """Take one turn, with words on standard output; return the exit status."""
    remarks = make_console(stderr=True)
    view = PlainView(sys.stdout, remarks)
    view.say(start_line(agent.status()), *allowed.warnings)
    approvals = allowed.approvals(view, LineReader(sys.stdin))
    try:
        is_done = take_turn(agent, prompt, view, approvals.answer)
    except MidfoldError as error:
        view.say(failure(str(error)))
        return _FAILED
    finally:
        view.say(*farewell(agent.status(), agent.usage()))
    return 0 if is_done else _STOPPED


def run_json(agent: Agent, prompt: str | None, *, allowed: Allowed) -> int:
    """Take one turn, with every event as a line of JSON; return the exit status."""
    view = JsonView(sys.stdout)
    view.write("session", describe_start(agent.status()))
    view.say(*allowed.warnings)
    approvals = allowed.approvals(view, LineReader(sys.stdin))
    try:
        is_done = take_turn(agent, prompt, view, approvals.answer)
    except MidfoldError as error:
        view.write("error", {"kind": type(error).__name__, "text": str(error)})
        return _FAILED
    finally:
        view.write("end", describe_end(agent.status(), agent.usage()))
    return 0 if is_done else _STOPPED
