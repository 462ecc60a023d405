"""Sessions in SQLite: opening, finding, naming and ending them."""

import secrets
from collections.abc import Sequence
from functools import partial

from midfold.store.base import EndReason, ImportedMessage, Session, SessionKind
from midfold.store.codec import clean_text
from midfold.store.dated import prepare_runs
from midfold.store.preparing import check_kind
from midfold.store.sqlite import importing, lineage, sessions
from midfold.store.sqlite.sessions import NewSession
from midfold.store.sqlite.verbs.base import Verbs
from midfold.wire import get_dialect


class SessionVerbs(Verbs):
    """See `midfold.store.base`."""

    def create_session(
        self,
        *,
        session_id: str | None = None,
        source: str = "",
        model: str | None = None,
        title: str | None = None,
        dialect: str | None = None,
        system: object = None,
        parent_id: str | None = None,
        kind: SessionKind = SessionKind.ROOT,
    ) -> Session:
        """Open a session and return it. A branch begins with all that its parent says."""
        new_id = session_id or secrets.token_hex(16)
        check_kind(kind, parent_id)
        origin = self._recall(parent_id).conversation if parent_id and kind is SessionKind.BRANCH else new_id
        new = self._new(new_id, origin, source, model, title, dialect, system, kind)
        if parent_id is None:
            self._write(sessions.insert_session, new, self._clock())
        elif kind is SessionKind.BRANCH:
            self._write(lineage.branch_session, parent_id, new, self._clock())
        else:
            self._write(lineage.open_below, parent_id, new, self._clock())
        return self.session(new_id)

    def import_conversation(
        self,
        said: Sequence[ImportedMessage],
        *,
        dialect: str,
        session_id: str | None = None,
        source: str = "",
        model: str | None = None,
        title: str | None = None,
        system: object = None,
        started_at: float | None = None,
    ) -> Session:
        """Write a whole conversation as a session of its own, dated as it was said; all of it, or nothing."""
        new_id = session_id or secrets.token_hex(16)
        new = self._new(new_id, new_id, source, model, title, dialect, system)
        # Everything that takes time is done before the transaction begins.
        runs = prepare_runs(said, dialect, self._hiding.key(new_id))
        self._write(importing.write_runs, new, runs, self._quota, started_at, self._clock())
        return self.session(new_id)

    def session(self, session_id: str) -> Session:
        """Return what is known about a session."""
        return self._read(sessions.get_session, session_id)

    def sessions(
        self,
        *,
        source: str | None = None,
        limit: int = 50,
        before: float | None = None,
        prefix: str = "",
        after: str | None = None,
    ) -> list[Session]:
        """List sessions, the newest first; the next page comes `after` the last session of this one."""
        return self._read(
            partial(
                sessions.list_sessions,
                source=source,
                before=before,
                prefix=clean_text(prefix),
                after=after,
                limit=limit,
            )
        )

    def system(self, session_id: str) -> object:
        """Return the system prompt that was kept with a session."""
        return self._read(sessions.read_system, session_id)

    def end_session(self, session_id: str, reason: str = EndReason.CLOSED) -> None:
        """End a session; it stays readable."""
        hidden = self._hiding.text(reason, self._recall(session_id).conversation)
        self._write(sessions.end_session, session_id, hidden, self._clock())

    def reopen_session(self, session_id: str) -> None:
        """Go on with a session that was closed."""
        self._write(sessions.reopen_session, session_id)

    def set_title(self, session_id: str, title: str) -> None:
        """Name a session."""
        hidden = self._hiding.text(title, self._recall(session_id).conversation)
        self._write(sessions.set_title, session_id, hidden)

    def _new(
        self,
        new_id: str,
        origin: str,
        source: str,
        model: str | None,
        title: str | None,
        dialect: str | None,
        system: object,
        kind: SessionKind = SessionKind.ROOT,
    ) -> NewSession:
        """Prepare a session; `origin` is the conversation by which credentials are hidden in it."""
        hide = partial(self._hiding.text, conversation=origin)
        return NewSession(
            id=new_id,
            conversation=new_id,
            kind=kind,
            parent=None,
            source=hide(source),
            model=model and hide(model),
            title=title and hide(title),
            dialect=dialect and get_dialect(dialect).name,
            system=None if system is None else self._hiding.value(system, origin),
        )
