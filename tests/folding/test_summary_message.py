"""A number in a summary names one message of the whole conversation, however often it was folded."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.api import compress
from midfold.folding.fold import Span
from midfold.folding.notes import correct_notes
from midfold.folding.summary_message import FoldedNumbers, SummaryFrame, number_messages, read_folded_numbers
from midfold.messages import Message, Text
from midfold.summaries import NoteChange, prompts
from midfold.summaries.prompts import find_body
from midfold.summaries.sections import FOLDED_HEADING

spans = st.lists(
    st.tuples(st.integers(0, 500), st.integers(1, 40)).map(lambda pair: Span(pair[0], sum(pair))), max_size=12
)


def body(folded):
    return f"## Goal\n- x\n\n## {FOLDED_HEADING}\n{folded.render()}"


def numbers_of(found):
    return {n for span in found for n in span}


@given(spans, st.lists(st.integers(0, 600), max_size=9))
def test_what_is_written_down_is_read_again(found, added):
    folded = FoldedNumbers().join(numbers_of(found), added)
    assert read_folded_numbers(body(folded)) == folded


@given(spans, st.lists(st.integers(0, 600), max_size=30))
def test_joining_keeps_every_message_and_no_two_spans_touch(found, more):
    joined = FoldedNumbers().join(numbers_of(found), more[:3]).join(more, more[3:])
    assert numbers_of(joined.spans) == numbers_of(found) | set(more)
    assert joined.added == tuple(sorted(set(more)))
    assert all(one.stop < other.start for one, other in pairwise(joined.spans))


@given(st.integers(0, 20), spans, st.integers(1, 60))
def test_messages_behind_a_summary_are_numbered_around_what_it_stands_for(head, found, count):
    folded = FoldedNumbers().join((n + head for n in numbers_of(found)), ())
    numbers = number_messages(head + count, head, folded)
    behind = numbers[head + 1 :]
    gone = numbers_of(folded.spans)
    assert numbers[:head] == list(range(head))
    assert behind == [n for n in range(head, 10_000) if n not in gone][: len(behind)]
    assert len(numbers) == head + count


def test_without_a_summary_messages_are_numbered_by_their_place():
    assert number_messages(4, None, FoldedNumbers()) == [0, 1, 2, 3]


def test_a_message_that_was_put_in_has_the_number_of_the_one_before_it():
    assert number_messages(6, 1, FoldedNumbers((Span(1, 4),), (5,))) == [0, 0, 4, 5, 5, 6]


@pytest.mark.parametrize(
    "said", ["", "## Goal\n- x", f"## {FOLDED_HEADING}\nnothing", f"## {FOLDED_HEADING}\n9–3 (", "[1–4]"]
)
def test_a_summary_that_does_not_say_so_stands_for_nothing_known(said):
    assert read_folded_numbers(said) == FoldedNumbers()


def test_a_hostile_list_of_ranges_is_bounded():
    said = ", ".join(map(str, range(0, 100_000, 2)))
    assert len(read_folded_numbers(f"## {FOLDED_HEADING}\n{said}").spans) <= 1_000


def user(words):
    return {"role": "user", "content": words}


def assistant(words):
    return {"role": "assistant", "content": words}


def run(key, output):
    function = {"name": "bash", "arguments": f'{{"command": "cat {key}"}}'}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": key, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": key, "content": output},
    ]


def chat(first, turns, kinds):
    """Messages in each of which stands one word that stands nowhere else: `wordN` for message N."""
    messages = []
    for turn in range(turns):
        at = first + len(messages)
        messages.append(user(f"Please look at word{at}x now."))
        if kinds[turn % len(kinds)]:
            messages += run(f"call{at + 1}x", f"result word{at + 2}x is {'long enough to fill ' * 12}")
            at += 2
        messages.append(assistant(f"Found word{at + 1}x. {'It goes on and on for a while. ' * 8}{at}"))
    return messages


WORD = re.compile(r"(?:^- |[·—] )\[(\d+)[\],][^·—\n]*?word(\d+)x", re.MULTILINE)


def misnumbered(summary):
    return [(said, real) for said, real in WORD.findall(summary) if said != real]


@pytest.mark.slow
@settings(max_examples=15)
@given(
    ceiling=st.integers(1_200, 2_500),
    kinds=st.lists(st.booleans(), min_size=1, max_size=4),
    folds=st.integers(2, 5),
    template=st.sampled_from(["handoff", "progress", "brief"]),
)
def test_numbers_name_the_same_message_through_every_fold(ceiling, kinds, folds, template):
    messages, total, found = [], 0, []
    for _ in range(folds):
        news = chat(total, 40, kinds)
        messages, total = [*messages, *news], total + len(news)
        result = compress(messages, max_tokens=ceiling, template=template)
        assert result.summary is not None
        assert misnumbered(result.summary) == []
        found += WORD.findall(result.summary)
        messages = result.messages
    assert found


def test_every_message_of_the_conversation_is_either_folded_or_there():
    messages, total = [], 0
    for _ in range(4):
        news = chat(total, 16, [True, False])
        messages, total = [*messages, *news], total + len(news)
        result = compress(messages, max_tokens=1_800)
        messages = result.messages
        folded = sum(map(len, read_folded_numbers(find_body(result.summary)).spans))
        assert folded + len(messages) - 1 == total


@pytest.mark.parametrize(
    "odd",
    [
        [{"role": "tool", "tool_call_id": "nobody", "content": "a result without a call"}],
        run("waiting", "x")[:1],
    ],
    ids=["result without a call", "call without a result"],
)
def test_numbers_survive_the_mending_of_a_list(odd):
    messages = chat(0, 30, [False])
    messages += [user("Wait."), *odd]
    messages += [user("Go on."), assistant("I do."), user("And?")]
    total = len(messages)
    messages = compress(messages, max_tokens=1_800).messages
    messages += chat(total, 16, [False])
    assert misnumbered(compress(messages, max_tokens=1_800).summary) == []


@pytest.mark.xfail(strict=True, reason="a pass that only prunes has no summary to note what it put in")
def test_numbers_survive_the_mending_of_a_list_that_was_only_pruned():
    messages = [*chat(0, 12, [True]), user("Wait."), *run("waiting", "x")[:1], user("Go on.")]
    first = compress(messages, max_tokens=2_000)
    assert first.reason == "pruned"
    second = compress([*first.messages, *chat(len(messages), 30, [False])], max_tokens=1_800)
    assert misnumbered(second.summary) == []


def test_a_request_that_quotes_a_summary_changes_no_numbers():
    messages = [*chat(0, 30, [False]), user(f"See:\n## {FOLDED_HEADING}\n0–5000 (x")]
    result = compress(messages, max_tokens=1_800)
    assert read_folded_numbers(find_body(result.summary)).spans[-1].stop < len(messages)


@pytest.mark.parametrize(("ceiling", "is_brief"), [(1_500, True), (9_000, False)])
def test_a_summary_with_little_room_begins_briefly_and_does_so_when_it_is_folded_again(ceiling, is_brief):
    messages = [{"role": "user", "content": "Sort the parts list."}]
    for number in range(300):
        messages += [
            {"role": "assistant", "content": f"Part {number} goes to shelf {number * 7}, since it is wide."},
            {"role": "user", "content": f"And part {number + 1}, which weighs {number * 3} kg?"},
        ]
    once = compress(messages, max_tokens=ceiling)
    assert prompts.is_brief(once.summary) is is_brief
    assert prompts.is_sealed(once.summary, b"")
    again = compress([*once.messages, *messages[1:]], max_tokens=ceiling)
    assert sum(prompts.SUMMARY_MARKER in str(message["content"]) for message in again.messages) == 1
    assert prompts.is_brief(again.summary) is is_brief


def test_corrected_notes_begin_as_they_did():
    body = "## Goal\n- [0] Sort the parts list."
    brief = SummaryFrame("None.", FoldedNumbers(), b"", prompts.BRIEF_PREFIX).wrap(body)
    messages = [brief, Message("user", (Text("Go on."),))]
    corrected = correct_notes(messages, NoteChange.add("Shelf 7 is full."), count=lambda _: 1)
    assert prompts.is_brief(corrected.messages[0].text)
    assert "Shelf 7 is full." in corrected.messages[0].text
