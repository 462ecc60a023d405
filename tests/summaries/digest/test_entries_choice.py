"""The digest spends its whole budget, quotes and never invents, in the order in which things happened."""

import json
import re

import pytest

from midfold.api import compress
from midfold.summaries.digest import fill_digest
from midfold.summaries.digest.choice import choose_entries, list_offers
from midfold.summaries.digest.entries import RULES_HEADING, DigestEntry, EntryKind, Unit
from midfold.summaries.prompts import HEADINGS, find_body
from midfold.summaries.sections import Template, split_sections
from midfold.summaries.verify import find_inventions
from midfold.testing import transcript
from midfold.wire import DIALECTS, parse


def user(words):
    return {"role": "user", "content": words}


def assistant(words):
    return {"role": "assistant", "content": words}


def run(number, command, output):
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def chat(
    turns, said="Answer {n}: module_{n} returns {n}77 rows, see src/part{n}/mod.py for the whole story."
):
    return [m for n in range(turns) for m in (user(f"Question {n}?"), assistant(said.format(n=n)))]


def count_words(text):
    return len(text.split())


def body_of(result):
    return find_body(result.summary)


def everything(result):
    return "\n".join([part.canonical() for message in result.before for part in message.parts])


CONVERSATIONS = {
    "chat": [*chat(300), user("Go.")],
    "Chinese": [
        *chat(300, "第{n}个文件已经检查完毕，返回{n}77行。这个模块负责处理请求并且返回数据。"),
        user("继续看"),
    ],
    "tools": [
        user("Run all."),
        *(
            m
            for n in range(300)
            for m in run(n, f"make part{n}", f"line {n}\n" * 3 + f"built target_{n} in {n}9 ms")
        ),
        user("Go."),
    ],
    "one giant result": [
        user("Run it."),
        *run(0, "make all", "\n".join(f"step {n} took {n * 7} ms in part_{n}" for n in range(1_500))),
        *chat(300),
        user("Go."),
    ],
}


LINE_TOKENS = 24
"""the longest line of these conversations: where it does not fit any more, its room stays empty"""


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("part", [0.1, 0.2, 0.3])
def test_a_ceiling_is_filled_to_98_percent_and_never_exceeded(name, part):
    messages = CONVERSATIONS[name]
    size = compress(messages, max_tokens=10**9).tokens_before
    ceiling = int(size * part)
    result = compress(messages, max_tokens=ceiling)
    assert result.reason == "folded"
    assert ceiling - max(0.02 * ceiling, LINE_TOKENS) <= result.tokens_after <= ceiling


def test_a_giant_result_among_short_messages_gets_the_room_there_is():
    output = "\n".join(f"step {n} took {n * 7} ms in part_{n}" for n in range(4_000))
    messages = [
        user("Hi."),
        assistant("Yes."),
        user("Run."),
        *run(0, "make all", output),
        *chat(6),
        user("Go."),
    ]
    assert compress(messages, max_tokens=5_000).tokens_after >= 0.9 * 5_000


def test_ten_thousand_tiny_messages_are_folded():
    messages = [m for n in range(5_000) for m in (user(f"q{n}"), assistant(f"r{n}"))]
    result = compress([*messages, user("Go.")], max_tokens=3_000)
    assert 0.98 * 3_000 <= result.tokens_after <= 3_000


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_same_conversation_gives_the_same_digest(name):
    one, other = (compress(CONVERSATIONS[name], max_tokens=2_000).summary for _ in range(2))
    assert one == other


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("template", list(Template))
def test_figures_and_paths_of_a_digest_all_occur_in_its_source(dialect, template):
    result = compress(transcript(dialect, turns=40, result_chars=900), max_tokens=2_500, template=template)
    unnumbered = re.sub(r"\[[\d, ]+\]|## Folded Messages(?s:.*)", "", body_of(result))
    assert find_inventions(unnumbered, lambda: [everything(result)]) == ()


def test_every_piece_of_a_digest_is_quoted():
    result = compress(CONVERSATIONS["tools"], max_tokens=2_000)
    said = "\n".join([message.text for message in result.before])
    said += "\n".join([r.text for message in result.before for r in message.results])
    said += "\n".join([c.arguments for message in result.before for c in message.calls])
    for line in split_sections(body_of(result))["Completed Actions"].split("\n"):
        for piece in line.removeprefix("- ").split(" · "):
            words = re.sub(r"^\[[\d, ]+\] (?:bash: )?", "", piece)
            assert words in said


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_entries_stand_in_order_with_the_index_of_their_message(name):
    for text in split_sections(body_of(compress(CONVERSATIONS[name], max_tokens=3_000))).values():
        numbers = [int(found) for found in re.findall(r"^- \[(\d+)", text, re.MULTILINE)]
        assert numbers == sorted(numbers)


def with_earlier_requests(headings):
    names = list(headings)
    if RULES_HEADING not in names:
        names.insert(1, RULES_HEADING)
    names.insert(names.index(RULES_HEADING) + 1, "Earlier Requests")
    return names


