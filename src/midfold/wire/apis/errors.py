"""Errors that arrive where a reply should be: in a body or an event of an answer whose status is 200."""

from midfold.wire.dialect import Item
from midfold.wire.plain import plain

# What the names of errors stand for, by Anthropic and OpenAI.
_STATUS_BY_NAME = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_UNKNOWN_STATUS = 500
_LOWEST_ERROR_STATUS, _HIGHEST_STATUS = 400, 599


def find_error(body: Item) -> Item | None:
    """Return the error in a reply or a stream event, or `None`."""
    for holder in (body, plain(body.get("response")), _first_choice(body)):
        if isinstance(holder, dict) and holder.get("error"):
            error = plain(holder["error"])
            return error if isinstance(error, dict) else {"message": str(error)}
    if body.get("type") in ("error", "response.failed") or body.get("status") == "failed":
        return body
    report = plain(body.get("base_resp"))  # MiniMax
    return report if isinstance(report, dict) and report.get("status_code") else None


def stated_status(error: Item) -> int:
    """Return the HTTP status that an error stands for: its own number, or that of its name, else 500."""
    for key in ("code", "status", "http_code"):
        number = error.get(key)
        if isinstance(number, str) and number.isdigit() and len(number) == 3:
            number = int(number)
        if type(number) is int and _LOWEST_ERROR_STATUS <= number <= _HIGHEST_STATUS:
            return number
    names = (error.get(key) for key in ("type", "code"))
    known = (_STATUS_BY_NAME[name] for name in names if isinstance(name, str) and name in _STATUS_BY_NAME)
    return next(known, _UNKNOWN_STATUS)


def _first_choice(body: Item) -> object:
    choices = body.get("choices")
    return plain(choices[0]) if isinstance(choices, list) and choices else None
