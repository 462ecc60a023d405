"""What a provider's failure means, as a value."""

from dataclasses import dataclass
from enum import StrEnum


class FailureKind(StrEnum):
    """The five kinds of failure that want different reactions."""

    PROMPT_TOO_LONG = "prompt_too_long"
    MAX_TOKENS_TOO_LARGE = "max_tokens_too_large"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    RATE_LIMIT = "rate_limit"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure and the numbers its text states; a number it does not state is `None`.

    `limit` counts tokens. For a prompt too long it is the window; for an output cap it is the window when
    `input_tokens` is known too, else the largest output that may be asked for. A prompt that is counted in
    characters is taken at four of them per token.
    """

    kind: FailureKind
    message: str
    """what the provider says, unwrapped, for people"""
    status: int | None = None
    limit: int | None = None
    input_tokens: int | None = None
    requested_output_tokens: int | None = None
    malformed: bool = False
    """the history breaks a rule of the provider, such as a tool call without its result"""
    exceeds_rate: bool = False
    """the request alone is above what a rate limit allows, so that waiting cannot help"""
    retry_after: float | None = None
    """the seconds that the body asks to wait"""
    is_limit_learnable: bool = False
    """the wording is known to state a window, so that it may be remembered"""
