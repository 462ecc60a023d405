"""Exchanges: each request with the message that ended the work on it.

A request is answered by the model's last words before the next one. Where a person only answered what the
model asked, or spoke in the middle of the work, the work on the request before goes on.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.messages import Message
from midfold.summaries.ledger.text_commands import CommandProtocol


def ends_turn(messages: Sequence[Message], index: int, protocol: CommandProtocol) -> bool:
    """Whether the model's words at `index` are the last ones of a turn: nothing of its own follows them."""
    message = messages[index]
    if message.role != "assistant" or any(message.calls) or not message.text.strip():
        return False
    following = messages[index + 1] if index + 1 < len(messages) else None
    if following is not None and (following.role != "user" or any(following.results)):
        return False
    return index + 1 not in protocol.observations and not protocol.calls(message.text)


_OPENING_CHARS = 40
_MARK_CHARS = 60
# What stands in the place of an answer that nobody gave: a word or two of the client's.
_CANCELLED = compile_late(
    r"\W{0,4}(?:(?:the |this )?(?:request|task|operation|generation|response|run|command|execution|action"
    r"|call|tool(?: (?:call|use|execution))?) (?:execution )?(?:was |has been )?)?"
    r"(?:cancell?ed|aborted|interrupted|stopped)(?: by (?:the )?user)?\W{0,4}"
    r"|\W{0,4}(?:(?:コマンド|操作|実行|処理)[がは])?(?:キャンセル|中断|中止)(?:され|し)?(?:ました|た)?\W{0,4}|\W{0,4}(?:命令|操作|请求)?(?:已|被){0,2}(?:取消|中断|中止)\W{0,4}"
    r"|\W{0,4}(?:취소|중단)(?:됨|됐습니다|되었습니다)?\W{0,4}",
    re.IGNORECASE,
)
_WORDLESS = compile_late(
    r"\W{0,4}no (?:response|reply|answer|output|content)"
    r"(?: (?:was )?(?:requested|needed|required|given))?\W{0,4}",
    re.IGNORECASE,
)


def is_cancelled(words: str) -> bool:
    """Whether these words only mark that the work was stopped."""
    return len(words) <= _MARK_CHARS and _CANCELLED.fullmatch(words.strip()) is not None


def is_wordless(words: str) -> bool:
    """Whether these words only mark that there was nothing to answer."""
    return len(words) <= _MARK_CHARS and _WORDLESS.fullmatch(words.strip()) is not None


@dataclass(frozen=True, slots=True)
class Exchanges:
    """The requests of a conversation and the last words of its turns, by the numbers of their messages."""

    requests: Sequence[int] = ()
    replies: frozenset[int] = field(default_factory=frozenset)
    """those of them that only answer what the model asked"""
    finals: Sequence[int] = ()
    cancellations: Sequence[int] = ()
    """the messages that mark that the work was stopped"""
    renewals: Mapping[int, int] = field(default_factory=dict)
    """requests whose place another one took that begins with the same words"""

    @classmethod
    def of(
        cls,
        requests: Mapping[int, str],
        *,
        replies: Iterable[int] = (),
        finals: Iterable[int] = (),
        cancellations: Iterable[int] = (),
    ) -> "Exchanges":
        """Put exchanges in order; `requests` are their words by their numbers."""
        order = sorted(requests)
        renewals: dict[int, int] = {}
        newest: dict[str, int] = {}
        for number in reversed(order):
            opening = requests[number].lstrip()[:_OPENING_CHARS]
            if len(opening) == _OPENING_CHARS and opening in newest:
                renewals[number] = newest[opening]
            newest[opening] = number
        return cls(order, frozenset(replies), sorted(set(finals)), sorted(set(cancellations)), renewals)

    def find_answer(self, request: int) -> int | None:
        """Return the message that ended the work on a request; `None` while it goes on."""
        at = bisect_right(self.requests, request)
        while at < len(self.requests):
            stop = self.requests[at]
            final = self._last_final(request, stop)
            if final is not None and stop not in self.replies:
                return final
            if self.renewals.get(request) == stop:
                return stop - 1
            if final is None and self._last(self.cancellations, request, stop) is not None:
                return None
            request, at = stop, at + 1
        return self._last_final(request, None)

    def is_answered_by(self, request: int, answer: int) -> bool:
        """Whether a message has the last words of a turn, and nobody asked for anything else before it."""
        between = self.requests[bisect_right(self.requests, request) : bisect_left(self.requests, answer)]
        is_final = self._last(self.finals, answer - 1, answer + 1) is not None
        return is_final and self.replies.issuperset(between)

    def find_cancellation(self, request: int) -> int | None:
        """Return the message that marks that the work on a request was stopped, if nothing else ended it."""
        at = bisect_right(self.requests, request)
        stop = self.requests[at] if at < len(self.requests) else None
        if stop is None or self._last_final(request, stop) is not None:
            return None
        return self._last(self.cancellations, request, stop)

    def find_end(self, index: int) -> int | None:
        """Return the last words of the turn that a message belongs to; `None` while that goes on."""
        at = bisect_right(self.requests, index)
        return self._last_final(index, self.requests[at] if at < len(self.requests) else None)

    def is_followed(self, final: int) -> bool:
        """Whether a person asked for something else after the last words of a turn."""
        return any(each not in self.replies for each in self.requests[bisect_right(self.requests, final) :])

    def _last_final(self, start: int, stop: int | None) -> int | None:
        return self._last(self.finals, start, stop)

    @staticmethod
    def _last(numbers: Sequence[int], start: int, stop: int | None) -> int | None:
        low = bisect_right(numbers, start)
        high = len(numbers) if stop is None else bisect_left(numbers, stop)
        return numbers[high - 1] if low < high else None
