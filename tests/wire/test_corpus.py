"""Every real conversation, the dirty ones too: read, handed back as it was, converted, and judged."""

import gzip
import json

import pytest

from midfold.wire import DIALECTS, convert, detect, parse, render
from midfold.wire.validate import is_waiting, validate


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
        faults = [fault for fault in validate(conversion.messages, dialect=to) if not is_waiting(fault)]
        assert faults == [], name


def test_what_a_conversion_does_not_say_is_listed(corpus):
    for name, items in corpus.items():
        said = sum(len(message.text) for message in parse(items))
        conversion = convert(parse(items), "anthropic")
        told = sum(len(message.text) for message in parse(conversion.messages, "anthropic"))
        told += len(conversion.system or "")
        assert told >= said * 0.98 or conversion.losses, name


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
