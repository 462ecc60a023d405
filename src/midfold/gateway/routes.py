"""The routes of the gateway, each with its policy. What is not in the table is refused."""

import re
from enum import Enum

from midfold.late_dataclasses import dataclass

ANTHROPIC = "anthropic"
CHAT = "openai_chat"
RESPONSES = "openai_responses"


class RoutePolicy(Enum):
    """Who may use a route."""

    CLIENT = "clients of models: the gateway's key, where there is one"
    ADMIN = "people who run it: the gateway's key, where there is one"
    PUBLIC = "anybody who calls it by its own name: pages without content, health"


class RouteAction(Enum):
    """The handling of a request."""

    CONVERSE = "a turn of a conversation: recorded, and folded when it is due"
    COUNT = "a count of a conversation: folds that were made for it are applied"
    PASS = "passed on as it is"  # noqa: S105 - no password


@dataclass(frozen=True, slots=True)
class Route:
    """Requests of one kind. `dialect` is that of its errors; empty where the client decides it."""

    methods: frozenset[str]
    path: re.Pattern[str]
    action: RouteAction
    policy: RoutePolicy
    dialect: str = ""

    def matches(self, path: str) -> bool:
        return self.path.fullmatch(path) is not None


PREFIX = "/v1"
"""Prefix that clients put before a path; it belongs to the base URL of an upstream."""

_POST = frozenset({"POST"})
_READ = frozenset({"GET", "HEAD"})
_ANY = frozenset({"GET", "HEAD", "POST", "DELETE"})

_PASSED, _CLIENT = RouteAction.PASS, RoutePolicy.CLIENT
ROUTES = (
    Route(_POST, re.compile("/chat/completions"), RouteAction.CONVERSE, _CLIENT, CHAT),
    Route(_POST, re.compile("/messages"), RouteAction.CONVERSE, _CLIENT, ANTHROPIC),
    Route(_POST, re.compile("/messages/count_tokens"), RouteAction.COUNT, _CLIENT, ANTHROPIC),
    Route(_POST, re.compile("/responses"), RouteAction.CONVERSE, _CLIENT, RESPONSES),
    Route(_ANY, re.compile("/responses/.+"), _PASSED, _CLIENT, RESPONSES),
    Route(_READ, re.compile("/models(/.+)?"), _PASSED, _CLIENT),
)


@dataclass(frozen=True, slots=True)
class NoRoute:
    """A request that nothing serves, and why."""

    status: int
    reason: str
    methods: frozenset[str] = frozenset()


def find_route(method: str, path: str) -> Route | NoRoute:
    """Return the route of a request by its path, without the query."""
    below = path.removeprefix(PREFIX).rstrip("/") if path.startswith(f"{PREFIX}/") else ""
    found = [route for route in ROUTES if below and route.matches(below)]
    for route in found:
        if method in route.methods:
            return route
    if found:
        methods = frozenset().union(*(route.methods for route in found))
        return NoRoute(405, f"{method} is not served here", methods)
    return NoRoute(
        404,
        "no such path here; the gateway serves /v1/chat/completions, /v1/messages,"
        " /v1/messages/count_tokens, /v1/responses and /v1/models",
    )
