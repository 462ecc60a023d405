"""What is asked of a summarising model, and whether what it answers can be a summary at all.

Only what the provider says about an answer is looked at here; its words are judged by the fold.
"""

from functools import cache
from importlib.resources import files

from midfold.errors import (
    ContextOverflow,
    MidfoldError,
    OutputCapTooLarge,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from midfold.providers.summarizers.cooldowns import ModelFailed, Trouble
from midfold.tokens import find_model
from midfold.wire.apis import Completion, Finish

OUTPUT_ROOM = 3
"""How much more than the length of a summary may be written.

Most providers count thinking as output, and a model's own vocabulary may need more tokens than ours. What is
not written costs nothing; an answer that is cut off costs all of it.
"""
MIN_OUTPUT_TOKENS = 8_000
"""Room enough to think about a short summary, too."""
# Statuses below 500 that say "not now" rather than "not like this".
_PASSING = (408, 425)
_ENDINGS = {
    Finish.CALLS: "it called a tool instead of answering",
    Finish.LENGTH: "its answer was cut off at the output cap",
    Finish.REFUSED: "it refused, or a filter did",
    Finish.OVERFLOW: "its window was full before the answer was complete",
    Finish.CUT: "its answer broke off",
}


@cache
def system_text() -> str:
    """Return what a summarising model is told beside the prompt."""
    return files("midfold.providers.summarizers").joinpath("system.md").read_text("utf-8").strip()


def output_cap(model: str, summary_tokens: int) -> int:
    """Say how much a model may write for a summary of so many tokens, as far as it can write that much."""
    facts = find_model(model)
    most = facts.max_output_tokens if facts else None
    wanted = max(summary_tokens * OUTPUT_ROOM, MIN_OUTPUT_TOKENS)
    return min(wanted, most) if most else wanted


def why_useless(completion: Completion) -> str | None:
    """Say why an answer is no summary, by how it ended and what is in it; `None` where it may be one."""
    finish = Finish.CALLS if completion.calls else completion.finish
    if finish in _ENDINGS:
        return _ENDINGS[finish]
    if completion.text.strip():
        return None
    return "it only thought, and answered nothing" if completion.reasoning else "its answer was empty"


def read_failure(error: MidfoldError, model: str) -> ModelFailed:
    """Tell failures apart: those that may pass, and those that will meet every request like this one."""
    reason = str(error) if model in str(error) else f"{model}: {error}"
    if isinstance(error, OutputCapTooLarge):
        return ModelFailed(Trouble.REFUSED, reason, output_tokens=error.available)
    if isinstance(error, ContextOverflow):
        return ModelFailed(Trouble.REFUSED, reason, overflow=error)
    if isinstance(error, RateLimited | ProviderUnavailable):
        return ModelFailed(Trouble.BUSY, reason, retry_after=error.retry_after)
    may_pass = isinstance(error, ProviderError) and error.status in _PASSING
    return ModelFailed(Trouble.BUSY if may_pass else Trouble.REFUSED, reason)
