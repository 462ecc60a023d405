"""Putting an agent together: from plain arguments, or as the settings say."""

import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from midfold.agent.active_model import ActiveModel
from midfold.agent.core import Approve, Core
from midfold.agent.edit_history import EditHistory
from midfold.agent.events import Topic
from midfold.agent.memory import Memory
from midfold.agent.notices import Notices, RetryNotices
from midfold.agent.summarizer import MAIN, SummaryWriter
from midfold.agent.tools.file_edits import FileEdits
from midfold.agent.tools.file_search import search_tools
from midfold.agent.tools.files import file_tools
from midfold.agent.tools.memory_changes import ask_before_change
from midfold.agent.tools.recall import memory_tool, output_tool, recall_tool
from midfold.agent.tools.registry import Tool
from midfold.agent.tools.terminal import terminal_tool
from midfold.agent.tools.workspace import Workspace
from midfold.config import STORE_FILE, Settings, find_home, open_outputs, open_own_store
from midfold.engines import ContextEngine, EngineSetup, FoldingEngine, Summarizer, find_engine, open_engine
from midfold.errors import ConfigError
from midfold.folding import CompressionPolicy
from midfold.late_dataclasses import replace
from midfold.messages import MessageCache
from midfold.offload import Budgets
from midfold.providers import PROVIDERS, ApiKey, Provider, open_transport, read_providers, tidy_base_url
from midfold.providers.summarizers import ModelRef
from midfold.store import BeforeContinue, Store, open_store
from midfold.tokens import LIMITS_FILE, LearnedLimits, resolve_window
from midfold.wire import parse

if TYPE_CHECKING:
    from midfold.providers import Transport


class Options(TypedDict, total=False):
    """The options of an agent; all are optional."""

    base_url: str | None
    """address of the model; default: its provider's"""
    key: str | ApiKey | None
    api: str | None
    """openai_chat, openai_responses or anthropic; default: the provider's usual API"""
    fallback: str | None
    """provider/model that takes over if the model fails"""
    context_length: int | None
    """context window; default: that of the model"""
    asks_server: bool
    """whether to ask a local server for its window; without an answer it counts as 8,192 tokens"""
    max_output: int | None
    """the longest reply, in tokens"""
    workspace: Path | str
    """folder for tools; default: the current directory"""
    allow: Sequence[Path | str]
    """other folders for file tools"""
    home: Path | str
    """folder for sessions, memory and long output; default: `MIDFOLD_HOME`"""
    store: Store | Path | str
    """session store; an open store is not closed"""
    session: str | None
    """the session to go on with"""
    source: str
    """source in lists of sessions; default: chat"""
    tools: Sequence[Tool]
    """beside the built-in ones"""
    built_in_tools: bool
    shown_variables: Collection[str]
    """environment variables to pass to commands although they look like credentials"""
    approve: Approve | None
    """answers whether a tool may write, or run a command; without it, the event has to be answered, and what
    nobody answers is denied"""
    instructions: str | None
    """first part of the system prompt, in place of the built-in one"""
    policy: CompressionPolicy | None
    """settings of compressions; the window is filled in"""
    enabled: bool
    """whether to compress automatically"""
    engine: str | ContextEngine
    """the context engine: a name or an object"""
    summary_model: str | None
    """provider/model that writes summaries; default: the model of the conversation"""
    summarizer: Summarizer | str | None
    """a callable in place of a model; `None` is the digest"""
    budgets: Budgets | None
    """limits of tool output in the context"""
    recall_tokens: int
    """most tokens of related earlier messages to show beside a request; default: none"""
    prune_tools: bool
    """whether to leave out the schemas of tools that went unused for long; default: no"""
    answers_by_model: bool
    """whether the summary model answers `lcm_expand_query`; default: no"""
    cache_ttl: str
    """5m or 1h, for providers that cache prompts"""
    max_steps: int
    """calls of the model in one turn"""
    before_fold: Sequence[BeforeContinue]
    """called before each fold with session and messages"""
    providers: Mapping[str, Provider]
    transport: "Transport"
    """connections to the model; given ones are not closed"""


def options_from(settings: Settings) -> Options:
    """Return the options from the settings; raises `ConfigError` for a provider that is set up wrongly."""
    output = settings.tool_output
    return Options(
        fallback=settings.model.fallback,
        context_length=settings.model.context_length,
        cache_ttl=settings.model.cache_ttl.value,
        policy=settings.policy(0),
        enabled=settings.compression.enabled,
        engine=settings.context.engine,
        summary_model=settings.summary_model,
        budgets=Budgets(output.result_chars, output.turn_chars, output.preview_chars, output.per_tool),
        prune_tools=settings.context.prune_tools,
        answers_by_model=settings.context.answers_by_model,
        recall_tokens=settings.recall.max_tokens if settings.recall.auto else 0,
        providers=read_providers(settings.providers),
    )


def main_model(settings: Settings) -> str:
    """Return the model that the settings name; raises `ConfigError` where they name none."""
    if settings.model.name is None:
        raise ConfigError(
            "model.name", None, hint="provider/model such as openai/gpt-5-mini or ollama/qwen3:8b"
        )
    return settings.model.name


def open_agent_store(options: Options, settings: Settings | None = None) -> Store:
    """Open the store that the options name, else the one of the settings, else the one in the home folder."""
    given = options.get("store")
    if given is not None and not isinstance(given, str | Path):
        return given
    if given is None and settings is not None:
        return open_own_store(settings, environment={**os.environ, "MIDFOLD_HOME": str(find_folder(options))})
    return open_store(given or find_folder(options) / STORE_FILE)


def find_folder(options: Options) -> Path:
    """Return where an agent keeps its things."""
    return Path(options.get("home") or find_home())


