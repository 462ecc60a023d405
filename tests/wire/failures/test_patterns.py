"""The same meaning in many wordings: what a number counts is told by the words around it and by size.

The sentences are shortened to what matters; where one stands for an error that names it, a provider is named.
"""

import pytest

from midfold.wire.failures import FailureKind, classify

TOO_LONG = [
    # the larger of two numbers is a size, the smaller its limit
    ("Context length 33000 is greater than max_seq_len 32768", 32768),
    ("tokens: 12345 > 8192", 8192),
    ("total_tokens 150000 > context_window 131072", 131072),
    ("max context 131072 < 150000 prompt tokens", 131072),
    ("Context window is full (32768/32768 tokens)", 32768),
    ("prompt tokens (330095) exceed model maximum (278528) for base model abc", 278528),
    ("Sequence length 5000 exceeds model maximum 4096", 4096),
    ("Input text is too long, input_ids_len (9000) >= max_model_len(8192)", 8192),
    ("number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.", 202752),
    # each is told by its own words
    ("Max input tokens: 8192, request input token count: 9279", 8192),
    ("The max allowed tokens per submitted batch is 120000. Your batch has 257912 tokens", 120000),
    ("Requested 313428 tokens, max 300000 tokens per request", 300000),
    ("Your input is 5000 tokens long but the model's limit is 4096 tokens.", 4096),
    ("Prompt is 11543 tokens but the model context window is 4096 tokens.", 4096),
    ("slot context: 8192 tokens, prompt 9043 tokens", 8192),
    ("max_prompt_len exceeded: got 9000, limit 8192", 8192),
    ("truncating input prompt limit=2048 prompt=5065 keep=5 new=2048", 2048),
    ("input (8525 tokens) is too large to process. increase the batch size (current batch size: 2048)", 2048),
    # prompt and output together, or in characters, where the prompt alone is too long
    ("the input prompt token len 9000 + max_new_tokens 1000 > req_max_total_len 8192", 8192),
    ("The total number of tokens (prompt + max_tokens) 33000 exceeds the maximum 32768", 32768),
    (
        "estimated number of input and maximum output tokens (9412) exceeded the context window limit (8192)",
        8192,
    ),
    (
        "Requested 9 to generate tokens, following a prompt of length 140055, which exceeds 128000",
        128000,
    ),
    ("You passed 32769 input characters. However, the model's context length is only 4096 tokens", 4096),
    # thousands
    ("Input length of 140000 tokens exceeds this model's context length of 128k tokens", 128000),
    ("Model context window is 128k tokens, you requested 256k tokens", 128000),
    # one number, or none
    ("total tokens exceeds the model's max of 4096", 4096),
    ("maximum context length 32768 exceeded by 1205", 32768),
    ("Context window exceeded: requested 12000 tokens", None),
    ("Request contains text fields that are too large.", None),
    ("input prompt is too big compared to KV size, please increase KV size", None),
    ("Your prompt (or context) is too large to be processed in time.", None),
    ("Conversation length exceeded. Please start a new session", None),
    ("The message you submitted was too long, please submit something shorter.", None),
    ("Malformed input request: expected maxLength: 50000, actual: 52611, please reformat your input", None),
    ("'$.messages' is too long. Maximum length is 2048", None),
    ("Invalid 'input[3].content[0].text': string too long. Expected maximum length 10485760", None),
    ("input_too_long", None),
    ("token数量超过上限。对话历史+问题的字数太多", None),
    ("输入内容长度超过模型最大上下文长度限制", None),
    ("入力トークン数 (140000) がモデルの最大コンテキスト長 (131072) を超えています", 131072),
    ("입력 토큰 수가 컨텍스트 길이를 초과했습니다", None),
    ("Le prompt dépasse la longueur de contexte maximale", None),
    ("Die Eingabe überschreitet das Kontextfenster des Modells", None),
    ("上下文长度超限", None),
]

