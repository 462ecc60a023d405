"""Seals say what the digests of a fold are made of, however the messages came."""

import pytest

from midfold.compression.results import span_digest
from midfold.compression.seals import join_digests, seal
from midfold.messages import Message, Reasoning, chain_digests
from midfold.testing import conversation


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic"])
def test_links_are_the_chained_digests(dialect):
    messages = conversation(dialect, turns=4, thinking=True)
    assert [each.link for each in seal(messages)] == chain_digests(messages)


def test_messages_sealed_one_by_one_have_the_seals_of_all_at_once():
    messages = conversation(turns=4)
    seals = []
    for message in messages:
        seals += seal([message], seals)
    assert seals == seal(messages)


def test_digests_of_some_messages_join_to_the_digest_of_their_span():
    messages = conversation(turns=4)
    seals = seal(messages)
    assert join_digests(seals[index].digest for index in (1, 2, 5)) == span_digest(messages, {5, 1, 2})


def test_thinking_alone_breaks_no_chain():
    messages = conversation(turns=2)
    thought = Message("assistant", (Reasoning("hm"),))
    assert seal([messages[0], thought, messages[1]])[-1].link == seal(messages[:2])[-1].link
