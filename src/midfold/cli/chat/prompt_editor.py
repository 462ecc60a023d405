"""The line editor: several lines, history, completion, and how things stand below the prompt."""

import io
import os
import select
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPress, KeyPressEvent
from prompt_toolkit.styles import Style
from rich.console import Console
from rich.text import Text

from midfold.cli.chat.editor import Complete
from midfold.files import refuse_store_file
from midfold.redact import redact

_PROMPT = "> "
_MORE = "\\"
_PRIVATE = 0o600
_TOOLBAR_CELLS = 400
"""More than a terminal has: what does not fit is cut there."""
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse"})


class PromptEditor:
    """Edits prompts on a terminal. Enter sends, Alt-Enter or a backslash before Enter starts a line."""

    can_ask = True

    def __init__(self, history: Path, complete: Complete) -> None:
        self._session: PromptSession[str] = PromptSession(
            _PROMPT,
            history=_History(history) if _make_private(history) else InMemoryHistory(),
            completer=_Completer(complete),
            complete_while_typing=False,
            key_bindings=_bind_keys(),
            multiline=True,
            enable_suspend=True,
            prompt_continuation="  ",
            style=_STYLE,
        )
        self._questions: PromptSession[str] = PromptSession(history=InMemoryHistory())

    def read(self, status: Text) -> str:
        return self._session.prompt(bottom_toolbar=ANSI(_as_ansi(status)))

    def ask(self, question: str) -> str:
        """Ask; keys that were typed before the question was there are no answer, and wait for the prompt."""
        typed_ahead = _take_typed(self._questions.input)
        try:
            return self._questions.prompt(question)
        finally:
            later = get_typeahead(self._questions.input)
            store_typeahead(self._questions.input, [*typed_ahead, *later])


def _take_typed(keyboard: Input) -> list[KeyPress]:
    """Return the keys that were typed and not read yet."""
    keys = get_typeahead(keyboard)
    try:
        while select.select([keyboard.fileno()], [], [], 0)[0] and (more := keyboard.read_keys()):
            keys += more
    except (OSError, ValueError, NotImplementedError):  # no terminal of Unix
        return keys
    return [*keys, *keyboard.flush_keys()]


class _History(FileHistory):
    """Earlier prompts, without credentials that were typed."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            refuse_store_file(os.fsdecode(self.filename))
        except OSError:
            return ()
        return super().load_history_strings()

    def store_string(self, string: str) -> None:
        with suppress(OSError):  # a full disk is no reason to lose the prompt itself
            refuse_store_file(os.fsdecode(self.filename))
            super().store_string(redact(string))


class _Completer(Completer):
    """Completes the line up to the cursor."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Completion]:
        for choice in self._complete(document.text_before_cursor):
            yield Completion(choice.text, -choice.replaces, display=choice.text, display_meta=choice.meaning)


def _make_private(history: Path) -> bool:
    """Make the file before anybody else can; false where that cannot be done."""
    try:
        history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_store_file(history)
        os.close(os.open(history, os.O_CREAT | os.O_APPEND | os.O_WRONLY, _PRIVATE))
        history.chmod(_PRIVATE)
    except OSError:
        return False
    return True


def _bind_keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith(_MORE):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("escape", "c-j")  # the same, typed before the prompt was there
    def _insert_newline(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _as_ansi(text: Text) -> str:
    """Return text with its colours as escape sequences."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=_TOOLBAR_CELLS)
    console.print(text, end="", soft_wrap=True)
    return out.getvalue()