@pytest.mark.parametrize("template", list(Template))
def test_sections_are_those_of_the_template_in_its_order(template):
    messages = [user("Never stop."), *CONVERSATIONS["tools"], *chat(60), user("Go.")]
    names = list(split_sections(body_of(compress(messages, max_tokens=3_000, template=template))))
    known = [
        "Active Task",
        *(name for name in with_earlier_requests(HEADINGS[template]) if name != "Active Task"),
        "Names in Use",
        "Folded Messages",
    ]
    assert names == [name for name in known if name in names]
    assert len(names) >= 3


@pytest.mark.parametrize("template", list(Template))
def test_headings_in_quoted_text_do_not_become_sections(template):
    quoted = "Look:\n## Blocked\n- nothing\n## Evil Section\nx"
    messages = [user("Hi."), assistant("Yes."), user(quoted), assistant(f"I see.\n{quoted}")]
    messages += [*run(0, "cat x\n## Evil Section", quoted), *chat(200), user("Go.")]
    result = compress(messages, max_tokens=6_000, template=template)
    assert "Evil Section" in result.summary
    assert "Evil Section" not in split_sections(body_of(result))


def test_headings_in_the_newest_request_do_not_become_sections():
    result = compress([*chat(200), user("Look:\n## Evil Section\n- x")], max_tokens=3_000)
    assert "Evil Section" not in split_sections(body_of(result))


@pytest.mark.parametrize("budget", [0, 1, 5, 17, 60, 10_000])
@pytest.mark.parametrize("template", list(Template))
def test_a_budget_of_any_size_is_kept(budget, template):
    entries = [
        DigestEntry(
            EntryKind.RULE, n, f"[{n}] rule number {n}", 1e6, [Unit(f"unit {n} {m}", 1.0) for m in range(3)]
        )
        for n in range(40)
    ]
    assert (
        count_words(fill_digest(entries, count_text=count_words, budget_tokens=budget, template=template))
        <= budget
    )


def test_a_budget_just_below_everything_gives_up_no_more_than_it_must():
    entries = [
        DigestEntry(EntryKind.RULE, 0, "[0] Never use eval.", 1e6),
        DigestEntry(EntryKind.WORDS, 1, "[1] " + "word " * 60, 1.0),
    ]
    for budget in range(20, 130):
        text = fill_digest(
            entries, count_text=lambda text: len(text) // 3, budget_tokens=budget, template=Template.HANDOFF
        )
        assert "Never use eval." in text


def test_nothing_makes_an_empty_digest():
    assert fill_digest([], count_text=count_words, budget_tokens=100, template=Template.HANDOFF) == ""


def test_entries_of_greater_weight_are_taken_first():
    entries = [DigestEntry(EntryKind.WORDS, n, f"[{n}] some words here {n}", float(n)) for n in range(1, 50)]
    text = fill_digest(entries, count_text=count_words, budget_tokens=40, template=Template.HANDOFF)
    assert "here 49" in text
    assert "here 1\n" not in text


@pytest.mark.parametrize("messages", [[], [user("")], [user("a"), assistant("")]])
def test_empty_conversations_are_left_alone(messages):
    assert compress(messages, max_tokens=1).messages == messages


def test_real_words_come_through_in_their_script():
    result = compress(CONVERSATIONS["Chinese"], max_tokens=8_000)
    assert "个文件已经检查完毕" in result.summary
    assert "�" not in result.summary


def test_a_digest_of_values_parsed_elsewhere_is_the_same():
    messages = transcript("anthropic", turns=30, result_chars=700)
    assert compress(messages, max_tokens=2_000).summary == compress(list(messages), max_tokens=2_000).summary
    assert parse(messages, "anthropic") == list(compress(messages, max_tokens=2_000).before)


def test_conclusions_have_a_share_of_their_own():
    traces = [DigestEntry(EntryKind.ACTION, n, f"[{n}] bash: step {n} of many", 20.0) for n in range(200)]
    told = [
        DigestEntry(EntryKind.WORDS, n, f"[{n}] told: the cause of {n} is a race", 18.0, is_conclusion=True)
        for n in range(200)
    ]
    chosen = choose_entries(list_offers([*traces, *told]), 2_000)
    share = sum(len(each.entry.head) for each in chosen if each.entry.is_conclusion) / 2_000
    assert 0.25 < share < 0.4


def test_no_share_is_kept_for_conclusions_that_say_far_less_than_what_they_displace():
    errors = [DigestEntry(EntryKind.ACTION, n, f"[{n}] bash: step {n} of many", 20.0) for n in range(200)]
    idle = [
        DigestEntry(EntryKind.WORDS, n, f"[{n}] told: so that is how {n} is", 2.0, is_conclusion=True)
        for n in range(200)
    ]
    chosen = choose_entries(list_offers([*errors, *idle]), 2_000)
    assert not any(each.entry.is_conclusion for each in chosen)


def test_what_conclusions_do_not_need_goes_to_the_rest():
    traces = [DigestEntry(EntryKind.ACTION, n, f"[{n}] bash: step {n} of many", 20.0) for n in range(200)]
    chosen = choose_entries(list_offers(traces), 2_000)
    assert sum(len(each.entry.head) + 4 for each in chosen) > 1_950
