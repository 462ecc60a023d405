"""Limits that providers stated in their errors, remembered across runs.

Any server may answer at an endpoint. So a stated limit is believed only when it lowers the window,
is plausible, and is about this endpoint and model; a surprisingly small one must be seen twice.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from enum import Enum
from pathlib import Path

from midfold.files import read_bytes, replace_file
from midfold.late_dataclasses import dataclass, replace

LIMITS_FILE = "learnt_limits.json"
"""Where the limits are kept, in midfold's home."""
MIN_LIMIT_TOKENS = 4_096
"""No conversation with a known model fits below this: a smaller figure is a mistake, however often seen."""

# Nor can anything be asked within this, whatever the model is.
_LEAST_TOKENS = 256
# A limit under this part of the window we knew is surprising.
_SURPRISING_FRACTION = 0.25
# Providers raise limits, too: after a month the setting or the table gets another chance.
_LIFETIME_SECONDS = 30 * 24 * 3600
# The names come from requests, so the file is kept from growing with them.
_MAX_ENTRIES = 500
_MAX_FILE_BYTES = 1_000_000


class Lesson(Enum):
    """The outcome for a stated limit."""

    LEARNED = "learnt"
    LEARNED_UNSAVED = "learnt for this process; the file could not be written"
    SEEN_ONCE = "too surprising to believe before it is seen again"
    REFUSED = "does not lower the window, or is not plausible"


@dataclass(frozen=True, slots=True)
class _Entry:
    endpoint: str
    model: str
    at_seconds: float
    limit_tokens: int = 0
    """0 while nothing is believed"""
    claim_tokens: int = 0
    """a surprising limit seen once; 0 when there is none"""
    configured_tokens: int = 0
    """what the window was taken for when it was learnt"""


@dataclass(frozen=True, slots=True)
class LearnedLimit:
    """A limit that is believed, and when it was stated (seconds since 1970)."""

    endpoint: str
    model: str
    limit_tokens: int
    at_seconds: float


class LearnedLimits:
    """The learnt limits in a small JSON file at `path`, which need not exist.

    Processes may share the file: it is replaced whole, so a reader never sees half of it. Of two limits
    learnt in the same instant one may be lost, to be learnt again.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._unsaved: dict[tuple[str, str], _Entry] = {}

    def get(self, endpoint: str, model: str, *, explicit: int | None = None) -> int | None:
        """Return the believed limit of `model` at `endpoint`, or `None`.

        A window that was set by hand since then, an `explicit` one, is newer than what was learnt.
        """
        entry = self._read().get((endpoint, model))
        is_outdated = entry and explicit is not None and entry.configured_tokens not in (0, explicit)
        return (entry.limit_tokens or None) if entry and not is_outdated else None

    def list_all(self) -> list[LearnedLimit]:
        """List the limits that are believed, the oldest first."""
        return [
            LearnedLimit(entry.endpoint, entry.model, entry.limit_tokens, entry.at_seconds)
            for entry in self._read().values()
            if entry.limit_tokens
        ]

    def learn(
        self,
        endpoint: str,
        model: str,
        stated_tokens: int,
        *,
        configured_tokens: int,
        is_guess: bool = False,
    ) -> Lesson:
        """Take in a limit that a provider stated for a model whose window was taken for `configured_tokens`.

        Only figures that a provider stated belong here, no guesses such as a probe tier. Where the window was
        such a guess itself, any lower figure is better than it.
        """
        with self._lock:
            entries = self._read()
            known = entries.get((endpoint, model)) or _Entry(endpoint, model, 0)
            current_tokens = min(configured_tokens, known.limit_tokens or configured_tokens)
            if not (_LEAST_TOKENS if is_guess else MIN_LIMIT_TOKENS) <= stated_tokens < current_tokens:
                return Lesson.REFUSED
            believable = is_guess or stated_tokens >= configured_tokens * _SURPRISING_FRACTION
            if believable or stated_tokens == known.claim_tokens:
                lesson, entry = Lesson.LEARNED, replace(known, limit_tokens=stated_tokens, claim_tokens=0)
            else:
                lesson, entry = Lesson.SEEN_ONCE, replace(known, claim_tokens=stated_tokens)
            # A window that was learnt itself says nothing about the setting.
            is_learnt = configured_tokens == known.limit_tokens
            setting = known.configured_tokens if is_learnt else configured_tokens
            entries[endpoint, model] = replace(entry, at_seconds=self._clock(), configured_tokens=setting)
            is_saved = self._save(entries)
        return Lesson.LEARNED_UNSAVED if lesson is Lesson.LEARNED and not is_saved else lesson

    def note_success(self, endpoint: str, model: str, prompt_tokens: int) -> bool:
        """Forget a limit that a prompt of this size shows to be wrong; true where there was one."""
        with self._lock:
            entries = self._read()
            known = entries.get((endpoint, model))
            if known is None or not 0 < known.limit_tokens < prompt_tokens:
                return False
            del entries[endpoint, model]
            self._save(entries)
        return True

    def forget(self, model: str | None = None) -> list[LearnedLimit]:
        """Forget what was learnt of a model, at any endpoint, or of all; return what that was."""
        with self._lock:
            gone = [limit for limit in self.list_all() if model in (None, limit.model)]
            entries = self._read()
            kept = {key: entry for key, entry in entries.items() if model not in (None, entry.model)}
            if len(kept) < len(entries):
                self._save(kept)
        return gone

    def _read(self) -> dict[tuple[str, str], _Entry]:
        """Read what is still fresh, oldest first; a file that is missing, broken or foreign holds nothing."""
        try:
            text = read_bytes(self._path).decode() if self._path.stat().st_size <= _MAX_FILE_BYTES else ""
        except (OSError, UnicodeDecodeError):
            text = ""
        stored = {(entry.endpoint, entry.model): entry for entry in _parse(text)} | self._unsaved
        now = self._clock()
        # A clock that was wrong when a limit was learnt must not keep it for ever.
        fresh = {
            key: entry for key, entry in stored.items() if abs(now - entry.at_seconds) < _LIFETIME_SECONDS
        }
        return dict(sorted(fresh.items(), key=lambda item: item[1].at_seconds))

    def _save(self, entries: dict[tuple[str, str], _Entry]) -> bool:
        """Replace the file; where that fails, keep the entries in memory and return False."""
        newest = dict(list(entries.items())[-_MAX_ENTRIES:])
        text = json.dumps({"limits": [asdict(entry) for entry in newest.values()]}, indent=1)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path, text.encode())
        except OSError:
            self._unsaved = newest
            return False
        self._unsaved = {}
        return True


def _parse(text: str) -> Iterator[_Entry]:
    """Yield the entries of a file that can be read as such."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return
    found = content.get("limits") if isinstance(content, dict) else None
    for item in found if isinstance(found, list) else []:
        with suppress(TypeError):  # missing or unknown fields
            entry = _Entry(**item)
            if _is_sound(entry):
                yield entry


def _is_sound(entry: _Entry) -> bool:
    limits = (entry.limit_tokens, entry.claim_tokens, entry.configured_tokens)
    return (
        isinstance(entry.endpoint, str)
        and isinstance(entry.model, str)
        and type(entry.at_seconds) in (int, float)
        and all(type(limit) is int and (limit == 0 or limit >= _LEAST_TOKENS) for limit in limits)
    )
