"""A tail too large to keep: its largest results are cut, nothing else."""

from midfold.folding import CompressionPolicy
from midfold.folding.excerpts import shrink_tail
from midfold.folding.fold import Span
from midfold.folding.layout import lay_out
from midfold.messages import Message, Text, ToolCall, ToolResult


def count(message):
    return 1 + sum(len(getattr(part, "text", "")) // 4 for part in message.parts)


def tail_of(*results, waiting=False):
    calls = tuple(ToolCall(f"c{n}", "read", "{}") for n in range(len(results) + waiting))
    messages = [Message("user", (Text("go"),)), Message("assistant", calls)]
    messages += [Message("tool", (ToolResult(f"c{n}", text),)) for n, text in enumerate(results)]
    return lay_out(messages, [count(message) for message in messages], CompressionPolicy()), messages


def test_the_largest_results_give_way_first():
    layout, messages = tail_of("a" * 40_000, "b" * 800)
    [edit] = shrink_tail(layout, Span(0, len(messages)), 2_000, count)
    assert edit.index == 2
    cut = edit.parts[0][1].text
    assert cut.startswith("aaa")
    assert cut.endswith("aaa")
    assert count(edit.apply(messages[2])) < 2_000


def test_a_tail_that_fits_is_left_alone():
    layout, messages = tail_of("a" * 400)
    assert shrink_tail(layout, Span(0, len(messages)), 2_000, count) == ()


def test_results_of_a_group_that_still_waits_are_left_alone():
    layout, messages = tail_of("a" * 40_000, waiting=True)
    assert layout.waiting == 1
    assert shrink_tail(layout, Span(0, len(messages)), 2_000, count) == ()


def test_output_in_a_users_message_is_cut_like_a_result():
    listing = "Ran `find .`\n```\n" + "./objects/2d/9f8a6af51b299f09943f10c2c1ecd10f73fb6b\n" * 2_000 + "```"
    messages = [
        Message("user", (Text("Sort the tides."),)),
        Message("assistant", (Text("Sorted."),)),
        Message("user", (Text(listing),)),
    ]
    sizes = [count(message) for message in messages]
    layout = lay_out(messages, sizes, CompressionPolicy())
    assert layout.newest == Span(2, 3)
    [cut] = shrink_tail(layout, Span(1, 3), 500, count)
    assert cut.index == 2
    assert count(cut.apply(messages[2])) < 600


def test_what_a_person_says_is_never_cut_with_the_tail():
    words = "Please sort the tides of every harbour by their height. " * 500
    messages = [
        Message("user", (Text("Hello."),)),
        Message("assistant", (Text("Hi."),)),
        Message("user", (Text(words),)),
    ]
    layout = lay_out(messages, [count(message) for message in messages], CompressionPolicy())
    assert shrink_tail(layout, Span(1, 3), 500, count) == ()


def test_another_products_summary_is_never_cut_with_the_tail():
    summary = (
        "This session is being continued from a previous conversation that ran out of context. "
        "The conversation is summarized below:\n\n# Request\nSort the tides.\n\n# Files\n"
        + "src/tides.py sorts them by height.\n" * 300
        + "\n# Next\nShow them."
    )
    messages = [
        Message("user", (Text("Sort the tides."),)),
        Message("assistant", (Text("Sorted."),)),
        Message("user", (Text(summary),)),
    ]
    layout = lay_out(messages, [count(message) for message in messages], CompressionPolicy())
    assert layout.newest == Span(2, 3)
    assert shrink_tail(layout, Span(1, 3), 500, count) == ()
