"""Failed calls: the typed error for the caller, and whether asking again can help."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite
from urllib.parse import urlsplit

from midfold.errors import (
    ContextOverflow,
    OutputCapTooLarge,
    ProviderAuthError,
    ProviderError,
    ProviderFacts,
    ProviderUnavailable,
    RateLimited,
)
from midfold.providers.catalog import PROVIDERS
from midfold.providers.endpoint import Endpoint
from midfold.providers.retry import CallFailed
from midfold.wire.apis import ReplyError, stated_status
from midfold.wire.failures import Failure, FailureKind, classify

_AUTH = (401, 403)
# Statuses that say "not now" rather than "not like this"; 520 to 529 are of Cloudflare and Anthropic.
_NOT_FOUND = 404
_TOO_MANY = 429
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, *range(520, 530)})
_SERVER_ERRORS = 500


def judge_answer(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: bytes) -> CallFailed:
    """Judge an answer that is no reply. `body` may repeat our key, which goes no further."""
    if endpoint.key:
        body = endpoint.key.mask_bytes(body)
    facts: ProviderFacts = {
        **_facts(endpoint),
        "status": status,
        "retry_after": read_retry_after(headers),
        "body": body,
    }
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return CallFailed(ProviderError(_describe_redirect(headers), **facts), may_pass=False)
    return _judge(endpoint, status, body, facts)


def judge_reply_error(endpoint: Endpoint, error: ReplyError, headers: Mapping[str, str]) -> CallFailed:
    """Judge a failure that was reported inside an answer whose status is 200, and whose headers these are."""
    status = stated_status(error.error)
    body = json.dumps(error.body, ensure_ascii=False).encode("utf-8", "replace")
    return judge_answer(endpoint, status, headers, body)


def describe_broken(endpoint: Endpoint, reason: str, *, may_pass: bool = True) -> CallFailed:
    """Make the failure of a call that got no answer, or none that can be read."""
    reason = endpoint.key.mask(reason) if endpoint.key else reason
    return CallFailed(ProviderUnavailable(reason, **_facts(endpoint)), may_pass=may_pass)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a provider asks to wait: given as such, in milliseconds, or as a date.

    A date is compared with the provider's own clock, where it reports the time.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("Retry-After", "")
    until = _date(text)
    if until is None:
        return _seconds(text)
    now = _date(headers.get("Date", "")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def _judge(endpoint: Endpoint, status: int, body: bytes, facts: ProviderFacts) -> CallFailed:
    failure = classify(status, body)
    if facts.get("retry_after") is None:  # the header is for programs, so it counts first
        facts = {**facts, "retry_after": failure.retry_after}
    message = failure.message or "it gives no reason"
    match failure.kind:
        case FailureKind.PROMPT_TOO_LONG:
            overflow = ContextOverflow(
                message, limit=failure.limit, input_tokens=failure.input_tokens, **facts
            )
            return CallFailed(overflow, may_pass=False)
        case FailureKind.MAX_TOKENS_TOO_LARGE:
            too_much = OutputCapTooLarge(
                message, available=_available(failure), requested=failure.requested_output_tokens, **facts
            )
            return CallFailed(too_much, may_pass=False)
        case FailureKind.RATE_LIMIT:
            may_pass = status in _PASSING and not failure.exceeds_rate
            return CallFailed(RateLimited(message, **facts), may_pass=may_pass)
    if status in _AUTH:
        return CallFailed(
            ProviderAuthError(f"{message.rstrip('.')}; {_advise_on_key(endpoint)}", **facts), may_pass=False
        )
    if status == _NOT_FOUND:
        address = endpoint.base_url.partition("?")[0]
        message = (
            f"{message.rstrip('.')}; check the model's name, and whether {address} is the address of its API"
        )
    kind = ProviderUnavailable if status >= _SERVER_ERRORS else ProviderError
    # A 429 that is no rate is about money, and a history that is refused is refused again.
    is_final = failure.malformed or status == _TOO_MANY
    return CallFailed(kind(message, **facts), may_pass=status in _PASSING and not is_final)


def _advise_on_place(endpoint: Endpoint) -> str:
    """Say what to check where nothing was found; a query of the address may hold a secret."""
    address = endpoint.base_url.partition("?")[0]
    return f"check the model's name, and whether {address} is the address of its API"


def _advise_on_key(endpoint: Endpoint) -> str:
    """Say what to do about a refusal: which key was sent, and where it comes from."""
    provider = PROVIDERS.get(endpoint.provider)
    if endpoint.key is None:
        return "no key was sent: name the provider in providers.NAME with key_env, or use one that is known"
    return f"check the key in {provider.key_env}" if provider and provider.key_env else "check the key"


def _available(failure: Failure) -> int | None:
    """Return how much output may be asked for: what the prompt leaves of the window, or the cap itself."""
    if failure.limit is None or failure.input_tokens is None:
        return failure.limit
    return max(0, failure.limit - failure.input_tokens)


def _facts(endpoint: Endpoint) -> ProviderFacts:
    return ProviderFacts(provider=endpoint.provider, model=endpoint.model)


def _describe_redirect(headers: Mapping[str, str]) -> str:
    """Name the target of a redirect, without its query."""
    target = urlsplit(headers.get("Location", ""))
    address = f"{target.scheme}://{target.hostname}{target.path}" if target.hostname else target.path
    return (
        f"it redirects to {address or 'nowhere'}, which is not followed; set the base URL to where it leads"
    )


def _seconds(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
