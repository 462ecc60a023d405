"""Notes that take the place of notes keep their room."""

import midfold


def word(seed):
    return "".join(chr(97 + (seed * 7919 + 31 * seed // (at + 1)) % (26 - at)) for at in range(7))


def work(start, stop):
    """Yield turns whose results say something different in every line."""
    for number in range(start, stop):
        call = {"name": "read_meter", "arguments": f'{{"meter": "north-{number}"}}'}
        yield {
            "role": "assistant",
            "content": f"Meter north-{number} drifts by {number % 7}.{number} volts since its last seal.",
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
        }
        lines = [" ".join(word(number * 977 + n * 13 + at) for at in range(7)) for n in range(30)]
        yield {"role": "tool", "tool_call_id": f"c{number}", "content": "\n".join(lines)}


def fold(messages):
    return midfold.compress(messages, context_length=200_000, strategy="fold")


def test_a_fold_of_little_news_does_not_shrink_the_notes():
    first = fold([{"role": "user", "content": "Check all meters."}, *work(0, 120)])
    assert first.summary_tokens > 8_000
    news = [{"role": "user", "content": "Go on."}, *work(120, 136)]
    second = fold([*first.messages, *news])
    assert second.reason == "folded"
    assert second.summary_tokens > 0.9 * first.summary_tokens
