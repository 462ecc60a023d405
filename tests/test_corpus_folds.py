"""Every real conversation folds to a tenth in every dialect, to a twentieth in its own: legal and small."""

import gzip
import json

import pytest

import midfold
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS, convert, parse, read_request
from midfold.wire.validate import find_errors


@pytest.fixture(scope="module")
def corpus(data_dir):
    return {
        path.name.removesuffix(".json.gz"): json.loads(gzip.decompress(path.read_bytes()))["messages"]
        for path in sorted((data_dir / "corpus").glob("*.json.gz"))
    }


def faults(items, dialect):
    return len(find_errors(items, dialect=dialect))


@pytest.mark.parametrize(
    ("dialect", "part"),
    [("openai_chat", 20), *((dialect, 10) for dialect in sorted(DIALECTS))],
)
def test_every_conversation_folds(corpus, dialect, part):
    for name, messages in corpus.items():
        items = messages if dialect == "openai_chat" else convert(parse(messages), dialect).messages
        # A list counts as the models of its dialect do; one of plain words fits several.
        count = TokenCounter(read_request(items).counted_as)
        ceiling = max(1, sum(map(count, parse(items, dialect))) // part)
        result = midfold.compress(items, max_tokens=ceiling)
        assert faults(result.messages, dialect) <= faults(items, dialect), name
        assert result.tokens_after == sum(map(count, parse(result.messages, dialect))), name
        assert result.over_budget == (result.tokens_after > ceiling), name
        assert all(new is old for new, old in zip(result.restore(), items, strict=True)), name
