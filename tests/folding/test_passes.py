"""Passes that fill one ceiling: what they have in common is worked out once."""

from midfold import compress
from midfold.summaries import sources


def repeated(times):
    return [{"role": "user", "content": "hello " * 10}, {"role": "assistant", "content": "ok " * 30}] * times


def test_passes_that_fold_the_same_turns_read_them_once(monkeypatch):
    read = []

    def collect(messages, indices, *args, **options):
        read.append(tuple(indices))
        return original(messages, indices, *args, **options)

    original = sources.collect
    monkeypatch.setattr(sources, "collect", collect)
    compress(repeated(12), max_tokens=450)  # too little to say for its room: it is tried again and again
    assert read
    assert len(read) <= 2 * len(set(read))


def test_what_earlier_passes_read_changes_nothing(monkeypatch):
    kept = compress(repeated(12), max_tokens=450)
    monkeypatch.setattr(sources, "_MOST_READINGS", 0)
    assert compress(repeated(12), max_tokens=450).messages == kept.messages
