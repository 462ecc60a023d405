"""Every wording by which providers' errors are recognised: a new error of a provider is a line here.

The patterns match texts in the one form that `error_lines.normalize` makes: lower case, no quotes, no
separators inside numbers. Each is bounded, so that no text takes long. The first half says what a text is
about, the second what its numbers count. Words decide alone only where there are no numbers.
"""

import re

from midfold.late_patterns import compile_late


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return compile_late("|".join(alternatives), re.MULTILINE)


OUTPUT_NAME = (
    r"\bmax[_-]?(?:new[_-]?|output[_-]?|completion[_-]?|gen[_-]?)?(?:tokens?|toks|tokencount)(?![a-z_])"
    r"|\bmax_gen_len\b|\bnum_predict\b"
)
"""Providers' names of the parameter that asks for output."""

STATUS = _any_of(
    r"^\W{0,3}(?:[\w. ]{0,40}error:? )?(?:error code:? |http:? |status(?: code)?:? )?([45]\d\d)\b",
    r"\b(?:error|error code|http|status|status[ _]?code|http_code)[:= ]{1,3}([45]\d\d)\b",
    r"^code: ([45]\d\d)$",
)

# Money: no waiting and no compression helps.
BILLING = _any_of(
    r"insufficient[_ ](?:quota|balance|credit|fund)|payment[_ ]required|overdue",
    r"credit balance|more credits|only afford|purchase credits|out of credits|recharge|arrear|余额|欠费",
    r"billing_(?:error|not_active|hard_limit)|extra usage|long context beta",
    r"key limit exceeded|monthly limit|spend(?:ing)? limit|key with a higher|upgrade to a paid",
    r"exceeded.{0,20}budget|budget (?:has been )?exceeded",
)
# OpenAI says this of an empty purse and Google of a quota that refills.
PLAN = _any_of(r"plan (?:and|&) billing")
GOOGLE_QUOTA = _any_of(r"quota exceeded for|resource_exhausted|quotafailure|quotametric|ai\.google\.dev")

_PERIOD = r"(?:min(?:ute)?|day|hour|sec(?:ond)?|week|month)"
RATE = _any_of(
    rf"(?:tokens?|requests?|\d) ?(?:per|/) ?{_PERIOD}|per[- ](?:minute|model|day|hour)\b|\b[tr]p[mdh]\b",
    rf"this {_PERIOD}|\btoday\b",
    r"\b(?:hourly|daily|weekly|monthly)(?: \w{1,20}){0,3} (?:limit|quota|usage)",
    r"rate[ _-]?limit|throttl|too[ _]?many(?: \w{1,20})?[ _]?requests|quota|resource[_ ]exhausted|concurren",
    r"capacity (?:temporarily )?exceeded|slow down|burst|too fast|please wait|limit_requests",
    r"(?:try again|retry) (?:in|after) \d|并发|频率|频繁|限流|使用上限|限额|配额",
)
RATE_COUNTS = compile_late(
    r"limit:? (?P<limit>\d{1,12}),[^\n]{0,30}? requested:? (?P<requested>\d{1,12})(?!\w)",
)

REFUSED = _any_of(
    r"content[_ ](?:filter|management|policy)|\bsafety\b|policy[_ ]violation|moderation",
    r"prompt (?:was )?(?:blocked|flagged)|sensitive (?:content|word)",
    r"invalid (?:x-)?api[- ]key|incorrect api key|authentication|unauthorized|permission",
    r"(?:access|api|auth|bearer|refresh|jwt|security) token|token (?:has )?expired|\bjwt\b",
    r"model_not_found|model not found|does not exist",
    r"timed? ?out\b|deadline exceeded|time limit|service unavailable|out of memory|system memory",
)

