"""Faults that a stored fold once had when a client sent its history again, each as small as can be."""

import copy
import json

import pytest

from midfold.engines import ContextCompressor
from midfold.folding import CompressionPolicy, Strategy
from midfold.folding.flow import compress
from midfold.folding.fold import apply
from midfold.folding.run import run
from midfold.folding.state import CompressionState
from midfold.messages import chain_digests
from midfold.pipeline import render_compression
from midfold.store import open_store
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse, render
from midfold.wire.validate import validate

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def fold(items, dialect, max_tokens=2_500, strategy=Strategy.FOLD, **settings):
    policy = CompressionPolicy(context_length=32_000, max_tokens=max_tokens, strategy=strategy, **settings)
    flow = compress(parse(items, dialect), policy=policy, count=TokenCounter(), key=b"key")
    return render_compression(run(flow, lambda _: ""), Request(dialect, items), CompressionState())


def answer(number, content, arguments="{}", **more):
    call = {"id": f"c{number}", "type": "function", "function": {"name": "run", "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call], **more},
        {"role": "tool", "tool_call_id": f"c{number}", "content": content},
    ]


def test_thinking_dropped_from_an_edited_message_makes_no_second_call():
    written = json.dumps({"path": "a.py", "content": "x = 1\n" * 400})
    items = [{"role": "system", "content": "sys"}, {"role": "user", "content": "do it"}]
    for number in range(6):
        items += answer(number, "line\n" * 300, written, reasoning_content="let me think")
    items.append({"role": "user", "content": "and now the last"})
    result = fold(items, "openai_chat", max_tokens=3_000, strategy=Strategy.PRUNE)
    without = [{key: value for key, value in item.items() if key != "reasoning_content"} for item in items]
    sent = render(apply(result.fold, parse(without, "openai_chat")), "openai_chat")
    assert validate(sent, dialect="openai_chat") == []
    assert all(len(item["tool_calls"]) == 1 for item in sent if item["role"] == "assistant")


def test_reasoning_items_that_are_dropped_keep_the_fold():
    items = transcript("openai_responses", seed=1, turns=12, result_chars=2_500, thinking=True)
    result = fold(items, "openai_responses")
    without = [item for item in items if item.get("type") != "reasoning"]
    messages = parse(without, "openai_responses")
    assert len(without) < len(items)
    assert result.fold.prefix_digest in chain_digests(messages)
    sent = render(apply(result.fold, messages), "openai_responses")
    assert validate(sent, dialect="openai_responses") == []


def test_a_system_prompt_that_changes_keeps_the_fold():
    items = transcript("openai_chat", seed=2, turns=12, result_chars=2_500)
    result = fold(items, "openai_chat")
    changed = copy.deepcopy(items)
    changed[0]["content"] += " Today is Tuesday."
    messages = parse(changed, "openai_chat")
    assert result.fold.prefix_digest in chain_digests(messages)
    assert "Today is Tuesday." in str(render(apply(result.fold, messages), "openai_chat")[0])


def test_a_stored_fold_says_what_was_sent(tmp_path):
    items = [{"role": "system", "content": "s"}, {"role": "user", "content": "first"}]
    for number in range(8):
        items += answer(number, f"token {TOKEN}\n" + "some output line\n" * 700)
    result = fold(items, "openai_chat", max_tokens=4_000)
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        session = store.create_session(dialect="openai_chat").id
        store.append(session, items)
        child = store.continue_session(session, result.messages, result)
        found = store.find_fold(chain_digests(parse(items, "openai_chat")))
    assert (found.child_id, found.fold) == (child, result.fold)
    assert render(apply(found.fold, parse(items, "openai_chat")), "openai_chat") == result.messages
    assert TOKEN not in str(result.messages)


@pytest.mark.parametrize("has_note", [True, False])
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_a_fold_of_a_fold_is_found(tmp_path, dialect, has_note):
    items = transcript(dialect, seed=5, turns=14, result_chars=2_500)
    more = transcript(dialect, seed=6, turns=12, result_chars=2_500, system=False)
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        session = store.create_session(dialect=dialect).id
        store.append(session, items)
        first = fold(items, dialect, add_system_note=has_note)
        child = store.continue_session(session, first.messages, first)
        everything = parse([*items, *more], dialect)
        once = apply(store.find_fold(chain_digests(everything)).fold, everything)
        store.append(child, more)
        second = fold(render(once, dialect), dialect, add_system_note=has_note)
        grandchild = store.continue_session(child, second.messages, second)
        for shown in (once, parse(render(once, dialect), dialect)):
            assert store.find_fold(chain_digests(shown)).child_id == grandchild


def test_two_engines_write_the_same_bytes():
    items = transcript("openai_chat", turns=40, result_chars=2_500)
    items[3] = {"role": "user", "content": f"the key is {TOKEN}, use it. Never print it."}
    policy = CompressionPolicy(strategy=Strategy.FOLD)

    def folded(key=b""):
        return ContextCompressor(60_000, policy=policy, key=key).compress(items)

    assert folded() == folded()
    assert folded(b"one") == folded(b"one")
    assert folded(b"one") != folded(b"another")
