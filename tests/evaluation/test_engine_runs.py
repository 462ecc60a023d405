"""An engine lives a whole conversation; what is left of its probes at the end is counted."""

from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.engine_runs import run_engine, summarize_engine
from midfold.evaluation.probes import ProbeKind, Zone, make_probe
from midfold.wire import read_request

WORDS = "the tide tables of the harbour were copied again, line by line, into the long ledger "


def talk(turns):
    items = [{"role": "user", "content": "Always write dates as 2031-05-06. Copy the ledger."}]
    for number in range(turns):
        items.append({"role": "assistant", "content": f"Page {number}: {WORDS * 12}"})
        items.append({"role": "user", "content": f"Go on with page {number + 1}."})
    return items


PROBES = [
    make_probe(ProbeKind.CONSTRAINT, "?", "Always write dates as 2031-05-06.", (0,), Zone.HEAD),
    make_probe(ProbeKind.FILE_EDITED, "?", "never/said.txt", (1,), Zone.MIDDLE),
]


def test_several_folds_are_counted_with_what_is_left():
    run = run_engine(make_conversation("c", read_request(talk(200)), PROBES))
    assert run.folds > 1
    assert run.tokens_after < run.window < run.tokens_before
    assert (run.must_keep.kept, run.must_keep.asked) == (1, 2)
    assert run.missing == ("never/said.txt",)
    assert (run.middle.kept, run.middle.asked) == (0, 1)


def test_a_conversation_that_fits_its_window_is_left_out():
    assert run_engine(make_conversation("c", read_request(talk(3)), PROBES)) is None
    assert summarize_engine([]) is None


def test_runs_add_up():
    run = run_engine(make_conversation("c", read_request(talk(200)), PROBES))
    figures = summarize_engine([run, run])
    assert (figures.conversations, figures.must_keep, figures.middle) == (2, 0.5, 0.0)
