"""Writes everything that is sound in a damaged store into a new one, and says what is lost.

Sessions, messages, folds and calls keep their ids and numbers. In the place of a message that is lost there
is a mark, so that nothing moves up: every fold, range and position still means what it meant.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from midfold.late_dataclasses import dataclass, field, replace
from midfold.store.codec import pack_value
from midfold.store.sqlite import index
from midfold.store.sqlite.checksums import LOST_CHECKSUM
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.migrations import has_old_folds, upgrade_to_2, upgrade_to_3
from midfold.store.sqlite.records import make_mark_item
from midfold.store.sqlite.rescue.chains import repair_chains
from midfold.store.sqlite.rescue.copies import copied
from midfold.store.sqlite.rescue.session_trees import (
    RescuedSession,
    make_session,
    put_in_order,
    read_session,
)
from midfold.store.sqlite.rescue.tables import (
    CALL_COLUMNS,
    FOLD_COLUMNS,
    MESSAGE_COLUMNS,
    SESSION_COLUMNS,
    TableRow,
    Tables,
    insert,
    is_placed,
    is_sound,
)
from midfold.store.values import LostMessages, Salvaged
from midfold.wire import DEFAULT_DIALECT

# A session that says it has so many more messages than can be found is not believed.
_MOST_MISSING = 100_000
_DIGEST_BYTES, _CHAIN_BYTES = 16, 32


def salvage(damaged: Path, fresh: Path) -> Salvaged:
    """Write what can be read of the file `damaged` into a new store at `fresh`; nobody may have it open."""
    with copied(damaged, fresh) as copy:
        database = Database(fresh, synchronous="NORMAL")
        try:
            return database.write(
                lambda connection: _Rescue(connection, Tables(copy.connection, copy.data)).run()
            )
        finally:
            database.close()


@dataclass()
class _Messages:
    """The messages of a session that were written, by number, and the known facts about damaged ones."""

    ids: dict[int, int] = field(default_factory=dict)
    damaged: dict[int, TableRow] = field(default_factory=dict)


class _Rescue:
    """One rescue, in one transaction of the new store."""

    def __init__(self, connection: sqlite3.Connection, tables: Tables) -> None:
        self._connection = connection
        self._tables = tables
        self._sessions = {key: read_session(row) for key, row in tables.sessions().items()}
        self._messages: dict[int, _Messages] = {}
        self._ids: set[int] = set()

    def run(self) -> Salvaged:
        """Write all there is."""
        self._connection.execute("PRAGMA defer_foreign_keys = ON")
        self._write_meta()
        self._write_sound_messages()
        unnamed = self._name_strays()
        self._sessions = put_in_order(self._sessions)
        self._believe_counts()
        lost = [each for key in sorted(self._sessions) if (each := self._mark_lost(key))]
        roots = {key for key, session in self._sessions.items() if session.kind in ("root", "subagent")}
        for key, link in repair_chains(self._connection, roots).items():
            self._sessions[key] = replace(self._sessions[key], last_chain=link)
        unfolded = self._write_ranges()
        for session in self._sessions.values():
            values = tuple(getattr(session, name) for name in SESSION_COLUMNS.split(", "))
            insert(self._connection, "sessions", SESSION_COLUMNS, values)
        folds, calls = self._write_folds(unfolded), self._write_calls()
        self._write_rest()
        if self._tables.plain("PRAGMA user_version") == [(1,)] or has_old_folds(self._connection):
            upgrade_to_2(self._connection)
        upgrade_to_3(self._connection)
        return Salvaged(
            conversations=len(
                {(session.tenant, session.conversation) for session in self._sessions.values()}
            ),
            messages=len(self._ids) - sum(len(each.positions) for each in lost),
            lost=tuple(lost),
            lost_folds=folds,
            lost_calls=calls,
            unfolded=tuple(self._sessions[key].id for key in unfolded),
            unnamed=unnamed,
            has_read_nothing=not self._sessions,
        )

    def _write_meta(self) -> None:
        rows = self._tables.plain("SELECT name, value FROM meta WHERE name = 'redaction_key'")
        for name, value in rows:
            if isinstance(value, bytes):
                self._connection.execute(
                    "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value)
                )

    def _write_sound_messages(self) -> None:
        for row in self._tables.messages():
            if not is_placed(row):
                continue
            session, seq = row[2], row[3]
            known = self._messages.setdefault(session, _Messages())
            if seq in known.ids:
                continue
            if is_sound(row):
                self._write_message(known, row)
            else:
                known.damaged.setdefault(seq, row)

    def _write_message(self, known: _Messages, row: TableRow) -> None:
        rowid = row[0] if row[0] not in self._ids else self._free_id(max(self._ids), None)
        session = self._sessions.get(row[2])
        tenant = session.tenant if session else row[1] if isinstance(row[1], str) else ""
        insert(
            self._connection, "messages", MESSAGE_COLUMNS, (rowid, tenant, *row[2:10], *_repair_columns(row))
        )
        self._ids.add(rowid)
        known.ids[row[3]] = rowid

    def _name_strays(self) -> tuple[str, ...]:
        """Make sessions for messages whose own cannot be read."""
        strays = [key for key, known in self._messages.items() if key not in self._sessions and known.ids]
        for key in strays:
            [(tenant, dialect)] = self._connection.execute(
                "SELECT tenant, dialect FROM messages WHERE session = ? LIMIT 1", (key,)
            )
            self._sessions[key] = make_session(key, tenant, dialect)
        return tuple(self._sessions[key].id for key in strays)

    def _believe_counts(self) -> None:
        """Find out how many messages each session has."""
        longest = self._tables.longest()
        for key, session in self._sessions.items():
            known = self._messages.setdefault(key, _Messages())
            least = max(known.ids, default=-1) + 1
            claims = [session.next_seq, longest.get(key, 0)]
            most = max([least, *(claim for claim in claims if claim - len(known.ids) <= _MOST_MISSING)])
            self._sessions[key] = replace(session, next_seq=most, own_from=min(session.own_from, most))

    def _mark_lost(self, key: int) -> LostMessages | None:
        """Put marks where messages are lost."""
        session, known = self._sessions[key], self._messages[key]
        missing = [seq for seq in range(session.next_seq) if seq not in known.ids]
        for seq in missing:
            row = known.damaged.get(seq)
            rowid = row[0] if row and row[0] not in self._ids else None
            if rowid is None:
                before = known.ids.get(seq - 1, 0)
                after = min((known.ids[each] for each in known.ids if each > seq), default=None)
                rowid = self._free_id(before, after)
            self._write_mark(session, seq, rowid, row)
            known.ids[seq] = rowid
            self._ids.add(rowid)
        # Marks of an earlier rescue were reported then.
        fresh = [seq for seq in missing if seq not in known.damaged or known.damaged[seq][9] != LOST_CHECKSUM]
        return LostMessages(session.conversation, session.id, tuple(fresh)) if fresh else None

    def _write_mark(self, session: RescuedSession, seq: int, rowid: int, row: TableRow | None) -> None:
        role = row[5] if row and isinstance(row[5], str) else "user"
        dialect = session.dialect or DEFAULT_DIALECT
        mark = make_mark_item(role, dialect)
        at = row[16] if row and isinstance(row[16], float) else session.started_at
        body = (session.key, seq, "said", role, "", dialect, pack_value(mark, None), LOST_CHECKSUM)
        insert(
            self._connection,
            "messages",
            MESSAGE_COLUMNS,
            (rowid, session.tenant, *body, None, None, 0, 0, _digest(row), None, at),
        )

    def _free_id(self, before: int, after: int | None) -> int:
        """Return a number for a message between two others: its own is free, since it is lost."""
        last = max([before, *self._ids])
        stop = last + 2 if after is None else after
        return next((each for each in range(before + 1, stop) if each not in self._ids), last + 1)

    def _write_ranges(self) -> list[int]:
        """Write what sessions took over; return those that take over all, as nobody knows what."""
        found = self._tables.ranges({key: (key, session.tenant) for key, session in self._sessions.items()})
        pieces: dict[int, list[tuple[int, int, int]]] = {}
        unfolded: list[int] = []
        for key in sorted(self._sessions):
            session = self._sessions[key]
            taken_over = self._valid_ranges(found[key])
            parent = pieces.get(session.parent) if session.parent is not None else None
            if session.kind in ("continuation", "branch") and parent and not taken_over:
                taken_over = parent
                unfolded.append(key)
            for position, piece in enumerate(taken_over or ()):
                columns = "tenant, session, position, source, start, stop"
                insert(self._connection, "ranges", columns, (session.tenant, key, position, *piece))
            own = (key, session.own_from, session.next_seq)
            pieces[key] = [*(taken_over or ()), *([own] if session.own_from < session.next_seq else [])]
        return unfolded

    def _valid_ranges(self, rows: Iterable[TableRow]) -> list[tuple[int, int, int]] | None:
        """Return ranges if all of them can be true."""
        valid: list[tuple[int, int, int]] = []
        for number, (position, source, start, stop) in enumerate(rows):
            session = self._sessions.get(source)
            if position != number or session is None or not 0 <= start < stop <= session.next_seq:
                return None
            valid.append((source, start, stop))
        return valid

    def _write_folds(self, unfolded: list[int]) -> int:
        """Write the folds; return how many are lost."""
        seen: set[int] = set()
        for row in self._tables.folds().values():
            session, child = row[2], row[3]
            parts = self._sessions.get(session), self._sessions.get(child)
            if None in parts or child in seen or child in unfolded:
                continue
            seen.add(child)
            created, announced = (each if isinstance(each, float) else None for each in row[7:9])
            values = (row[0], self._sessions[child].tenant, *row[2:7], created or 0.0, announced)
            insert(self._connection, "folds", FOLD_COLUMNS, values)
        return max(0, self._tables.count("folds") - len(seen))

    def _write_calls(self) -> int:
        """Write the calls; return how many are lost."""
        seen: set[tuple[str, str]] = set()
        for row in self._tables.calls().values():
            session = self._sessions.get(row[2])
            if session is None or (session.tenant, row[3]) in seen:
                continue
            seen.add((session.tenant, row[3]))
            insert(self._connection, "calls", CALL_COLUMNS, (row[0], session.tenant, *row[2:]))
        return max(0, self._tables.count("calls") - len(seen))

    def _write_rest(self) -> None:
        columns = "tenant, span_digest, model, prompt, body, created_at"
        for row in self._tables.plain(f"SELECT {columns} FROM summaries"):  # noqa: S608 - our own names
            insert(self._connection, "summaries", columns, row)
        columns = "tenant, conversation, name, body, updated_at"
        for row in self._tables.plain(f"SELECT {columns} FROM states"):  # noqa: S608 - our own names
            insert(self._connection, "states", columns, row)
        self._connection.execute(
            "INSERT INTO tenants (tenant, bytes)"
            " SELECT tenant, sum(length(body)) FROM messages GROUP BY tenant"
        )
        index.rebuild(self._connection)


def _repair_columns(row: TableRow) -> tuple[object, ...]:
    """Return the columns of a message that no checksum covers; unusable values are replaced."""
    tokens, finish_reason, is_redacted, is_exact, _, chain, created_at = row[10:]
    has_chain = isinstance(chain, bytes) and len(chain) in (0, _CHAIN_BYTES)
    return (
        tokens if type(tokens) is int else None,
        finish_reason if isinstance(finish_reason, str) else None,
        int(is_redacted == 1),
        int(is_exact == 1),
        _digest(row),
        chain if has_chain and row[4] == "said" else None,
        created_at if isinstance(created_at, float) else 0.0,
    )


def _digest(row: TableRow | None) -> bytes:
    """Return what a message is compared by; what is damaged agrees with nothing."""
    digest = row[14] if row else None
    return digest if isinstance(digest, bytes) and len(digest) == _DIGEST_BYTES else b""
