"""Agents that write their commands into words: what a command gave back is nobody's request, in no fold."""

import pytest

from midfold.engines.lossless import LosslessEngine
from midfold.engines.lossless.nodes import read_frame
from midfold.summaries import split_sections
from midfold.wire import parse

KEY = b"a key of sixteen"
TASK = "Mend the tariff of the old harbour: it takes three coins where it should take two."
LISTING = "\n".join(f"{number}: tariff = Tariff(quay={number}, coins={number % 4})" for number in range(60))


def step(number, path):
    """Return a command, and what it gave back."""
    return [
        {"role": "assistant", "content": f"Look at quay {number}.\n<command>\nopen {path}\n</command>"},
        {"role": "user", "content": f"{path} (60 lines total)\n{LISTING}\n(Open file: {path})\nbash-$"},
    ]


def frame_of(items):
    return next(frame for each in parse(items, "openai_chat") if (frame := _sections(each)))


def _sections(message):
    return split_sections(message.text) if read_frame(message, KEY) else None


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_where_little_was_said_since_a_fold_the_task_is_still_the_persons(steps):
    items = [{"role": "user", "content": TASK}]
    for number in range(12):
        items += step(number, f"/quays/quay_{number}.py")
    for number in range(5):
        result = LosslessEngine(200_000, key=KEY, prepare_ahead=False).compress_result(
            items, most_tokens=2_600
        )
        items = list(result.messages)
        sections = frame_of(items)
        assert sections["Active Task"].startswith(TASK[:40])
        assert "tariff = Tariff" not in "".join(sections.values())
        for more in range(steps):
            items += step(20 + number * 3 + more, f"/quays/far_{number}_{more}.py")
