"""The half that the built-in engine and hosted ones share: they measure, remember and undo alike."""

import logging
from collections.abc import Sequence

from midfold.engines.base import FoldingEngine
from midfold.engines.meter import Meter
from midfold.engines.reports import log_compression
from midfold.engines.run import Run, UndoPoint
from midfold.folding import Compression, CompressionPolicy, CompressionState, warn
from midfold.late_dataclasses import replace
from midfold.tokens import CanonicalUsage

_LOG = logging.getLogger("midfold.engines")


class MeteredEngine(FoldingEngine):
    """An engine that measures requests by itself, and can take its last compression back."""

    _meter: Meter
    _policy: CompressionPolicy
    _key: bytes
    _undo_point: UndoPoint | None = None

    @property
    def policy(self) -> CompressionPolicy:
        """The settings of this engine's compressions; the window stays as `update_model` set it."""
        return self._policy

    @policy.setter
    def policy(self, policy: CompressionPolicy) -> None:
        self._use_policy(policy)

    @property
    def key(self) -> bytes:
        """The key of placeholders and fences."""
        return self._key

    def estimate(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> int:
        """Estimate the tokens of a request: the last report and what came after it, else our own count."""
        return self._meter.estimate(messages, system, tools)

    def undo(self, messages: Sequence[object] | None = None) -> list[object] | None:
        """Take the last compression back, once: the items before it, and those that came since.

        `messages` is the conversation as it is; without it, what came since is read off the list this engine
        was last shown. It must begin with the very items that the compression returned, else the answer is
        `None`. Automatic compression then pauses until the conversation has grown by a fifth.
        """
        last = self._undo_point
        shown = [message.raw for message in self._meter.reader.messages] if messages is None else messages
        restored = last.take_back(shown) if last else None
        if last is None or restored is None:
            return None
        self.adopt(last.restore(self.state))
        self.last_prompt_tokens = last.tokens_before
        self._meter.expect(None)
        self._undo_point = None
        return restored

    def approach_warning(self) -> str | None:
        """Return a sentence for the user when the threshold is near; once, until usage drops again."""
        words, self.state = warn(self.last_prompt_tokens, self._policy, self.state)
        return words

    def get_status(self) -> dict[str, object]:
        """Return the figures of a status line, and whether the next estimate starts from a reported count."""
        return super().get_status() | {"estimated_from": "reported" if self._meter.is_reported else "counted"}

    def _use_policy(self, policy: CompressionPolicy) -> None:
        self._policy = replace(policy, context_length=self.context_length)

    def _note_usage(self, used: CanonicalUsage) -> None:
        """Begin the next turn with the report on this one, unless that cannot be true."""
        self.state = self.state.next_turn()
        self.last_completion_tokens = used.output_tokens
        if not self._meter.is_plausible(used):
            _LOG.warning("a report of %d prompt tokens is not believed: far too many", used.prompt_tokens)
            return
        self.last_prompt_tokens = used.prompt_tokens
        self.last_total_tokens = used.total_tokens
        self._meter.observe(used)

    def _measure(self, messages: Sequence[object], current_tokens: int | None) -> int:
        """Read the messages, and return the size of the whole request."""
        self._meter.reader.read(messages)
        return self._meter.whole_request(current_tokens, self.last_prompt_tokens)

    def _remember(self, result: Compression[object], run: Run) -> Compression[object]:
        """Count a compression as done, which it is only now."""
        if result.changed:
            self._undo_point = UndoPoint.of(run, result, self.state)
            self.last_prompt_tokens = result.tokens_after
            # What the provider reports next is about the compressed list.
            self._meter.expect(result.tokens_after - run.overhead_tokens)
        self.adopt(self._in_unit_of_reports(result, run))
        log_compression(result)
        return result

    def _in_unit_of_reports(self, result: Compression[object], run: Run) -> CompressionState:
        """Return the state with the pause in the tokens that decisions are made by, not in our own count."""
        state = result.state
        if state.paused_at_tokens != run.tokens:
            return state
        return replace(state, paused_at_tokens=self._meter.estimate_read())