OUTPUT_CAPS = [
    (
        "requires 9000 tokens (8000 prompt + 1000 completion), maximum context length is 8192 tokens",
        8192,
        8000,
    ),
    (
        "maximum context length is 2048 tokens. your request has 8 input tokens plus 2045 'max_tokens'",
        2048,
        8,
    ),
    (
        "max_tokens: 32768 > context_window: 200000 - input_tokens: 190000 = available_tokens: 10000",
        200000,
        190000,
    ),
    (
        "input tokens: 120000, max_tokens: 16000, context window: 131072. input + output exceeds it",
        131072,
        120000,
    ),
    ("max_tokens=8192 is too large; only 1000 tokens remain in the context window of 32768", 32768, 31768),
    (
        "Requested 115120 to generate tokens, following a prompt of length 40055, which exceeds 128000",
        128000,
        40055,
    ),
    ("generation length 16384 + prompt length 120000 exceeds context 131072", 131072, 120000),
    (
        "Requested tokens 136384 (prompt 120000 + completion 16384) exceed the context length 131072",
        131072,
        120000,
    ),
    ("120000 prompt tokens and 16384 completion tokens exceed 131072", 131072, 120000),
    (
        "context length is 65536. you requested 65536 output tokens, your prompt has 77409 characters",
        65536,
        19352,
    ),
    ("#/maxTokens: 10000 is not less or equal to 8191, please reformat your input", 8191, None),
    ("#/max_gen_len: 4096 is not less or equal to 2048", 2048, None),
    ("#/textGenerationConfig/maxTokenCount: 10000 is not less or equal to 8192", 8192, None),
    ("max_tokens (384000) exceeds model's maximum output tokens (65536) for model m-flash:0731", 65536, None),
    ("max_tokens=131072 cannot be greater than max_model_len=max_total_tokens=28672", 28672, None),
    ("'max_tokens' must be a number between 1 and 8192, got 16384", 8192, None),
    ("max_completion_tokens cannot be larger than 8192", 8192, None),
    ("The number of completion tokens provided exceeds the model's limit of 4096.", 4096, None),
    ("Maximum output tokens exceeded: requested 16384, limit 8192", 8192, None),
    ("max token参数非法。请检查文档", None, None),
]

BYTES = [
    "received message larger than max (4194326 vs. 4194304)",
    "Total request size 35.2MB exceeds the 30MB limit",
    "Request too large (max 20MB). Try with a smaller file.",
    "Failed to buffer the request body: length limit exceeded",
]

RATES = [
    "Daily token limit exceeded. Resets at midnight UTC.",
    "Token limit (500,000 per day) exceeded. Used: 508,311 tokens.",
    "Number of request tokens has exceeded your per-model limit",
    "Tokens per minute limit exceeded - too many tokens processed.",
    "input tokens 50000 exceed limit of 40000 tokens/min",
    "You have exceeded the token limit for your plan this month.",
    "Token usage limit reached for today",
    "request reached organization TPD rate limit, current: 1506556, limit: 1500000",
    "RequestBurstTooFast",
]

NOT_OURS = [
    "image_url size exceeds 10MB limit",
    "Invalid image data: exceeds max size 20MB",
    "input is too large to process. increase the physical batch size",
    # money and keys
    "max_tokens limit exceeded: 100000 > 9577. Visit the site and create a key with a higher limit",
    "You have insufficient credits for this request: 30000 tokens needed, 20000 available",
    "The request failed because your account has an overdue balance.",
    "Invalid JWT: token too long",
    # caches and windows that are too small, not too full
    "The prompt is too long to be cached",
    "Cached content is too small. total_token_count=1171, min_total_token_count=4096",
    "Model context window too small (minimum is 128k tokens)",
    # fields that do not hold the conversation
    "Invalid 'tools[3].function.description': string too long. Expected a string with maximum length 1024",
    "Invalid 'stop': array too long. Expected an array with maximum length 4, but got length 6",
    "tools.0.custom.name: String should have at most 64 characters",
    "metadata value exceeds 512 characters",
    "Request Header Fields Too Large",
    # counts of other things
    "too many tools: 140 > 128 maximum",
    "batch size 64 > maximum allowed batch size 32",
    "'input' array exceeds the maximum batch size of 2048 items",
    "embedding dimension 3072 exceeds maximum 2048",
    "image is too large: 4096x4096 exceeds maximum of 2048x2048",
    "PDF exceeds the maximum of 100 pages",
    "The file size exceeds the 512MB limit for uploads",
    "logprobs must be less than or equal to 20",
    # the output parameter, but not that it is too large
    "Unknown parameter: 'max_tokens'.",
    "Invalid type for 'max_tokens': expected an integer, but got a string instead.",
    "-5 is less than the minimum of 1 - 'max_tokens'",
    "max_tokens is not valid: max_tokens and max_completion_tokens cannot be set at the same time",
    # a guess, a refusal, a clock
    "The request was rejected. Possible causes: input exceeds the context length, or invalid parameters.",
    "The prompt contains content that exceeds our safety thresholds",
    "Internal server error: token generation exceeded time limit",
    "context deadline exceeded",
]

