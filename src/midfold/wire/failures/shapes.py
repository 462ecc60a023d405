"""The shapes of error texts, as patterns over the one spelling that `normalize` makes.

Each is bounded, so that no text takes long. Numbers decide what a text is about wherever it has them; words
decide only where it has none.
"""

import re


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.MULTILINE)


# A number that is no part of an id, a date or a model's name.
_N = r"(?<![\w-])(\d{1,12})(?!\w)"
NUMBER = re.compile(_N + "(?!:)")

STATUS = _any_of(
    r"^\W{0,3}(?:[\w. ]{0,40}error:? )?(?:error code:? |http:? |status(?: code)?:? )?([45]\d\d)\b",
    r"\b(?:error|error code|http|status|status[ _]?code|http_code)[: ]{1,3}([45]\d\d)\b",
    r"^code: ([45]\d\d)$",
)

# Money: no waiting and no compression helps.
BILLING = _any_of(
    r"insufficient[_ ](?:quota|balance|credit|fund)|payment[_ ]required",
    r"credit balance|more credits|only afford|purchase credits|out of credits|recharge|arrear|余额|欠费",
    r"billing_(?:error|not_active|hard_limit)|extra usage|long context beta",
    r"key limit exceeded|monthly limit|spend(?:ing)? limit",
    r"exceeded.{0,20}budget|budget (?:has been )?exceeded",
)
# OpenAI says this of an empty purse and Google of a quota that refills.
PLAN = _any_of(r"plan (?:and|&) billing")
GOOGLE_QUOTA = _any_of(r"quota exceeded for|resource_exhausted|quotafailure|quotametric|ai\.google\.dev")

RATE = _any_of(
    r"(?:tokens?|requests?) per (?:min|day|hour|sec)|per[- ]minute|for this minute|\b[tr]p[mdh]\b",
    r"rate[ _-]?limit|throttl|too many requests|quota|resource[_ ]exhausted|concurren|capacity exceeded",
    r"please wait|(?:try again|retry) (?:in|after) \d|limit_requests|并发|频率|限流",
)
RATE_COUNTS = re.compile(
    r"limit:? (?P<limit>\d{1,12}),[^\n]{0,30}? requested:? (?P<requested>\d{1,12})(?!\w)",
)

REFUSED = _any_of(
    r"content[_ ](?:filter|management|policy)|safety system|policy[_ ]violation|moderation",
    r"invalid (?:x-)?api[- ]key|incorrect api key|authentication|unauthorized|permission",
    r"(?:access|api|auth|bearer|refresh|jwt) token",
    r"model_not_found|model not found|does not exist",
    r"timed? ?out\b|deadline exceeded|service unavailable",
)

MALFORMED = _any_of(
    r"tool_use ids|tool_use_id|tool_call_id|tool_result block|tool_use block",
    r"response to a prece+ding message with tool_calls|followed by tool messages",
    r"no tool (?:call|output) found for function call|tool call result does not follow",
    r"function (?:response|call) (?:parts|turn)|number of function calls and responses",
    r"failed to parse tool call arguments|without its required following item",
    r"roles must alternate|unexpected role|expected last role|invalid role|system message must",
    r"(?:first|last|final) message must|final assistant content|at least one message is required",
    r"content blocks must be non-?empty|must have non-?empty content",
    r"thinking blocks? .{0,60}(?:cannot be modified|must)|does not support (?:assistant message )?prefill",
)

# Fields that hold the conversation; a text about the length of any other field is none of ours.
CONTENT_FIELD = _any_of(
    r"\bmessages?\W{0,2}\d{0,6}\W{0,2}content(?:\[\d{1,6}\]\.text)?: string too long",
    r"\binput(?:\[\d{1,6}\])?(?:\.(?:content|output|text))?: string too long",
    r"\b(?:prompt|instructions): string too long",
    r"\b(?:messages|input): array too long",
    r"max input characters",
)
# A server that takes the prompt from its window before it looks gets less than nothing for the output.
NEGATIVE_OUTPUT = re.compile(r"max_(?:completion_|output_|new_)?tokens must be at least ?1,? got -\d")
FORMAT = _any_of(
    r"(?:string|array|list) too long|expected maxlength|\d characters|invalid schema",
    r"valid integer|not of type|field required|unsupported parameter|is not supported|unrecognized",
    r"below min|must be at least \d+\b|greater than or equal to|>= ?[01]\b|greater than 0|positive",
    r"budget_tokens|blocks with cache_control|start caching|minimum token",
    r"too many images|images allowed|image dimensions|\d pixels|tokens left\b",
)

OUTPUT_PARAMETER = _any_of(
    r"\bmax[_-]?(?:new_?|output_?|completion_?|gen_?)?(?:tokens|toks)(?![a-z_])|num_predict",
    r"\bmax (?:output |completion |new )?tokens must|maximum (?:output )?tokens (?:you )?requested",
)
OUTPUT_RELATION = _any_of(
    r"too (?:large|high|big)|exceed|above max|greater than|> ?\d|limit of|limited|maximum",
    r"<=|less than|lower than|at most|no more than|range|between|invalid|not valid|非法|超",
)
EXCLUSIVE_END = re.compile(rf"to {_N} \(exclusive\)")
RANGE = re.compile(r"\[ ?\d{1,6} ?, ?(\d{1,12}) ?\]|between \d{1,6} and (\d{1,12})")

