"""In a conversation each message is parsed, digested and counted once in its life, whoever needs it."""

import threading
from collections import Counter

import pytest

from midfold.messages import ToolCall, digests
from midfold.testing.upstream import Reply, Upstream
from midfold.tokens.counting import TokenCounter
from midfold.wire.dialect import Dialect

CALLED = '{"path": "notes.txt"}'


@pytest.fixture
def counted(monkeypatch):
    """Count what is done with each text of a message, by the first words of it."""
    done = {"parsed": Counter(), "digested": Counter(), "counted": Counter()}
    read, canonical, count_part = Dialect.read, digests.canonical_bytes, TokenCounter._count_part

    def parsed(self, raw):
        message = read(self, raw)
        done["parsed"][_name(message)] += is_ours()
        return message

    def digested(message):
        done["digested"][_name(message)] += is_ours()
        return canonical(message)

    def counted_part(self, part):
        done["counted"][getattr(part, "text", "")] += is_ours()
        return count_part(self, part)

    monkeypatch.setattr(Dialect, "read", parsed)
    monkeypatch.setattr(digests, "canonical_bytes", digested)
    monkeypatch.setattr(TokenCounter, "_count_part", counted_part)
    return done


def is_ours():
    return threading.current_thread().name != "upstream"  # which reads and counts for itself


def _name(message):
    return message.text or "".join(part.text for part in message.results)


def test_every_message_of_a_chat_is_read_once(make_agent, play, counted, workspace):
    questions = [f"question number {number}" for number in range(6)]
    answers = [f"answer number {number}" for number in range(6)]
    script = [Reply(calls=(ToolCall("c1", "read_file", CALLED),)), *map(Reply, answers)]
    (workspace / "notes.txt").write_text("buy milk")
    with Upstream(script) as up:
        agent = make_agent(up)
        for question in questions:
            play(agent, question)
    [result] = [text for text in counted["digested"] if "buy milk" in text]
    for text in [*questions, *answers, result]:
        assert (counted["parsed"][text], counted["digested"][text]) == (1, 1)
    for text in [*questions, *answers[:-1], result]:  # nothing was asked after the last answer
        assert counted["counted"][text] == 1