def build(model: str | ModelRef, options: Options, store: Store) -> Core:
    """Put the parts together; raises `ConfigError`, `EngineError`, `ExtraMissing` and `StoreError`."""
    home = find_folder(options)
    providers = options.get("providers", PROVIDERS)
    ref = _reference(model, options)
    transport, retry_notices = options.get("transport") or open_transport(), RetryNotices()
    active = _open_model(ref, options, transport, retry_notices)
    writer = SummaryWriter(_choose_summarizer(options), main=ref, providers=providers)
    policy_for = partial(_policy_for, options.get("policy") or CompressionPolicy(), writer)
    read_cache, notices = MessageCache(parse), Notices()
    setup = EngineSetup(policy_for(active), ref.name, writer.summarizer, store=store, cache=read_cache)
    workspace = Workspace.open(options.get("workspace", os.curdir), options.get("allow", ()), home=home)
    core = Core(
        store=store,
        outputs=open_outputs(home, store),
        home=home,
        memory=Memory(home),
        workspace=workspace,
        edits=FileEdits(workspace, EditHistory(home, lambda: core.conversation.conversation_id)),
        transport=transport,
        retry_notices=retry_notices,
        max_output=options.get("max_output"),
        max_steps=options.get("max_steps", 100),
        set_budgets=options.get("budgets") or Budgets(),
        source=options.get("source", "chat"),
        instructions=options.get("instructions"),
        before_fold=options.get("before_fold", ()),
        approve=options.get("approve"),
        notices=notices,
        policy_for=policy_for,
        summary_writer=writer,
        engine=_open_engine(options, setup, notices),
        model=active,
        read_cache=read_cache,
        fallback=options.get("fallback"),
        prunes_tools=options.get("prune_tools", False),
        recall_tokens=options.get("recall_tokens", 0),
    )
    _begin(core, writer, options)
    return core


def _begin(core: Core, writer: SummaryWriter, options: Options) -> None:
    """Tell the parts of one another, offer the tools, and resume a session where one is named."""
    core.update_engine_model()
    writer.record = lambda call: core.conversation.record(call)
    writer.tell_with(lambda words: core.notices.add(Topic.SUMMARY, f"{words}."))
    core.offer(options.get("tools", ()), built_in=built_in_tools(core, options))
    session = options.get("session")
    if session:
        core.resume(session)


def refer(name: str, base_url: str | None, so_far: ActiveModel) -> ModelRef:
    """Name a model; at the address of the one so far it is asked in the same way, with the same key."""
    ref, endpoint = ModelRef(name, base_url), so_far.endpoint
    address = base_url or ref.provider(so_far.providers).base_url
    if not address or tidy_base_url(address) != endpoint.base_url:
        return ref
    return replace(ref, key=so_far.ref.key, api=so_far.ref.api)


def built_in_tools(core: Core, options: Options) -> list[Tool]:
    """Return the tools that every agent has, unless it is to have none."""
    if not options.get("built_in_tools", True):
        return []
    hidden, shown = _key_variables(core.model.providers), options.get("shown_variables", ())
    return [
        *file_tools(core.edits),
        *search_tools(core.workspace),
        terminal_tool(core.workspace, hidden=hidden, shown=shown),
        ask_before_change(memory_tool(core.memory)),
        recall_tool(core.store, lambda: core.conversation.id, lambda: core.sink),
        output_tool(lambda: core.sink),
    ]


def _choose_summarizer(options: Options) -> Summarizer | str | None:
    """Return who writes summaries; a callable, or the digest, wins over a model of the settings."""
    return options["summarizer"] if "summarizer" in options else options.get("summary_model") or MAIN


def _open_model(
    ref: ModelRef, options: Options, transport: "Transport", retry_notices: RetryNotices
) -> ActiveModel:
    return ActiveModel.open(
        ref,
        providers=options.get("providers", PROVIDERS),
        limits=LearnedLimits(find_folder(options) / LIMITS_FILE),
        transport=transport,
        retries=retry_notices.retries,
        explicit_window=options.get("context_length"),
        cache_ttl=options.get("cache_ttl", "5m"),
        asks_server=options.get("asks_server", False),
    )


def _open_engine(options: Options, setup: EngineSetup, notices: Notices) -> FoldingEngine:
    """Open the engine that the options name; raises `EngineNotFound` and `EngineContractError`."""
    chosen = options.get("engine", "compressor")
    found = find_engine(chosen, find_folder(options)) if isinstance(chosen, str) else chosen
    enabled, answers = options.get("enabled", True), options.get("answers_by_model", False)
    return open_engine(found, replace(setup, enabled=enabled, answers_by_model=answers), notices.report)


def _policy_for(policy: CompressionPolicy, writer: SummaryWriter, model: ActiveModel) -> CompressionPolicy:
    """Return the settings of compressions for the windows of a model and of the writer of summaries."""
    other = writer.model if writer.model and writer.model != model.ref else None
    window = model.window.tokens
    summarizer_window = resolve_window(other.name).tokens if other else window
    return replace(
        policy,
        context_length=window,
        summarizer_window=policy.summarizer_window or summarizer_window or window,
    )


def _reference(model: str | ModelRef, options: Options) -> ModelRef:
    if isinstance(model, ModelRef):
        return model
    if not isinstance(model, str):
        raise ConfigError("model", model, hint="provider/model such as openai/gpt-5-mini")
    key = options.get("key")
    secret = ApiKey(key) if isinstance(key, str) else key
    return ModelRef(model, options.get("base_url"), secret, options.get("api"))


def _key_variables(providers: Mapping[str, Provider]) -> frozenset[str]:
    """Return where the keys of providers are: no command needs to see them."""
    return frozenset(provider.key_env for provider in providers.values() if provider.key_env)
