"""All that an agent consists of while it lives; the modules beside this one do things with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from midfold.agent.caching import ConversationCache
from midfold.agent.conversation import Conversation
from midfold.agent.events import ApprovalRequested
from midfold.agent.live import Live
from midfold.agent.memory import Memory
from midfold.agent.mending import is_legal
from midfold.agent.patience import Patience
from midfold.agent.pins import Pins
from midfold.agent.summaries import Summaries
from midfold.agent.system import write_system
from midfold.agent.tools.paths import Workspace
from midfold.agent.tools.registry import Tool
from midfold.compression.policy import CompressionPolicy
from midfold.compression.pressure import Tier
from midfold.compression.state import CompressionState
from midfold.engines.compressor import ContextCompressor
from midfold.messages import MessageCache
from midfold.offload import Budgets, FileSession, FileSink
from midfold.store.base import BeforeContinue
from midfold.store.sqlite.store import SqliteStore
from midfold.wire.calls.tools import convert_tools

if TYPE_CHECKING:
    from midfold.providers.http import Transport

Approve: TypeAlias = Callable[[ApprovalRequested], object]
"""Answers whether a tool may run, with true or false, awaited or at once."""
MakeEngine: TypeAlias = Callable[[Live], ContextCompressor]

# Results are in characters, of which a token takes about four: so much of a small window one result, and all
# results of a turn, may fill.
_RESULT_SHARE = 1.0
_TURN_SHARE = 1.5


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a run."""

    max_output: int | None = None
    max_steps: int = 100
    budgets: Budgets = field(default_factory=Budgets)


@dataclass(slots=True)
class Core:
    """The parts of an agent. Only what stands below `engine` changes."""

    store: SqliteStore
    outputs: FileSink
    memory: Memory
    pins: Pins
    workspace: Workspace
    transport: "Transport"
    patience: Patience
    limits: Limits
    source: str
    instructions: str | None
    before_fold: Sequence[BeforeContinue]
    approve: Approve | None
    make_engine: MakeEngine
    summaries: Summaries
    live: Live
    engine: ContextCompressor
    read_cache: MessageCache
    """messages that were read, for whoever reads them again"""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    schemas: list[object] = field(default_factory=list)
    tokens: int = 0
    """of the newest request, for those who look while a run is under way"""
    tier: Tier = Tier.CALM
    removed_tokens: int = 0
    """what folds took out since the last call"""
    is_mended: bool = False
    """whether the provider refused the history as it is, so that it is respelled for each request"""
    cache: ConversationCache = field(init=False)
    """what the provider's prompt cache does for this conversation"""
    _conversation: Conversation | None = None

    def __post_init__(self) -> None:
        self._watch_cache()

    @property
    def conversation(self) -> Conversation:
        """The session that is going on; one is begun where there is none."""
        if self._conversation is None:
            self.begin()
            return self.conversation
        return self._conversation

    @property
    def sink(self) -> FileSession:
        """Where long results of this conversation go; folds leave it as it is."""
        return self.outputs.session(self.conversation.conversation_id)

    @property
    def budgets(self) -> Budgets:
        """What may enter the context; in a small window less than was set."""
        chosen, window = self.limits.budgets, self.engine.context_length
        return Budgets(
            result_chars=min(chosen.result_chars, max(window * _RESULT_SHARE, 1)),
            turn_chars=min(chosen.turn_chars, max(window * _TURN_SHARE, 1)),
            preview_chars=chosen.preview_chars,
            per_tool=chosen.per_tool,
        )

    def begin(self) -> None:
        """Begin a session, with a system prompt as things are now."""
        system = write_system(
            self.workspace,
            self.memory,
            today=datetime.now().astimezone().date(),
            instructions=self.instructions,
        )
        self._take(
            Conversation(
                self.store,
                source=self.source,
                model=self.live.ref.name,
                dialect=self.live.dialect,
                system=system,
                cache=self.read_cache,
            )
        )

    def resume(self, session_id: str) -> None:
        """Go on with a session that is in the store."""
        self._take(
            Conversation.resume(self.store, session_id, dialect=self.live.dialect, cache=self.read_cache)
        )

    def offer(self, tools: Sequence[Tool]) -> None:
        """Say which tools the model may call; of two with one name the later one counts."""
        self.tools = {tool.name: tool for tool in tools}
        dialect = self._conversation.dialect if self._conversation else self.live.dialect
        self.schemas = convert_tools([tool.schema for tool in self.tools.values()], dialect)

    def switch_to(self, live: Live, engine: ContextCompressor) -> None:
        """Let another model take over, with an engine of its own that learns what was folded."""
        self.engine.cancel_preparation()
        engine.state = self.engine.state
        engine.compression_count = self.engine.compression_count
        self.live, self.engine = live, engine
        self.summaries.main = live.ref
        self.cache.use_model(live.name, live.route)

    def estimate(self, engine: ContextCompressor | None = None) -> int:
        """Estimate the next request, as the engine in use or another one counts it."""
        conversation = self.conversation
        return (engine or self.engine).estimate(
            conversation.items, system=conversation.system, tools=self.schemas
        )

    def _watch_cache(self) -> None:
        self.cache = ConversationCache(self.live.name, self.live.route, ttl=self.live.cache_ttl)

    def _take(self, conversation: Conversation) -> None:
        if self._conversation is not None:
            self.engine.on_session_end(self._conversation.id, self._conversation.items)
        self._conversation = conversation
        self.offer(list(self.tools.values()))
        self.tier, self.removed_tokens = Tier.CALM, 0
        self._watch_cache()
        # What other programs wrote may be nothing that a provider takes back.
        self.is_mended = bool(conversation.items) and not is_legal(conversation.items, conversation.dialect)
        self.engine.on_session_reset()
        folds = self.store.folds(conversation.id) if conversation.is_stored else []
        self.engine.state = CompressionState(
            count=len(folds),
            folds=sum(stored.fold.summary is not None for stored in folds),
            pins=self.pins.read(conversation.conversation_id),
        )
        self.engine.compression_count = len(folds)
        self.engine.on_session_start(
            conversation.id,
            platform=self.source,
            model=self.live.ref.name,
            context_length=self.engine.context_length,
            conversation_id=conversation.conversation_id,
        )


def window_policy(
    policy: CompressionPolicy, live: Live, *, summarizer_window: int | None
) -> CompressionPolicy:
    """Return a policy for the window of a model."""
    return replace(
        policy,
        context_length=live.window.tokens,
        summarizer_window=policy.summarizer_window or summarizer_window or live.window.tokens,
    )
