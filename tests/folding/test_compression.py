"""The words in which a compression is reported."""

from midfold.folding.compression import summarize_manual_compression

A, B, C = ({"role": "user", "content": letter} for letter in "abc")


def test_nothing_changed():
    told = summarize_manual_compression([A, B], [A, B], 1_200, 1_200)
    assert told == {
        "noop": True,
        "headline": "No changes from compression: 2 messages",
        "token_line": "Request size: ~1,200 tokens (unchanged)",
        "note": None,
    }


def test_something_changed():
    told = summarize_manual_compression([A, B, C], [A], 12_345, 1_000)
    assert (told["noop"], told["headline"]) == (False, "Compressed: 3 → 1 messages")
    assert told["token_line"] == "Request size: ~12,345 → ~1,000 tokens"
    assert told["note"] is None


def test_fewer_messages_and_more_tokens_is_explained():
    assert "denser" in summarize_manual_compression([A, B], [C], 100, 300)["note"]
