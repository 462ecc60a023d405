"""Says what a provider's error means, from its numbers and its shape."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from midfold.wire.failures import shapes
from midfold.wire.failures.kinds import Failure, FailureKind
from midfold.wire.failures.normalize import normalize, without_advice
from midfold.wire.failures.unwrap import read_lines

_MAX_MESSAGE_CHARS = 1_000
_MESSAGE_LINES = 8
# Around the name of an output parameter, this much text is about it.
_CHARS_BEFORE, _CHARS_AFTER = 60, 200
# Smaller numbers in an error are list lengths, positions and lower ends of ranges.
_SMALLEST_COUNT = 16

_OTHER = Failure(FailureKind.OTHER, "")
_PROMPT = Failure(FailureKind.PROMPT_TOO_LONG, "")
_OUTPUT = Failure(FailureKind.MAX_TOKENS_TOO_LARGE, "")


def classify(status: int | None, body: object) -> Failure:
    """Read an error: the HTTP status where there is one, and the body as it came, parsed or not.

    The same sentence may stand for a prompt too long and for an output cap, and a rate limit may read like
    either. So billing and rates are settled first, and then the numbers decide.
    """
    lines = read_lines(body)
    text = normalize(lines)
    statuses = {status, *_find_statuses(text)}
    found = _read_not_ours(text, statuses) or _read_ours(text, statuses) or _OTHER
    # What matters is the longest: wrappers add a few words such as "Provider returned error".
    message = max(lines[:_MESSAGE_LINES], key=len, default="")[:_MAX_MESSAGE_CHARS]
    return replace(found, message=message, status=status)


def _find_statuses(text: str) -> Iterator[int]:
    """Yield the HTTP statuses that a text mentions: libraries and gateways write them into it."""
    for found in shapes.STATUS.finditer(text):
        yield int(found[1] or found[2] or found[3])


def _read_not_ours(text: str, statuses: set[int | None]) -> Failure | None:
    """Recognise money, rates, refusals and broken histories: no compression mends them."""
    is_quota_at_google = shapes.GOOGLE_QUOTA.search(text)
    if (
        402 in statuses
        or shapes.BILLING.search(text)
        or (shapes.PLAN.search(text) and not is_quota_at_google)
    ):
        return _OTHER
    if 429 in statuses or shapes.RATE.search(text):
        return _read_rate(text)
    if statuses & {401, 403} or shapes.REFUSED.search(text):
        return _OTHER
    if shapes.MALFORMED.search(text):
        return replace(_OTHER, malformed=True)
    return None


def _read_rate(text: str) -> Failure:
    rate = Failure(FailureKind.RATE_LIMIT, "")
    if found := shapes.RATE_COUNTS.search(text):
        limit, requested = int(found["limit"]), int(found["requested"])
        return replace(rate, input_tokens=requested, exceeds_rate=requested > limit)
    return rate


def _read_ours(text: str, statuses: set[int | None]) -> Failure | None:
    """Recognise what is too long or too large, and of what."""
    if shapes.NEGATIVE_OUTPUT.search(text) or shapes.CONTENT_FIELD.search(text):
        return _PROMPT
    if shapes.FORMAT.search(text):
        return _OTHER
    facts = shapes.EXCESS.sub(" ", without_advice(shapes.STATUS.sub(" ", text)))
    return (
        _read_split(facts)
        or _read_output_cap(facts)
        or _read_prompt(facts, text, statuses)
        or _read_bytes(text, statuses)
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What was sent and what was asked for, in tokens, as far as a text counts them apart."""

    sent: int | None
    asked: int | None


