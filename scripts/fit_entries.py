"""Fits what kinds of entries weigh in a digest, and writes it beside the weights of names.

    MIDFOLD_DATA=DIR python scripts/fit_entries.py [--check]

Labelled conversations are folded to a tenth and a twentieth; those of `corpus/`, and trajectories of
`sharegpt/`, are cut at a half and folded to a tenth. What was needed is known: labelled facts, and the names
that the agent used after the cut. All that each fold could have said is recorded once, and chosen from again
for every set of weights. Each family is also judged with weights that were fitted on the others alone: that
is the score to believe. With `--check` nothing is written.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from unittest.mock import patch

from fit_weights import DATA, MOST_TRAJECTORIES, TARGET, TRAJECTORY_FAMILIES, read_rows

from midfold.evaluation import Unusable, load_conversation, make_conversation, read_labels
from midfold.evaluation.baselines import fold_by_digest
from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.families import name_family
from midfold.evaluation.future import find_cut, find_needed
from midfold.evaluation.matching import flatten, quotes
from midfold.evaluation.names import has_name
from midfold.settings import Template
from midfold.summaries import draft, sources
from midfold.summaries.digest import DigestEntry, cost, fill_digest
from midfold.summaries.digest.entries import Trait
from midfold.summaries.digest.expected_use import weigh_use
from midfold.summaries.digest.weights import EntryWeights
from midfold.wire import read_request

LABELLED_RATIOS, RATIO, CUT = (0.1, 0.05), 0.1, 0.5
WORTHS = {3: 1.0, 2: 0.4, 1: 0.2}
"""what a labelled fact is worth by its importance"""
EVERY = 12
"""Of the trajectories that names are fitted on, one in so many is folded: that takes longer than reading."""
STEPS = (0.8, 1.25)
FITTED = tuple(trait.value for trait in Trait if trait is not Trait.OTHER)
NAMED = "named"
BYTES_PER_TOKEN = 3.3

Weights = tuple[tuple[str, float], ...]
Holds = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Fold:
    """All that one digest could have said, the room it had, and what was needed of it."""

    family: str
    source: str
    entries: Sequence[DigestEntry]
    heads: tuple[float, ...]
    units: tuple[tuple[float, ...], ...]
    """the weights of heads and units before what was learnt of them"""
    size: int
    needed: tuple[tuple[str, float], ...]
    holds: Holds

    def score(self, weights: EntryWeights) -> float:
        """Return the part of what was needed that the notes have with these weights."""
        for entry, head, units in zip(self.entries, self.heads, self.units, strict=True):
            entry.weight = head
            for unit, weight in zip(entry.units, units, strict=True):
                unit.weight = weight
        weigh_use(self.entries, weights, room_bytes=self.size)
        text = fill_digest(
            self.entries,
            count_text=lambda said: int(cost(said) / BYTES_PER_TOKEN),
            budget_tokens=int(self.size / BYTES_PER_TOKEN),
            template=Template.HANDOFF,
        )
        flat = flatten(text)
        kept = sum(worth for needed, worth in self.needed if self.holds(flat, needed))
        return kept / sum(worth for _, worth in self.needed)


def main(arguments: Sequence[str]) -> int:
    """Record, fit, judge each family by the others, and write."""
    if not DATA.is_dir():
        print(f"there is no {DATA.name}: set MIDFOLD_DATA", file=sys.stderr)
        return 1
    study = Study([*labelled_folds(), *cut_folds()])
    families = sorted({fold.family for fold in study.folds})
    print(f"{len(study.folds)} folds of {len(families)} families")
    start = study.start
    learnt = study.fit(families)
    print(json.dumps(as_json(learnt)), flush=True)
    print(f"{'family':12}{'plain':>8}{'others':>8}{'all':>8}")
    rows = []
    for family in families:
        others = study.fit([other for other in families if other != family])
        rows.append([study.score(weights, [family]) for weights in (start, others, learnt)])
        print_row(family, rows[-1])
    print_row("all", [sum(column) / len(rows) for column in zip(*rows, strict=True)])
    if "--check" not in arguments:
        found = TARGET.read_text("utf-8")
        _, names = found.split(' "names":', 1)
        TARGET.write_text(f'{{\n "entries": {json.dumps(as_json(learnt))},\n "names":{names}', "utf-8")
    return 0


def print_row(name: str, scores: Sequence[float]) -> None:
    """Print the score of plain weights, of those learnt on the other families, and of those learnt on all."""
    print(f"{name:12}" + "".join(f"{one:8.1%}" for one in scores), flush=True)


class Study:
    """Scores of weights by family, each worked out once."""

    def __init__(self, folds: Sequence[Fold]) -> None:
        self.folds = folds
        self.start: Weights = (*((trait, 1.0) for trait in FITTED), (NAMED, 0.1))
        self._known: dict[Weights, dict[str, float]] = {}

    def score(self, weights: Weights, families: Sequence[str]) -> float:
        """Return the mean score of families, each the mean of its sources."""
        if weights not in self._known:
            self._known[weights] = self._score_all(weights)
        known = self._known[weights]
        return sum(known[family] for family in families) / len(families)

    def fit(self, families: Sequence[str]) -> Weights:
        """Change one weight after the other while the score of these families grows."""
        best = self.start
        for name, _ in self.start:
            for step in STEPS:
                while True:
                    tried = tuple(
                        (own, round(value * step, 3) if own == name else value) for own, value in best
                    )
                    if self.score(tried, families) <= self.score(best, families):
                        break
                    best = tried
        return best

    def _score_all(self, weights: Weights) -> dict[str, float]:
        values = dict(weights)
        factors = {trait: values.get(trait.value, 1.0) for trait in Trait}
        scores: dict[str, dict[str, list[float]]] = {}
        for fold in self.folds:
            found = fold.score(EntryWeights(factors, values[NAMED]))
            scores.setdefault(fold.family, {}).setdefault(fold.source, []).append(found)
        return {
            family: sum(sum(each) / len(each) for each in of.values()) / len(of)
            for family, of in scores.items()
        }


def labelled_folds() -> Iterator[Fold]:
    """Yield the folds of labelled conversations that lost something."""
    for path in sorted((DATA / "gold").glob("*.json")):
        conversation = load_conversation(DATA / "corpus" / f"{path.stem}.json.gz")
        if isinstance(conversation, Unusable):
            continue
        facts = read_labels(path, len(conversation.messages)).facts
        needed = [(fact.answer, WORTHS.get(fact.importance, 0.0)) for fact in facts]
        for ratio in LABELLED_RATIOS:
            yield from record(conversation, conversation.ceiling(ratio), "labels", needed, quotes)


def cut_folds() -> Iterator[Fold]:
    """Yield the folds of conversations and trajectories before a cut."""
    for path in sorted((DATA / "corpus").glob("*.json.gz")):
        conversation = load_conversation(path)
        if not isinstance(conversation, Unusable):
            yield from cut_fold(conversation)
    for stem, family in TRAJECTORY_FAMILIES.items():
        rows = read_rows(stem)
        for row in rows[:: max(1, EVERY * len(rows) // MOST_TRAJECTORIES)]:
            yield from cut_fold(make_conversation(f"{family}-trajectory", read_request(json.loads(row)), ()))


def cut_fold(conversation: MeasuredConversation) -> Iterator[Fold]:
    """Yield the fold of what stands before the cut, with the names that the agent used after it."""
    cut = find_cut(conversation, CUT)
    names = find_needed(conversation.messages, cut) if cut is not None else []
    request = replace(conversation.request, messages=conversation.request.messages[:cut], raw=None)
    if names:
        before = make_conversation(conversation.name, request, ())
        yield from record(before, before.ceiling(RATIO), "use", [(name, 1.0) for name in names], has_name)


def record(
    conversation: MeasuredConversation,
    ceiling: int,
    source: str,
    needed: Sequence[tuple[str, float]],
    holds: Holds,
) -> Iterator[Fold]:
    """Fold with plain weights, and keep all that the notes could have said."""
    written: list[tuple[Sequence[DigestEntry], str]] = []

    def fill(entries: Sequence[DigestEntry], **terms: object) -> str:
        text = fill_digest(entries, **terms)  # type: ignore[arg-type]
        written.append((entries, text))
        return text

    unweighed = patch.object(sources, "weigh_use", lambda _, **__: None)
    with unweighed, patch.object(draft, "fill_digest", fill):
        outcome = fold_by_digest(conversation, ceiling)
    summary = outcome.summary or ""
    found = next((each for each in reversed(written) if each[1] and each[1] in summary), None)
    if found is None or outcome.tokens > ceiling:
        return
    entries, text = found
    beside = flatten(str(outcome.items).replace(text, ""))
    missing = [(answer, worth) for answer, worth in needed if worth and not holds(beside, answer)]
    if missing:
        yield Fold(
            family=name_family(conversation.name),
            source=source,
            entries=entries,
            heads=tuple(entry.weight for entry in entries),
            units=tuple(tuple(unit.weight for unit in entry.units) for entry in entries),
            size=cost(text),
            needed=tuple(missing),
            holds=holds,
        )


def as_json(weights: Weights) -> Mapping[str, object]:
    """Return the weights as the package reads them."""
    values = dict(weights)
    return {"factors": {trait: values[trait] for trait in FITTED}, NAMED: values[NAMED]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