_MEDIUM = (
    r"\b(?:images?(?:_url)?|pictures?|photos?|documents?|pdfs?|audio|videos?|attachments?"
    r"|files? (?:inputs?|uploads?))\b"
)
# A picture or a document over a limit of its own; a shorter conversation does not make it smaller.
MEDIUM_TOO_LARGE = _any_of(
    rf"{_MEDIUM}[^\n]{{0,80}}?(?:exceed|too (?:large|big|long)|(?:larger|longer|bigger) than|over the limit)",
    rf"(?:exceed|too large|larger than)[^\n]{{0,60}}?{_MEDIUM} (?:file )?(?:size|limit|length)",
    r"oversize_?(?:image|document|file)|(?:image|document|pdf)_too_large|\d (?:pdf )?pages\b",
    r"(?:图片|图像|文档|视频|音频)[^\n]{0,20}(?:超|过大|过长)",
)
WHOLE_REQUEST = _any_of(
    r"\btokens?\b|\bcontext\b|payload|\btotal\b",
    r"\b(?:request|body)(?: (?:body|size|entity))?:? (?:is )?(?:too large|exceed|size)",
)
"""Words of a text that is about all that was sent, whatever else it names."""
# A server's own setting: how much it computes at once, not how much the model can hold.
COMPUTE_BATCH = _any_of(r"physical batch|\b(?:n_)?ubatch")
# A client's report of an answer that was too long: there was nothing wrong with the request.
ANSWER_CUT = _any_of(
    r"(?:response|answer|reply|output|generation|completion) (?:has )?"
    r"(?:exceeded|was (?:cut|truncated|too long)|hit) [^\n]{0,60}?(?:tokens?|limit|maximum)\b",
    r"(?:cut off|stopped|truncated)\b[^\n]{0,30} (?:it|the (?:response|output|answer)) (?:exceeded|reached)",
)

MALFORMED = _any_of(
    r"alternat(?:e|es|ing) between|(?:must|should|to) (?:be alternating|alternate)",
    r"missing field \W?(?:content|role|tool_calls?|tool_call_id|function|arguments)\b",
    r"\bnull content|\bcontent\b[^\n]{0,80}\b(?:got|be|is|was) null\b",
    r"messages?\b[^\n]{0,40}content is required",
    r"tool_use ids|tool_use_id|tool_call_id|tool_?(?:result|use) blocks?|tool_use must|\btoolresult\b",
    r"response to a prece+ding message with tool_calls|followed by tool messages",
    r"tool (?:message|result)s?\b[^\n]{0,40}(?:must follow|not found)",
    r"no tool (?:call|output) found for function call|tool call result does not follow|tool call id was",
    r"function (?:response|call) (?:parts|turn)|number of function calls and responses|function_response\b",
    r"failed to parse tool call arguments|without its required|duplicate item|missing a thought_signature",
    r"roles must alternate|unexpected role|expected last role|(?:in)?valid role\b|role: unknown variant",
    r"system message must|conversation must (?:start|end)",
    r"successive (?:user|assistant)|either content or tool_calls",
    r"(?:first|last|final) message\b[^\n]{0,40} must|final assistant content|content or tool_calls must",
    r"at least one message is required|assistant messages at the end|messages ?参数非法",
    r"messages parameter is illegal|too short - messages|contents is not specified",
    r"(?:content|text) field\b[^\n]{0,80}(?:is|be) (?:empty|blank)|must have a text parameter",
    r"content blocks must (?:be|contain) non-?(?:empty|whitespace)",
    r"must have non-?empty content|content cannot be empty",
    r"thinking blocks? .{0,60}(?:cannot be modified|must)|does not support (?:assistant message )?prefill",
    r"prefill\w{0,4} is not supported|\bcontent: input should be a valid (?:list|string|array)",
    r"invalid signature in thinking|missing reasoning_content|reasoning_content\b.{0,60} passed back",
)

# A path inside of a message; what validators say of it is about how the history is written.
MESSAGE_PATH = _any_of(
    r"\b(?:messages|input)\.?\[\d{1,6}\]\.\w",
    r"\b(?:messages|input)\.\d{1,6}\.\w",
    r"^loc: (?:body )?(?:messages|input) \d{1,6} \w",
)
IMAGE = compile_late(r"\bimages?\b")

