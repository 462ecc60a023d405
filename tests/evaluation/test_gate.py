"""The floors that every build has to hold, on our own transcripts.

They are a little below what is measured; whoever makes the digest better raises them.
"""

from importlib.resources import files
from pathlib import Path

import pytest

from midfold.evaluation import evaluate, load_conversation, summarize
from midfold.evaluation.baselines import DIGEST, METHODS
from midfold.evaluation.gates import find_misses, read_gates
from midfold.evaluation.scores import chain_folds

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.json*"))
RATIO = 0.3
"""Our transcripts are short: a tenth of most is less than their newest request."""
OWN = {DIGEST: METHODS[DIGEST]}
SOUND = ("unsound=0", "over_ceiling=0", "unstable=0", "secrets=0", "inventions=0")
FLOORS = (
    *SOUND,
    "verbatim=0.65",
    "associated=0.6",
    "must_keep=1",
    "constraint=0.92",
    "file_edited=1",
    "command=0.89",
    "error=0.75",
)
DEMO_FLOORS = (
    *SOUND,
    "verbatim=0.62",
    "verbatim@0.05=0.55",
    "associated=0.6",
    "must_keep=1",
    "constraint=1",
    "file_edited=1",
    "command=0.85",
    "error=0.25",
    "fill=0.98",
    "chain_task=1",
    "chain_constraints=1",
    "chain_must_keep=1",
)


@pytest.fixture(scope="module")
def demo_report():
    demo = load_conversation(Path(str(files("midfold.cli").joinpath("data/demo.json.gz"))))
    return summarize(evaluate(demo, [0.1, 0.05]), chain_folds(demo, 0.1, OWN, lengths=(10,)))


def missed(floors, report):
    return list(map(str, find_misses(read_gates(floors), report)))


def test_our_transcripts_keep_what_they_kept():
    scores = [score for path in TRANSCRIPTS for score in evaluate(load_conversation(path), [RATIO], OWN)]
    assert missed(FLOORS, summarize(scores)) == []


@pytest.mark.slow
def test_the_demo_keeps_what_it_kept_at_a_tenth_and_a_twentieth(demo_report):
    assert missed(DEMO_FLOORS, demo_report) == []


def test_the_digest_keeps_more_than_any_baseline(demo_report):
    digest, *others = [figures for figures in demo_report.figures if figures.ratio == 0.1]
    assert digest.method == DIGEST
    assert all(digest.verbatim > other.verbatim + 0.2 for other in others)
