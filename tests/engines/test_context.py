"""What fills the window, section by section: everything is counted once, and the summary is told apart."""

import pytest

import midfold
from midfold.engines.context_breakdown import Section, context_breakdown
from midfold.folding import CompressionPolicy
from midfold.messages import Message, Text
from midfold.testing import conversation
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS, parse

COUNT = TokenCounter("gpt-5")
POLICY = CompressionPolicy(context_length=128_000)


def sections(context):
    return {share.section: share.tokens for share in context.sections}


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_sections_add_up_in_every_dialect(dialect):
    messages = conversation(dialect, turns=30)
    context = context_breakdown(messages, COUNT, POLICY, system_tokens=300, schema_tokens=700)
    assert context.tokens == sum(map(COUNT, messages)) + 1_000
    assert sum(sections(context).values()) == context.tokens
    assert sum(share.messages for share in context.sections) == len(messages)


def test_a_long_conversation_has_a_middle_that_the_next_fold_would_take():
    context = context_breakdown(conversation("openai_chat", turns=120), COUNT, POLICY)
    assert [share.section for share in context.sections] == [
        Section.SYSTEM,
        Section.HEAD,
        Section.MIDDLE,
        Section.TAIL,
    ]


def test_after_a_fold_there_is_a_summary():
    items = [message.raw for message in conversation("openai_chat", turns=80)]
    folded = midfold.compress(items, max_tokens=8_000, strategy="fold")
    context = context_breakdown(parse(folded.messages), COUNT, POLICY)
    assert context.has_summary
    assert context.tokens_of(Section.SUMMARY) == pytest.approx(folded.summary_tokens, rel=0.1)
    assert not context_breakdown(parse(items), COUNT, POLICY).has_summary


def test_memory_is_told_apart_from_the_system_prompt():
    context = context_breakdown([], COUNT, system_tokens=500, schema_tokens=200, memory_tokens=120)
    assert sections(context) == {Section.TOOLS: 200, Section.SYSTEM: 380, Section.MEMORY: 120}


def test_more_memory_than_system_prompt_is_all_of_it():
    context = context_breakdown([], COUNT, system_tokens=100, memory_tokens=500)
    assert sections(context) == {Section.MEMORY: 100}


def test_tools_say_what_came_through_them():
    context = context_breakdown(conversation("anthropic", turns=10), COUNT, POLICY)
    assert context.tools
    assert sum(tool.tokens for tool in context.tools) < context.tokens


def test_the_window_and_what_is_free_come_from_the_policy():
    context = context_breakdown([Message("user", (Text("hello"),))], COUNT, POLICY)
    assert context.context_length == 128_000
    assert context.threshold_tokens == POLICY.threshold_tokens
    assert context.free_tokens == 128_000 - context.tokens


def test_without_a_policy_the_window_is_not_known():
    context = context_breakdown([], COUNT)
    assert (context.tokens, context.context_length, context.free_tokens) == (0, None, None)
    assert context.sections == ()
