"""Offloaded output is searched, too: by the recall tool, and beside a request where that is wanted."""

import pytest

from midfold.agent.auto_recall import recall_for
from midfold.agent.tools.output_recall import find_in_outputs
from midfold.agent.tools.recall import recall_tool
from midfold.offload import MemorySink
from midfold.store import open_store
from midfold.tokens import TokenCounter

LOG = "\n".join(f"meter {number} answered in {number % 90} ms" for number in range(4_000))
FAULT = "pump 7 stopped: its relay burnt through at noon"
ASKED = "why did the relay of pump 7 stop?"


@pytest.fixture
def sink():
    kept = MemorySink()
    lines = LOG.split("\n")
    lines[3_000:3_000] = [FAULT]
    kept.write("c1", "\n".join(lines), tool="terminal")
    kept.write("c2", LOG, tool="terminal")
    return kept


def test_the_passage_that_answers_is_found_with_its_line(sink):
    [first, *_] = find_in_outputs(ASKED, sink, 3)
    assert "relay burnt through" in first.snippet
    assert first.info.call_id == "c1"
    assert first.line <= 3_001 <= first.line + 200


def test_the_recall_tool_finds_what_only_the_offloaded_output_says(sink):
    with open_store("sqlite::memory:") as store:
        session = store.create_session().id
        tool = recall_tool(store, lambda: session, lambda: sink)
        answer = tool.run({"query": ASKED})
        assert "relay burnt through" in answer
        assert "offloaded output" in answer
        assert tool.run({"query": "zebra crossing paint"}) == "[nothing was found]"


def test_offloaded_output_is_recalled_beside_a_request_within_the_budget(sink):
    with open_store("sqlite::memory:") as store:
        session = store.create_session().id
        count = TokenCounter()
        found = recall_for(ASKED, store, session, [], tokens=300, count=count, sink=sink)
        assert "relay burnt through" in found
        assert count.count_text(found) <= 300
        assert recall_for(ASKED, store, session, [], tokens=60, count=count, sink=sink) == ""


def test_output_that_cannot_be_read_is_left_out():
    class Broken(MemorySink):
        def outputs(self):
            raise PermissionError(13, "Permission denied")

    with open_store("sqlite::memory:") as store:
        session = store.create_session().id
        store.append(session, [{"role": "user", "content": FAULT}])
        answer = recall_tool(store, lambda: session, Broken).run({"query": ASKED})
        assert "relay burnt" in answer