# Fields that hold the conversation; a text about the length of any other field is none of ours.
CONTENT_FIELD = _any_of(
    r"\b(?:messages?|input)\W{0,2}\d{0,6}\W{0,2}(?:content|output|text)?(?:\[\d{1,6}\]\.text)?: string too",
    r"\b(?:prompt|instructions): string too long",
    r"\b(?:messages|input): array too long|messages is too long\b",
    r"max input characters|text fields that are too large",
    r"input request: (?:#/(?:texts|prompt|inputtext|messages)[\w/]{0,40}: )?expected maxlength",
)
CONTENT_LOCATION = compile_late(
    r"^loc: (?:body )?(?:messages|prompt|inputs?|contents)\b"
    r"|^param: (?:messages|input)\[\d{1,6}\]\.(?:content|output|text)\b",
    re.MULTILINE,
)
TOO_LONG_TYPE = compile_late(r"string_too_long|too_long|string_above_max_length")
# A server that takes the prompt from its window before it looks gets less than nothing for the output.
NEGATIVE_OUTPUT = compile_late(r"max_(?:completion_|output_|new_)?tokens must be at least ?1,? got -\d")
FORMAT = _any_of(
    r"(?:string|array|list) too long|expected maxlength|invalid schema|schema is too",
    r"valid integer|(?:be|expected) an? (?:integer|int|number)\b(?! (?:above|between|in|less|from))",
    r"not of type|field required",
    r"(?:unsupported|unknown|extra) (?:parameter|input|argument)|is not supported|unrecognized|not permitted",
    r"below min|less than the min|must be at least \d{1,12}\b|greater than or equal to|>= ?[01]\b",
    r"greater than 0|positive|too small",
    r"budget_tokens|thinking (?:token )?budget|blocks with cache_control|start caching|minimum token",
    r"\bcached\b|same time|both be set|mutually exclusive|\bheaders?\b(?!:)",
    r"too many (?:images|tools|inputs)|images allowed|image dimensions|\d pixels|\dx\d|tokens left\b",
    r"\d items\b|allowed batch size|batch size is invalid|\d (?:tools|pages|properties)\b|logprobs",
)
CHARACTERS = compile_late(r"\d characters")
UPLOAD = compile_late(r"\bupload")

OUTPUT_PARAMETER = _any_of(
    OUTPUT_NAME,
    r"\bmax (?:output |completion |new )?tokens? ?(?:must|参数)|requested max tokens",
    r"maximum (?:output )?tokens (?:you )?requested|输出(?:长度|上限| ?token)",
)
OUTPUT = _any_of(OUTPUT_NAME, r"\b(?:output|completions?|generat\w{1,4}|max tokens)\b")
OUTPUT_RELATION = _any_of(
    r"too (?:large|high|big)|exceed|above max|(?:greater|larger|higher|bigger|more) than|> ?\d|limit of",
    r"limited|maximum|<=|(?:less|lower) than|less or equal|at most|no more than|range|between|should be",
    r"\binvalid\b|not valid|非法|超",
)

