"""The engine of lossless conversations: the compressor's shell around a fold that builds a graph."""

from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from typing import Self

from midfold.engines.base import EngineSetup
from midfold.engines.compressor import ContextCompressor
from midfold.engines.lossless.answers import CountText
from midfold.engines.lossless.chunks import LayerSizes
from midfold.engines.lossless.flow import LosslessCompression, LosslessJob, compress_lossless
from midfold.engines.lossless.layers import list_nodes, read_layers
from midfold.engines.lossless.memory import LosslessMemory
from midfold.engines.lossless.paid_summaries import reuse_paid
from midfold.engines.lossless.questions import QuestionReader
from midfold.engines.lossless.schemas import SCHEMAS
from midfold.engines.lossless.single_summary import compress_to_least
from midfold.engines.lossless.tools import LosslessTools
from midfold.engines.run import Run
from midfold.folding import (
    Compression,
    CompressionJob,
    Flow,
    SummaryRequest,
    count_leading_system,
    lay_out,
    reach_head,
    run,
)
from midfold.late_dataclasses import replace
from midfold.messages import Message

_CHARS_PER_TOKEN = 4


class LosslessEngine(ContextCompressor):
    """Keeps every message, and shows the model summaries of the old ones that it can look behind.

    Like the compressor it measures, prepares folds ahead and can be undone. `store` keeps the summaries with
    the conversation; without one, summaries and messages live as long as the engine.
    """

    name = "lcm"
    answers_by_model: bool = False
    """whether `lcm_expand_query` asks the summariser; by default it answers with passages"""

    @classmethod
    def open(cls, setup: EngineSetup) -> Self:
        """Build an engine from one value."""
        engine = super().open(setup)
        engine.answers_by_model = setup.answers_by_model
        return engine

    @property
    def setup(self) -> EngineSetup:
        """The setup of this engine, to build an equal one from."""
        return replace(super().setup, answers_by_model=self.answers_by_model)

    @cached_property
    def memory(self) -> LosslessMemory:
        """The summaries and the messages of the conversation, in the store where there is one."""
        return LosslessMemory(self.store)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return an engine that goes on by itself from here; both keep their summaries in the same store."""
        copied = type(self).open(self.setup)
        copied.memory = self.memory.copy()
        memo[id(self)] = copied
        return copied

    def has_content_to_compress(self, messages: Sequence[object]) -> bool:
        """Say whether there are messages between head and tail, or summaries that can be condensed."""
        self._meter.reader.read(messages)
        job = self._make_job(self._make_run(0), use_model=False)
        return bool(job.inner.make_plan().spans) or len(job.layers.nodes) > 1

    def get_tool_schemas(self) -> list[dict[str, object]]:
        """Return the tools with which the model looks behind summaries."""
        return [dict(schema) for schema in SCHEMAS]

    def handle_tool_call(self, name: str, args: Mapping[str, object], **info: object) -> str:
        """Answer a call of one of these tools, as JSON text, within `most_chars` where a host gives that."""
        shown, dialect = info.get("messages"), self._meter.reader.dialect
        messages = self._cache.read_items(shown, dialect).messages if isinstance(shown, list) else []
        nodes = list_nodes(messages, self.key)
        self.memory.take_in(nodes)
        known = [self.memory.graph.nodes[node.id] for node in nodes]
        count = self._meter.reader.count.count_text
        reader = self._question_reader(count)
        most_chars = info.get("most_chars")
        if not isinstance(most_chars, int):
            return LosslessTools(self.memory, count, messages, known, reader=reader).handle(name, args)
        tools = LosslessTools(
            self.memory,
            lambda text: max(count(text), -(-len(text) // _CHARS_PER_TOKEN)),
            messages,
            known,
            reader=reader,
            most_tokens=most_chars // _CHARS_PER_TOKEN,
        )
        return tools.handle(name, args)

    def _question_reader(self, count: CountText) -> QuestionReader | None:
        if self._summarizer is None or not self.answers_by_model:
            return None
        ask = self._caller.for_fold(self._summarizer)
        return QuestionReader(lambda request: run(_ask_once(request), ask), count, self.key)

    def get_status(self) -> dict[str, object]:
        """Return the figures of a status line, and the number of summaries."""
        return super().get_status() | {"summaries": len(self.memory.graph.nodes)}

    def on_session_start(self, session_id: str, **info: object) -> None:
        """Go on with the summaries of the session."""
        super().on_session_start(session_id, **info)
        self.memory.open_session(session_id, is_continued=info.get("boundary_reason") == "compression")

    def on_session_reset(self) -> None:
        """Forget the conversation; its summaries stay in the store."""
        super().on_session_reset()
        self.memory.forget()

    def _begin(self, run: Run, *, use_model: bool) -> Flow[Message]:
        job = self._make_job(run, use_model=use_model)
        result = yield from reuse_paid(compress_lossless(job), self.memory.store, self.key)
        if not job.inner.has_ceiling or not result.over_budget:
            return result
        # One summary, and excerpts of what has to stay: the least that there is.
        if any(placed.index is not None for placed in job.layers.nodes):
            least = yield from compress_to_least(job)
        else:
            least = yield from super()._begin(run, use_model=False)
        return least if least.tokens_after < result.tokens_after else result

    def _make_job(self, run: Run, *, use_model: bool) -> LosslessJob:
        reader = self._meter.reader
        lead = count_leading_system(run.messages)
        head = reach_head(run.sizes, lead, run.policy)
        layers = read_layers(run.messages, run.sizes, self.key, head)
        messages = [run.messages[index] for index in layers.rest]
        sizes = [run.sizes[index] for index in layers.rest]
        inner = CompressionJob(
            layout=lay_out(messages, sizes, run.policy, notes=layers.join_notes()),
            policy=run.policy,
            count=reader.count,
            state=run.state,
            overhead_tokens=run.overhead_tokens,
            tokens_before=run.tokens,
            aim_tokens=run.policy.target_tokens,
            focus=run.focus,
            use_model=use_model,
            is_manual=run.is_manual,
            is_emergency=run.is_emergency and not run.is_partial,
            key=self.key,
            ledger_cache=reader.memory,
            digests=None,
        )
        target = run.policy.target_tokens
        return LosslessJob(
            run.messages, run.sizes, layers, inner, LayerSizes.for_target(target), list(reader.digests)
        )

    def _remember(self, result: Compression[object], run: Run) -> Compression[object]:
        if isinstance(result, LosslessCompression) and result.changed:
            gone = {number: result.before[index] for number, index in result.numbers}
            self.memory.remember(result.nodes, gone)
        elif result.fold is not None:
            gone = {index: result.before[index] for index in result.fold.touched}
            self.memory.remember(list_nodes(result.fold.summaries, self.key), gone)
        return super()._remember(result, run)


def _ask_once(request: SummaryRequest) -> Generator[SummaryRequest, str, str]:
    return (yield request)
