"""The gateway put together from the settings: store, engines, upstreams, and what it says of itself."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version as package_version
from pathlib import Path

from midfold.concurrency import run_in_thread
from midfold.config import Settings, delete_session, find_home, open_outputs, open_own_store, own_store_url
from midfold.engines import Summarizer, find_engine
from midfold.errors import ConfigError, StoreError
from midfold.gateway.access import AccessRules
from midfold.gateway.admin import AdminApp, AdminParts, AdminReader, AdminWriter
from midfold.gateway.engines import LIMITS_FILE, EngineFactory, SummaryWriters
from midfold.gateway.exchange import GatewayParts
from midfold.gateway.identity import SessionIndex
from midfold.gateway.live import LiveFeed
from midfold.gateway.pipeline import RequestPipeline
from midfold.gateway.recall import RecallTools
from midfold.gateway.records import SOURCE, Records
from midfold.gateway.session import GatewaySession
from midfold.gateway.settings import check_listening, read_client_key, read_upstreams
from midfold.gateway.tracing import CallTracer
from midfold.gateway.upstream import Upstreams
from midfold.keys import AUDIT_FILE, AuditLog, BudgetBook, KeyRing
from midfold.late_dataclasses import replace
from midfold.messages import MessageCache
from midfold.providers import Timeouts, read_providers
from midfold.store import Store, open_store
from midfold.tokens import LearnedLimits
from midfold.wire import parse

log = logging.getLogger("midfold.gateway")

_CACHE_BYTES = 14 * 1024 * 1024
"""Of messages that were read before; they take some three times as much in memory."""
_TENANT_CACHE_BYTES = 6 * 1024 * 1024
_DAY_SECONDS = 86_400.0
_PRUNE_SECONDS = 6 * 3600.0
_PAGE = 100


class Gateway:
    """All that the application serves with. Opened and closed once, in the event loop that serves.

    A `store` that is given is not closed. Raises `ConfigError` for settings that cannot be served.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store | None = None,
        is_stored: bool = True,
        home: Path | None = None,
        summarizer: Summarizer | None = None,
        timeouts: Timeouts | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.settings = settings
        self.home = home or find_home(environ)
        self.is_stored = is_stored and store is None
        self._environ = {**environ, "MIDFOLD_HOME": str(self.home)}
        self._providers = read_providers(settings.providers)
        self.upstream_settings = read_upstreams(settings.gateway.upstreams, self._providers, environ)
        key = read_client_key(settings.gateway, environ)
        self.ring = KeyRing(self.home)
        check_listening(settings.gateway, key, has_keys=not self.ring.is_empty)
        self.access = AccessRules(key, frozenset(settings.gateway.allowed_hosts), self.ring)
        find_engine(settings.context.engine, self.home)  # a wrong name is said at once
        self._given_store = store
        self._tracer = CallTracer() if settings.gateway.tracing else None
        self._summarizer = summarizer
        self._timeouts = timeouts or Timeouts()
        self._parts: GatewayParts | None = None
        self._tenants: dict[str, GatewayParts] = {}
        self._opening = asyncio.Lock()
        self._store: Store | None = None
        self._summaries: list[SummaryWriters] = []
        self._pruning: asyncio.Task[None] | None = None

    @property
    def parts(self) -> GatewayParts:
        """The parts that exchanges work with, once the gateway is open."""
        if self._parts is None:
            raise RuntimeError("the gateway is not open")
        return self._parts

    def parts_for(self, tenant: str) -> GatewayParts:
        """Return what the exchanges of one tenant work with. Tenants share the ways out, and nothing else."""
        if not tenant:
            return self.parts
        if tenant not in self._tenants:
            self._tenants[tenant] = self._put_together(self.parts.records.store.for_tenant(tenant), tenant)
        return self._tenants[tenant]

    async def open(self) -> None:
        """Open the store and the ways to the upstreams, once; raises `StoreError` and `ExtraMissing`."""
        if self._parts is not None:
            return
        async with self._opening:
            if self._parts is None:
                store = await run_in_thread(self._open_store)
                self._parts = self._put_together(store)
                if self.is_stored and self.settings.gateway.keep_days is not None:
                    self._pruning = asyncio.create_task(self._prune_now_and_then(store))

    def open_admin(self, gauges: Callable[[], Mapping[str, int]]) -> AdminApp:
        """Make the people's side of it, once it is open."""
        audit = AuditLog(self.home / AUDIT_FILE if self.is_stored or self._given_store else None)
        return AdminApp(partial(self._admin_parts, audit), self.access, gauges)

    def _admin_parts(self, audit: AuditLog, tenant: str) -> AdminParts:
        parts, settings = self.parts_for(tenant), self.settings
        store = parts.records.store
        writer = AdminWriter(store, settings, audit, parts.live, self._summarizer)
        return AdminParts(
            store, AdminReader(store, settings), writer, parts.live, parts.metrics, package_version("midfold")
        )

    async def aclose(self) -> None:
        """Finish what is being written, and close everything."""
        parts = self._parts
        if parts is None:
            return
        if self._pruning is not None:
            self._pruning.cancel()
        while parts.background:
            await asyncio.wait(set(parts.background))
        for writers in self._summaries:
            await run_in_thread(writers.close)
        await parts.upstreams.aclose()
        if self._store is not None and self._given_store is None:
            await run_in_thread(self._store.close)

    def describe(self) -> list[str]:
        """Say which upstreams there are, which engine, how prompts are cached, what is kept, for how long."""
        settings = self.settings
        if self._summarizer is not None:
            writer = "a summariser of the host"
        else:
            writer = settings.summary_model or "the built-in digest, without a model"
        is_on = "on" if settings.compression.enabled else "off (compression.enabled)"
        days = settings.gateway.keep_days
        kept = "for ever" if days is None else f"for {days} days"
        where = (
            f"{own_store_url(settings, self._environ)}, kept {kept}" if self.is_stored else "in memory only"
        )
        redacted = "credentials replaced" if settings.store.redact else "credentials as they came"
        return [
            *(f"upstream   {each.described}" for each in self.upstream_settings.values()),
            f"engine     {settings.context.engine}, compression {is_on}; summaries by {writer}",
            f"caching    Claude models, in conversations that were folded; {settings.model.cache_ttl.value}",
            f"stored     {where}; {redacted}"
            if self.is_stored
            else f"stored     {where}; nothing is written",
        ]

    def _open_store(self) -> Store:
        if self._given_store is not None:
            self._store = self._given_store
        elif self.is_stored:
            # A client sends its history again, so that the last commits may go with the power.
            self._store = open_own_store(self.settings, synchronous="NORMAL", environment=self._environ)
        else:
            self._store = open_store("sqlite::memory:", redact=self.settings.store.redact)
        return self._store

    def _put_together(self, store: Store, tenant: str = "") -> GatewayParts:
        settings = self.settings
        cache = MessageCache(parse, most_bytes=_TENANT_CACHE_BYTES if tenant else _CACHE_BYTES)
        summaries = SummaryWriters(
            store, model=settings.summary_model, providers=self._providers, summarizer=self._summarizer
        )
        self._summaries.append(summaries)
        limits = LearnedLimits(self.home / (f"learnt_limits.{tenant}.json" if tenant else LIMITS_FILE))
        engines = EngineFactory(settings, store, self.home, cache, limits, summaries)
        records = Records(store)
        outputs = open_outputs(self.home, store) if settings.gateway.offload else None
        index = SessionIndex(
            store,
            idle_seconds=settings.gateway.idle_minutes * 60.0,
            on_expired=partial(_end_session, records),
        )
        recall = RecallTools(store, outputs, tenant) if settings.gateway.recall else None
        pipeline = RequestPipeline(settings, engines, records, outputs, recall, tenant)
        if tenant:
            return replace(
                self.parts,
                cache=cache,
                index=index,
                engines=engines,
                records=records,
                pipeline=pipeline,
                recall=recall,
                live=LiveFeed(),
            )
        upstreams = Upstreams(self.upstream_settings, providers=self._providers, timeouts=self._timeouts)
        book = BudgetBook(self.home)
        return GatewayParts(
            settings,
            cache,
            index,
            engines,
            records,
            pipeline,
            upstreams,
            recall,
            book=book,
            tracer=self._tracer,
        )

    async def _prune_now_and_then(self, store: Store) -> None:
        while True:
            try:
                await run_in_thread(self._prune, store)
                for tenant in sorted({key.tenant for key in self.ring.list_all() if key.tenant}):
                    await run_in_thread(self._prune, store.for_tenant(tenant), tenant)
            except (StoreError, ConfigError) as error:
                log.warning("old conversations could not be deleted: %s", error)
            await asyncio.sleep(_PRUNE_SECONDS)

    def _prune(self, store: Store, tenant: str = "") -> None:
        """Delete conversations of the gateway that nobody went on with for long; those of others stay."""
        oldest = time.time() - (self.settings.gateway.keep_days or 0) * _DAY_SECONDS
        outputs = open_outputs(self.home, store)
        after: str | None = None
        while page := store.conversations(source=SOURCE, limit=_PAGE, after=after):
            after = page[-1].id
            for tip in page:
                if tip.started_at < oldest and _last_said(store, tip.id) < oldest:
                    delete_session(store, outputs, tip.id, branches=True, tenant=tenant)


def _last_said(store: Store, session_id: str) -> float:
    records = store.records(session_id)
    return max((record.created_at for record in records), default=0.0)


def _end_session(records: Records, session: GatewaySession) -> None:
    """Let go of a conversation that nobody uses any more."""
    if session.engine is not None:
        session.engine.on_session_end(session.id, [])
    try:
        records.flush(session)
    except StoreError as error:
        log.warning("%s: its last words are not recorded: %s", session.conversation_id[:8], error)
