"""An agent on a terminal: its words laid out as they come, and below them what it is doing."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from midfold.agent import (
    CompressionStarted,
    Event,
    ModelCalled,
    ReasoningDelta,
    Spending,
    Status,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from midfold.cli.chat.view.lines import MARK, describe, event_lines, status_line, tool_title
from midfold.cli.chat.view.markdown import Line, MarkdownStream
from midfold.cli.chat.view.region import Region
from midfold.cli.chat.view.text import Cleaner, clean
from midfold.late_dataclasses import dataclass

_FRAME_SECONDS = 0.08
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_THOUGHT_CHARS = 300
_WAITING = "waiting for the model"


@dataclass(frozen=True, slots=True)
class _Running:
    """A tool at work."""

    title: str
    since: float


class LiveView:
    """Shows an agent on a terminal, without taking it over: all that is final scrolls away above."""

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._lock = threading.RLock()
        self._region = Region(console)
        self._words = MarkdownStream(console)
        self._cleaner = Cleaner()
        self._tools: dict[str, _Running] = {}
        self._label = ""
        self._since = 0.0
        self._thought = ""
        self._status: Text | None = None
        self._is_drawing = False
        self._is_stopping = False
        self._follows_words: bool | None = None

    @contextmanager
    def working(self, label: str) -> Iterator[None]:
        """Show that something is under way, until the block ends."""
        self._is_stopping = False
        self._begin(label)
        try:
            with self._drawing():
                yield
        finally:
            self._end()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the screen to the caller until the block ends."""
        with self._lock:
            was_drawing, self._is_drawing = self._is_drawing, False
            self._finish_words()
            self._region.clear()
        try:
            yield
        finally:
            with self._lock:
                self._is_drawing = was_drawing

    def show(self, event: Event) -> None:
        """Show an event."""
        with self._lock:
            if isinstance(event, TextDelta):
                self._add_words(event.text)
            elif isinstance(event, ReasoningDelta):
                self._show_thinking(event.text)
            else:
                self._finish_words()
                self._track(event)
                self.say(*event_lines(event))

    def say(self, *lines: Text) -> None:
        """Show lines that stay."""
        if lines:
            with self._lock:
                self._write_lines(chain.from_iterable(map(self._lay_out, lines)), are_words=False)

    def set_status(self, status: Status, spending: Spending) -> None:
        self._status = status_line(status, spending)

    def note_stopping(self) -> None:
        # No lock: a signal handler runs in the middle of whatever the thread is doing.
        self._is_stopping = True

    def _add_words(self, text: str) -> None:
        if not self._words.is_open:
            self._begin("answering")
        self._words.feed(self._cleaner.feed(text))
        if not self._region.is_live:
            self._write_lines(self._words.take(), are_words=True)

    def _show_thinking(self, text: str) -> None:
        if not self._thought:
            self._begin("thinking")
        self._thought = (self._thought + clean(text))[-_THOUGHT_CHARS:]

    def _track(self, event: Event) -> None:
        """Keep in mind what is under way."""
        if isinstance(event, ToolStarted):
            if not self._tools:
                self._begin("using tools")
            self._tools[event.call_id] = _Running(tool_title(event.title), self._clock())
        elif isinstance(event, ToolFinished):
            self._tools.pop(event.call_id, None)
            if not self._tools:
                self._begin(_WAITING)
        elif isinstance(event, CompressionStarted):
            self._begin(f"compressing {event.tokens:,} tokens: {describe(event.why)}")
        elif not self._tools and not isinstance(event, ModelCalled):
            self._begin(_WAITING)

    def _begin(self, label: str) -> None:
        self._label, self._since, self._thought = label, self._clock(), ""

    def _end(self) -> None:
        """Show the last words, and leave room for the next prompt."""
        with self._lock:
            self._tools.clear()
            self._finish_words()
            if self._follows_words is not None:
                self._region.draw((), [[]])
            self._follows_words = None

    def _finish_words(self) -> None:
        self._words.feed(self._cleaner.finish())
        self._write_lines(self._words.finish(), are_words=True)

    def _write_lines(self, lines: Iterable[Line], *, are_words: bool) -> None:
        """Write lines that stay, with room between the agent's words and everything else."""
        final = list(lines)
        if not final:
            return
        if self._follows_words not in (None, are_words):
            final.insert(0, [])
        self._follows_words = are_words
        self._region.draw(self._open_lines(), final)

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Redraw in a thread of its own: the one that gets events may wait minutes for the next."""
        stop = threading.Event()
        thread = threading.Thread(target=self._keep_drawing, args=(stop,), name="midfold-view", daemon=True)
        self._is_drawing = True
        self._follows_words = None
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            with self._lock:
                self._is_drawing = False
                self._region.clear()

    def _keep_drawing(self, stop: threading.Event) -> None:
        while not stop.wait(_FRAME_SECONDS):
            with self._lock:
                if self._is_drawing and self._region.is_live:
                    self._write_lines(self._words.take(), are_words=True)
                    self._region.draw(self._open_lines())

    def _open_lines(self) -> list[Line]:
        if not self._is_drawing:
            return []
        tail = self._words.tail
        gap: list[Line] = [[]] if tail and self._follows_words is False else []
        below: list[Text] = [self._activity()]
        below[:0] = [self._running_line(tool) for tool in self._tools.values()]
        if self._thought:
            below.insert(0, Text(_last_line(self._thought, self._console.width - 2), style="dim italic"))
        laid = [line for text in below for line in self._lay_out(text, crop=True)]
        return [*gap, *tail, *([[]] if tail else []), *laid]

    def _activity(self) -> Text:
        frames = _FRAMES if self._console.encoding.startswith("utf") else _PLAIN_FRAMES
        seconds = self._clock() - self._since
        frame = frames[int(seconds / _FRAME_SECONDS) % len(frames)]
        label = "stopping" if self._is_stopping else self._label
        line = Text.assemble((f"{frame} ", "cyan"), f"{label} {seconds:.0f} s")
        if self._status:
            line.append("  ").append_text(self._status)
        return line

    def _running_line(self, tool: _Running) -> Text:
        seconds = self._clock() - tool.since
        return Text.assemble((MARK, "yellow"), tool.title, (f"  {seconds:.0f} s", "dim"))

    def _lay_out(self, text: Text, *, crop: bool = False) -> list[Line]:
        options = self._console.options.update(no_wrap=True, overflow="ellipsis") if crop else None
        lines = self._console.render_lines(text, options, pad=False)
        return [list(Segment.simplify(line)) for line in lines]


def _last_line(text: str, cells: int) -> str:
    """Return the newest words of a text, as many as fit into a line."""
    words = " ".join(text.split())
    return words if len(words) <= cells else "…" + words[-max(cells - 1, 1) :]
