"""Questions that a model answers from passages of the conversation."""

from collections.abc import Callable, Sequence
from hashlib import blake2b

from midfold.engines.lossless.answers import CountText, to_json
from midfold.errors import SummaryUnavailable
from midfold.folding import SummaryRequest
from midfold.late_dataclasses import dataclass
from midfold.redact import redact
from midfold.summaries.prompts import fence, neutralize
from midfold.texts import read_text

SHOWN_TOKENS = 6_000
"""The most that is shown to the model."""
MOST_ANSWER_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A piece of a message."""

    number: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Asks a model, under the key that hides secrets."""

    ask: Callable[[SummaryRequest], str]
    count: CountText
    key: bytes

    def answer(self, question: str, passages: Sequence[FoundPassage], most_tokens: int) -> str:
        """Answer from the best passages; raises `SummaryUnavailable` where the model gives nothing."""
        most_tokens = min(most_tokens, MOST_ANSWER_TOKENS)
        shown: list[str] = []
        left = SHOWN_TOKENS
        for passage in passages:
            text = f"[{passage.number}] {passage.role}: {passage.text}"
            left -= self.count(text)
            if left < 0 and shown:
                break
            shown.append(text)
        if not shown:
            raise SummaryUnavailable("nothing that was said has to do with it")
        told = redact("\n\n".join(shown), key=self.key)
        prompt = "\n\n".join(
            [
                read_text(__package__, "texts/answer.md"),
                fence(
                    told,
                    blake2b(
                        told.encode("utf-8", "surrogatepass"), key=self.key[:64], digest_size=6
                    ).hexdigest(),
                ),
                f"Question: {neutralize(redact(question, key=self.key)).strip()}",
            ]
        )
        said: object = self.ask(SummaryRequest(prompt, most_tokens))
        if not isinstance(said, str) or not said.strip():
            raise SummaryUnavailable("the model gave no answer")
        return _cut(redact(said.strip(), key=self.key), most_tokens, self.count)


def _cut(text: str, most_tokens: int, count: CountText) -> str:
    """Shorten an answer that is longer than it was asked to be."""
    while (tokens := count(to_json(text))) > most_tokens:
        text = f"{text[: min(len(text) - 2, len(text) * most_tokens // tokens)]}…"
    return text
