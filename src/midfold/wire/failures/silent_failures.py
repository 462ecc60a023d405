"""Finds the overflow in a reply that claims to be fine.

Some servers cut a prompt that is too long and answer what is left of it, some answer 200 and put the error
into the body or the stream, some say so in the finish reason alone.
"""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum

from midfold.late_dataclasses import dataclass
from midfold.tokens import CanonicalUsage
from midfold.wire.failures.classify import Failure, FailureKind, classify
from midfold.wire.failures.error_lines import MAX_PARSED_CHARS
from midfold.wire.usage import normalize_usage

# Counts of ours are off by less than a third, so a report below this part of them has lost something.
_FAR_BELOW = 0.6
# Below this, what is missing may be the template or an image that was counted otherwise.
_MIN_MISSING_TOKENS = 1_024
# A prompt cut to fit fills the window, give or take what the server keeps for itself.
_FILLED = 0.98

_OVERFLOW_REASONS = ("context_window_exceeded", "context_length_exceeded", "context_size_exceeded")


class FailureSign(StrEnum):
    """The fact that shows a reply not to be what it seems."""

    ERROR = "an error inside the reply"
    FINISH = "the finish reason"
    ABOVE_WINDOW = "more tokens reported than the window holds"
    CUT = "far fewer tokens reported than were sent"
    NO_ROOM = "a full window and no output"


@dataclass(frozen=True, slots=True)
class SilentFailure:
    """A failure that came without an error status."""

    sign: FailureSign
    failure: Failure


def judge_reply(
    body: object = None,
    *,
    finish_reasons: Iterable[str | None] = (),
    usage: object = None,
    sent_tokens: int | None = None,
    window_tokens: int | None = None,
) -> SilentFailure | None:
    """Say what is wrong with a reply of status 200, or `None`.

    `body` is the whole body or one event of a stream, parsed or not. `usage` is a report in any provider's
    format, `sent_tokens` our own count of the request. What is not known is left out.
    """
    error = find_silent_error(body)
    if error is not None:
        return SilentFailure(FailureSign.ERROR, classify(200, error))
    reasons = [reason.lower() for reason in finish_reasons if reason]
    if any(reason.endswith(_OVERFLOW_REASONS) for reason in reasons):
        return _overflow(FailureSign.FINISH, sent_tokens, None)
    used = normalize_usage(usage) if usage is not None else CanonicalUsage()
    reported = used.prompt_tokens
    if not reported:
        return None
    if window_tokens and reported > window_tokens:
        return _overflow(FailureSign.ABOVE_WINDOW, reported, window_tokens)
    if sent_tokens and _is_far_below(reported, sent_tokens):
        return _overflow(FailureSign.CUT, sent_tokens, reported)
    if (
        window_tokens
        and "length" in reasons
        and not used.output_tokens
        and reported >= window_tokens * _FILLED
    ):
        return _overflow(FailureSign.NO_ROOM, reported, window_tokens)
    return None


def find_silent_error(body: object) -> object:
    """Return the error inside a reply, or `None` where there is none."""
    if isinstance(body, bytes | bytearray):
        body = bytes(body[:MAX_PARSED_CHARS]).decode("utf-8", "replace")
    if isinstance(body, str):
        return next(
            (error for event in _events(body) if (error := find_silent_error(event)) is not None), None
        )
    if not isinstance(body, Mapping):
        return None
    if body.get("error") or body.get("type") == "error" or body.get("object") == "error":
        return body
    if _refuses(body.get("base_resp")):
        return body["base_resp"]
    inner = body.get("response")
    if isinstance(inner, Mapping) and inner.get("error"):
        return inner["error"]
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice["error"] if isinstance(choice, Mapping) and choice.get("error") else None


def _refuses(base_resp: object) -> bool:
    """MiniMax answers 200 throughout and says in here how it went."""
    return isinstance(base_resp, Mapping) and base_resp.get("status_code") not in (None, 0, "0")


def _events(text: str) -> Iterable[object]:
    """Yield the objects of a body: one of JSON, or the payloads of an event stream."""
    for line in [text, *text.splitlines()]:
        name, _, payload = line.partition(":")
        candidate = payload if name in ("data", "error") else line
        if not candidate.lstrip().startswith("{"):
            continue
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        # llama.cpp has a field of its own for an error in the stream.
        yield {"error": value} if name == "error" else value


def _is_far_below(reported: int, sent: int) -> bool:
    return reported < sent * _FAR_BELOW and sent - reported > _MIN_MISSING_TOKENS


def _overflow(sign: FailureSign, sent: int | None, limit: int | None) -> SilentFailure:
    """No figure here was stated as a limit, so none may be remembered as one."""
    failure = Failure(FailureKind.PROMPT_TOO_LONG, sign.value, status=200, limit=limit, input_tokens=sent)
    return SilentFailure(sign, failure)
