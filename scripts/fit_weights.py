"""Fits the weights of names to what agents used after a cut, and writes them where the package reads them.

    MIDFOLD_DATA=DIR python scripts/fit_weights.py [--check]

Conversations are those of `corpus/` and trajectories of `sharegpt/`, cut at a half and at three quarters, and
where a product compacted. A name before the cut is an example. It is one to keep if the agent uses it after
the cut, if the product's own summary has it, or if a labelled fact does. Every family of conversations is
also foretold by a fit on the others alone: that is the score to believe. With `--check` nothing is written.
"""

import gzip
import json
import math
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from midfold.evaluation.contexts import agent_names
from midfold.evaluation.families import name_family
from midfold.evaluation.names import read_names
from midfold.messages import SYSTEM_ROLES, Message, pair_calls
from midfold.summaries.digest.names import look_ahead
from midfold.summaries.digest.weights import FEATURES, NameUser, describe_name, user_of
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.names import NameReader
from midfold.wire import Request, parse, read_request

DATA = Path(os.environ.get("MIDFOLD_DATA", Path(__file__).parents[2] / "shared" / "data"))
TARGET = Path(__file__).parents[1] / "src" / "midfold" / "summaries" / "digest" / "weights.json"
CUTS = (0.5, 0.75)
ROOMS = (0.01, 0.02, 0.04)
"""parts of a conversation's bytes that a list of names may take, to score with"""
TRAJECTORY_FAMILIES = {
    "claude_code_entire": "cc",
    "miniswe_deepseek": "miniswe",
    "sweagent_claude35sonnet": "sweagent",
    "tau2_mixed": "tau2",
    "tau_bench_airline_gpt4o": "tau",
    "misc_research_chat": "research",
}
MOST_TRAJECTORIES = 120
"""of each file: the short ones are very many and much alike"""
EPOCHS, RATE, DECAY = 5, 0.3, 2e-4
LONG_BYTES = 200_000
FEW_MESSAGES = 5

Tables = dict[NameUser, tuple[list[float], list[list[float]]]]


@dataclass(frozen=True, slots=True)
class Example:
    """One name before a cut."""

    user: NameUser
    values: tuple[int, ...]
    size: int
    is_kept: bool
    is_rare: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation before one cut."""

    family: str
    size: int
    examples: tuple[Example, ...]

    @property
    def weight(self) -> float:
        """A long conversation counts more than a short one, but not by all its names."""
        return min(1.0, 500 / max(len(self.examples), 1)) + 0.2


def main(arguments: Sequence[str]) -> int:
    """Read, fit, foretell each family by the others, and write."""
    if not DATA.is_dir():
        print(f"there is no {DATA.name}: set MIDFOLD_DATA", file=sys.stderr)
        return 1
    cases = [*corpus_cases(), *trajectory_cases()]
    print(f"{len(cases)} cuts, {sum(len(case.examples) for case in cases):,} names")
    print_scores(cases)
    if "--check" not in arguments:
        learnt = json.loads(TARGET.read_text("utf-8"))["entries"]
        TARGET.write_text(render(fit(cases), learnt), "utf-8")
    return 0


def corpus_cases() -> Iterator[Case]:
    """Yield each conversation of the corpus before each of its cuts."""
    for path in sorted((DATA / "corpus").glob("*.json.gz")):
        item = json.loads(gzip.decompress(path.read_bytes()))
        name = path.name.removesuffix(".json.gz")
        messages = parse(item["messages"])
        summaries = product_summaries(item.get("meta", {}), messages)
        cuts = {find_cut(messages, part): "" for part in CUTS} | summaries
        for cut, summary in cuts.items():
            yield from make_case(name_family(name), messages, cut, set(read_names(summary)))
        labels = DATA / "gold" / f"{name}.json"
        if labels.is_file():
            facts = json.loads(labels.read_text("utf-8")).get("facts", [])
            yield from make_case(
                name_family(name),
                messages,
                len(messages),
                {found for fact in facts for found in read_names(str(fact["answer"]))},
            )


def product_summaries(meta: Mapping[str, object], messages: Sequence[Message]) -> dict[int, str]:
    """Return the summaries that the agent's own product wrote, by where it compacted."""
    found: dict[int, str] = {}
    indices, listed = meta.get("compact_summary_indices"), meta.get("compactions")
    for index in indices if isinstance(indices, list) else ():
        found[index] = messages[index].text
    for each in listed if isinstance(listed, list) else ():
        found[each["index"]] = each["summary"]
    return found


