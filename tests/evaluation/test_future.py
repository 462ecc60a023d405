"""Names that the agent used after a cut: which are asked for, and where they are found."""

import pytest

from midfold.evaluation.baselines import DIGEST
from midfold.evaluation.contexts import drop_output, take_names, take_newest
from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.families import name_family
from midfold.evaluation.future import (
    NEWEST,
    FutureFigures,
    find_cut,
    find_least_lead,
    find_needed,
    score_future,
    summarize_future,
)
from midfold.evaluation.names import has_name, read_names
from midfold.testing import transcript
from midfold.wire import read_request


def call(command, number):
    function = {"name": "run_it", "arguments": f'{{"command": "{command}"}}'}
    return {
        "role": "assistant",
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def result(text, number):
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


ITEMS = [
    {"role": "system", "content": "The root is /srv/barn_root."},
    {"role": "user", "content": "Look at crops.toml, please."},
    call("cat crops.toml", 1),
    result("field_north = 1250\nfield_south = 90", 1),
    {"role": "assistant", "content": "See fieldMap in crops.toml."},
    {"role": "user", "content": "Go on."},
    call("edit field_north in /srv/barn_root with newName_1", 2),
    result("field_south changed", 2),
    {"role": "assistant", "content": "field_north is done; fieldMap stays."},
]


@pytest.fixture(scope="module")
def barn():
    return make_conversation("barn-es-1", read_request(ITEMS), ())


@pytest.fixture(scope="module")
def long_talk():
    body = transcript("openai_chat", seed=5, turns=40)
    return make_conversation("long", read_request(body, "openai_chat"), ())


def test_names_are_told_by_their_shape():
    text = "Run src/a.py, or pathFinder and MAX_ROWS (v1.25, 4711), e.g. well-known words; 12 of them."
    assert list(read_names(text)) == ["src/a.py", "pathFinder", "MAX_ROWS", "v1.25", "4711"]


def test_names_stand_apart_from_letters_of_other_scripts():
    assert list(read_names("打开config.py文件")) == ["config.py"]


def test_a_name_is_found_as_a_whole_word_only():
    assert has_name("see lib/a_b.c:7", "a_b.c")
    assert not has_name("see xa_b.c", "a_b.c")


def test_names_that_the_agent_uses_again_are_needed_but_not_new_ones_nor_those_of_the_system_prompt(barn):
    assert find_needed(barn.messages, 6) == ["field_north", "fieldMap"]


def test_names_that_stand_in_many_messages_are_not_needed():
    often = [{"role": "user", "content": f"part {number} of crops.toml"} for number in range(6)]
    talk = make_conversation("c", read_request([*often, {"role": "assistant", "content": "crops.toml"}]), ())
    assert find_needed(talk.messages, 6) == []


def test_a_cut_stands_before_an_answer_that_waits_for_no_result(barn):
    assert find_cut(barn, 0.3) == 4
    assert find_cut(barn, 0.75) == 8
    assert find_cut(barn, 0.99) is None


def test_every_method_is_scored_at_every_cut_and_ratio(barn):
    scores = score_future(barn, [0.5], [0.5])
    assert {score.method for score in scores} == {
        DIGEST,
        "newest only",
        "no output",
        "with names",
    }
    assert {score.needed.asked for score in scores} == {2}
    bare = next(score for score in scores if score.method == "no output")
    assert bare.missing == ("field_north",)


def test_a_conversation_without_a_cut_gives_no_score():
    talk = make_conversation("c", read_request([{"role": "user", "content": "hi a_b.py"}]), ())
    assert score_future(talk) == []


def test_the_newest_messages_fill_their_room_and_no_more(long_talk):
    ceiling = long_talk.tokens // 3
    context = take_newest(long_talk, ceiling)
    assert context.tokens == ceiling
    assert context.text.endswith(long_talk.source.texts[-1])


def test_names_take_up_to_half_of_the_room(long_talk):
    ceiling = long_talk.tokens // 3
    assert take_names(long_talk, ceiling).tokens <= ceiling + 1


def test_without_tool_output_results_are_gone_and_words_stay(barn):
    context = drop_output(barn, 1)
    assert "field_south" not in context.text
    assert "Look at crops.toml" in context.text


@pytest.mark.parametrize(
    ("name", "family"),
    [("cc-entire-1", "cc"), ("cc-ko-1", "cc-ko"), ("swe-fc-1", "swe"), ("alone", "alone")],
)
def test_a_family_is_the_first_word_and_the_language(name, family):
    assert name_family(name) == family


def figures(family, method, micro, asked=20):
    return FutureFigures(family, 0.1, method, 2, asked, micro, micro, 0.1, 0)


def test_the_lead_is_that_of_the_worst_family_that_says_something():
    found = [
        figures(None, DIGEST, 0.1),
        figures(None, NEWEST, 0.9),
        figures("a", DIGEST, 0.8),
        figures("a", NEWEST, 0.5),
        figures("b", DIGEST, 0.6),
        figures("b", NEWEST, 0.5),
        figures("c", DIGEST, 0.0, asked=2),
        figures("c", NEWEST, 1.0, asked=2),
    ]
    assert find_least_lead(found, 0.1) == pytest.approx(0.1)
    assert find_least_lead(found, 0.2) is None


def test_figures_are_those_of_all_and_of_each_family(barn):
    found = summarize_future(score_future(barn, [0.5, 0.25], [0.5]))
    assert {(one.family, one.ratio) for one in found} == {
        (None, 0.5),
        (None, 0.25),
        ("barn-es", 0.5),
        ("barn-es", 0.25),
    }
