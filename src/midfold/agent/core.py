"""The parts of an agent, with which the modules beside this one work; it changes session and model here."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from midfold.agent.active_model import ActiveModel
from midfold.agent.events import ApprovalRequested, Topic
from midfold.agent.memory import Memory
from midfold.agent.notices import Notices, RetryNotices
from midfold.agent.prompt_cache import ConversationCache
from midfold.agent.saved_model import SavedModel
from midfold.agent.session import Conversation
from midfold.agent.summarizer import SummaryWriter
from midfold.agent.system_prompt import is_own_prompt, write_system_prompt
from midfold.agent.tools.engine_tools import engine_tools
from midfold.agent.tools.file_edits import FileEdits
from midfold.agent.tools.idle_tools import find_idle_tools, find_named_tools, write_notice, write_remark
from midfold.agent.tools.light_tools import SMALL_WINDOW, lighten
from midfold.agent.tools.registry import Tool
from midfold.agent.tools.workspace import Workspace
from midfold.config import read_old_pins, remove_old_pins
from midfold.engines import FoldingEngine
from midfold.errors import StoreError
from midfold.folding import CompressionPolicy, CompressionState, Tier
from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import Message, MessageCache
from midfold.offload import READER, Budgets, FileSession, FileSink
from midfold.store import BeforeContinue, Store
from midfold.tokens import Breakdown, TokenCounter, break_down
from midfold.wire.apis import convert_tools
from midfold.wire.validate import find_errors

if TYPE_CHECKING:
    from midfold.providers import Transport

Approve: TypeAlias = Callable[[ApprovalRequested], object]
"""Answers whether a tool may run, with true or false, awaited or at once."""
PolicyFor: TypeAlias = Callable[[ActiveModel], CompressionPolicy]
"""Returns the settings of compressions for the window of a model."""

# Results are in characters, of which a token takes about four: so much of a small window one result, and all
# results of a turn, may fill.
_RESULT_SHARE = 1.0
_TURN_SHARE = 1.5
_LOOKUPS = frozenset({"recall", "memory", READER})
_NEWEST = 40
"""Messages that may be new since the last request of a turn."""


@dataclass(frozen=True, slots=True)
class UserCall:
    """A call that waits for the next prompt; `result` is there where it was run already."""

    name: str
    arguments: dict[str, object]
    result: str | None = None


@dataclass(slots=True)
class Core:
    """The parts of an agent. Only `model` and what stands below it change."""

    store: Store
    outputs: FileSink
    home: Path
    memory: Memory
    workspace: Workspace
    edits: FileEdits
    transport: "Transport"
    retry_notices: RetryNotices
    max_output: int | None
    max_steps: int
    set_budgets: Budgets
    source: str
    instructions: str | None
    before_fold: Sequence[BeforeContinue]
    approve: Approve | None
    notices: Notices
    policy_for: PolicyFor
    summary_writer: SummaryWriter
    engine: FoldingEngine
    model: ActiveModel
    read_cache: MessageCache
    """messages that were read, and need not be read again"""
    fallback: str | None = None
    """the model that takes over where the one that is asked fails"""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    schemas: list[object] = field(default_factory=list)
    tokens: int = 0
    """of the newest request, for a status while a run is under way"""
    tier: Tier = Tier.CALM
    removed_tokens: int = 0
    """taken out by folds since the last call"""
    is_repaired: bool = False
    """whether the provider refused the history as it is, so that it is rewritten for each request"""
    remarks: list[str] = field(default_factory=list)
    """what the user did beside the conversation: the model reads it with the next prompt"""
    user_calls: list[UserCall] = field(default_factory=list)
    """calls of the user that go with the next prompt"""
    prunes_tools: bool = False
    """whether the schemas of tools that nothing uses are left out of requests"""
    idle_tools: frozenset[str] = frozenset()
    """those that are left out now"""
    recall_tokens: int = 0
    """how much of earlier conversations is shown beside a request that resembles it"""
    injected: str = ""
    """what the model reads next to the newest request in this turn, and is never stored"""
    saved_state: CompressionState = field(default_factory=CompressionState)
    """the engine's state as the store has it"""
    saved_model: SavedModel | None = None
    """the model that the store has with the conversation, as far as it was written here"""
    cache: ConversationCache = field(init=False)
    """the provider's prompt cache, as far as this conversation uses it"""
    _conversation: Conversation | None = None
    _own_tools: tuple[Tool, ...] = ()
    _built_in_tools: tuple[Tool, ...] = ()
    _engine_tools: frozenset[str] = frozenset()

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
        """The limits of tool output in the context; a small window lowers those that were set."""
        budgets, window = self.set_budgets, self.engine.context_length
        return replace(
            budgets,
            result_chars=min(budgets.result_chars, max(window * _RESULT_SHARE, 1)),
            turn_chars=min(budgets.turn_chars, max(window * _TURN_SHARE, 1)),
        )

    def begin(self) -> None:
        """Begin a session, with a system prompt as things are now."""
        self._adopt(
            Conversation(
                self.store,
                source=self.source,
                model=self.model.ref.name,
                dialect=self.model.dialect,
                system=self._write_system_prompt(),
                cache=self.read_cache,
            )
        )

    def renew_system_prompt(self) -> str:
        """Return the system prompt as things are now, so that a continuation knows what was saved since.

        A session of another program keeps its own.
        """
        system = self.conversation.system
        return self._write_system_prompt() if is_own_prompt(system, self.instructions) else system

    def _write_system_prompt(self) -> str:
        today = datetime.now().astimezone().date()
        return write_system_prompt(self.workspace, self.memory, today=today, instructions=self.instructions)

    def resume(self, session_id: str) -> None:
        """Go on with a session that is in the store."""
        self._adopt(
            Conversation.resume(self.store, session_id, dialect=self.model.dialect, cache=self.read_cache)
        )

    def offer(self, tools: Sequence[Tool], *, built_in: Sequence[Tool] = ()) -> None:
        """Set the tools that the model may call; of two with one name the later one counts.

        Those of the engine come after them, unless their name is taken. A small window gets lighter ones.
        """
        self._own_tools, self._built_in_tools = tuple(tools), tuple(built_in)
        is_small = self.model.window.tokens <= SMALL_WINDOW
        offered = [*(lighten(built_in) if is_small else built_in), *tools]
        self.tools = {tool.name: tool for tool in offered}
        for tool in engine_tools(self.engine, self._tool_info, self.notices.report):
            if tool.name in self.tools:
                who = f"The engine {self.engine.name!r} offers a tool {tool.name!r}"
                self.notices.add(Topic.ENGINE, f"{who}, which is there already; the engine's is left out.")
            self.tools.setdefault(tool.name, tool)
            self._engine_tools |= {tool.name}
        self._write_schemas()

    def _write_schemas(self) -> None:
        dialect = self._conversation.dialect if self._conversation else self.model.dialect
        offered = [tool.schema for name, tool in self.tools.items() if name not in self.idle_tools]
        self.schemas = convert_tools(offered, dialect)

    def leave_out_idle_tools(self, messages: Sequence[Message]) -> None:
        """Leave out the schemas of tools that nothing in a folded list used, and say so, where that is set.

        The tools that bring back what was folded stay, whoever used them.
        """
        if not self.prunes_tools:
            return
        names = frozenset(self.tools) - self._engine_tools - _LOOKUPS
        self.idle_tools = find_idle_tools(names, messages, self.conversation.system)
        self._write_schemas()
        if self.idle_tools:
            self.remarks.append(write_remark(self.idle_tools))
            self.notices.tell(Topic.TOOLS, write_notice(self.idle_tools))

    def bring_back_named_tools(self) -> None:
        """Offer those tools again that the newest messages name."""
        if named := find_named_tools(self.idle_tools, self.conversation.messages[-_NEWEST:]):
            self.idle_tools -= named
            self._write_schemas()

    def switch_to(self, model: ActiveModel) -> None:
        """Let another model take over; the engine stays."""
        self.engine.cancel_preparation()
        self.model = model
        self.summary_writer.main = model.ref
        self.update_engine_model()
        self.engine.policy = self.policy_for(model)
        self.cache.use_model(model.name, model.route)
        self.offer(self._own_tools, built_in=self._built_in_tools)

    def update_engine_model(self, window_tokens: int | None = None) -> None:
        """Give the engine the model of the next call; an explicit window overrides the known one."""
        endpoint = self.model.endpoint
        self.engine.update_model(
            self.model.ref.name,
            window_tokens or self.model.window.tokens,
            endpoint.base_url,
            endpoint.key.reveal() if endpoint.key else "",
            endpoint.provider,
        )

    def estimate(self) -> int:
        """Estimate the next request."""
        conversation = self.conversation
        beside = f"{conversation.system}\n{self.injected}" if self.injected else conversation.system
        return self.engine.estimate(conversation.items, system=beside, tools=self.schemas)

    def break_down(self) -> Breakdown:
        """Take the next request apart: which part of it takes how much of the window."""
        count = TokenCounter(self.model.ref.name)
        return break_down(
            self.conversation.messages,
            count,
            system_tokens=count.count_text(self.conversation.system),
            schema_tokens=count.count_tools(self.schemas),
        )

    def save_state(self) -> None:
        """Save what the engine remembers of the conversation, where that changed; raises `StoreError`.

        The store knows no conversation in which nothing was said: its state is saved with the first words.
        """
        conversation, state = self._conversation, self.engine.state
        if conversation is not None and conversation.is_stored and state != self.saved_state:
            conversation.save_state(state)
            self.saved_state = state

    def try_save_state(self) -> None:
        """Save it, or leave a notice why that cannot be done."""
        try:
            self.save_state()
        except StoreError as error:
            self.notices.add(Topic.STORE, f"The state of the engine could not be saved: {error}")

    def try_save_model(self) -> None:
        """Keep which model the conversation is held with, where that changed, or leave a notice why not."""
        ref, model = self.model.ref, self.model
        saved = SavedModel(ref.name, ref.base_url, ref.api, model.explicit_window)
        if saved == self.saved_model:
            return
        try:
            saved.save(self.store, self.conversation.id)
            self.saved_model = saved
        except StoreError as error:
            self.notices.add(Topic.STORE, f"Which model is asked could not be saved: {error}")

    def start_engine_session(self, **info: object) -> None:
        """Announce to the engine the session that goes on."""
        conversation = self.conversation
        self.engine.on_session_start(
            conversation.id,
            home=str(self.home),
            platform=self.source,
            model=self.model.ref.name,
            context_length=self.engine.context_length,
            conversation_id=conversation.conversation_id,
            **info,
        )

    def _watch_cache(self) -> None:
        self.cache = ConversationCache(self.model.name, self.model.route, ttl=self.model.cache_ttl)

    def leave(self) -> None:
        """Let go of the session that is going on: what the engine remembers of it is saved."""
        if self._conversation is not None:
            self.try_save_state()
            self.engine.on_session_end(self._conversation.id, self._conversation.items)

    def end(self) -> None:
        """End the session that is going on, if there is one; raises `StoreError`."""
        self.leave()
        if self._conversation is not None:
            self._conversation.end()

    def _tool_info(self) -> dict[str, object]:
        conversation = self.conversation
        return {"messages": list(conversation.items), "session_id": conversation.id}

    def _adopt(self, conversation: Conversation) -> None:
        self.leave()
        self._conversation = conversation
        self.tier, self.removed_tokens = Tier.CALM, 0
        self.saved_model = None
        self.remarks.clear()
        self.idle_tools = frozenset()
        self.user_calls.clear()
        self._watch_cache()
        # What other programs wrote may be nothing that a provider takes back.
        self.is_repaired = bool(
            conversation.items and find_errors(conversation.items, dialect=conversation.dialect)
        )
        self.engine.on_session_reset()
        self._adopt_state(conversation)
        self.start_engine_session()
        self.offer(self._own_tools, built_in=self._built_in_tools)

    def _adopt_state(self, conversation: Conversation) -> None:
        """Give the engine what is remembered of a conversation, and the key of its placeholders.

        Pins that an earlier version kept in a file are taken over into the store.
        """
        state = self.saved_state = conversation.load_state()
        for pin in read_old_pins(self.home, conversation.conversation_id):
            state = state.with_pin(pin)
        self.engine.adopt(state, key=self.store.conversation_key(conversation.id))
        if conversation.is_stored:
            self.try_save_state()
            if self.saved_state == state:
                remove_old_pins(self.home, conversation.conversation_id)
