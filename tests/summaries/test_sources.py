"""What a summary is made from, seen through a compression: facts, prompts, and what code puts around it."""

import json

from midfold.api import compress
from midfold.folding import CompressionPolicy
from midfold.folding.flow import compress as compress_flow
from midfold.folding.fold import Span
from midfold.folding.summary_message import read_folded_numbers
from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.summaries.prompts import find_body
from midfold.summaries.sections import split_sections
from midfold.tokens import TokenCounter


def user(words):
    return Message("user", (Text(words),))


def assistant(words):
    return Message("assistant", (Text(words),))


def step(key, tool, arguments, output="ok", *, is_error=False):
    call = ToolCall(key, tool, json.dumps(arguments))
    return [Message("assistant", (call,)), Message("tool", (ToolResult(key, output, is_error),))]


def work(first, turns):
    numbers = range(first, first + turns)
    output = "built part_{n} in {n}9 ms and checked it against docs/part{n}/notes.md\n"
    return [
        m
        for n in numbers
        for m in step(f"w{n}", "bash", {"command": f"make part{n}"}, output.format(n=n) * 3)
    ]


SESSION = [
    user("Begin."),
    assistant("Yes."),
    user("Never use eval."),
    *step("e", "write_file", {"path": "src/a.py", "content": "x\ny"}),
    *step("f", "bash", {"command": "pytest"}, "FAILED t.py::test_b - boom\nExit code: 1", is_error=True),
    *work(0, 60),
    user("Now the last part."),
]


def start(messages=SESSION, *, use_model=True, **policy):
    options = CompressionPolicy(max_tokens=1_500, **policy)
    return compress_flow(messages, policy=options, count=TokenCounter(), use_model=use_model)


def finish(flow, answer="## Goal\n- Ship."):
    try:
        while True:
            flow.send(answer)
    except StopIteration as stop:
        return stop.value


def test_a_summariser_is_told_which_facts_must_survive():
    request = next(start())
    assert request.facts == ("Never use eval.", "src/a.py", "FAILED t.py::test_b - boom")
    assert request.max_tokens > 0


def test_a_model_and_the_digest_are_held_to_the_same_facts():
    flow = start()
    next(flow)
    by_model = finish(flow)
    (by_digest,) = [run_out(start(use_model=False))]
    assert by_model.retention.facts == by_digest.retention.facts == 3
    assert by_model.retention.kept == by_digest.retention.kept == 3


def run_out(flow):
    try:
        next(flow)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("nobody was to be asked")


def test_the_active_task_comes_first_and_what_is_folded_last():
    result = run_out(start(use_model=False))
    names = list(split_sections(find_body(result.summary)))
    assert (names[0], names[-1]) == ("Active Task", "Folded Messages")
    assert read_folded_numbers(find_body(result.summary)).spans == result.folded


def test_a_fold_around_the_newest_request_names_both_sides():
    messages = [user("Begin."), assistant("Yes."), *work(0, 40), user("Now this."), *work(100, 60)]
    result = run_out(start(messages, use_model=False))
    assert read_folded_numbers(find_body(result.summary)).spans == result.folded
    assert result.folded == (Span(1, 82), Span(83, result.folded[1].stop))


def test_rules_are_no_facts_where_pins_are_off_but_are_looked_for_all_the_same():
    assert "Never use eval." in next(start(pins=False)).facts


def test_what_a_failing_summariser_leaves_is_the_digest_and_a_warning():
    items = [{"role": "user", "content": "Begin."}]
    items += [{"role": "assistant", "content": f"Part {n} is done, {n}77 rows. " * 5} for n in range(60)]
    items.append({"role": "user", "content": "Now."})
    for answer in ("", "   "):
        result = compress(items, max_tokens=1_200, summarizer=lambda _request, said=answer: said)
        assert result.summarizer == "digest"
        assert result.warning
        assert result.summary == compress(items, max_tokens=1_200).summary


def test_a_topic_gets_most_of_a_digest_without_a_model():
    talk = [{"role": "user", "content": "Begin."}]
    for number in range(200):
        topic = "the ferry tariff" if number % 10 == 0 else "the garden shed"
        talk.append(
            {"role": "assistant", "content": f"Note {number} is about {topic} and says item {number}."}
        )
        talk.append({"role": "user", "content": "go on"})
    focused = compress(talk, max_tokens=1_600, focus="ferry tariff").summary
    plain = compress(talk, max_tokens=1_600).summary
    assert focused.count("ferry tariff") > 3 * plain.count("ferry tariff")