def _read_split(facts: str) -> Failure | None:
    """Read texts that count input and output apart: only the counts say which of them is too large."""
    if found := shapes.SUM.search(facts):
        limit: int | None = int(found["limit"])
        parts = _Parts(int(found["sent"]), int(found["asked"]))
    else:
        limit = _first(shapes.WINDOW, facts)
        parts = _read_listed_parts(facts) or _Parts(
            _first(shapes.INPUT_COUNT, facts), _first(shapes.OUTPUT_COUNT, facts)
        )
    if limit is None or parts.sent is None:
        return None
    if parts.sent >= limit:
        return _prompt_too_long(limit, parts.sent, parts.asked)
    if parts.asked is None:
        return None
    return replace(_OUTPUT, limit=limit, input_tokens=parts.sent, requested_output_tokens=parts.asked)


def _read_listed_parts(facts: str) -> _Parts | None:
    """Add up a list such as `(658 of text input, 732 of tool input, 262000 in the output)`."""
    for listed in shapes.PARTS.finditer(facts):
        counts = [(int(part[1]), part[2]) for part in shapes.PART.finditer(listed[1])]
        asked = [count for count, name in counts if shapes.OUTPUT_PART.search(name)]
        if len(asked) < len(counts):
            sent = sum(count for count, _ in counts) - sum(asked)
            return _Parts(sent, sum(asked) if asked else None)
    return None


def _read_output_cap(facts: str) -> Failure | None:
    for named in shapes.OUTPUT_PARAMETER.finditer(facts):
        statement = facts[max(0, named.start() - _CHARS_BEFORE) : named.end() + _CHARS_AFTER]
        if shapes.OUTPUT_RELATION.search(statement):
            return _read_cap_numbers(statement)
    return None


def _read_cap_numbers(statement: str) -> Failure:
    """Tell the cap from what was asked for: what was asked for is the larger."""
    numbers = sorted(_numbers(statement))
    if found := shapes.EXCLUSIVE_END.search(statement):
        limit = int(found[1]) - 1
    elif found := shapes.RANGE.search(statement):
        limit = int(found[1] or found[2])
    elif numbers:
        limit = numbers[0]
    else:
        return _OUTPUT
    asked = numbers[-1] if numbers and numbers[-1] > limit else None
    return replace(_OUTPUT, limit=limit, requested_output_tokens=asked)


def _read_prompt(facts: str, text: str, statuses: set[int | None]) -> Failure | None:
    if not text or shapes.NO_BODY.search(text):
        return _PROMPT if statuses & {400, 413} else None
    window = _first(shapes.WINDOW, facts)
    sent = _first(shapes.COUNT, shapes.WINDOW.sub(" ", facts))
    is_overflow = shapes.OVERFLOW.search(facts) and shapes.ABOUT_TOKENS.search(facts)
    is_counted = sent is not None and window is not None and sent > window
    if not (is_overflow or is_counted or shapes.REDUCE.search(text)):
        return None
    if window is not None:
        return replace(_prompt_too_long(window, sent, None), is_limit_learnable=True)
    limit = _first(shapes.BARE_LIMIT, facts)
    numbers = sorted(_numbers(facts))
    if limit is None and len(numbers) == 2:
        limit, sent = numbers
    return _prompt_too_long(limit, sent, None)


def _prompt_too_long(limit: int | None, sent: int | None, asked: int | None) -> Failure:
    """A limit that a larger count stands beside is a window; alone, it may be a limit of anything."""
    is_beside = limit is not None and sent is not None and sent > limit
    return replace(
        _PROMPT,
        limit=limit,
        input_tokens=sent,
        requested_output_tokens=asked,
        is_limit_learnable=is_beside,
    )


def _read_bytes(text: str, statuses: set[int | None]) -> Failure | None:
    if 413 in statuses or shapes.BYTES.search(text):
        return Failure(FailureKind.PAYLOAD_TOO_LARGE, "")
    return None


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    """Return the number that the first match holds."""
    found = pattern.search(text)
    return next(int(group) for group in found.groups() if group) if found else None


def _numbers(text: str) -> set[int]:
    return {n for n in map(int, shapes.NUMBER.findall(text)) if n >= _SMALLEST_COUNT}
