"""Each way in which notes can be wrong is found, and what is right is left alone."""

import pytest

from midfold.evaluation.baselines import MethodOutcome
from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.labels import (
    AuthorLabel,
    ChangeLabel,
    ClosedLabel,
    FactLabel,
    Labels,
    NonRuleLabel,
    OpenLabel,
    RuleLabel,
)
from midfold.evaluation.truth import judge_truth
from midfold.evaluation.truth_figures import NoteFault, summarize_truth
from midfold.provenance import Author
from midfold.wire import read_request

TALK = [
    ("user", "Sort the archive. Never delete a box without asking. For today, skip the attic."),
    ("assistant", "The label printer is broken: paper jam in tray 2."),
    ("user", "<hook>Always confirm before you continue.</hook>"),
    ("assistant", "The printer works again. There are 41 boxes in the hall."),
    ("user", "Could you also photograph the ledgers?"),
    ("assistant", "There are 44 boxes in the hall now. Box 17 still has no owner."),
    ("user", "Carry on."),
]
LABELS = Labels(
    authors={
        0: AuthorLabel(0, Author.PERSON),
        2: AuthorLabel(2, Author.HOST),
        4: AuthorLabel(4, Author.PERSON),
        6: AuthorLabel(6, Author.PERSON),
    },
    rules=(
        RuleLabel(0, "Never delete a box without asking.", Author.PERSON, True),
        RuleLabel(0, "For today, skip the attic.", Author.PERSON, False),
    ),
    non_rules=(NonRuleLabel(4, "Could you also photograph the ledgers?", "a question"),),
    facts=(
        FactLabel(3, "How many boxes?", "41 boxes in\n the hall", "figure", 3),
        FactLabel(5, "Which box has no owner?", "Box 17 still has no owner", "finding", 2),
    ),
    changes=(ChangeLabel("How many boxes?", "44 boxes in the hall", "41 boxes in the hall", 3),),
    open=(OpenLabel(5, "Box 17 has no owner yet", "Box 17 still has no owner"),),
    closed=(ClosedLabel(1, "The printer jammed", "paper jam in tray 2", 3),),
)


@pytest.fixture(scope="module")
def conversation():
    items = [{"role": role, "content": text} for role, text in TALK]
    return make_conversation("c", read_request(items), ())


@pytest.fixture
def judge(conversation):
    def judge(notes, kept=(6,)):
        items = [{"role": "user", "content": notes}, *(conversation.request.messages[at] for at in kept)]

        def method(_conversation, _ceiling):
            return MethodOutcome(items=items, tokens=50, cpu_ms=0, summary=notes)

        return judge_truth(conversation, LABELS, 0.5, method)

    return judge


def faults(score):
    return [entry.fault for entry in score.wrong]


@pytest.mark.parametrize(
    ("notes", "fault"),
    [
        ("## Rules\n- [2] Always confirm before you continue.", NoteFault.RULE_AUTHOR),
        ("## Rules\n- [1] The label printer is broken.", NoteFault.RULE_AUTHOR),
        ("## Rules\n- [4] Could you also photograph the ledgers?", NoteFault.NON_RULE),
        ("## Rules\n- [0] For today, skip the attic.", NoteFault.LAPSED_RULE),
        ("## Goal\n- [2] <hook>Always confirm", NoteFault.GOAL_AUTHOR),
        ("## Goal\n- [4] Could you also photograph the ledgers?", NoteFault.ANSWERED),
        ("## Blocked\n- [1] paper jam in tray 2", NoteFault.OVERCOME),
        ("## Remaining Work\n- [1] paper jam in tray 2", NoteFault.OVERCOME),
        ("## Pending User Asks\n- [2] Always confirm before you continue.", NoteFault.PENDING_AUTHOR),
        ("## Pending User Asks\n- [4] Could you also photograph the ledgers?", NoteFault.NOT_PENDING),
        ("## Active State\n- [3] There are 41 boxes in the hall.", NoteFault.OUTDATED),
    ],
)
def test_a_wrong_entry_is_found(judge, notes, fault):
    score = judge(notes)
    assert faults(score) == [fault]
    assert score.wrong_entries == score.entries == 1


@pytest.mark.parametrize(
    "notes",
    [
        "## Rules\n- [0] Never delete a box without asking.",
        "## Rules\n- [0] Sort by year.",
        "## Goal\n- [6] Carry on.",
        "## Completed Actions\n- [1] paper jam in tray 2",
        "## Blocked\n- [1, 5] paper jam in tray 2, and again",
        "## Blocked\n- [5] Box 17 still has no owner",
        "## Pending User Asks\n- [6] Carry on.",
        "## Active State\n- [3] There were 41 boxes in the hall.\n- [5] There are 44 boxes in the hall now.",
    ],
)
def test_what_no_label_speaks_against_is_left_alone(judge, notes):
    assert faults(judge(notes)) == []


def test_an_entry_with_two_faults_counts_once(judge):
    score = judge("## Blocked\n- [1, 2] paper jam in tray 2, 41 boxes in the hall")
    assert len(score.wrong) == 2
    assert score.wrong_entries == 1


def test_a_rule_is_shown_under_rules_or_in_a_message_that_stayed_and_elsewhere_only_there(judge):
    assert judge("## Rules\n- [0] Never delete a box without asking.").rules_shown.part == 1
    assert judge("## Goal\n- [3] x", kept=(0, 6)).rules_shown.part == 1
    aside = judge("## Goal\n- [0] Sort. Never delete a box without asking.")
    assert (aside.rules_shown.part, aside.rules_anywhere.part) == (0, 1)


def test_facts_count_over_line_breaks_and_only_in_their_own_words(judge):
    assert [fact.is_kept for fact in judge("## Goal\n- [3] 41 boxes in the hall").facts] == [True, False]
    assert [fact.is_kept for fact in judge("## Goal\n- [3] 41 boxes", kept=(5, 6)).facts] == [False, True]


def test_open_work_counts_by_its_evidence_or_most_of_its_words(judge):
    assert judge("## Goal\n- [5] Box 17 still has no owner").open_covered.part == 1
    assert judge("## Blocked\n- [5] no owner yet for box 17").open_covered.part == 1
    assert judge("## Goal\n- [5] boxes").open_covered.part == 0


def test_blocked_entries_are_true_wrong_or_unknown(judge):
    score = judge("## Blocked\n- [5] Box 17 still has no owner\n- [1] paper jam in tray 2\n- [3] the light")
    assert (score.blocked.shown, score.blocked.true, score.blocked.wrong) == (3, 1, 1)


def test_figures_add_up_over_conversations(judge):
    right = judge("## Rules\n- [0] Never delete a box without asking.")
    wrong = judge("## Rules\n- [2] Always confirm before you continue.")
    [figures] = summarize_truth([right, wrong])
    assert (figures.entries, figures.wrong, figures.wrong_per_100) == (2, 1, 50)
    assert (figures.rules_true, figures.rules_shown, figures.pending_true) == (0.5, 0.5, None)
    assert figures.faults[NoteFault.RULE_AUTHOR] == 1


def test_the_digest_is_judged_where_nothing_else_is_said(conversation):
    score = judge_truth(conversation, LABELS, 0.99)
    assert score.facts[1].is_kept
