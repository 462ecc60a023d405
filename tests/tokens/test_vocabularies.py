"""Which vocabulary a model counts with."""

import pytest

from midfold.tokens.tokenizers import find_family, load_counter


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4.1-mini", "o200k_base"),
        ("ft:gpt-4.1-2025-04-14:acme::x", "o200k_base"),
        ("openai/gpt-5.1-codex", "o200k_base"),
        ("o3", "o200k_base"),
        ("azure/o4-mini", "o200k_base"),
        ("openai.gpt-oss-120b-1:0", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-1106-preview", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("claude-opus-4-5", "o200k_base"),
        ("deepseek/deepseek-chat", "deepseek_v3"),
        ("deepseek-r1-distill-qwen-32b", "qwen3"),
        ("deepseek-r1-distill-llama-70b", "llama3"),
        ("Qwen/Qwen3-Coder-480B", "qwen3"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3"),
        ("llama-2-70b-chat", "llama2"),
        ("zai/glm-4.6", "glm4"),
        ("moonshot/kimi-k2-thinking", "kimi_k2"),
        ("mistral-large-latest", "mistral_v3"),
        ("ministral-8b", "mistral_v3"),
        ("magistral-medium", "mistral_v3"),
        ("mixtral-8x7b-instruct", "mistral_v1"),
        ("ollama/mistral-nemo", "mistral_v3"),
        ("gemini-2.5-pro", "gemma4"),
        ("gemma-2-9b-it", "gemma2"),
        ("gemma-27b-it", "gemma4"),
    ],
)
def test_a_model_counts_with_its_own_vocabulary(model, vocabulary):
    assert find_family(model).vocabulary == vocabulary


@pytest.mark.parametrize(
    "model", ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "openrouter/anthropic/claude-opus-4.6"]
)
def test_claude_needs_a_fifth_more_than_the_borrowed_vocabulary_whatever_the_route(model):
    assert find_family(model).factor == pytest.approx(1.2)


def test_an_unknown_model_is_counted_with_a_margin():
    assert find_family("solar-pro-9").factor > find_family(None).factor


# Counts of the reference implementation, as published.
@pytest.mark.parametrize(
    ("text", "cl100k", "o200k"),
    [
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
    ],
)
def test_counts_equal_the_reference_implementation(text, cl100k, o200k):
    assert load_counter("cl100k_base")(text) == cl100k
    assert load_counter("o200k_base")(text) == o200k


@pytest.mark.parametrize("vocabulary", ["o200k_base", "qwen3", "deepseek_v3", "gemma4", "mistral_v3"])
def test_control_tokens_spelled_in_a_text_are_words(vocabulary):
    assert load_counter(vocabulary)("<|endoftext|><|im_start|><|think|>") > 6


@pytest.mark.parametrize("run", ["a", " ", "\n", "=", "的", "ab", "1"])
def test_a_long_run_is_counted_whole_and_soon(run):
    # A quadratic tokenizer would run into the time limit of the suite.
    assert load_counter("o200k_base")(run * 300_000) >= 300_000 / 128


def test_a_text_beyond_memory_is_counted_in_slices():
    text = "The quick brown fox jumps over the lazy dog. " * 50_000
    count = load_counter("o200k_base")
    assert len(text) > 2_000_000
    assert count(text) == pytest.approx(
        50_000 * count("The quick brown fox jumps over the lazy dog. "), rel=0.1
    )


@pytest.mark.parametrize("text", ["<|endoftext|>", "a <|assistant|> b" * 50, "<| not a token", "plain", "|>"])
def test_words_that_look_like_control_tokens_are_counted_as_words(text):
    from splintr import Tokenizer

    for vocabulary in ("o200k_base", "cl100k_base", "llama3", "qwen3"):
        exact = len(Tokenizer.from_pretrained(vocabulary).encode_ordinary(text))
        assert load_counter(vocabulary)(text) == exact
