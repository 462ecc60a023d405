"""Says what a provider's error means, from its numbers and its shape."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from midfold.wire.failures import shapes
from midfold.wire.failures.counts import Counts, read_counts
from midfold.wire.failures.kinds import Failure, FailureKind
from midfold.wire.failures.normalize import normalize, without_advice, without_noise
from midfold.wire.failures.unwrap import Line, read_lines
from midfold.wire.failures.waits import read_wait

_MAX_MESSAGE_CHARS = 1_000
_MESSAGE_LINES = 8
# Where a name does not say that people are meant, a sentence does; names and codes have fewer words.
_SENTENCE_SPACES = 3
# What a prompt comes to that is counted in characters: enough to tell it from an output cap.
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
    found = _read_not_ours(text, statuses) or _read_ours(text, statuses) or _read_place(text, statuses)
    return replace(found, message=_message_for_people(lines), status=status, retry_after=read_wait(lines))


def _message_for_people(lines: Sequence[Line]) -> str:
    """Choose the longest statement: wrappers add a few words such as "Provider returned error"."""
    said = [line.text for line in lines if line.is_for_people or line.text.count(" ") >= _SENTENCE_SPACES]
    longest = max(said[:_MESSAGE_LINES] or map(str, lines), key=len, default="")
    return longest[:_MAX_MESSAGE_CHARS]


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
    if shapes.NEGATIVE_OUTPUT.search(text) or _is_content_field(text):
        return _PROMPT
    if shapes.FORMAT.search(text):
        return _read_place(text, statuses)
    facts = without_advice(without_noise(shapes.STATUS.sub(" ", text)))
    counts = read_counts(facts)
    return (
        _read_split(facts, counts)
        or (_OTHER if shapes.CHARACTERS.search(text) else None)
        or _read_output_cap(facts, counts)
        or _read_prompt(facts, text, counts, statuses)
        or _read_bytes(facts, text, statuses)
    )


def _read_place(text: str, statuses: set[int | None]) -> Failure:
    """Recognise a history that a validator refuses: it names the place inside of a message.

    What it says of an image there is about the image, and no other spelling of the message mends it.
    """
    is_placed = shapes.MESSAGE_PLACE.search(text) and not shapes.IMAGE.search(text)
    return replace(_OTHER, malformed=bool(statuses & {400, 422} and is_placed))


def _is_content_field(text: str) -> bool:
    """Say whether a field that holds the conversation is too long, which validators say of any field."""
    return bool(
        shapes.CONTENT_FIELD.search(text)
        or (shapes.CONTENT_LOCATION.search(text) and shapes.TOO_LONG_TYPE.search(text))
    )


def _read_split(facts: str, counts: Counts) -> Failure | None:
    """Read texts that count the prompt: only the counts say whether it is too long or the output is."""
    limit = counts.limit
    sent = counts.sent if counts.sent is not None else counts.total
    if limit is None or (counts.is_of_output and not _is_sum_above(counts, limit)):
        return None
    if counts.characters is not None and counts.sent is None:
        return _read_characters(counts.characters, limit, counts)
    if sent is None or not shapes.ABOUT_TOKENS.search(facts):
        return None
    if sent >= limit:
        return _prompt_too_long(counts, sent)
    if counts.asked is None and not shapes.OUTPUT.search(facts):
        return None
    return replace(_OUTPUT, limit=limit, input_tokens=sent, requested_output_tokens=counts.asked)


def _is_sum_above(counts: Counts, limit: int) -> bool:
    return counts.sent is not None and counts.asked is not None and counts.sent + counts.asked > limit


def _read_characters(characters: int, limit: int, counts: Counts) -> Failure:
    """Tell the kind of a text that counts the prompt in characters, by what they come to."""
    estimate = characters // _CHARS_PER_TOKEN
    if estimate >= limit:
        return replace(_PROMPT, limit=limit, is_limit_learnable=counts.is_window)
    return replace(_OUTPUT, limit=limit, input_tokens=estimate, requested_output_tokens=counts.asked)


def _read_output_cap(facts: str, counts: Counts) -> Failure | None:
    asked = counts.asked if counts.asked is not None else counts.size
    is_counted = counts.limit is not None and counts.asked is not None and counts.asked >= counts.limit
    is_of_output = counts.is_of_output and shapes.OUTPUT_RELATION.search(facts)
    if not (is_counted or is_of_output or _names_output(facts)):
        return None
    return replace(
        _OUTPUT,
        limit=counts.limit,
        requested_output_tokens=asked if asked is not None and asked > (counts.limit or 0) else None,
    )


def _names_output(facts: str) -> bool:
    """Say whether a text is about the parameter that asks for output, and that it is too much."""
    for named in shapes.OUTPUT_PARAMETER.finditer(facts):
        statement = facts[max(0, named.start() - _CHARS_BEFORE) : named.end() + _CHARS_AFTER]
        if shapes.OUTPUT_RELATION.search(statement):
            return True
    return False


def _read_prompt(facts: str, text: str, counts: Counts, statuses: set[int | None]) -> Failure | None:
    if not text or shapes.NO_BODY.search(text):
        return _PROMPT if statuses & {400, 413} else None
    sent = counts.sent if counts.sent is not None else counts.size
    is_counted = sent is not None and counts.limit is not None and sent > counts.limit
    is_too_long = is_counted or shapes.OVERFLOW.search(facts.replace("_", " "))
    if (is_too_long and shapes.ABOUT_TOKENS.search(facts)) or shapes.REDUCE.search(text):
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
    if shapes.UPLOAD.search(facts):
        return None
    return _BYTES if 413 in statuses or shapes.BYTES.search(text) else None
