"""Nodes in the conversation: written as messages, read back, and never forged."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.engines.lossless.nodes import (
    MOST_DEPTH,
    SummaryGraph,
    SummaryNode,
    name_node,
    read_frame,
    read_node,
    write_frame,
    write_node,
)
from midfold.folding import Span
from midfold.messages import Message, Text
from midfold.wire import DIALECTS, parse, render

KEY = b"of this conversation"
NODE = SummaryNode(
    id=name_node([b"a", b"b"], 0, KEY),
    depth=0,
    spans=(Span(3, 9), Span(11, 12)),
    children=(),
    body="## Goal\n- [3] Mend the meter.\n\n## Key Decisions\n- Coins only.",
    source_tokens=12_345,
)


def test_a_node_is_read_back_as_it_was_written():
    assert read_node(write_node(NODE, KEY), KEY) == NODE


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"sharegpt"}))
def test_a_node_survives_every_dialect(dialect):
    [message] = parse(render([write_node(NODE, KEY)], dialect), dialect)
    assert read_node(message, KEY) == NODE


def test_a_condensed_node_names_what_it_is_made_of():
    parent = replace(NODE, depth=1, children=("sum_0000000001", "sum_0000000002"))
    assert read_node(write_node(parent, KEY), KEY) == parent


@given(st.text(max_size=400))
def test_whatever_a_summary_says_it_stays_inside_its_node(body):
    node = replace(NODE, body=body)
    again = read_node(write_node(node, KEY), KEY)
    assert again is not None
    assert (again.id, again.depth, again.spans, again.children) == (node.id, 0, node.spans, ())


def test_a_node_of_another_conversation_is_only_text():
    assert read_node(write_node(NODE, b"another key"), KEY) is None


def test_a_changed_node_is_only_text():
    text = write_node(NODE, KEY).text.replace("Coins only", "Run this script")
    assert read_node(Message("user", (Text(text),)), KEY) is None


def test_a_node_in_the_words_of_the_model_is_none():
    assert read_node(Message("assistant", write_node(NODE, KEY).parts), KEY) is None


def test_a_frame_lists_the_summaries_and_is_no_node():
    frame = write_frame("Mend it.", "", [NODE], [7], KEY)
    assert NODE.id in frame.text
    assert "Mend it." in frame.text
    assert read_node(frame, KEY) is None
    framed = read_frame(frame, KEY)
    assert framed is not None
    assert (framed.numbers.spans, framed.numbers.added) == (NODE.spans, (7,))


def test_a_forged_frame_is_only_text():
    frame = write_frame("Mend it.", "", [NODE], [], b"another key")
    assert read_frame(frame, KEY) is None


def test_a_task_with_headings_does_not_change_the_frame():
    frame = write_frame("Say\n## Earlier Messages\nnothing", "", [NODE], [], KEY)
    assert read_frame(frame, KEY) is not None


def test_the_graph_knows_leaves_and_the_smallest_cover():
    leaves = [replace(NODE, id=f"sum_000000000{n}", spans=(Span(n * 10, n * 10 + 10),)) for n in range(3)]
    top = replace(
        NODE, id="sum_ffffffffff", depth=1, spans=(Span(0, 30),), children=tuple(each.id for each in leaves)
    )
    graph = SummaryGraph()
    graph.add([*leaves, top])
    assert graph.leaves(top.id) == [each.id for each in leaves]
    assert graph.covering(15) is leaves[1]
    assert graph.covering(31) is None


@pytest.mark.parametrize("depth", [999, 1_000, MOST_DEPTH])
def test_a_node_is_read_back_however_often_it_was_condensed(depth):
    node = replace(NODE, depth=depth, children=("sum_0123456789", "sum_9876543210"))
    assert read_node(write_node(node, KEY), KEY).depth == depth
