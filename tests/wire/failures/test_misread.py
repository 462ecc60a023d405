"""Errors that were taken for others: each is no reason to compress, or asks for a repair of the history."""

import pytest

from midfold.wire.failures import FailureKind, classify, judge_reply

OWN_LIMITS = [
    "file input exceeds 32 MB",
    "The attachment is larger than 10 MB",
    "messages.4.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "messages.0.content.0.document.source.base64.data: The PDF specified is too large: 34 MB, "
    "the maximum is 32 MB",
    "messages.2.content.0.pdf.source: A maximum of 100 PDF pages may be provided.",
    "messages.1.content.0.tool_result.content.1.image.source.base64.data: At least one of the "
    "image dimensions exceed max allowed size: 8000 pixels",
    "The image size exceeds the limit: 10 MB. Request id: 0217abc",
    "The request failed because the size of the image (12582912 bytes) exceeds the limit (10485760 bytes).",
    "Image file too large. The maximum size is 20MB per image.",
    "Document exceeds the maximum of 600 pages (got 812).",
    "The document file size 25000000 bytes is larger than the allowed 4718592 bytes",
    "The model returned the following errors: messages.3.content.2.image.source.base64: image "
    "exceeds 5 MB maximum: 5876512 bytes > 5242880 bytes",
    "Audio file exceeds the maximum length of 25 MB",
    "video is too long: 3700 seconds > 3600 seconds maximum",
]
WHOLE_REQUESTS = [
    ("Request exceeds the maximum size", "payload_too_large"),
    ("Request body too large: total size of images and text 40 MB exceeds 32 MB", "payload_too_large"),
    ("prompt is too long: 210000 tokens > 200000 maximum (including 12 images)", "prompt_too_long"),
]
COMPUTE_BATCHES = [
    "input is too large to process. increase the physical batch size",
    "input (1834 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
]
CUT_ANSWERS = [
    "API Error: Claude's response exceeded the 32000 output token maximum. To configure this "
    "behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable.",
    "The model's response exceeded the maximum of 8192 output tokens and was cut off.",
    "Could not parse response content as the length limit was reached - "
    "CompletionUsage(completion_tokens=4096, prompt_tokens=120, total_tokens=4216)",
    "The output was truncated because it exceeded the max output tokens (16384).",
]
BROKEN_HISTORIES = [
    "content: Input should be a valid list",
    "assistant message prefill is not supported; conversation must end with a user message",
    "A conversation must alternate between user and assistant roles. Make sure the "
    "conversation alternates between user and assistant roles and try again.",
    'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    "After the (optional) system message(s), user and assistant roles should be alternating.",
    "Last message must have role `user`.",
    "Last message role must be 'user' or 'tool'",
    "Failed to deserialize the JSON body into the target type: messages[3]: missing field "
    "`content` at line 1 column 812",
    "Failed to deserialize the JSON body into the target type: messages[2].role: unknown variant `developer`",
    "Invalid value for 'content': expected a string, got null.",
    "Missing required parameter: 'messages[5].tool_call_id'.",
    "Invalid type for 'messages[1].content': expected one of a string or array of objects, "
    "but got null instead.",
    "The content field in the Message object at messages.2 is empty. Add a ContentBlock "
    "object to the content field and try again.",
    "The text field in the ContentBlock object at messages.4.content.0 is blank. Add text to "
    "the text field, and try again.",
    "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_abc",
    "The number of toolResult blocks at messages.6.content exceeds the number of toolUse "
    "blocks of previous turn.",
    "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    "null content is not allowed in assistant message",
    "messages[0]: content is required",
]


@pytest.mark.parametrize("status", [400, 413])
@pytest.mark.parametrize("text", OWN_LIMITS)
def test_a_picture_or_document_over_its_own_limit_is_no_reason_to_compress(text, status):
    failure = classify(status, {"error": {"type": "invalid_request_error", "message": text}})
    assert (failure.kind, failure.limit, failure.malformed) == (FailureKind.OTHER, None, False)


@pytest.mark.parametrize(("text", "kind"), WHOLE_REQUESTS)
def test_all_that_was_sent_is_too_large_whatever_else_is_named(text, kind):
    assert classify(413, {"error": {"message": text}}).kind == kind