SUM = re.compile(r"(?P<sent>\d{1,12}) ?\+ ?(?P<asked>\d{1,12}) ?> ?(?P<limit>\d{1,12})")
PARTS = re.compile(r"\((\d{1,12} [a-z ]{2,40}(?:[,;] ?(?:and )?\d{1,12} [a-z ]{2,40}){0,4})\)")
PART = re.compile(r"(\d{1,12}) ([a-z ]{2,40})")
OUTPUT_PART = _any_of("completion", "output", "response")
INPUT_COUNT = _any_of(
    rf"{_N} (?:inputs?|prompt) tokens",
    rf"{_N} tokens (?:from|in) the (?:input|prompt|messages)",
    rf"prompt(?: length| tokens)? \({_N}",
)
OUTPUT_COUNT = _any_of(
    rf"{_N} (?:output|completion) tokens",
    rf"{_N} (?:max_new_tokens|tokens for the (?:completion|output))",
    rf"max_(?:new_|output_|completion_)?tokens \({_N}",
    rf"tokens is too large: {_N}",
)

_WHAT = r"(?:context|model|allowed|maximum|max|available|configured|total tokens)"
_MEASURE = r"(?:(?:allowed|context|prompt|input|model|token|sequence) ){0,2}(?:length|size|limit|window)"
_LINK = r"(?: allowed)?(?: (?:is|of)(?: only)?| for this model is| of [\w./:-]{1,60} is|:|=)?"
WINDOW = _any_of(
    rf"{_WHAT}[ _]{_MEASURE}{_LINK} ?\(?{_N}",
    rf"tokens allowed:? ?\(?{_N}|> ?{_N} maximum|with {_N} maximum context",
    rf"\bn_ctx[ :=(]{{1,3}}{_N}|max_(?:seq_len|model_len|num_tokens|total_tokens)[ :=(]{{1,3}}{_N}",
    rf"range of input length should be \[ ?\d+ ?, ?{_N}",
    rf"max(?:imum)? (?:token count|number of tokens) (?:is|of) {_N}|max_length is set to {_N}",
    rf"must (?:be <=|have less than|be less than) {_N}|{_N}[- ]token (?:context|limit|window)",
    rf"maximum of {_N} tokens|(?:up to|at most) {_N}",
)
"""A number that a text calls the window, the longest prompt, or the most tokens."""
BARE_LIMIT = _any_of(
    rf"\blimit(?: for this model)?(?: is| of|:)? {_N}|cannot exceed {_N}|max tokens of {_N}",
)
"""A number that a text calls the limit of something."""
COUNT = _any_of(
    rf"too long: {_N}|number of tokens \(?{_N}|input_ids is {_N}",
    r"(?:prompt|inputs?|request|messages)(?: is| has| contains|[ _]tokens?| length| token count)?(?: of| is)?"
    rf"(?: at least)?[ :=(]{{1,2}}(?:total )?(?:length )?{_N}",
    rf"resulted in {_N}|requested(?: tokens)?(?::| about| a total of)? \(?{_N}|will take {_N}",
    rf"current length is {_N}|(?:received|supplied|given:?|passed|got) {_N}",
    rf"\bn_(?:keep|prompt_tokens)[ :=(]{{1,3}}{_N}|first {_N} tokens|{_N} input tokens|input tokens {_N}",
)
"""A number that a text calls the size of what was sent."""
EXCESS = re.compile(rf"\bby {_N} tokens")
"""How much too long it is: neither a size nor a limit."""

_TOO_MUCH = (
    r"\b(?:exceed|too (?:long|large|many)\b|(?:longer|larger|greater|more) than|over the limit|overflow)"
)
OVERFLOW = _any_of(
    r"context_length_exceeded|context_(?:window_)?exceeded|exceed_context_size|tokens_limit_reached",
    r"max_prompt_tokens_exceeded|prompt_limit|model_context_window_exceeded|contextwindowexceeded",
    rf"(?:prompt|inputs?|request|messages?|conversation|context|sequence)\b[^\n]{{0,60}}?{_TOO_MUCH}",
    rf"token[^\n]{{0,60}}?{_TOO_MUCH}",
    r"(?:exceed\w{0,3}|too many|beyond|overflow\w{0,3})\b[^\n]{0,60}?\b(?:context|tokens?|prompt|input)\b",
    r"maximum (?:context|prompt|input) length is \d|range of input length|\bn_keep\b|while limit is",
    r"must have less than|输入.{0,8}过长|超过最大长度|(?:prompt|输入).{0,8}超长",
    r"超出.{0,12}(?:上下文|最大|限制)",
)
ABOUT_TOKENS = _any_of(
    r"token|context|prompt|input length|max length|n_ctx|length is \d|input is too long|输入|上下文",
)
REDUCE = _any_of(
    r"(?:reduce|decrease|shorten) (?:the |your )?(?:length of )?(?:the |your )?(?:messages|prompt|input)",
)
NO_BODY = re.compile(r"\(no body\)")

BYTES = _any_of(
    r"\bbytes?\b|payload[_ ]too[_ ]large|payload size|entity[_ .]too[_ .]large|request_too_large",
    r"(?:request|body|content|file|image|upload)\b[^\n]{0,30}?(?:too large|exceeds? the (?:maximum|allowed))",
)
