"""The changing half of the admin API. Every change is written to the audit log, done or refused."""

from collections.abc import Callable, Mapping

from midfold.config import Settings
from midfold.engines import Summarizer
from midfold.errors import ConfigError, MidfoldError
from midfold.folding import summarize_manual_compression
from midfold.gateway.admin.requests import AdminRefusal, AdminRequest, Json
from midfold.gateway.live import LiveFeed
from midfold.keys import AuditLog
from midfold.store import Store
from midfold.stored_notes import correct_session_notes
from midfold.stored_sessions import compress_session, pin_sentence, unpin_sentence
from midfold.summaries import NoteChange
from midfold.tokens import resolve_window


class AdminWriter:
    """Does what a person asks for. Every method raises `MidfoldError`, and then nothing has changed."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        audit: AuditLog,
        live: LiveFeed,
        summarizer: Summarizer | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._audit = audit
        self._live = live
        self._summarizer = summarizer

    def compress(self, request: AdminRequest) -> Json:
        request.check_fields("focus")
        return self._change("compress", request, self._compress)

    def _compress(self, request: AdminRequest) -> dict[str, object]:
        tip = self._store.session(self._store.get_compression_tip(request.path["id"]))
        window = resolve_window(tip.model or "", explicit=self._settings.model.context_length).tokens
        going_on, result = compress_session(
            self._store,
            tip.id,
            focus=request.text("focus", is_needed=False).strip() or None,
            policy=self._settings.policy(window),
            engine=self._settings.context.engine,
            summarizer=self._summarizer,
        )
        words = summarize_manual_compression(
            result.originals, result.messages, result.tokens_before, result.tokens_after
        )
        return {
            "session": going_on,
            "changed": result.changed,
            "reason": result.reason,
            "warning": result.warning,
            **words,
        }

    def undo(self, request: AdminRequest) -> Json:
        request.check_fields()
        return self._change(
            "undo", request, lambda asked: {"session": self._store.undo_continuation(asked.path["id"])}
        )

    def strike(self, request: AdminRequest) -> Json:
        request.check_fields("numbers")
        change = NoteChange.strike(*request.numbers("numbers"))
        try:
            return self._correct("strike", request, change)
        except ConfigError as error:  # a note that is struck already
            raise AdminRefusal(str(error), 409) from None

    def edit(self, request: AdminRequest) -> Json:
        request.check_fields("text")
        change = NoteChange.edit(request.path_number("number"), request.text("text"))
        return self._correct("edit", request, change)

    def add(self, request: AdminRequest) -> Json:
        request.check_fields("text")
        return self._correct("add", request, NoteChange.add(request.text("text")))

    def pin(self, request: AdminRequest) -> Json:
        request.check_fields("text")
        return self._change("pin", request, lambda asked: self._pins(pin_sentence, asked))

    def unpin(self, request: AdminRequest) -> Json:
        request.check_fields("text")
        return self._change("unpin", request, lambda asked: self._pins(unpin_sentence, asked))

    def _pins(
        self, change: Callable[[Store, str, str], tuple[str, ...]], request: AdminRequest
    ) -> dict[str, object]:
        return {"pins": list(change(self._store, request.path["id"], request.text("text")))}

    def _correct(self, action: str, request: AdminRequest, change: NoteChange) -> Json:
        return self._change(
            f"note-{action}",
            request,
            lambda asked: {"session": correct_session_notes(self._store, asked.path["id"], change)},
        )

    def _change(
        self, action: str, request: AdminRequest, work: Callable[[AdminRequest], Mapping[str, object]]
    ) -> Json:
        session_id = request.path["id"]
        try:
            self._audit.check()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            words = f"nothing is changed, as the audit log cannot be written ({reason})"
            raise AdminRefusal(words, 503) from None
        try:
            done = work(request)
        except MidfoldError as error:
            self._audit.write(action, session_id, by=request.by, refused=type(error).__name__)
            raise
        self._audit.write(action, session_id, by=request.by, goes_on_in=done.get("session"))
        conversation = self._store.session(session_id).conversation_id
        self._live.publish("change", {"action": action, "conversation": conversation})
        return done
