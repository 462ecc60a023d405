"""Whatever comes in whatever order: no stale fold, none twice, no message lost."""

import random
import re
from dataclasses import dataclass, field

import pytest

from midfold.engines import ContextCompressor
from midfold.engines.prepared import (
    PREPARED_AHEAD,
    Background,
    Phase,
    Preparation,
    apply_prepared_fold,
    arrive,
    begin,
    commit,
    discard,
    fail,
)
from midfold.engines.run import Run
from midfold.errors import StaleFold
from midfold.folding import CompressionPolicy, Strategy
from midfold.folding.compression import Compression
from midfold.folding.fold import Fold, Replacement, Span
from midfold.folding.state import CompressionState
from midfold.messages import Message, Text
from midfold.summaries.prompts import SUMMARY_MARKER
from midfold.testing import transcript
from midfold.wire import Request
from midfold.wire.validate import validate

INTERLEAVINGS = 10_000
STEPS = 14
POLICY = CompressionPolicy()


def said(text):
    return Message("user", (Text(text),))


@dataclass
class World:
    """A conversation, its preparation, and what the summariser was asked and has not answered yet."""

    chance: random.Random
    messages: list[Message] = field(default_factory=lambda: [said(f"m{number}") for number in range(6)])
    preparation: Preparation = field(default_factory=Preparation)
    asked: list[tuple[int, list[Message]]] = field(default_factory=list)
    published: list[int] = field(default_factory=list)
    number: int = 6
    now: float = 0.0

    def append(self):
        self.messages = [*self.messages, said(f"m{self.number}")]
        self.number += 1

    def start(self):
        self.now += 1.0
        begun = begin(self.preparation, self.now)
        if begun is not self.preparation:
            self.asked.append((begun.ticket, self.messages))
        self.preparation = begun

    def summary_arrives(self):
        if self.asked:
            ticket, messages = self.asked.pop(self.chance.randrange(len(self.asked)))
            self.preparation = arrive(self.preparation, ticket, fold_all_but_the_ends(messages))

    def summary_fails(self):
        if self.asked:
            ticket, _ = self.asked.pop(self.chance.randrange(len(self.asked)))
            self.preparation = fail(self.preparation, ticket, "refused", self.now + 3.0)

    def edit(self):
        place = self.chance.randrange(len(self.messages))
        changed = list(self.messages)
        changed[place] = said(f"edited {self.number}")
        self.number += 1
        self.messages = changed[: self.chance.randint(min(4, len(changed)), len(changed))]

    def switch_model(self):
        self.preparation = discard(self.preparation, "another model took over")

    def reset(self):
        self.preparation = Preparation(ticket=self.preparation.ticket)
        self.messages = [said(f"again {self.number + more}") for more in range(4)]
        self.number += 4

    def reach_threshold(self):
        """Publish what is ready, twice, as two callers would who saw the same."""
        seen = self.preparation
        for _ in range(2):
            if seen.ready is not None:
                self.publish(seen)

    def publish(self, seen):
        sizes = [1] * len(self.messages)
        now = Run(Request("openai_chat", []), self.messages, sizes, len(sizes), POLICY, CompressionState())
        try:
            result = apply_prepared_fold(seen.ready, now, count=lambda _message: 1, key=b"key")
        except StaleFold:
            self.preparation = discard(self.preparation, "the history changed")
            return
        committed = commit(self.preparation, seen.ticket)
        if committed is not self.preparation:
            self.preparation = committed
            self.check(result)
            self.published.append(seen.ticket)
            self.messages = result.messages

    def check(self, result):
        folded = [index for span in result.folded for index in span]
        summary = result.fold.summary.text
        assert summary == " ".join(self.messages[index].text for index in folded), "a stale fold"
        kept = [message for message in result.messages if message is not result.fold.summary]
        assert len(kept) + len(folded) == len(self.messages), "a message is lost"
        assert kept == [message for index, message in enumerate(self.messages) if index not in folded]


def fold_all_but_the_ends(messages):
    """Stand in for a flow: a summary that spells out what it stands for."""
    span = Span(1, len(messages) - 1)
    summary = said(" ".join(messages[index].text for index in span))
    fold = Fold((Replacement(span, summary),)).identified(messages)
    return Compression([], tuple(messages), fold, "folded", CompressionState(), 9, 5, 5, summarizer="model")


EVENTS = (
    World.append,
    World.append,
    World.start,
    World.start,
    World.summary_arrives,
    World.summary_arrives,
    World.summary_fails,
    World.edit,
    World.reach_threshold,
    World.reach_threshold,
    World.switch_model,
    World.reset,
)


@pytest.mark.slow
def test_ten_thousand_interleavings_never_publish_a_stale_fold_nor_one_twice_nor_lose_a_message():
    chance = random.Random(7)
    published = refused = 0
    for _ in range(INTERLEAVINGS):
        world = World(chance)
        for event in chance.choices(EVENTS, k=STEPS):
            event(world)
            ready = world.preparation.phase is Phase.READY
            assert ready == (world.preparation.ready is not None)
            refused += world.preparation.why == "the history changed"
        assert len(world.published) == len(set(world.published))
        published += len(world.published)
    assert published > 1_000
    assert refused > 1_000


