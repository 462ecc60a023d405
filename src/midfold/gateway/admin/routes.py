"""The routes of the admin API: one table, which serves requests and describes itself as OpenAPI."""

import re
from collections.abc import Mapping
from urllib.parse import unquote

from midfold.late_dataclasses import dataclass

API = "/admin/api"
_PART = re.compile(r"\{(\w+)\}")
_ANY = "[^/]{1,256}"
_FORMS = {"number": "[0-9]{1,10}"}


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of the query."""

    name: str
    words: str
    kind: str = "string"
    least: int = 0
    most: int = 1_000_000_000
    choices: tuple[str, ...] = ()
    """the texts that it may be; none where any will do"""


@dataclass(frozen=True, slots=True)
class AdminRoute:
    """One operation: `operation` names the method that answers, `body` the fields that it reads."""

    method: str
    path: str
    operation: str
    words: str
    query: tuple[QueryParameter, ...] = ()
    body: Mapping[str, str] | None = None
    """the type of each field; `None` where nothing is changed"""
    needed: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        return self.body is not None

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the variable parts of the path."""
        return tuple(_PART.findall(self.path))

    def match(self, path: str) -> Mapping[str, str] | None:
        """Return the variable parts of a path that belongs here."""
        pattern = _PART.sub(lambda part: f"(?P<{part[1]}>{_FORMS.get(part[1], _ANY)})", self.path)
        found = re.fullmatch(pattern, path)
        return None if found is None else {name: unquote(text) for name, text in found.groupdict().items()}


_LIMIT = QueryParameter("limit", "how many at most", "integer", 1, 200)
_HITS = QueryParameter("limit", "how many at most", "integer", 1, 100)
_ONE = "/conversations/{id}"

ADMIN_ROUTES = (
    AdminRoute("GET", "/token", "token", "The token that changes need, and what this gateway is."),
    AdminRoute("GET", "/openapi.json", "openapi", "This description."),
    AdminRoute(
        "GET",
        "/conversations",
        "conversations",
        "Conversations, the newest first, in pages.",
        (
            _LIMIT,
            QueryParameter("after", "`next` of the page before"),
            QueryParameter("source", "only these"),
        ),
    ),
    AdminRoute("GET", _ONE, "conversation", "One conversation: its chain, folds, pressure, pins and usage."),
    AdminRoute(
        "GET",
        "/sessions/{id}/messages",
        "messages",
        "What was said in a conversation, in pages; with view=context, what the model reads.",
        (
            QueryParameter("start", "number of the first message", "integer"),
            _LIMIT,
            QueryParameter("seq", "number of a search result in its session, to begin near it", "integer"),
            QueryParameter("full", "true for whole texts", choices=("true", "false")),
            QueryParameter("view", "history or context", choices=("history", "context")),
        ),
    ),
    AdminRoute(
        "GET",
        f"{_ONE}/folds/{{number}}",
        "fold",
        "One fold: before and after by index, its loss report, its notes.",
    ),
    AdminRoute("GET", f"{_ONE}/notes", "notes", "The notes that stand for what was folded."),
    AdminRoute(
        "GET",
        "/search",
        "search",
        "Messages that answer a question or have these words.",
        (
            QueryParameter("q", "words or a question", most=1_000),
            QueryParameter("session", "only in this conversation"),
            QueryParameter("role", "only of this role"),
            QueryParameter("order", "relevance or newest", choices=("relevance", "newest")),
            _HITS,
        ),
    ),
    AdminRoute(
        "GET",
        "/usage",
        "usage",
        "Tokens, cost, net savings and cache hit rate.",
        (QueryParameter("days", "how far back", "integer", 1, 366),),
    ),
    AdminRoute("GET", "/settings", "settings", "Every setting in force; credentials are hidden."),
    AdminRoute(
        "GET",
        "/events",
        "events",
        "What happens now, as server-sent events.",
        (QueryParameter("after", "number of the last event that was seen", "integer"),),
    ),
    AdminRoute("POST", f"{_ONE}/compress", "compress", "Fold a conversation now.", body={"focus": "string"}),
    AdminRoute("POST", f"{_ONE}/undo", "undo", "Take back the newest fold.", body={}),
    AdminRoute("POST", f"{_ONE}/notes", "add", "Add a note.", body={"text": "note"}, needed=("text",)),
    AdminRoute(
        "POST",
        f"{_ONE}/notes/strike",
        "strike",
        "Strike notes.",
        body={"numbers": "integers"},
        needed=("numbers",),
    ),
    AdminRoute(
        "PUT",
        f"{_ONE}/notes/{{number}}",
        "edit",
        "Let a note say something else.",
        body={"text": "note"},
        needed=("text",),
    ),
    AdminRoute(
        "POST",
        f"{_ONE}/pins",
        "pin",
        "Keep a sentence word for word through every later fold.",
        body={"text": "string"},
        needed=("text",),
    ),
    AdminRoute(
        "DELETE",
        f"{_ONE}/pins",
        "unpin",
        "Let go of a pinned sentence.",
        body={"text": "string"},
        needed=("text",),
    ),
)


def find_admin_route(method: str, path: str) -> tuple[AdminRoute, Mapping[str, str]] | frozenset[str]:
    """Return the route of a path below the API and its variable parts, or the methods that it has."""
    methods: set[str] = set()
    for route in ADMIN_ROUTES:
        parts = route.match(path)
        if parts is None:
            continue
        if route.method == method:
            return route, parts
        methods.add(route.method)
    return frozenset(methods)
