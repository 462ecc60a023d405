"""The keys that were given out, in a file that holds keyed hashes alone.

The text of a key is shown once, when it is made. The secret of the hashes is in a file of its own, so that a
copy of the one is worth nothing without the other. A gateway that runs sees keys that are made or revoked.
"""

import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path

from midfold.errors import ConfigError
from midfold.files import open_to_read
from midfold.keys.files import hold_file, load_object, save_object
from midfold.keys.virtual_key import NAME, BudgetPeriod, VirtualKey
from midfold.late_dataclasses import dataclass, replace
from midfold.providers import ApiKey

KEYS_FILE = "gateway-keys.json"
SECRET_FILE = "gateway-keys.secret"  # noqa: S105 - the name of a file
PREFIX = "mfk-"
_VERSION = 1
_SECRET_BYTES = 32
_MOST_CHARS = 200
"""Longer than any key; a longer text is not even hashed."""
_NEVER = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made, and its text, which nobody can show again."""

    key: VirtualKey
    secret: ApiKey


class KeyRing:
    """The keys in a home folder, shared by threads and processes. Raises `ConfigError` for a damaged file."""

    def __init__(self, home: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = home / KEYS_FILE
        self._secret_path = home / SECRET_FILE
        self._clock = clock
        self._lock = threading.Lock()
        self._stamp = _NEVER
        self._by_digest: dict[str, VirtualKey] = {}
        self._secret = b""

    @property
    def is_empty(self) -> bool:
        """Whether no key was ever given out. One that was revoked still closes the gateway.

        A secret without its keys does as well: their file is lost, or being written.
        """
        return not self._load() and not self._secret_path.exists()

    def list_all(self) -> list[VirtualKey]:
        """List the keys, the oldest first, revoked ones as well."""
        return sorted(self._load().values(), key=lambda key: (key.created_at, key.name))

    def find(self, text: str) -> VirtualKey | None:
        """Return the key with this text, if it may be used. Any other text is no key, however strange."""
        known = self._load()
        if not text.startswith(PREFIX) or len(text) > _MOST_CHARS:
            return None
        digest = self._digest(text)
        key = known.get(digest)
        # The look-up goes by a keyed hash of all of it, so that its time tells nothing of a text.
        if key is None or not hmac.compare_digest(key.digest, digest):
            return None
        return key if key.is_valid(self._clock()) else None

    def create(
        self,
        name: str,
        *,
        tenant: str = "",
        is_admin: bool = False,
        upstreams: Sequence[str] = (),
        budget_dollars: Decimal | None = None,
        period: BudgetPeriod = BudgetPeriod.MONTH,
        per_minute: int | None = None,
        parallel: int | None = None,
        expires_at: float | None = None,
    ) -> NewKey:
        """Give out a key; raises `ConfigError` for a name that is taken or cannot be one."""
        _check_name("name", name)
        for each in (*upstreams, *([tenant] if tenant else [])):
            _check_name("tenant" if each == tenant else "upstream", each)
        text = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        with self._changing() as keys:
            if any(key.name == name and key.revoked_at is None for key in keys):
                raise ConfigError("name", name, hint="a name that no key has yet")
            key = VirtualKey(
                secrets.token_hex(8),
                name,
                self._digest(text),
                tenant=tenant,
                is_admin=is_admin,
                upstreams=tuple(upstreams),
                budget_dollars=budget_dollars,
                period=period,
                per_minute=per_minute,
                parallel=parallel,
                created_at=self._clock(),
                expires_at=expires_at,
            )
            keys.append(key)
        return NewKey(key, ApiKey(text))

    def revoke(self, name: str) -> VirtualKey:
        """Take a key back, by its name or id; raises `ConfigError` where there is none."""
        with self._changing() as keys:
            for index, key in enumerate(keys):
                if name in (key.name, key.id) and key.revoked_at is None:
                    revoked = keys[index] = replace(key, revoked_at=self._clock())
                    break
            else:
                raise ConfigError("name", name, hint="a key that midfold keys list shows")
        return revoked

    @contextmanager
    def _changing(self) -> Iterator[list[VirtualKey]]:
        """Give the keys to be changed; they are written back at the end of the block, unless it raises."""
        with hold_file(self.path):
            with suppress(FileExistsError):
                handle = os.open(self._secret_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                os.write(handle, secrets.token_bytes(_SECRET_BYTES))
                os.close(handle)
            with self._lock:
                self._secret = self._read_secret()
            keys = self._read()
            yield keys
            kept: list[object] = [key.to_json() for key in keys]
            save_object(self.path, {"version": _VERSION, "keys": kept})

    def _digest(self, text: str) -> str:
        return hmac.new(self._secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def _load(self) -> dict[str, VirtualKey]:
        """Return the keys by their hashes, read anew where the file is another."""
        with self._lock:
            try:
                facts = self.path.stat()
            except FileNotFoundError:
                # A file that was there and is gone does not open the gateway.
                return self._by_digest
            stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if stamp != self._stamp:
                keys = self._read()
                self._secret = self._read_secret()
                self._by_digest = {key.digest: key for key in keys}
                self._stamp = stamp
            return self._by_digest

    def _read(self) -> list[VirtualKey]:
        try:
            return _read_keys(load_object(self.path))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(KEYS_FILE, str(self.path), hint=f"a file of keys ({reason})") from None

    def _read_secret(self) -> bytes:
        try:
            with open_to_read(self._secret_path) as handle:
                secret = os.read(handle, _SECRET_BYTES + 1)
        except OSError as error:
            hint = f"the secret that belongs to {KEYS_FILE} ({error.strerror})"
            raise ConfigError(SECRET_FILE, str(self._secret_path), hint=hint) from None
        if len(secret) != _SECRET_BYTES:
            raise ConfigError(SECRET_FILE, str(self._secret_path), hint=f"{_SECRET_BYTES} bytes")
        return secret


def _read_keys(held: dict[str, object]) -> list[VirtualKey]:
    keys = held.get("keys", [])
    if (held and held.get("version") != _VERSION) or not isinstance(keys, list):
        raise ValueError("it has another form")
    return [VirtualKey.from_json(each) for each in keys]


def _check_name(what: str, text: str) -> None:
    if not NAME.fullmatch(text):
        raise ConfigError(what, text, hint="up to 64 letters, digits, dots, dashes or underscores")
