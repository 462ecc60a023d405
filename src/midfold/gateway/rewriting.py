"""Usage reports rewritten on their way to a client that steers by its own view of a conversation."""

import json
import re

from midfold.late_dataclasses import dataclass
from midfold.wire import add_prompt_tokens

_DATA_LINE = re.compile(rb"^data:[ ]?(\{.*\"usage\".*\})[ ]*(\r?)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Adds the tokens that folds took out to every report that passes; all else stays byte for byte."""

    tokens: int

    def whole(self, body: bytes) -> bytes:
        """Rewrite a reply that came as one piece of JSON."""
        return self._rewritten(body) or body

    def events(self, data: bytes) -> bytes:
        """Rewrite whole events of a stream."""
        if b'"usage"' not in data:
            return data
        return _DATA_LINE.sub(self._rewrite_line, data)

    def _rewrite_line(self, found: re.Match[bytes]) -> bytes:
        written = self._rewritten(found[1])
        return found[0] if written is None else b"data: " + written + found[2]

    def _rewritten(self, data: bytes) -> bytes | None:
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            return None
        added = add_prompt_tokens(body, self.tokens) if isinstance(body, dict) else None
        if added is None:
            return None
        return json.dumps(added, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
