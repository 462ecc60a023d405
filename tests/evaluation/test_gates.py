"""Gates: what can be asked for, and what is said when it is missed."""

import pytest

from midfold.errors import ConfigError
from midfold.evaluation.gates import Gate, find_misses, read_gates
from midfold.evaluation.report import summarize
from midfold.evaluation.scores import Score


def report(**changes):
    measured = {
        "conversation": "c",
        "method": "midfold digest",
        "ratio": 0.1,
        "verdicts": (),
        "inventions": ("1", "2"),
        "problems": (),
        "secrets": (),
        "tokens_before": 1000,
        "tokens_after": 90,
        "ceiling": 100,
        "cpu_ms": 1.0,
        "is_idempotent": True,
        "owes_must_keep": True,
    }
    return summarize([Score(**{**measured, **changes})])


def test_gates_come_from_words_and_from_files(tmp_path):
    (tmp_path / "gates").write_text("# floors\nverbatim = 0.85\n\nmust_keep=1  # all\n", "utf-8")
    assert read_gates(["command@0.05=0.7", str(tmp_path / "gates")]) == [
        Gate("command", 0.7, 0.05),
        Gate("verbatim", 0.85),
        Gate("must_keep", 1.0),
    ]


@pytest.mark.parametrize("words", ["verbatim=many", "verbatim@x=1", "beauty=1", "no-such-file"])
def test_what_is_no_gate_is_refused(words):
    with pytest.raises(ConfigError, match="--gate"):
        read_gates([words])


def test_a_floor_that_is_reached_and_a_cap_that_is_kept_are_met():
    assert find_misses(read_gates(["fill=0.9", "inventions=2"]), report()) == []


def test_a_missed_gate_is_one_line():
    misses = find_misses(read_gates(["fill=0.95", "inventions=1", "must_keep=1"]), report())
    assert list(map(str, misses)) == [
        "gate missed: fill at least 0.95; it is 0.9",
        "gate missed: inventions at most 1; it is 2",
        "gate missed: must_keep at least 1; there was nothing to measure",
    ]


def test_a_gate_of_another_ratio_has_nothing_to_measure():
    [miss] = find_misses([Gate("fill", 0.1, ratio=0.5)], report())
    assert miss.found is None
