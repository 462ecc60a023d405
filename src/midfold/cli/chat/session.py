"""A chat: prompts and commands in turn, until somebody leaves."""

import os
from dataclasses import dataclass

from rich.text import Text

from midfold.agent import ContinuedElsewhere, NothingToAnswer
from midfold.cli.chat.approvals import Approvals
from midfold.cli.chat.editor import Editor
from midfold.cli.chat.slash import is_command, run_command
from midfold.cli.chat.slash.base import After, Desk, UsageProblem
from midfold.cli.chat.turns import take_turn
from midfold.cli.chat.view.lines import failure, remark
from midfold.cli.chat.view.status import farewell, status_line
from midfold.cli.finding import ID_CHARS
from midfold.cli.streams import OutputClosed
from midfold.errors import MidfoldError

_TRY_AGAIN = "what was said is kept; /continue tries again"


@dataclass(slots=True)
class Chat:
    """A person and an agent."""

    desk: Desk
    editor: Editor
    approvals: Approvals
    _has_warned: bool = False

    def hold(self) -> int:
        """Talk until the person leaves; return the status of the last turn, for pipes."""
        is_well = True
        while (line := self._read()) is not None:
            after = self._obey(line) if is_command(line) else After.GO_ON if line.strip() else After.PROMPT
            if after is After.QUIT:
                break
            if after is After.GO_ON:
                is_well = self._take_turn(None if is_command(line) else line)
        self._leave()
        return 0 if is_well or self.editor.can_ask else 1

    def _read(self) -> str | None:
        """Return the next line; `None` where the person leaves, with Ctrl-D or with Ctrl-C twice."""
        try:
            status, spending = self.desk.agent.status(), self.desk.agent.usage()
            self.desk.view.set_status(status, spending)
            line = self.editor.read(status_line(status, spending))
        except EOFError:
            return None
        except KeyboardInterrupt:
            if self._has_warned:
                return None
            self._has_warned = True
            self.desk.view.say(remark("Ctrl-C once more, or Ctrl-D, leaves"))
            return ""
        self._has_warned = False
        return line

    def _obey(self, line: str) -> After:
        try:
            return run_command(self.desk, line)
        except UsageProblem as problem:
            self.desk.view.say(failure(str(problem)))
        except (MidfoldError, OSError) as error:
            self.desk.view.say(failure(str(error)))
        except KeyboardInterrupt:
            self.desk.view.say(Text("interrupted", style="yellow"))
        except Exception as error:  # noqa: BLE001 - a bug of ours should not end the talk
            self._survive(error)
        return After.PROMPT

    def _take_turn(self, prompt: str | None) -> bool:
        """Take a turn; false where it failed or was stopped."""
        agent, view = self.desk.agent, self.desk.view
        is_done = False
        try:
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
            self._survive(error)
        if not self.editor.can_ask:
            view.say(status_line(agent.status(), agent.usage()))
        return is_done

    def _survive(self, error: Exception) -> None:
        """Say what went wrong inside of us, and go on; with `MIDFOLD_TRACEBACK` set, leave with it."""
        if os.environ.get("MIDFOLD_TRACEBACK"):
            raise error
        self.desk.view.say(failure(f"internal error: {type(error).__name__}: {error}"))

    def _leave(self) -> None:
        agent = self.desk.agent
        self.desk.view.say(*farewell(agent.status(), agent.usage()))
