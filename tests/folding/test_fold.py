"""A fold is applied to the list it was made from, and to any list that says the same and went on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.errors import StaleFold
from midfold.folding.compression import Compression
from midfold.folding.fold import (
    Edit,
    Fate,
    Fold,
    Insert,
    MessageSource,
    Replacement,
    Span,
    apply,
    replace_spans,
    splice,
)
from midfold.folding.state import CompressionState
from midfold.messages import Message, Reasoning, Removed, Text, ToolCall, ToolResult, chain_digests

SUMMARY = Message("user", (Text("SUMMARY"),))


def user(text):
    return Message("user", (Text(text),))


def assistant(*parts):
    return Message("assistant", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def system(text):
    return Message("system", (Text(text),))


def thought(text="hm"):
    return Message("assistant", (Reasoning(text),))


def texts(messages):
    return [message.text for message in messages]


def fold_of(messages, *replacements, **others):
    return Fold(tuple(replacements), **others).identified(messages)


def test_a_summary_stands_where_its_messages_stood():
    messages = [user("a"), assistant("b"), user("c"), assistant("d")]
    fold = fold_of(messages, Replacement(Span(1, 3), SUMMARY))
    assert texts(apply(fold, messages)) == ["a", "SUMMARY", "d"]
    assert apply(fold, messages)[0] is messages[0]


def test_a_summary_at_the_end_of_the_list_is_not_lost():
    messages = [user("a"), assistant("b")]
    assert texts(apply(fold_of(messages, Replacement(Span(0, 2), SUMMARY)), messages)) == ["SUMMARY"]
    assert texts(apply(fold_of(messages, Replacement(Span(2, 2), SUMMARY)), messages)) == [
        "a",
        "b",
        "SUMMARY",
    ]


def test_an_empty_span_only_puts_a_message_in():
    messages = [user("a"), user("b"), assistant("c")]
    fold = fold_of(messages, Replacement(Span(1, 1), SUMMARY), Replacement(Span(2, 3)))
    assert texts(apply(fold, messages)) == ["a", "SUMMARY", "b"]


def test_several_summaries_stand_each_in_its_place():
    messages = [user(letter) for letter in "abcdefgh"]
    other = user("OTHER")
    fold = fold_of(messages, Replacement(Span(1, 3), SUMMARY), Replacement(Span(5, 6), other))
    assert texts(apply(fold, messages)) == ["a", "SUMMARY", "d", "e", "OTHER", "g", "h"]
    assert fold.summaries == (SUMMARY, other)


def test_what_came_since_follows():
    messages = [user("a"), assistant("b"), user("c")]
    fold = fold_of(messages, Replacement(Span(0, 2), SUMMARY))
    assert texts(apply(fold, [*messages, assistant("d")])) == ["SUMMARY", "c", "d"]


def test_another_list_is_refused():
    messages = [user("a"), assistant("b"), user("c")]
    fold = fold_of(messages, Replacement(Span(0, 2), SUMMARY))
    with pytest.raises(StaleFold):
        apply(fold, [user("a"), assistant("B"), user("c")])
    with pytest.raises(StaleFold):
        apply(fold, messages[:1])


def test_a_reworded_system_prompt_makes_no_difference():
    messages = [system("Today is Monday."), user("a"), assistant("b"), user("c")]
    fold = fold_of(messages, Replacement(Span(1, 3), SUMMARY), note="[Note: folded]")
    reworded = [system("Today is Tuesday."), *messages[1:]]
    assert fold.prefix_digest in chain_digests(reworded)
    assert texts(apply(fold, reworded)) == ["Today is Tuesday.\n[Note: folded]", "SUMMARY", "c"]


@pytest.mark.parametrize("lead", [0, 1, 2, 3])
def test_it_does_not_matter_how_many_messages_the_system_prompt_takes(lead):
    messages = [system("s"), user("a"), assistant("b"), user("c")]
    fold = fold_of(messages, Replacement(Span(1, 3), SUMMARY))
    prompts = [system(str(number)) for number in range(lead)]
    assert texts(apply(fold, [*prompts, *messages[1:]])) == [*map(str, range(lead)), "SUMMARY", "c"]


def test_an_empty_message_before_the_system_prompt_shifts_nothing():
    messages = [user(""), system("s"), user("a"), assistant("b"), user("c")]
    fold = fold_of(messages, Replacement(Span(2, 4), SUMMARY))
    assert texts(apply(fold, messages)) == ["", "s", "SUMMARY", "c"]
    assert texts(apply(fold, messages[1:])) == ["s", "SUMMARY", "c"]


def test_the_note_is_added_once():
    messages = [system("s"), user("a"), assistant("b"), user("c")]
    fold = fold_of(messages, Replacement(Span(1, 3), SUMMARY), note="[Note: folded]")
    noted = apply(fold, messages)[0]
    assert apply(fold, [noted, *messages[1:]])[0] is noted


def test_a_part_is_named_by_what_digests_cover_of_it():
    call = ToolCall("c1", "write", '{"text": "' + "x" * 50 + '"}')
    thinking = assistant(Reasoning("let me think"), "", "I write.", call)
    edit = Edit.at(0, thinking, [(3, ToolCall("c1", "write", "{}"))])
    messages = [thinking, Message("tool", (ToolResult("c1", "ok"),))]
    fold = fold_of(messages, edits=(edit,))
    without = [assistant("I write.", call), messages[1]]
    for shown in (messages, without):
        edited = apply(fold, shown)[0]
        assert [part for part in edited.parts if isinstance(part, ToolCall)] == [
            ToolCall("c1", "write", "{}")
        ]
        assert edited.text.strip() == "I write."


def test_a_result_that_is_taken_out_leaves_its_neighbours():
    message = Message("user", (ToolResult("c1", "one"), ToolResult("c2", "two"), Text("and this")))
    fold = fold_of([message], edits=(Edit.at(0, message, [(0, Removed())]),))
    [left] = apply(fold, [message])
    assert list(left.results) == [ToolResult("c2", "two")]


def test_thinking_that_the_client_drops_shifts_nothing():
    messages = [
        user("a"),
        thought(),
        assistant("b"),
        thought(),
        assistant("c"),
        user("d"),
        thought(),
        user("e"),
    ]
    fold = fold_of(messages, Replacement(Span(1, 3), SUMMARY))
    spoken = [message for message in messages if not message.is_silent]
    assert fold.prefix_digest in chain_digests(spoken)
    assert texts(apply(fold, spoken)) == ["a", "SUMMARY", "c", "d", "e"]
    assert texts(apply(fold, messages)) == ["a", "SUMMARY", "", "c", "d", "", "e"]


def test_thinking_goes_with_the_message_it_led_to():
    messages = [user("a"), assistant("b"), assistant("c"), user("d")]
    fold = fold_of(messages, Replacement(Span(1, 2), SUMMARY))
    shown = [user("a"), thought("for b"), assistant("b"), thought("for c"), assistant("c"), user("d")]
    kept = apply(fold, shown)
    assert thought("for b") not in kept
    assert kept.index(thought("for c")) == kept.index(assistant("c")) - 1


def test_an_empty_message_that_was_taken_out_stays_out():
    empty = assistant("")
    messages = [user("a"), empty, user("b"), assistant("c")]
    fold = fold_of(messages, Replacement(Span(1, 2)), edits=(Edit.at(3, messages[3], [(0, Text("C"))]),))
    assert texts(apply(fold, messages)) == ["a", "b", "C"]
    assert texts(apply(fold, [user("a"), empty, empty, user("b"), assistant("c")])) == ["a", "b", "C"]


def test_silence_at_the_end_of_a_fold_takes_no_others_place():
    messages = [user("a"), assistant("b"), thought(), user("c")]
    fold = fold_of(messages, Replacement(Span(1, 3), SUMMARY))
    spoken = [user("a"), assistant("b"), user("c"), assistant("d")]
    assert texts(apply(fold, spoken)) == ["a", "SUMMARY", "c", "d"]


def test_a_stub_result_follows_its_call():
    call = assistant(ToolCall("c1", "run", "{}"))
    stub = Message("tool", (ToolResult("c1", "[no result]"),))
    messages = [user("a"), call, user("b"), assistant("c")]
    fold = fold_of(messages, Replacement(Span(2, 3), SUMMARY), inserts=(Insert(1, stub),))
    assert apply(fold, messages) == [messages[0], call, stub, SUMMARY, messages[3]]


def test_a_walk_says_where_each_message_comes_from():
    messages = [system("s"), user("a"), assistant("b"), assistant("c")]
    edit = Edit.at(3, messages[3], [(0, Text("C"))])
    fold = fold_of(messages, Replacement(Span(1, 2), SUMMARY), edits=(edit,), note="[Note: x]")
    assert [(step.index, step.source, step.message is None) for step in fold.walk(messages)] == [
        (0, MessageSource.NOTED, False),
        (None, MessageSource.SUMMARY, False),
        (1, MessageSource.OLD, True),
        (2, MessageSource.OLD, False),
        (3, MessageSource.SHORTENED, False),
    ]


def test_fates_are_those_of_the_walk():
    messages = [system("s"), user("a"), assistant("b"), assistant("c")]
    edit = Edit.at(3, messages[3], [(0, Text("C"))])
    fold = fold_of(messages, Replacement(Span(1, 2), SUMMARY), edits=(edit,), note="[Note: x]")
    result = Compression(splice(fold, messages), tuple(messages), fold, "", CompressionState(), 9, 5, 5)
    assert result.fates == [Fate.KEPT, Fate.FOLDED, Fate.KEPT, Fate.SHORTENED]


def test_a_summary_takes_the_place_of_the_span_that_it_stands_in():
    spans = [Span(6, 8), Span(2, 4), Span(4, 5)]
    assert replace_spans(spans, 2, SUMMARY) == (Replacement(Span(2, 5), SUMMARY), Replacement(Span(6, 8)))
    assert replace_spans(spans, 0, SUMMARY)[0] == Replacement(Span(0, 0), SUMMARY)
    assert replace_spans(spans, 2, None) == (Replacement(Span(2, 5)), Replacement(Span(6, 8)))


@st.composite
def folded_lists(draw):
    """Draw a conversation with silent messages, a fold of it, and the same as a client sends it again."""
    kinds = draw(st.lists(st.sampled_from(["said", "said", "thought", "empty"]), min_size=3, max_size=24))
    made = {"thought": thought, "empty": lambda: assistant("")}
    lead = [system("s")] * draw(st.integers(0, 2))
    body = [
        made[kind]() if kind in made else assistant(f"words {number}") for number, kind in enumerate(kinds)
    ]
    messages = [*lead, *body, user("the end")]
    start = draw(st.integers(len(lead), len(messages) - 1))
    stop = draw(st.integers(start, len(messages) - 1))
    fold = fold_of(
        messages, Replacement(Span(start, stop), SUMMARY), note=draw(st.sampled_from([None, "[Note: n]"]))
    )
    sent = [system("other")] * draw(st.integers(0, 2))
    for message in messages[len(lead) :]:
        if draw(st.booleans()) and draw(st.booleans()):
            sent.append(draw(st.sampled_from([thought("more"), assistant("")])))
        if not (message.is_silent and draw(st.booleans())):
            sent.append(message)
    return messages, fold, [*sent, *draw(st.sampled_from([[], [assistant("and more")]]))]


@given(folded_lists())
def test_whatever_a_client_does_to_silence_and_system_prompt_the_words_are_folded_alike(drawn):
    messages, fold, sent = drawn

    def words(shown):
        return [each.text for each in apply(fold, shown) if not each.is_silent and each.role != "system"]

    expected = words(messages)
    assert words(sent)[: len(expected)] == expected
    assert expected.count("SUMMARY") == 1
