"""The log of the gateway: one line for each event, for people or as JSON, never with what was said.

Facts about a request are attributes of its record; bodies, headers and queries are not among them. What an
error may quote goes through the redactor.
"""

import json
import logging
from datetime import UTC, datetime

from midfold.config import LogFormat
from midfold.redact import redact

FACTS = "facts"
"""the attribute of a record that holds them"""


class _SafeFormatter(logging.Formatter):
    """Writes lines for people, without credentials."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class _JsonFormatter(logging.Formatter):
    """Writes each event as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry: dict[str, object] = {
            "at": at,
            "level": record.levelname.lower(),
            "event": redact(record.getMessage()),
            **getattr(record, FACTS, {}),
        }
        if record.exc_info:
            entry["error"] = redact(self.formatException(record.exc_info))
        return json.dumps(entry)


def make_formatter(kind: LogFormat) -> logging.Formatter:
    """Return the formatter of a handler."""
    match kind:
        case LogFormat.JSON:
            return _JsonFormatter()
        case LogFormat.TEXT:
            return _SafeFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
