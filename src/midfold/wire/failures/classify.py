"""Says what a provider's error means, from its numbers and its wording.

The wordings stand in `patterns`, what the numbers count in `counts`.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.wire.failures import patterns
from midfold.wire.failures.counts import Counts, read_counts
from midfold.wire.failures.error_lines import ErrorLine, normalize, read_lines, without_advice, without_noise


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


_MAX_MESSAGE_CHARS = 1_000
_MESSAGE_LINES = 8
# Where a name does not say that people are meant, a sentence does; names and codes have fewer words.
_SENTENCE_SPACES = 3
# What a prompt comes to that is counted in characters: enough to know it from an output cap.
_CHARS_PER_TOKEN = 4
# Around the name of an output parameter, this much text is about it.
_CHARS_BEFORE, _CHARS_AFTER = 60, 200

_OTHER = Failure(FailureKind.OTHER, "")
_PROMPT = Failure(FailureKind.PROMPT_TOO_LONG, "")
_OUTPUT = Failure(FailureKind.MAX_TOKENS_TOO_LARGE, "")
_BYTES = Failure(FailureKind.PAYLOAD_TOO_LARGE, "")


def classify(status: int | None, body: object) -> Failure:
    """Read an error: the HTTP status where there is one, and the body as it came, parsed or not.

    The same sentence may stand for a prompt too long and for an output cap, and a rate limit may read like
    either. So billing and rates are settled first, and then the numbers decide.
    """
    lines = read_lines(body)
    text = normalize([str(line) for line in lines])
    statuses = {status, *_find_statuses(text)}
    found = _read_not_ours(text, statuses) or _read_ours(text, statuses) or _read_malformed(text, statuses)
    return replace(found, message=_message_for_people(lines), status=status, retry_after=_read_wait(lines))


def _message_for_people(lines: Sequence[ErrorLine]) -> str:
    """Choose the longest statement: wrappers add a few words such as "Provider returned error"."""
    said = [line.text for line in lines if line.is_for_people or line.text.count(" ") >= _SENTENCE_SPACES]
    longest = max(said[:_MESSAGE_LINES] or map(str, lines), key=len, default="")
    return longest[:_MAX_MESSAGE_CHARS]


def _find_statuses(text: str) -> Iterator[int]:
    """Yield the HTTP statuses that a text mentions: libraries and gateways write them into it."""
    for found in patterns.STATUS.finditer(text):
        yield int(found[1] or found[2] or found[3])


def _read_not_ours(text: str, statuses: set[int | None]) -> Failure | None:
    """Recognise money, rates, refusals and broken histories: no compression repairs them."""
    is_quota_at_google = patterns.GOOGLE_QUOTA.search(text)
    if (
        402 in statuses
        or patterns.BILLING.search(text)
        or (patterns.PLAN.search(text) and not is_quota_at_google)
    ):
        return _OTHER
    if 429 in statuses or patterns.RATE.search(text):
        return _read_rate(text)
    if statuses & {401, 403} or patterns.REFUSED.search(text):
        return _OTHER
    if patterns.COMPUTE_BATCH.search(text) or patterns.ANSWER_CUT.search(text) or _is_about_medium(text):
        return _OTHER
    if patterns.MALFORMED.search(text):
        return replace(_OTHER, malformed=True)
    return None


def _is_about_medium(text: str) -> bool:
    """Say whether one picture or document is too large, and not all that was sent."""
    return bool(patterns.MEDIUM_TOO_LARGE.search(text) and not patterns.WHOLE_REQUEST.search(text))


def _read_rate(text: str) -> Failure:
    rate = Failure(FailureKind.RATE_LIMIT, "")
    if found := patterns.RATE_COUNTS.search(text):
        limit, requested = int(found["limit"]), int(found["requested"])
        return replace(rate, input_tokens=requested, exceeds_rate=requested > limit)
    return rate


def _read_ours(text: str, statuses: set[int | None]) -> Failure | None:
    """Recognise what is too long or too large, and of what."""
    if patterns.NEGATIVE_OUTPUT.search(text) or _is_content_field(text):
        return _PROMPT
    if patterns.FORMAT.search(text):
        return _read_malformed(text, statuses)
    facts = without_advice(without_noise(patterns.STATUS.sub(" ", text)))
    counts = read_counts(facts)
    return (
        _read_split(facts, counts)
        or (_OTHER if patterns.CHARACTERS.search(text) else None)
        or _read_output_cap(facts, counts)
        or _read_prompt(facts, text, counts, statuses)
        or _read_bytes(facts, text, statuses)
    )


def _read_malformed(text: str, statuses: set[int | None]) -> Failure:
    """Recognise a history that a validator refuses: it names a path inside of a message.

    What it says of an image there is about the image, and no rewriting of the message helps.
    """
    has_path = patterns.MESSAGE_PATH.search(text) and not patterns.IMAGE.search(text)
    return replace(_OTHER, malformed=bool(statuses & {400, 422} and has_path))


def _is_content_field(text: str) -> bool:
    """Say whether a field that holds the conversation is too long, which validators say of any field."""
    return bool(
        patterns.CONTENT_FIELD.search(text)
        or (patterns.CONTENT_LOCATION.search(text) and patterns.TOO_LONG_TYPE.search(text))
    )


def _read_split(facts: str, counts: Counts) -> Failure | None:
    """Read texts that count the prompt: only the counts say whether it is too long or the output is."""
    limit = counts.limit
    sent = counts.sent if counts.sent is not None else counts.total
    if limit is None or (counts.is_of_output and not _is_sum_above(counts, limit)):
        return None
    if counts.characters is not None and counts.sent is None:
        return _read_characters(counts.characters, limit, counts)
    if sent is None or not patterns.ABOUT_TOKENS.search(facts):
        return None
    if sent >= limit:
        return _prompt_too_long(counts, sent)
    if counts.asked is None and not patterns.OUTPUT.search(facts):
        return None
    return replace(_OUTPUT, limit=limit, input_tokens=sent, requested_output_tokens=counts.asked)


def _is_sum_above(counts: Counts, limit: int) -> bool:
    return counts.sent is not None and counts.asked is not None and counts.sent + counts.asked > limit


def _read_characters(characters: int, limit: int, counts: Counts) -> Failure:
    """Find the kind of a text that counts the prompt in characters, by what they come to."""
    estimate = characters // _CHARS_PER_TOKEN
    if estimate >= limit:
        return replace(_PROMPT, limit=limit, is_limit_learnable=counts.is_window)
    return replace(_OUTPUT, limit=limit, input_tokens=estimate, requested_output_tokens=counts.asked)


def _read_output_cap(facts: str, counts: Counts) -> Failure | None:
    asked = counts.asked if counts.asked is not None else counts.size
    is_counted = counts.limit is not None and counts.asked is not None and counts.asked >= counts.limit
    is_of_output = counts.is_of_output and patterns.OUTPUT_RELATION.search(facts)
    if not (is_counted or is_of_output or _names_output(facts)):
        return None
    return replace(
        _OUTPUT,
        limit=counts.limit,
        requested_output_tokens=asked if asked is not None and asked > (counts.limit or 0) else None,
    )


def _names_output(facts: str) -> bool:
    """Say whether a text is about the parameter that asks for output, and that it is too much."""
    for named in patterns.OUTPUT_PARAMETER.finditer(facts):
        statement = facts[max(0, named.start() - _CHARS_BEFORE) : named.end() + _CHARS_AFTER]
        if patterns.OUTPUT_RELATION.search(statement):
            return True
    return False


def _read_prompt(facts: str, text: str, counts: Counts, statuses: set[int | None]) -> Failure | None:
    if not text or patterns.NO_BODY.search(text):
        return _PROMPT if 413 in statuses else None  # the status alone says what was too large
    sent = counts.sent if counts.sent is not None else counts.size
    is_counted = sent is not None and counts.limit is not None and sent > counts.limit
    is_too_long = is_counted or patterns.OVERFLOW.search(facts.replace("_", " "))
    if (is_too_long and patterns.ABOUT_TOKENS.search(facts)) or patterns.REDUCE.search(text):
        return _prompt_too_long(counts, sent)
    return None


def _prompt_too_long(counts: Counts, sent: int | None) -> Failure:
    """A limit that a larger count stands beside is a window; alone, it must be called one."""
    is_beside = counts.limit is not None and sent is not None and sent > counts.limit
    return replace(
        _PROMPT,
        limit=counts.limit,
        input_tokens=sent,
        requested_output_tokens=counts.asked,
        is_limit_learnable=counts.limit is not None and (is_beside or counts.is_window),
    )


def _read_bytes(facts: str, text: str, statuses: set[int | None]) -> Failure | None:
    if patterns.UPLOAD.search(facts):
        return None
    return _BYTES if 413 in statuses or patterns.BYTES.search(text) else None


# Google names it so in its details; others have a field of their own.
_WAIT_NAMES = ("retrydelay", "retry_delay", "retryafter", "retry_after", "retry-after", "retry_after_seconds")
_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_WAIT_AMOUNT = (
    r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])"
)
_WAIT_NUMBER = compile_late(r"\d{1,9}(?:\.\d{1,9})?")
_WAIT_PART = compile_late(_WAIT_AMOUNT)
_WAIT_ASKED = compile_late(
    r"(?:try again|retry|wait)(?:ing)?(?: (?:in|after|for|at least|about|another)){0,2}:? "
    rf"((?:{_WAIT_AMOUNT}[ ,]?(?:and )?){{1,4}})"
)


def _read_wait(lines: Sequence[ErrorLine]) -> float | None:
    """Return the seconds to wait that a body states, under a name for it or in a sentence."""
    for line in lines:
        if line.name in _WAIT_NAMES:
            return _read_wait_value(line.text.lower())
    asked = (_WAIT_ASKED.search(line.text.lower()) for line in lines)
    return next((_add_up_wait(found[1]) for found in asked if found), None)


def _read_wait_value(text: str) -> float | None:
    """Read a number, which counts seconds, or an amount such as `30.6s`."""
    if _WAIT_NUMBER.fullmatch(text):
        return float(text)
    return _add_up_wait(text) if _WAIT_PART.match(text) else None


def _add_up_wait(amount: str) -> float:
    """Add up an amount such as `1h2m3.5s`."""
    return sum(
        float(part[1]) * _UNIT_SECONDS["ms" if part[2][:3] in ("ms", "mil") else part[2][0]]
        for part in _WAIT_PART.finditer(amount)
    )
