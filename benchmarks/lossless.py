"""What the lossless engine costs: folding, searching and assembling long conversations, with a stubbed model.

`python -m benchmarks.lossless 100000` measures a longer session; that takes some minutes.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers import _session as agent_session
from benchmarks.store import _messages as chat_session
from benchmarks.timing import best_cpu, report
from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.folding import CompressionPolicy
from midfold.store import Store, open_store

MESSAGES = 10_000
WINDOW = 200_000
PER_TURN = 10
NOTES = "## Goal\nMend the meters.\n\n## Key Decisions\n- Coins only, since cards time out after 30 s.\n"
QUESTION = "where is the budget of a summary bounded?"


def main(count: int = MESSAGES) -> None:
    """Print the table."""
    for name, items in (("chat", chat_session(count)), ("agents' sessions", _repeat(agent_session(), count))):
        with (
            tempfile.TemporaryDirectory() as folder,
            open_store(Path(folder) / "s.db", synchronous="NORMAL") as store,
        ):
            life = Life(store)
            life.live(items)
            life.report(f"{name}, {len(items):,} messages")


def _repeat(items: Sequence[object], count: int) -> list[object]:
    return [items[index % len(items)] for index in range(count)]


@dataclass
class Life:
    """A conversation as a host lives it: each turn is stored, measured, and folded when that is due."""

    store: Store
    seconds: dict[str, float] = field(default_factory=lambda: {"append": 0.0, "read": 0.0, "fold": 0.0})
    folds: int = 0
    most_over: float = 0.0
    memory_mb: list[float] = field(default_factory=list)

    def live(self, said: Sequence[object]) -> None:
        """Say everything, turn by turn."""
        store = self.store
        self.session = store.create_session(dialect="openai_chat").id
        self.engine = self.open_engine()
        self.items: list[object] = []
        for first in range(0, len(said), PER_TURN):
            new = said[first : first + PER_TURN]
            self.items += new
            self._spend("append", lambda new=new: store.append(self.session, new))
            if self._spend("read", lambda: self.engine.should_compress_preflight(self.items)):
                self._spend("fold", self.fold)
            if first % (len(said) // 10) == 0:
                self.memory_mb.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        self._spend("read", lambda: store.search("settle the index"))
        self.count = len(said)

    def open_engine(self) -> LosslessEngine:
        """Open an engine whose model answers at once."""
        policy = CompressionPolicy(context_length=WINDOW)
        key = self.store.conversation_key(self.session)
        setup = EngineSetup(policy, key=key, store=self.store, summarizer=lambda _request: NOTES)
        engine = LosslessEngine.open(setup)
        engine.prepare_ahead = False
        engine.on_session_start(self.session)
        return engine

    def fold(self) -> None:
        """Fold, and go on in the continuation."""
        result = self.engine.compress_result(self.items)
        if not result.changed:
            return
        child = self.store.continue_session(self.session, result.messages, result)
        self.engine.on_session_start(child, boundary_reason="compression", old_session_id=self.session)
        self.session, self.items = child, list(result.messages)
        self.folds += 1
        self.most_over = max(self.most_over, result.tokens_after / result.budget_tokens - 1)

    def _spend(self, name: str, work):
        start = time.process_time()
        done = work()
        self.seconds[name] += time.process_time() - start
        return done

    def report(self, name: str) -> None:
        """Print what it took."""
        engine, seconds = self.engine, self.seconds
        total = sum(seconds.values())
        print(f"{name}: {self.folds} folds, {len(engine.memory.graph.nodes)} summaries")
        report("stored, read and folded as they come, stubbed model", f"{total:.2f} s", "1.1 s for 10,000")
        report("  of that storing", f"{seconds['append'] / self.count * 1e3:.3f} ms each", "0.1 ms")
        report("  of that reading and counting", f"{seconds['read']:.2f} s", "-")
        report("  of that folding", f"{seconds['fold']:.2f} s", "-")
        report("the fullest context to its budget", f"{self.most_over:+.1%}", "+2 %")
        self._report_tools()
        again = self.open_engine()
        report("opening it again", f"{best_cpu(self.open_engine, 3) * 1e3:.1f} ms", "-")
        seconds_of = best_cpu(lambda: again.has_content_to_compress(self.items), 3)
        report("reading the context as it is assembled", f"{seconds_of * 1e3:.1f} ms", "20 ms")
        low, high = self.memory_mb[len(self.memory_mb) // 2], self.memory_mb[-1]
        report("peak memory, at half and at the end", f"{low:.0f} and {high:.0f} MB", "flat")

    def _report_tools(self) -> None:
        middle = self.count // 2
        node = max(self.engine.memory.graph.nodes.values(), key=lambda node: node.depth)
        calls = {
            "lcm_grep, a question": ("lcm_grep", {"query": QUESTION}),
            "lcm_grep, a rare word": ("lcm_grep", {"query": "needle4711"}),
            "lcm_grep, a regular expression": ("lcm_grep", {"query": r"bound\w+ by", "regex": True}),
            "lcm_expand, ten messages": ("lcm_expand", {"messages": f"{middle}-{middle + 9}"}),
            "lcm_expand_query": ("lcm_expand_query", {"question": QUESTION}),
            "lcm_describe": ("lcm_describe", {"id": node.id}),
            "lcm_status": ("lcm_status", {}),
        }
        for label, (tool, arguments) in calls.items():
            seconds = best_cpu(lambda t=tool, a=arguments: self.engine.handle_tool_call(t, a), 3)
            report(
                label, f"{seconds * 1e3:.1f} ms", "5 ms" if "word" in label or "question" in label else "-"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
