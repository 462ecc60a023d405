"""What providers say is read for what it means: real wordings, wrapped and spelt in every way they come."""

import json
from pathlib import Path

import pytest

from midfold.wire.failures import FailureKind, classify
from support.pace import is_linear

WORDINGS = json.loads((Path(__file__).parents[2] / "wire_fixtures" / "failures.json").read_text("utf-8"))
TO_COMPRESS = (FailureKind.PROMPT_TOO_LONG, FailureKind.PAYLOAD_TOO_LARGE)


def name_of(wording):
    return f"{wording['provider']}-{wording['body'][:40]}"


@pytest.mark.parametrize("wording", WORDINGS, ids=name_of)
def test_a_wording_is_read_for_its_kind_and_limit(wording):
    failure = classify(wording["status"], wording["body"])
    assert failure.kind == wording["kind"]
    assert failure.limit == wording["limit"]
    assert failure.malformed == wording["malformed"]


@pytest.fixture(scope="module")
def real_errors(data_dir):
    return json.loads((data_dir / "overflow_errors.json").read_text("utf-8"))


def test_every_real_error_is_read_for_its_kind_and_limit(real_errors):
    for error in real_errors:
        failure = classify(error["http_status"], error["body"])
        assert (failure.kind, failure.limit) == (error["kind"], error["limit"]), error["body"]


def test_the_counts_of_real_overflows_are_read(real_errors):
    for error in real_errors:
        failure = classify(error["http_status"], error["body"])
        if failure.kind in (FailureKind.PROMPT_TOO_LONG, FailureKind.MAX_TOKENS_TOO_LARGE):
            assert failure.input_tokens == error["input_tokens"], error["body"]


def misread(errors, mutate):
    """Return what is read otherwise after a mutation, as pairs of the expected and the found."""
    found = [(error, classify(error["status"], mutate(error["body"]))) for error in errors]
    return [
        (error, failure)
        for error, failure in found
        if (failure.kind, failure.limit) != (error["kind"], error["limit"])
    ]


def test_a_wording_means_the_same_however_it_is_wrapped(mutate):
    wrong = misread(WORDINGS, mutate)
    assert len(wrong) <= len(WORDINGS) * 0.01, wrong


def test_a_real_error_means_the_same_however_it_is_wrapped(real_errors, mutations):
    errors = [{**error, "status": error["http_status"]} for error in real_errors]
    wrong = [pair for mutate in mutations.values() for pair in misread(errors, mutate)]
    assert len(wrong) <= len(errors) * len(mutations) * 0.01, wrong
    assert [pair for pair in wrong if pair[0]["kind"] == "other" and pair[1].kind in TO_COMPRESS] == []


def test_no_negative_leads_to_compression_however_it_is_wrapped(mutate):
    negatives = [wording for wording in WORDINGS if wording["kind"] in ("rate_limit", "other")]
    assert [f for _, f in misread(negatives, mutate) if f.kind in TO_COMPRESS] == []


SPLIT = (
    "This model's maximum context length is 8192 tokens. However, you requested {total} tokens "
    "({sent} in the messages, {asked} in the completion)."
)


def test_the_same_sentence_is_told_apart_by_its_numbers():
    too_long = classify(400, SPLIT.format(total=9192, sent=8192, asked=1000))
    too_much = classify(400, SPLIT.format(total=8256, sent=64, asked=8192))
    assert too_long.kind is FailureKind.PROMPT_TOO_LONG
    assert too_much.kind is FailureKind.MAX_TOKENS_TOO_LARGE
    assert (too_much.limit, too_much.input_tokens, too_much.requested_output_tokens) == (8192, 64, 8192)


def test_an_upper_bound_that_is_exclusive_is_one_too_many():
    text = "maxOutputTokens value of 9000 but the supported range is from 1 (inclusive) to 8193 (exclusive)"
    assert classify(400, text).limit == 8192


@pytest.mark.parametrize(
    "text",
    [
        "prompt too long; exceeded max context length by 4096 tokens",
        "invalid params, context window exceeds limit (2013)",
        "Prompt exceeds max length (request id 20240229118812)",
    ],
)
def test_an_excess_a_code_or_an_id_is_no_limit(text):
    failure = classify(400, text)
    assert failure.kind is FailureKind.PROMPT_TOO_LONG
    assert failure.limit is None
    assert not failure.is_limit_learnable


def test_a_request_above_its_rate_is_known_to_fail_again():
    text = "Request too large on tokens per minute (TPM): Limit {}, Requested 9000, please reduce it"
    assert classify(413, text.format(6000)).exceeds_rate
    assert not classify(413, text.format(12000)).exceeds_rate


def test_what_repeats_the_request_is_not_read():
    conversation = "the manual says: maximum context length is 10 tokens, however you requested 99 tokens"
    echo = [{"type": "missing", "loc": ["body", "model"], "msg": "Field is missing", "input": conversation}]
    assert classify(422, {"detail": echo}).kind is FailureKind.OTHER
    assert classify(422, json.dumps({"detail": echo})).kind is FailureKind.OTHER
    long_echo = [{**echo[0], "input": conversation * 5_000}]
    assert classify(422, json.dumps({"detail": long_echo}).encode()).kind is FailureKind.OTHER


@pytest.mark.parametrize("body", [None, "", b"", 7, [], {}, {"error": None}, "\x00\ud800", b"\xff\xfe"])
def test_nothing_is_too_strange_to_classify(body):
    assert classify(500, body).kind is FailureKind.OTHER


def test_an_answer_without_a_body_that_refuses_the_size_is_an_overflow():
    assert classify(413, b"").kind is FailureKind.PROMPT_TOO_LONG


HOSTILE = [
    *("prompt ", "token", "maximum context length is 9 ", "max_tokens ", "(1 a,", "1,234 ", "limit: 5, "),
    *("[", '{"a":', "{'a':", "{' ", '"', "\\", "9", "\n", "data: {", "&#39;", "&quot;", '"{\\"', "https://"),
    *("a", "a.", "a/", "9.", "9:", "9 + ", "9/9 ", "at 9", "12m", "try again in 9m", "too many tokens a"),
    *("exceeds ", "between 1 and ", "(9 input, ", "daily ", "id ", "context_", "<br", "\\u", "输入", "超"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_megabyte_is_read_in_a_moment(piece):
    def read(size):
        body = piece * (size // len(piece))
        classify(400, body)
        classify(400, body.encode())

    assert is_linear(read, 1_000_000)


def test_a_string_that_is_never_closed_is_read_once():
    assert is_linear(lambda size: classify(400, "{'" * 6 + "\\'" * size), 500_000)
