"""Every real conversation, the dirty ones too: read, handed back as it was, converted, and judged."""

import gzip
import json

import pytest

from midfold.messages import Text, ToolCall, ToolResult
from midfold.wire import DIALECTS, convert, detect, parse, render
from midfold.wire.validate import find_errors, validate


@pytest.fixture(scope="module")
def corpus(data_dir):
    return {
        path.name.removesuffix(".json.gz"): json.loads(gzip.decompress(path.read_bytes()))["messages"]
        for path in sorted((data_dir / "corpus").glob("*.json.gz"))
    }


def test_every_conversation_is_read_and_comes_back_as_the_same_objects(corpus):
    for name, items in corpus.items():
        assert detect(items) == "openai_chat", name
        rendered = render(parse(items), "openai_chat")
        assert len(rendered) == len(items), name
        assert all(new is old for new, old in zip(rendered, items, strict=True)), name


@pytest.mark.parametrize("to", sorted(DIALECTS))
def test_every_conversation_is_legal_in_every_dialect_once_converted(corpus, to):
    for name, items in corpus.items():
        conversion = convert(parse(items), to)
        faults = find_errors(conversion.messages, dialect=to)
        assert faults == [], name


@pytest.mark.parametrize("to", sorted(DIALECTS))
def test_what_a_conversion_does_not_say_is_listed(corpus, to):
    for name, items in corpus.items():
        messages = parse(items)
        conversion = convert(messages, to)
        told = _words(parse(conversion.messages, to))
        joined = "\n".join([conversion.system or "", *told])  # neighbours may stand in one text
        lossy = {loss.index for loss in conversion.losses}
        for index, message in enumerate(messages):
            unsaid = {words for words in _words([message]) - told if words not in joined}
            assert not unsaid or index in lossy, (name, index)


def _words(messages):
    """Every text, result and argument of the messages, without the white space around it."""
    parts = [part for message in messages for part in message.parts]
    texts = [part.text for part in parts if isinstance(part, Text | ToolResult)]
    arguments = [
        json.dumps(part.parse_arguments(), sort_keys=True) for part in parts if isinstance(part, ToolCall)
    ]
    return {words.strip() for words in (*texts, *arguments) if words.strip()}


def test_dirt_is_reported_where_the_manifest_says_it_is(corpus, data_dir):
    manifest = json.loads((data_dir / "corpus" / "manifest.json").read_text())
    unanswered = 0
    for entry in manifest["dirty"]:
        found = {fault.index for fault in validate(corpus[entry["id"]], dialect="openai_chat")}
        for issue in entry["issues"]:
            if issue.startswith("unanswered_call@"):
                unanswered += 1
                assert int(issue.partition("@")[2].partition(":")[0]) in found, (entry["id"], issue)
    assert unanswered > 10