_TOO_MUCH = (
    r"\b(?:exceed|too (?:long|large|many|big)\b|(?:longer|larger|greater|more) than|over the limit|overflow"
    r"|is full)"
)
# Over texts whose names have spaces for underscores.
OVERFLOW = _any_of(
    r"contextwindowexceeded|tokens limit reached|prompt limit|message length exceeds",
    rf"(?:prompt|inputs?|request|messages?|conversation|context|sequence|text)\b[^\n]{{0,60}}?{_TOO_MUCH}",
    rf"token[^\n]{{0,60}}?{_TOO_MUCH}",
    r"(?:exceed\w{0,3}|too many|beyond|overflow\w{0,3})\b[^\n]{0,60}?\b(?:context|tokens?|prompt|input)\b",
    r"maximum (?:context|prompt|input) length is \d|range of input length|\bn keep\b|while limit is",
    r"(?:context|conversation|prompt)\b[^\n]{0,20} (?:limit )?reached|must have less than",
    r"truncating input prompt|(?:输入|提示|内容|上下文|prompt|token).{0,10}(?:过长|超)",
    r"超.{0,14}(?:上下文|最大|限制|上限)",
    r"(?:入力|トークン|コンテキスト|プロンプト)[^\n]{0,60}(?:超え|長すぎ|多すぎ)",
    r"(?:입력|토큰|컨텍스트|프롬프트)[^\n]{0,60}(?:초과|너무 ?(?:길|많|큽))",
    r"(?:contexte|prompt|jetons)[^\n]{0,60}(?:d.pass|trop (?:long|grand))",
    r"d.passe[^\n]{0,40}(?:contexte|jetons)",
    r"(?:prompt|entrada|contexto|tokens)[^\n]{0,60}(?:supera|excede|demasiado)",
    r"(?:supera|excede)[^\n]{0,40}(?:contexto|tokens)",
    r"(?:запрос|контекст|токен|промпт)[^\n]{0,60}(?:превыш|слишком)",
    r"превыш[^\n]{0,60}(?:контекст|токен)",
    r"(?:kontext|eingabe|prompt)\w*[^\n]{0,60}(?:.berschr(?:eite|itte)|zu lang|zu gro.)",
)
ABOUT_TOKENS = _any_of(
    r"token|context|prompt|conversation|input|message_length|message (?:you submitted )?(?:is|was) too long",
    r"max length|n_ctx|model_len|seq_len|(?:length is|sequence length) \d|text too long|too long for",
    r"输入|上下文|入力|トークン|コンテキスト|プロンプト|입력|토큰|컨텍스트|프롬프트|jetons|kontext|eingabe",
    r"entrada|контекст|токен|промпт",
)
REDUCE = _any_of(
    r"(?:reduce|decrease|shorten) (?:the |your )?(?:length of )?(?:the |your )?(?:messages|prompt|input)",
)
NO_BODY = compile_late(r"\(no body\)")

_SIZE = r"\d ?[kmg]i?b\b"
BYTES = _any_of(
    r"\bbytes?\b|payload[_ ]too[_ ]large|payload size|entity[_ .]too[_ .]large|request_too_large",
    r"(?:request|body|content|file|image|upload)\b[^\n]{0,30}?(?:too large|exceeds? the (?:maximum|allowed))",
    rf"(?:exceed|too large|larger than|max\w{{0,4}}|limit)\b[^\n]{{0,40}}{_SIZE}",
    rf"{_SIZE}[^\n]{{0,20}}(?:exceed|limit|max)|length limit exceeded|message larger than max",
)

# What the numbers of a text count, by the words around each. Patterns over what stands before a number end
# at it; those over what stands behind it begin there.

# A number that is no part of an id, a date, an index or a model's name.
NUMBER = compile_late(r"(?<![a-z0-9_.-])(?<!\w[:\[])\d{1,12}(?![a-z0-9_]|:\d)")

NAMED_OUTPUT = compile_late(rf"(?:{OUTPUT_NAME})(?: value)?(?: of| is)?[ :=(]{{0,3}}$")
ABOUT_OUTPUT = _any_of(
    OUTPUT_NAME, r"\b(?:output|completions?|generat\w{1,4}|new tokens)\b", r"输出|出力|출력"
)
INPUT = _any_of(r"prompt|inputs?\b|input_|messages?\b|requests?\b|conversation|context|query")

# Units.
ASKED_UNIT = compile_late(
    r" (?:tokens? )?(?:to generate\b|(?:in|for|of|as) (?:the |your )?(?:output|completion|response)"
    rf"|(?:output|completion|new)\b|{OUTPUT_NAME})"
)
SENT_UNIT = compile_late(
    r" (?:tokens? )?(?:(?:in|of|from) (?:the |your )?)?(?:text )?(?:inputs?|prompt|messages)\b"
)
CHARACTER_UNIT = compile_late(r" (?:input )?char(?:acter)?s?\b")
REMAINING_UNIT = compile_late(r" tokens? (?:remain|are left|left|available)")
OTHER_UNIT = _any_of(
    r" ?(?:bytes?|[kmgt]i?b|%|pixels?|images?|pages?|items?|tools?|files?|properties|blocks?|draft)\b",
    r"(?: (?:requests?|tokens?))? ?(?:per|/) ?(?:min|day|hour|sec)",
)
LIMIT_UNIT = _any_of(
    r"(?: tokens?)?,? ?(?:maximum|max\b|limit|allowed|or (?:less|fewer)|at most)",
    r"[- ]token (?:context|limit|window)",
)
EXCLUSIVE = compile_late(r" \(exclusive")

