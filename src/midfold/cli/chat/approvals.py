"""Whether a tool may run: asked each time, unless the same was allowed for good or everything was."""

from dataclasses import dataclass, field

from rich.text import Text

from midfold.agent import ApprovalRequested
from midfold.cli.chat.editor import Editor
from midfold.cli.chat.view.base import ChatView
from midfold.cli.chat.view.text import pages, show_whole
from midfold.cli.terminal import printable

DANGER = "commands run without asking (--yes): they can do all that you can do"
MAX_CHARS = 20_000
"""More than anybody reads before saying yes."""
_QUESTION = "  run it? [y]es, [n]o (with a reason, if you like), [a]lways: "
_MORE = "  there is more of it: Enter shows it, [n]o (with a reason, if you like): "
_NOBODY = "nobody is there to be asked; the user can allow it with --yes"
_TOO_LONG = (
    "it has {chars:,} characters, and more than {most:,} cannot be judged; "
    "write it to a file with write_file and run that"
)
_PAGE_ROWS = 18
_LONG_CHARS = 200


@dataclass(slots=True)
class Approvals:
    """Answers tools that ask. `always` are the very calls that were allowed for good."""

    view: ChatView
    editor: Editor
    everything: bool = False
    always: set[tuple[str, str]] = field(default_factory=set)

    def answer(self, request: ApprovalRequested) -> None:
        """Answer a request; raises `KeyboardInterrupt` where the person stops the turn instead."""
        call = (request.name, request.preview)
        if self.everything or call in self.always:
            request.answer(True)
        elif not self.editor.can_ask:
            request.answer(False, _NOBODY)
        elif len(request.preview) > MAX_CHARS:
            self._refuse(request)
        else:
            self._ask(request, call)

    def _refuse(self, request: ApprovalRequested) -> None:
        """Deny what is too long to be read: what nobody sees, nobody allows."""
        reason = _TOO_LONG.format(chars=len(request.preview), most=MAX_CHARS)
        with self.view.paused():
            self.view.say(Text(f"{printable(request.name)} is not run: {reason}", style="yellow"))
        request.answer(False, reason)

    def _ask(self, request: ApprovalRequested, call: tuple[str, str]) -> None:
        with self.view.paused():
            try:
                said, is_seen = self._show_and_ask(request)
            except EOFError:
                said, is_seen = "n", False
            except KeyboardInterrupt:
                request.answer(False, "the user stopped the turn")
                raise
        word, _, reason = said.partition(" ")
        if is_seen and word.lower() in ("a", "always"):
            self.always.add(call)
            request.answer(True)
        elif is_seen and word.lower() in ("y", "yes"):
            request.answer(True)
        else:
            request.answer(False, reason.strip() if word.lower() in ("n", "no") else said)

    def _show_and_ask(self, request: ApprovalRequested) -> tuple[str, bool]:
        """Show the call, a page at a time; return the answer, and whether all of it was seen.

        Only the last page offers a yes. Before it, whatever is not a no shows the next one.
        """
        parts = list(pages(show_whole(request.preview), _PAGE_ROWS))
        self.view.say(_render_heading(request))
        for number, part in enumerate(parts, 1):
            self.view.say(*part)
            if number == len(parts):
                break
            said = self.editor.ask(_MORE).strip()
            if said.partition(" ")[0].lower() in ("n", "no"):
                return said, False
        return self.editor.ask(_QUESTION).strip(), True


def _render_heading(request: ApprovalRequested) -> Text:
    lines, chars = request.preview.count("\n") + 1, len(request.preview)
    size = f" ({lines:,} lines, {chars:,} characters)" if lines > 1 or chars > _LONG_CHARS else ""
    return Text(f"{printable(request.name)} asks before it runs{size}:", style="yellow")