def trajectory_cases() -> Iterator[Case]:
    """Yield trajectories, the same number of each kind where there are enough."""
    for stem, family in TRAJECTORY_FAMILIES.items():
        path = DATA / "sharegpt" / f"{stem}.jsonl.gz"
        rows = gzip.decompress(path.read_bytes()).split(b"\n") if path.is_file() else []
        rows = [row for row in rows if row.strip()]
        for row in rows[:: max(1, len(rows) // MOST_TRAJECTORIES)]:
            request: Request = read_request(json.loads(row))
            messages = parse(request.messages, request.dialect)
            for part in CUTS:
                yield from make_case(family, messages, find_cut(messages, part), set())


def find_cut(messages: Sequence[Message], part: float) -> int:
    """Return the first message of the agent from `part` of the messages on."""
    start = int(len(messages) * part)
    return next((at for at in range(start, len(messages)) if messages[at].role == "assistant"), len(messages))


def make_case(family: str, messages: Sequence[Message], cut: int, kept: set[str]) -> Iterator[Case]:
    """Describe the names before a cut; one after which nothing is known says nothing."""
    needed = kept | {name for message in messages[cut:] for name in agent_names(message)}
    before = messages[:cut]
    free = {name for one in before if one.role in SYSTEM_ROLES for name in read_names(one.text)}
    if not needed or not before:
        return
    ledger = collect(before, range(cut), pair_calls(before), redact=str)
    reader = NameReader(str)
    reader.read(before, range(cut), range(cut), ledger)
    outlook = look_ahead(before, range(cut), range(cut), ledger)
    examples = [
        Example(
            user=user_of(use),
            values=describe_name(use, user_of(use), outlook),
            size=len(use.name) + 2,
            is_kept=use.name in needed,
            is_rare=use.said + use.given + use.asked + use.printed <= FEW_MESSAGES,
        )
        for use in reader.uses
        if use.name not in free
    ]
    size = sum(len(str(part)) for message in before for part in message.parts)
    yield Case(family, size, tuple(examples))


def fit(cases: Sequence[Case]) -> Tables:
    """Find the numbers of all tables by descent, one example after the other."""
    tables: Tables = {
        user: ([0.0], [[0.0] * count for count in features.values()]) for user, features in FEATURES.items()
    }
    steps: Tables = {
        user: ([1.0], [[1.0] * count for count in features.values()]) for user, features in FEATURES.items()
    }
    examples = [(example, case.weight) for case in cases for example in case.examples]
    order = random.Random(1)  # noqa: S311  # the same every time
    for epoch in range(EPOCHS):
        order.shuffle(examples)
        rate = RATE / (1 + epoch)
        for example, weight in examples:
            descend(tables[example.user], steps[example.user], example, weight, rate)
    return tables


def descend(
    tables: tuple[list[float], list[list[float]]],
    steps: tuple[list[float], list[list[float]]],
    example: Example,
    weight: float,
    rate: float,
) -> None:
    """Move the numbers that an example uses a little towards what it says."""
    excess = (foretell(tables, example) - example.is_kept) * weight
    cells = [(tables[0], steps[0], 0), *zip(tables[1], steps[1], example.values, strict=True)]
    for table, step, value in cells:
        slope = excess + DECAY * table[value]
        step[value] += slope * slope
        table[value] -= rate * slope / math.sqrt(step[value])


def foretell(tables: tuple[list[float], list[list[float]]], example: Example) -> float:
    """Return the probability of a name to be kept."""
    score = tables[0][0] + sum(table[value] for table, value in zip(tables[1], example.values, strict=True))
    return 1.0 / (1.0 + math.exp(-score))


def print_scores(cases: Sequence[Case]) -> None:
    """Print which part of the names that were needed a list has, for each family by a fit on the others."""
    print("family        needed " + "".join(f"{room:>9.0%}" for room in ROOMS))
    total, found = 0, [0.0] * len(ROOMS)
    for family in sorted({case.family for case in cases}):
        others = fit([case for case in cases if case.family != family])
        own = [case for case in cases if case.family == family]
        needed = sum(example.is_kept and example.is_rare for case in own for example in case.examples)
        kept = [sum(score(others, case, room) for case in own) for room in ROOMS]
        total, found = total + needed, [one + other for one, other in zip(found, kept, strict=True)]
        print_row(family, needed, kept)
    print_row("held out", total, found)
    everything = fit(cases)
    print_row("known", total, [sum(score(everything, case, room) for case in cases) for room in ROOMS])


def print_row(name: str, needed: int, kept: Sequence[float]) -> None:
    print(f"{name:12}{needed:8,} " + "".join(f"{one / max(needed, 1):>9.1%}" for one in kept))


def score(tables: Tables, case: Case, room: float) -> int:
    """Count the rare names that were needed in a list of those with the best chance for their size."""
    ranked = sorted(case.examples, key=lambda one: -foretell(tables[one.user], one) / one.size)
    left, found = case.size * room, 0
    for example in ranked:
        if example.size <= left:
            left -= example.size
            found += example.is_kept and example.is_rare
    return found


def render(tables: Tables, entries: Mapping[str, object]) -> str:
    """Write the tables as the package reads them, one feature a line, beside the weights of entries."""
    users = []
    for user, (bias, columns) in tables.items():
        lines = [f'"bias": {bias[0]:.3f}']
        for name, column in zip(FEATURES[user], columns, strict=True):
            lines.append(f'"{name}": [{", ".join(f"{number:.3f}" for number in column)}]')
        users.append(f'  "{user}": {{\n   ' + ",\n   ".join(lines) + "\n  }")
    rest = json.dumps(entries)
    return f'{{\n "entries": {rest},\n "names": {{\n' + ",\n".join(users) + "\n }\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
