"""A client's request: kept for the test to look at, and read so far as an answer needs it."""

import json
from collections.abc import Mapping
from enum import StrEnum

from midfold.errors import MidfoldError
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse, read_request


class UpstreamApi(StrEnum):
    """The API that is asked for, known by the end of the path, so that any base URL will do."""

    CHAT = "/chat/completions"
    RESPONSES = "/responses"
    MESSAGES = "/messages"
    COUNT_TOKENS = "/messages/count_tokens"
    MODELS = "/models"


_DIALECTS = {
    UpstreamApi.CHAT: "openai_chat",
    UpstreamApi.RESPONSES: "openai_responses",
    UpstreamApi.MESSAGES: "anthropic",
    UpstreamApi.COUNT_TOKENS: "anthropic",
}


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came. The names of `headers` are in lower case; `json` is `None` where it is none.

    Headers and bodies may hold keys and private words, so a failing test does not print them.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    json: object = field(repr=False)
    arrived_at: float = field(default=0.0, compare=False)
    """When it was all there, in seconds of the monotonic clock."""

    @property
    def api(self) -> UpstreamApi | None:
        """The known API that this is for."""
        path = self.path.partition("?")[0].rstrip("/")
        return next((api for api in UpstreamApi if path.endswith(api)), None)

    @property
    def streams(self) -> bool:
        """Whether the answer is to come as a stream of events."""
        return self._field("stream") is True

    @property
    def wants_usage(self) -> bool:
        """Whether a chat stream is to end with a chunk of usage; the other APIs always report it."""
        options = self._field("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True

    @property
    def model(self) -> str:
        model = self._field("model")
        return model if isinstance(model, str) else "scripted"

    @property
    def request(self) -> Request | None:
        """The body as midfold reads it; `None` where it cannot."""
        try:
            return read_request(self.json, _DIALECTS.get(self.api) if self.api else None)
        except MidfoldError:
            return None

    @property
    def messages(self) -> list[Message]:
        """The messages of the body; none where they cannot be read."""
        request = self.request
        try:
            return parse(request.messages, request.dialect) if request else []
        except MidfoldError:
            return []

    def count_tokens(self) -> int:
        """Count what was really sent: system prompt, messages and tools, as o200k counts them."""
        request, messages, count = self.request, self.messages, TokenCounter()
        if request is None or not messages:
            return count.count_text(self.body.decode("utf-8", "replace"))
        return (
            count.count_text(request.system_text)
            + sum(map(count, messages))
            + count.count_tools(request.tools or ())
        )

    def _field(self, name: str) -> object:
        return self.json.get(name) if isinstance(self.json, dict) else None


def read_json(body: bytes) -> object:
    """Read a body; `None` where it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
