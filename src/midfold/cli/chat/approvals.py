"""Whether a tool may go on: asked each time, unless the same was allowed for good or everything was."""

from collections.abc import Sequence

from rich.text import Text

from midfold.agent import ApprovalRequested, Risk
from midfold.cli.chat.editor import Editor
from midfold.cli.chat.view.base import ChatView
from midfold.cli.chat.view.diffs import diff_rows
from midfold.cli.chat.view.text import pages, show_whole
from midfold.cli.terminal import printable
from midfold.late_dataclasses import dataclass, field

DANGER = "commands run and files are written without asking (--yes): they can do all that you can do"
EDITS_ACCEPTED = "files are written without asking (--accept-edits); /undo-edit takes an edit back"
MAX_CHARS = 20_000
"""More than anybody reads before saying yes."""
MAX_DIFF_ROWS = 40
"""Of a diff, before the question; the rest is shown when it is asked for."""
_NO = "[n]o (and why)"
_QUESTIONS = {
    Risk.COMMAND: f"  run it? [y]es, {_NO}, [a]lways: ",
    Risk.EDIT: f"  write it? [y]es, {_NO}, [a]ll edits of this chat: ",
    Risk.GUARDED_EDIT: f"  write it? [y]es, {_NO}: ",
    Risk.MEMORY: f"  keep it? [y]es, {_NO}: ",
}
_HEADINGS = {
    Risk.COMMAND: "asks before it runs",
    Risk.EDIT: "asks before it writes",
    Risk.GUARDED_EDIT: "asks before it writes a file that programs run or agents obey",
    Risk.MEMORY: "asks before it changes the memory",
}
_MORE = f"  there is more of it: Enter shows it, {_NO}: "
_CUT = "  [{count:,} more lines; v shows them]"
_NOBODY = {
    Risk.EDIT: "nobody can be asked, so no file is written; the user can allow it with --accept-edits",
}
_NOBODY_AT_ALL = "nobody is there to be asked; the user can allow it with --yes"
_TOO_LONG = (
    "it has {chars:,} characters, and more than {most:,} cannot be judged; "
    "write it to a file with write_file and run that"
)
_TOO_LONG_TO_WRITE = (
    "the change has {chars:,} characters, and more than {most:,} cannot be judged; make smaller ones"
)
_PAGE_ROWS = 18
_LONG_CHARS = 200


@dataclass(slots=True)
class Approvals:
    """Answers tools that ask. `always` are the very calls that were allowed for good."""

    view: ChatView
    editor: Editor
    everything: bool = False
    edits: bool = False
    """whether plain files are written unasked"""
    always: set[tuple[str, str]] = field(default_factory=set)

    def answer(self, request: ApprovalRequested) -> None:
        """Answer a request; raises `KeyboardInterrupt` where the person stops the turn instead."""
        is_plain_edit = request.risk is Risk.EDIT
        call = (request.name, request.preview)
        if self.everything or (self.edits and is_plain_edit) or call in self.always:
            request.answer(True)
        elif not self.editor.can_ask:
            request.answer(False, _NOBODY.get(request.risk, _NOBODY_AT_ALL))
        elif len(request.preview) > MAX_CHARS and not is_plain_edit:
            self._refuse(request)
        else:
            self._ask(request, call)

    def _refuse(self, request: ApprovalRequested) -> None:
        """Deny what is too long to be read: what nobody sees, nobody allows."""
        words = _TOO_LONG if request.risk is Risk.COMMAND else _TOO_LONG_TO_WRITE
        reason = words.format(chars=len(request.preview), most=MAX_CHARS)
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
        if is_seen and word.lower() in ("a", "all", "always") and request.risk in (Risk.COMMAND, Risk.EDIT):
            self.edits = self.edits or request.risk is Risk.EDIT
            self.always |= {call} if request.risk is Risk.COMMAND else set()
            request.answer(True)
        elif is_seen and word.lower() in ("y", "yes"):
            request.answer(True)
        else:
            request.answer(False, reason.strip() if word.lower() in ("n", "no") else said)

    def _show_and_ask(self, request: ApprovalRequested) -> tuple[str, bool]:
        """Show the call; return the answer, and whether all of it was seen that has to be."""
        self.view.say(_render_heading(request))
        question = _QUESTIONS[request.risk]
        rows = show_whole(request.preview) if request.risk is Risk.COMMAND else diff_rows(request.preview)
        if request.risk is Risk.EDIT and len(rows) > MAX_DIFF_ROWS:
            return self._show_beginning(rows, question), True
        return self._show_pages(rows, question)

    def _show_beginning(self, rows: Sequence[Text], question: str) -> str:
        """Show the beginning of a long diff, and the rest when the person wants to see it."""
        self.view.say(*rows[:MAX_DIFF_ROWS], _cut_line(len(rows) - MAX_DIFF_ROWS))
        said = self.editor.ask(question).strip()
        if said.lower() not in ("v", "view"):
            return said
        return self._show_pages(rows[MAX_DIFF_ROWS:], question)[0]

    def _show_pages(self, rows: Sequence[Text], question: str) -> tuple[str, bool]:
        """Show rows a page at a time; only the last page offers a yes.

        Before it, whatever is not a no shows the next one.
        """
        parts = list(pages(list(rows), _PAGE_ROWS))
        for number, part in enumerate(parts, 1):
            self.view.say(*part)
            if number == len(parts):
                break
            said = self.editor.ask(_MORE).strip()
            if said.partition(" ")[0].lower() in ("n", "no"):
                return said, False
        return self.editor.ask(question).strip(), True


def _cut_line(count: int) -> Text:
    return Text(_CUT.format(count=count), style="black on yellow")


def _render_heading(request: ApprovalRequested) -> Text:
    lines, chars = request.preview.count("\n") + 1, len(request.preview)
    is_long = request.risk is Risk.COMMAND and (lines > 1 or chars > _LONG_CHARS)
    size = f" ({lines:,} lines, {chars:,} characters)" if is_long else ""
    return Text(f"{printable(request.name)} {_HEADINGS[request.risk]}{size}:", style="yellow")
