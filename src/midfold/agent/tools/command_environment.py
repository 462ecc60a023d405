"""The environment of a command: without what is named like a credential, or looks like one.

This keeps keys out of what a build prints. It is no wall: a command can read all that its user can read.
"""

from collections.abc import Collection, Mapping

from midfold.late_patterns import compile_late
from midfold.redact import redact

# A word of the name, as words are parted by underscores.
_SECRET_WORD = compile_late(
    r"\w*(?:SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|APIKEY|TOKEN)|WEBHOOK|DSN|BEARER|CONNSTR"
)
_LAST_WORDS = frozenset({"KEY", "KEYS", "PASS", "PAT", "AUTH", "COOKIE", "PGPASS"})
_ENDINGS = (("AUTH", "CONFIG"), ("AUTH", "HEADER"), ("CONNECTION", "STRING"), ("CONN", "STR"))
_ADDRESSES = frozenset({"URL", "URI", "URLS"})
_SERVICES = compile_late(
    r"DATABASE|DB|PG|POSTGRES\w*|MYSQL|MARIADB|MONGO\w*|REDIS|VALKEY|AMQP|RABBITMQ|BROKER|CELERY|KAFKA|SMTP|"
    r"MAIL\w*|EMAIL|ELASTIC\w*|CLICKHOUSE|LDAP|JDBC|SQLALCHEMY|NATS|COUCHDB|SUPABASE|NEON"
)
# With a word before it: PWD itself is where one works.
_SHORT_PASSWORD = "PWD"  # noqa: S105 - a part of names
_PROXY = "PROXY"
"""A command without its proxy reaches nothing, so a password in a proxy's address stays."""


def visible_environment(
    environment: Mapping[str, str], *, hidden: Collection[str] = (), shown: Collection[str] = ()
) -> dict[str, str]:
    """Return the variables that a command may see: no `hidden` ones, but `shown` ones in any case."""
    return {
        name: value
        for name, value in environment.items()
        if name in shown
        or not (name in hidden or is_named_like_credential(name) or _looks_like_credential(name, value))
    }


def is_named_like_credential(name: str) -> bool:
    """Whether a variable has a name such as `GITHUB_TOKEN`, `DB_PASS` or `DATABASE_URL`."""
    words = [word for word in name.upper().split("_") if word]
    if not words:
        return False
    last = words[-1]
    return (
        any(_SECRET_WORD.fullmatch(word) for word in words)
        or last in _LAST_WORDS
        or (last == _SHORT_PASSWORD and len(words) > 1)
        or tuple(words[-2:]) in _ENDINGS
        or (last in _ADDRESSES and any(_SERVICES.fullmatch(word) for word in words[:-1]))
    )


def _looks_like_credential(name: str, value: str) -> bool:
    return not name.upper().endswith(_PROXY) and redact(value) != value