@pytest.mark.parametrize("text", COMPUTE_BATCHES)
def test_how_much_a_server_computes_at_once_is_no_window(text):
    failure = classify(500, {"error": {"code": 500, "message": text, "type": "server_error"}})
    assert (failure.kind, failure.limit) == (FailureKind.OTHER, None)


@pytest.mark.parametrize("text", CUT_ANSWERS)
def test_an_answer_that_was_too_long_is_no_error_of_the_request(text):
    assert classify(None, text).kind is FailureKind.OTHER


@pytest.mark.parametrize("text", BROKEN_HISTORIES)
def test_alternation_null_content_and_missing_fields_are_malformed_history(text):
    failure = classify(400, {"error": {"message": text, "type": "invalid_request_error"}})
    assert (failure.kind, failure.malformed) == (FailureKind.OTHER, True)


def test_a_missing_parameter_of_the_request_is_no_malformed_history():
    assert not classify(400, {"error": {"message": "Missing required parameter: 'model'."}}).malformed


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (1002, "rate limit", "rate_limit"),
        (1008, "insufficient balance", "other"),
        (1039, "token limit exceeded: context length is over the maximum", "prompt_too_long"),
        (2013, "invalid params, context window exceeds limit", "prompt_too_long"),
    ],
)
def test_a_status_inside_of_the_body_counts(code, text, kind):
    found = judge_reply({"choices": None, "base_resp": {"status_code": code, "status_msg": text}})
    assert found.failure.kind == kind


@pytest.mark.parametrize("sign", ["> 32768", ", the limit is 32768", "> max_seq_len(32768)"])
def test_input_and_output_that_add_up_to_too_much_are_told_apart_by_the_input(sign):
    told = "total exceeded: input {} + max_tokens {} " + sign
    too_much = classify(400, {"code": 20015, "message": told.format(30000, 8192)})
    too_long = classify(400, {"code": 20015, "message": told.format(40000, 4096)})
    assert (too_much.kind, too_much.limit) == (FailureKind.MAX_TOKENS_TOO_LARGE, 32768)
    assert (too_long.kind, too_long.limit) == (FailureKind.PROMPT_TOO_LONG, 32768)


@pytest.mark.parametrize("status", [400, 422, 500, 502])
@pytest.mark.parametrize(
    "body", [b"", None, b"\xff\xfe\x00\x01", "(no body)", "400 status code (no body)", "<html></html>", "{}"]
)
def test_a_body_that_says_nothing_never_starts_a_fold(status, body):
    assert classify(status, body).kind is FailureKind.OTHER


def test_a_message_above_the_length_of_its_field_is_a_prompt_too_long_and_an_id_is_none():
    def body(param):
        return {
            "error": {
                "message": "string too long. Expected a string with maximum length 10485760.",
                "param": param,
                "code": "string_above_max_length",
            }
        }

    assert classify(400, body("messages[3].content")).kind is FailureKind.PROMPT_TOO_LONG
    assert classify(400, body("messages[3].tool_calls[0].id")).malformed


WORDED = [
    ("输入的总长度超过模型最大上下文65536，当前70011", "prompt_too_long", 65_536),
    ("最大输出长度不能超过4096", "max_tokens_too_large", 4_096),
    ("请求过于频繁，请稍后再试", "rate_limit", None),
    ("입력 토큰 수가 최대 컨텍스트 길이 128000을 초과했습니다", "prompt_too_long", 128_000),
    ("Die Eingabe ist zu lang: 210000 Tokens, erlaubt sind 200000.", "prompt_too_long", 200_000),
    ("La requête dépasse la fenêtre de contexte (32768 tokens).", "prompt_too_long", 32_768),
    ("El prompt supera el límite de contexto de 16384 tokens", "prompt_too_long", 16_384),
    ("Превышен максимальный размер контекста: 8192 токенов", "prompt_too_long", 8_192),
    ("The thinking budget (40000) must be less than max_tokens (32000)", "other", None),
]


@pytest.mark.parametrize(("said", "kind", "limit"), WORDED)
def test_an_error_is_read_with_its_limit_in_any_language(said, kind, limit):
    failure = classify(400, {"error": {"message": said}})
    assert (failure.kind, failure.limit) == (kind, limit)