class Later:
    def __init__(self):
        self.jobs = []

    def __call__(self, work, report):
        self.jobs.append((work, report))


MATERIAL = [transcript(seed=seed, turns=90, result_chars=3_000) for seed in range(2)]


class Host:
    """Drives a real engine through the same events; nothing is read but what hosts read."""

    def __init__(self, chance):
        self.chance = chance
        self.later = Later()
        self.seconds = 0.0
        self.engine = ContextCompressor(
            76_000,  # prepared from 51,200; the threshold of 64,000 is just below the hard tier
            policy=CompressionPolicy(strategy=Strategy.FOLD),
            summarizer=self.summarize,
            background=Background(launch=self.later, clock=lambda: self.seconds),
        )
        self.fails = False
        self.shown = []
        self.results = []
        self.serial = 0
        self.restart()

    def summarize(self, request):
        if self.fails:
            raise ConnectionError("refused")
        self.shown.append(request.prompt)
        return f"## Goal\nShip tariff number {len(self.shown) - 1}."

    def restart(self):
        self.rest = list(self.chance.choice(MATERIAL))
        self.messages = self.take(38_000)

    def take(self, tokens):
        """Take whole exchanges, of about so many tokens, off what is still to be said."""
        taken, size = [], 0
        while self.rest and (size < tokens or self.rest[0]["role"] != "user"):
            item = self.rest.pop(0)
            taken.append(item)
            size += len(str(item)) // 4
        return taken

    def append(self):
        self.messages = [*self.messages, *self.take(5_000)]
        self.turn()

    def turn(self):
        if self.engine.should_compress_preflight(self.messages):
            self.compress()
        self.engine.update_from_response({"prompt_tokens": self.engine.estimate(self.messages)})

    def compress(self):
        before = self.messages
        result = self.engine.compress_result(before)
        self.results.append(result)
        self.messages = result.messages
        folded = {index for span in result.folded for index in span}
        edited = {edit.index for edit in result.fold.edits} if result.fold else set()
        noted = range(result.fold.lead) if result.fold else ()
        touched = folded.union(edited, noted)
        kept = {id(item) for item in result.messages}
        lost = [i for i, item in enumerate(before) if i not in touched and id(item) not in kept]
        assert lost == []
        assert [message.raw for message in result.before] == before
        assert validate(result.messages, dialect="openai_chat") == []
        assert result.tokens_after <= result.tokens_before
        if result.reason == PREPARED_AHEAD:
            self.check_shown(result, [before[index] for index in sorted(folded)])

    def check_shown(self, result, folded):
        """What is folded was shown to who wrote the summary: every word of the user, as it is by now."""
        prompt = self.shown[max(map(int, re.findall(r"tariff number (\d+)", result.summary)))]
        requests = [item["content"] for item in folded if item["role"] == "user"]
        assert [words for words in requests if words not in prompt and SUMMARY_MARKER not in words] == []

    def summary_arrives(self):
        self.settle(fails=False)

    def summary_fails(self):
        self.settle(fails=True)
        self.seconds += self.chance.choice((1.0, 61.0))

    def settle(self, fails):
        if self.later.jobs:
            self.fails = fails
            work, report = self.later.jobs.pop(self.chance.randrange(len(self.later.jobs)))
            report(work())

    def edit(self):
        place = self.chance.randrange(1, len(self.messages))
        self.serial += 1
        item = self.messages[place]
        if item["role"] in ("user", "tool"):
            self.messages = [
                *self.messages[:place],
                {**item, "content": f"edited {self.serial}"},
                *self.messages[place + 1 :],
            ]

    def go_back(self):
        """Take the last two exchanges back, and say something else."""
        starts = [place for place, item in enumerate(self.messages) if item["role"] == "user"]
        self.serial += 1
        again = {"role": "user", "content": f"branched {self.serial}"}
        done = {"role": "assistant", "content": "Done."}
        self.messages = [*self.messages[: starts[-2]], again, done] if len(starts) > 4 else self.messages

    def switch_model(self):
        self.engine.update_model("gpt-5", 76_000)

    def reset(self):
        self.engine.on_session_reset()
        self.restart()


HOST_EVENTS = (
    *[Host.append] * 6,
    *[Host.summary_arrives] * 3,
    Host.summary_fails,
    Host.edit,
    Host.go_back,
    Host.switch_model,
    Host.reset,
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_real_engine_keeps_the_same_promises(seed):
    chance = random.Random(seed)
    reasons = []
    for _ in range(4):
        host = Host(chance)
        for event in chance.choices(HOST_EVENTS, k=50):
            event(host)
        reasons += [result.reason for result in host.results]
    assert PREPARED_AHEAD in reasons
    assert len(reasons) > reasons.count(PREPARED_AHEAD)
