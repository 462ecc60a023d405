"""How large a request is: read and counted once, corrected by what providers report."""

from collections.abc import Sequence

from midfold.engines.reading import Reader
from midfold.engines.worth import Pace, is_worth_it
from midfold.folding import CompressionPolicy
from midfold.messages import MessageCache
from midfold.summaries.ledger import LedgerCache
from midfold.tokens import Calibration, CanonicalUsage, TokenCounter


class Meter:
    """Remembers one conversation with one model: its messages, their sizes, and the reports on them.

    `key` is the one that the placeholders of secrets are written with; `cache` knows messages that were read
    before, also by others.
    """

    def __init__(self, model: str, key: bytes, cache: MessageCache) -> None:
        self.reader = Reader(TokenCounter(model or None), LedgerCache(key), cache)
        self._model = model
        self._beside_tokens = 0
        self._pace = Pace()
        self._calibration = Calibration()
        self._sent_tokens: int | None = None

    def estimate(self, messages: Sequence[object], system: object, tools: Sequence[object] | None) -> int:
        """Estimate a request: the last report and what came after it, else our own count."""
        self.reader.read(messages)
        self._beside_tokens = self.reader.count_system_and_tools(system, tools)
        self._sent_tokens = self.reader.tokens + self._beside_tokens
        return self._calibration.estimate(self._sent_tokens)

    def observe(self, used: CanonicalUsage) -> None:
        """Take in the report on the request that was last estimated."""
        self._pace = self._pace.observe(used)
        if self._sent_tokens is not None:
            self._calibration = self._calibration.observe(used.prompt_tokens, self._sent_tokens)

    def whole_request(self, current_tokens: int | None, last_prompt_tokens: int) -> int:
        """Return the size of the request these messages are part of; never less than the messages alone."""
        counted = self.reader.tokens + self._beside_tokens
        if current_tokens is not None:
            return max(current_tokens, counted)
        return max(self._calibration.estimate(counted), last_prompt_tokens, counted)

    def expect(self, messages_tokens: int | None) -> None:
        """Say how large the messages are that the next report is about; `None` where that is not known."""
        self._sent_tokens = None if messages_tokens is None else messages_tokens + self._beside_tokens

    def why_wait(self, tokens: int, policy: CompressionPolicy, *, uses_model: bool) -> str:
        """Say why a fold of a request of `tokens` is put off for its price; nothing where it is not."""
        if not policy.wait_until_it_pays or tokens < policy.threshold_tokens:
            return ""
        verdict = is_worth_it(
            tokens,
            policy,
            self._pace,
            model=self._model,
            head_tokens=self._beside_tokens + sum(self.reader.sizes[: policy.protect_first_n]),
            uses_model=uses_model,
        )
        return "" if verdict.worth_it else verdict.why
