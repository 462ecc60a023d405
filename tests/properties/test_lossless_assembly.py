"""What the lossless engine assembles, in every dialect and for every ceiling: each message exactly once."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.engines.lossless import LosslessEngine
from midfold.engines.lossless.layers import list_nodes
from midfold.engines.lossless.nodes import read_frame
from midfold.folding import CompressionPolicy
from midfold.messages import Message, pair_calls
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS, parse
from midfold.wire.validate import find_errors

KEY = b"a key of sixteen"
COUNT = TokenCounter()

shapes = st.fixed_dictionaries(
    {
        "turns": st.integers(4, 14),
        "steps": st.integers(0, 5),
        "parallel": st.integers(0, 4),
        "result_chars": st.sampled_from([0, 400, 3_000]),
        "thinking": st.booleans(),
        "images": st.booleans(),
        "last": st.sampled_from([None, "run the tests", "go on"]),
    }
)
lives = st.lists(st.tuples(shapes, st.none() | st.integers(900, 12_000)), min_size=1, max_size=4)


def say(said: list[Message], items: list[object], shape: dict, dialect: str, seed: int) -> None:
    more = transcript(dialect, seed=seed, system=not items, **shape)
    more = json.loads(json.dumps(more).replace('"call_0', f'"call_{len(items)}_'))  # an id is used once
    said += parse(more, dialect)
    items += more


@settings(max_examples=12)
@given(st.sampled_from(sorted(set(DIALECTS) - {"sharegpt"})), lives, st.integers(0, 2**32))
def test_each_message_is_in_sight_or_behind_exactly_one_summary(dialect, life, seed):
    engine = LosslessEngine(
        20_000, key=KEY, prepare_ahead=False, policy=CompressionPolicy(context_length=20_000)
    )
    said: list[Message] = []
    items: list[object] = []
    for number, (shape, ceiling) in enumerate(life):
        say(said, items, shape, dialect, seed + number)
        result = engine.compress_result(items, most_tokens=ceiling)
        messages = parse(result.messages, dialect)
        check_size(result, messages)
        assert not find_errors(result.messages, dialect=dialect)
        check_cover(said, messages)
        check_groups(said, messages)
        items = list(result.messages)
    check_graph(engine.memory.graph.nodes)


def check_size(result, messages):
    """The budget is kept, by a count that the engine did not make."""
    if result.changed and not result.over_budget:
        assert sum(map(COUNT, messages)) <= result.budget_tokens
    assert result.over_budget or not result.changed or result.tokens_after <= result.budget_tokens


def check_cover(said, messages):
    covered = [number for node in list_nodes(messages, KEY) for span in node.spans for number in span]
    frames = [message for message in messages if read_frame(message, KEY)]
    kept = len(messages) - len(list_nodes(messages, KEY)) - len(frames)
    added = sum(len(read_frame(message, KEY).numbers.added) for message in frames)
    assert len(set(covered)) == len(covered)
    assert len(covered) + kept - added == len(said)
    assert set(covered) <= set(range(len(said)))
    lasts = [node.spans[-1].stop for node in list_nodes(messages, KEY)]
    assert lasts == sorted(lasts)
    listed = [
        name for message in frames for name in re.findall(r"^- (sum_\w+): ", message.text, re.MULTILINE)
    ]
    assert not listed or listed == [node.id for node in list_nodes(messages, KEY)]
    assert len(frames) == bool([node for node in list_nodes(messages, KEY) if not read_alone(node)])
    in_order = [each.parts for each in messages if each.role != "user"]
    originals = iter([each.parts for each in said if each.role != "user"])
    untouched = [parts for parts in in_order if any(parts == each.parts for each in said)]
    assert all(parts in originals for parts in untouched)


def read_alone(node):
    """Whether it is the one summary that a ceiling without room for several is met with."""
    return node.source_tokens == 0


def check_groups(said, messages):
    """A call and its result are behind one summary, or both in sight."""
    behind = {number: node.id for node in list_nodes(messages, KEY) for span in node.spans for number in span}
    for call, result in pair_calls(said).answers.items():
        assert behind.get(call.message) == behind.get(result.message)


def check_graph(nodes):
    """Sources are known, lie below what is made of them, and stand for the same messages."""
    for node in nodes.values():
        children = [nodes[child] for child in node.children]
        assert all(child.depth < node.depth for child in children)
        if children:
            below = sorted(number for child in children for span in child.spans for number in span)
            assert below == sorted(number for span in node.spans for number in span)
