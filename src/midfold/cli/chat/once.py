"""One turn in a pipe: the words on standard output, the rest on standard error, or everything as JSON."""

import sys

from midfold.agent import Agent
from midfold.cli.chat.approvals import DANGER, Approvals
from midfold.cli.chat.editor import LineReader
from midfold.cli.chat.json_events import JsonView, describe_end, describe_start
from midfold.cli.chat.turns import take_turn
from midfold.cli.chat.view.lines import failure, warning
from midfold.cli.chat.view.plain import PlainView
from midfold.cli.chat.view.status import farewell, start_line
from midfold.cli.console import make_console
from midfold.errors import MidfoldError

_FAILED = 1
_STOPPED = 130


def run_plain(agent: Agent, prompt: str | None, *, everything: bool) -> int:
    """Take one turn, with words on standard output; return the exit status."""
    remarks = make_console(stderr=True)
    view = PlainView(sys.stdout, remarks)
    view.say(start_line(agent.status()), *([warning(DANGER)] if everything else []))
    approvals = Approvals(view, LineReader(sys.stdin), everything=everything)
    try:
        is_done = take_turn(agent, prompt, view, approvals.answer)
    except MidfoldError as error:
        view.say(failure(str(error)))
        return _FAILED
    finally:
        view.say(*farewell(agent.status(), agent.usage()))
    return 0 if is_done else _STOPPED


def run_json(agent: Agent, prompt: str | None, *, everything: bool) -> int:
    """Take one turn, with every event as a line of JSON; return the exit status."""
    view = JsonView(sys.stdout)
    view.write("session", describe_start(agent.status()))
    view.say(*([warning(DANGER)] if everything else []))
    approvals = Approvals(view, LineReader(sys.stdin), everything=everything)
    try:
        is_done = take_turn(agent, prompt, view, approvals.answer)
    except MidfoldError as error:
        view.write("error", {"kind": type(error).__name__, "text": str(error)})
        return _FAILED
    finally:
        view.write("end", describe_end(agent.status(), agent.usage()))
    return 0 if is_done else _STOPPED