MALFORMED = [
    # a validator names the place inside of a message
    "Invalid 'messages[3].tool_calls[0].function.name': string too long. Expected maximum length 64",
    "Invalid 'messages[2].tool_calls[0].id': empty string. Expected a string with minimum length 1.",
    "Invalid 'input[4].name': string does not match pattern. Expected a match of '^[a-zA-Z0-9_-]+$'.",
    "messages.1.content.1.tool_use.input: Input should be a valid dictionary",
    "messages.3.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    # a rule is quoted
    "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_abc",
    "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks",
    "A conversation must start with a user message.",
    "The content field in the Message object at messages.1 is empty.",
    "The text field in the ContentBlock object at messages.0.content.0 is blank.",
    "does not support successive user or assistant messages (messages[1] and messages[2] in your input)",
    "The last message of deepseek-reasoner must be a user message",
    "Missing `reasoning_content` field in the assistant message at message index 3.",
    "Item 'fc_68a' of type 'function_call' was provided without its required 'reasoning' item: 'rs_68a'.",
    "Duplicate item found with id rs_0a. Remove duplicate items from your input and try again.",
    "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.",
    "Function call is missing a thought_signature in functionCall parts.",
    "Please use a valid role: user, model.",
    "messages[2].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
    "[] is too short - 'messages'",
    "Invalid assistant message: content or tool_calls must be set",
    "messages: text content blocks must contain non-whitespace text",
    "messages.1.content.0.thinking.signature: Invalid `signature` in `thinking` block",
    "tool result's tool id(call_123) not found (2013)",
]


@pytest.mark.parametrize(("text", "limit"), TOO_LONG)
def test_a_prompt_is_too_long_in_many_words(text, limit):
    failure = classify(400, text)
    assert failure.kind is FailureKind.PROMPT_TOO_LONG
    assert failure.limit == limit


@pytest.mark.parametrize(("text", "limit", "sent"), OUTPUT_CAPS)
def test_an_output_cap_is_too_large_in_many_words(text, limit, sent):
    failure = classify(400, text)
    assert failure.kind is FailureKind.MAX_TOKENS_TOO_LARGE
    assert failure.limit == limit
    assert failure.input_tokens == sent
    assert not failure.is_limit_learnable


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, FailureKind.PAYLOAD_TOO_LARGE) for text in BYTES),
        *((text, FailureKind.RATE_LIMIT) for text in RATES),
        *((text, FailureKind.OTHER) for text in NOT_OURS),
    ],
)
def test_what_is_not_about_length_is_none_of_it(text, kind):
    failure = classify(400, text)
    assert failure.kind is kind
    assert failure.limit is None
    assert not failure.malformed


@pytest.mark.parametrize("text", MALFORMED)
def test_a_history_that_breaks_a_rule_is_malformed(text):
    failure = classify(400, text)
    assert failure.kind is FailureKind.OTHER
    assert failure.malformed


def test_these_mean_the_same_however_they_are_wrapped(mutate):
    texts = [row[0] for row in TOO_LONG + OUTPUT_CAPS] + BYTES + RATES + NOT_OURS + MALFORMED
    read = [(classify(400, text), classify(400, mutate(text))) for text in texts]
    wrong = [pair for pair in read if (pair[0].kind, pair[0].limit) != (pair[1].kind, pair[1].limit)]
    assert len(wrong) <= len(texts) * 0.02, wrong
    unmended = (FailureKind.RATE_LIMIT, FailureKind.OTHER)
    assert [
        wrapped for plain, wrapped in wrong if plain.kind in unmended and wrapped.kind not in unmended
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "Input is too long for requested model. (trace_id: 40960, elapsed: 8123ms)",
        "Attempt 3/5 failed after 12000 ms: Your input exceeds the context window of this model.",
        "time=2025-10-01T12:00:59.123Z status=40000 msg=Prompt exceeds max length",
        "invalid params, context window exceeds limit (2013)",
        "maximum context length exceeded\n  File x.py, line 40960\n    at core.ts:51200:24",
        "maximum context length has been exceeded by 40960",
    ],
)
def test_no_number_of_a_wrapper_becomes_a_limit(text):
    failure = classify(400, text)
    assert failure.kind is FailureKind.PROMPT_TOO_LONG
    assert failure.limit is None
    assert not failure.is_limit_learnable