# What was done with a number, directly before it.
VERB = compile_late(
    r"(?:requested|re(?:cei|cie)ved|got|given|supplied|passed|provided|sent|submitted|resulted in|will take"
    r"|requires?|contain(?:s|ed)|has|have|used|counted|actual|keep the first|current(?:ly)?(?: length)?"
    r"|too (?:long|large|big)|too many tokens[\w ]{0,20})"
    r"(?: is| was| of| about| at least| over| a total of| in total|(?: sequence)? length of)?[ :=(]{0,3}$"
)
# The nouns for what was sent, a little further off.
SIZE = compile_late(
    r"(?:prompt|inputs?|requests?|messages?|context|conversation|sequence|text|tokens?|batch|total"
    r"|input_ids\w{0,4}|n_keep|n_prompt_tokens)\w{0,20}[^,;.]{0,24}$"
)
_AT_MOST = _any_of(
    r"max(?:imum)?(?![a-z_])|max_(?!(?:new_|output_|completion_)?tokens?\b)\w+|limit|allow|at most|up to",
    r"no more than|(?:less|lower|fewer|greater|larger|longer|more|bigger) than|[<>]|exceed|above|beyond",
    r"support|range|should be|must be|too (?:large|long|big) for|context[ _]?(?:length|size|window)|window",
    r"slot context|n_ctx|capacity|batch size|upper bound|not less or equal|上限|最大|范围|超",
    r"최대|l.mite|m.ximo|dépasse|fenêtre|supera|excede|erlaubt|höchstens|maximal|максим|превыш",
)
LIMITING = compile_late(rf"(?:{_AT_MOST.pattern})[^,;:()]{{0,44}}[ :=(]{{0,3}}$")
LEAST = compile_late(r"\bmin(?:imum)?\b|at least |(?:greater|more) than or equal to |>= ?$")
WINDOW = _any_of(
    r"context|window|n_ctx|seq_len|model_len|model length|max_num_tokens|total_(?:tokens|len)",
    r"(?:prompt|input)(?: token)? (?:length|limit|size)|(?:prompt|input)[_ ]tokens|token (?:count|limit)",
    r"number of tokens|total tokens|tokens allowed|max_(?:length|prompt)\w{0,8}|maximum length|supports? ",
    r"sequence length",
)
"""Names of limits that apply to the prompt, and so may be remembered as a window."""

# How one number is held against the next.
COMPARING = _any_of(
    r">|exceed|(?:greater|larger|longer|more|bigger) than|above|beyond|over the|too (?:long|large|big)",
    r"(?:must|should|cannot|can not|may not|can't) ?(?:not )?(?:be )?less",
)
BELOW = compile_late(r"^ ?(?:tokens? )?< ?$")
SLASH = compile_late(r"^ ?/ ?$")
EXCESS = compile_late(r"\bby (?:about |at least )?$")
"""An amount by which something is too long: neither a size nor a limit."""
LOWER_END = compile_late(r"(?:\[|\(|\bbetween|\bfrom) ?\d{1,6} ?(?:,|\band|\(inclusive\) to|\bto) ?(?=\d)")
SUM = compile_late(r"(\d{1,12}) ?\+ ?(\d{1,12}) ?(?:=|>|exceeds) ?(\d{1,12})")

PARTS = compile_late(
    r"\((\d{1,12} [a-z_ ]{2,40}(?:(?:[,;+]|plus|and) ?(?:and |plus )?\d{1,12} [a-z_ ]{2,40}){0,4})\)"
)
PART = compile_late(r"(\d{1,12}) ([a-z_ ]{2,40})")
OUTPUT_PART = _any_of("completion", "output", "response", "max_tokens", "generat")
COUNTED_PART = _any_of("prompt", "message", "input", "function", "tool", "text", "image", OUTPUT_PART.pattern)
