"""The model that writes summaries for a command: which one it is, and its bill in the store."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Self

import click

from midfold.cli.options import DIGEST_WORD
from midfold.cli.terminal import printable
from midfold.config import Settings, load_settings, open_own_store
from midfold.errors import StoreError

if TYPE_CHECKING:
    from midfold.providers.summarizers import BlockingSummarizer, SummaryCall
    from midfold.store import Call, Store

_MOST_CHARS = 300


def choose_summary_model(given: str | None, settings: Settings | None = None) -> str | None:
    """Return the model that is named, else that of the settings; `None` is the digest."""
    if given == DIGEST_WORD:
        return None
    return given or (settings or load_settings()).summary_model


@contextmanager
def open_summarizer(model: str, base_url: str | None) -> "Iterator[BlockingSummarizer]":
    """Open a model for summaries; raises `ConfigError` where its key is missing.

    Where the settings name it, the model of the conversation steps in for it, and the person is told.
    """
    from midfold.providers import read_providers
    from midfold.providers.summarizers import BlockingSummarizer, ModelRef, ModelSummarizer

    settings = load_settings()
    is_configured = base_url is None and model == settings.summary_model
    summarizer = ModelSummarizer(
        ModelRef(model, base_url),
        main=settings.model.name if is_configured else None,
        providers=read_providers(settings.providers),
        tell=say,
    )
    if not is_configured:
        summarizer.check()
    with BlockingSummarizer(summarizer) as blocking:
        yield blocking


def say(sentence: str) -> None:
    """Tell the person, beside the result."""
    click.echo(f"note: {printable(sentence, _MOST_CHARS)}", err=True)


def record_summary_calls(calls: "Sequence[SummaryCall]", command: str, name: str) -> None:
    """Record what summaries cost."""
    if not calls:
        return
    from midfold.usage import make_summary_call

    with CallRecorder(command, name) as record:
        for call in calls:
            record(make_summary_call(call))


class CallRecorder:
    """Records calls in a session of their own, for `midfold insights` to add up.

    The store is opened by the first call. One that takes none is said, once, and stops nothing.
    """

    def __init__(self, command: str, name: str) -> None:
        self._command = command
        self._title = printable(f"Summaries for {PurePath(name).name}", 100)
        self._store: Store | None = None
        self._session = ""
        self._has_failed = False

    def __call__(self, call: "Call") -> None:
        """Record a call, at once."""
        if self._has_failed:
            return
        try:
            if self._store is None:
                self._store = open_own_store(load_settings())
                session = self._store.create_session(
                    source=self._command, title=self._title, model=call.model
                )
                self._session = session.id
            self._store.record_call(self._session, call)
        except StoreError as error:
            self._has_failed = True
            say(f"the cost of the summaries could not be recorded: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._store is None:
            return
        with self._store, suppress(StoreError):
            if self._session:
                self._store.end_session(self._session)
