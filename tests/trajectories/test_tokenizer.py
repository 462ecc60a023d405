"""What counts: packaged vocabularies, those of models, and the user's own file."""

import json

import pytest

from midfold.errors import ConfigError
from midfold.tokens import count_tokens
from midfold.trajectories import CompressionConfig, TrajectoryCompressor
from midfold.trajectories.tokenizer import fingerprint_tokenizer, load_opening_counter, load_tokenizer

WORDS = "The night rate of zone 4 is 2.40, not 2.50: see docs/rates.md."


def write_tokenizer(folder):
    """Write a byte-level tokenizer that knows one merge, and return the file."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    letters = [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
    vocabulary = {letter: place for place, letter in enumerate(sorted(letters))}
    vocabulary["th"] = len(vocabulary)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {
        "id": len(vocabulary),
        "content": "<end>",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    file = folder / "tokenizer.json"
    file.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [end],
                "normalizer": None,
                "pre_tokenizer": byte_level,
                "post_processor": None,
                "decoder": byte_level,
                "model": {"type": "BPE", "vocab": vocabulary, "merges": ["t h"], "byte_fallback": False},
            }
        )
    )
    return file


def test_packaged_vocabulary_counts_by_its_name():
    assert load_tokenizer("o200k_base")(WORDS) == count_tokens(WORDS, "gpt-5")


@pytest.mark.parametrize("model", ["qwen/qwen3-32b", "gpt-4", "anthropic/claude-sonnet-4-5", "kimi-k2"])
def test_model_counts_as_it_does_elsewhere(model):
    assert load_tokenizer(model)(WORDS) == count_tokens(WORDS, model)


@pytest.mark.parametrize("by_folder", [False, True])
def test_file_of_the_user_counts_as_it_says(tmp_path, by_folder):
    file = write_tokenizer(tmp_path)
    count = load_tokenizer(str(tmp_path if by_folder else file))
    assert count("thin paths") == 8
    assert count("") == 0


def test_file_of_the_user_that_changed_is_told_from_what_it_was(tmp_path):
    file = write_tokenizer(tmp_path)
    before = fingerprint_tokenizer(str(tmp_path))
    assert before == fingerprint_tokenizer(str(file))
    file.write_text(file.read_text().replace("<end>", "<stop>"))
    assert fingerprint_tokenizer(str(file)) != before
    assert fingerprint_tokenizer("o200k_base") is None


def test_control_words_in_a_text_are_text(tmp_path):
    assert load_tokenizer(str(write_tokenizer(tmp_path)))("<end>") == 5


def test_halves_of_characters_are_counted_rather_than_refused(tmp_path):
    assert load_tokenizer(str(write_tokenizer(tmp_path)))("a\ud83d") == 2


def test_long_text_is_counted_in_slices(tmp_path):
    assert load_tokenizer(str(write_tokenizer(tmp_path)))("ab" * 600_000) == 1_200_000


@pytest.mark.parametrize("name", ["", "nobodys-model-7b", "no/such/tokenizer.json"])
def test_unknown_tokenizer_is_refused_before_anything_is_read(name):
    with pytest.raises(ConfigError) as caught:
        TrajectoryCompressor(CompressionConfig(tokenizer=name))
    assert caught.value.key == "trajectories.tokenizer"


def test_file_that_is_no_tokenizer_is_refused(tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text("{}")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tokenizer(str(file))


@pytest.mark.parametrize("text", ["", WORDS, WORDS * 5_000, "\ud83d"])
def test_opening_is_counted_like_everything_else_also_when_it_comes_again(text):
    count = load_opening_counter("o200k_base")
    assert [count(text), count(text)] == [load_tokenizer("o200k_base")(text)] * 2
