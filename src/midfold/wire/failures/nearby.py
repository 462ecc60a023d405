"""The words around a number that tell what it counts, as patterns over what stands before or behind it.

Those over what stands before a number end at it, those over what stands behind it begin there.
"""

import re


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


# A number that is no part of an id, a date, an index or a model's name.
NUMBER = re.compile(r"(?<![\w.-])(?<!\w[:\[])\d{1,12}(?!\w|:\d)")

OUTPUT_NAME = (
    r"\bmax[_-]?(?:new[_-]?|output[_-]?|completion[_-]?|gen[_-]?)?(?:tokens?|toks|tokencount)(?![a-z_])"
    r"|\bmax_gen_len\b|\bnum_predict\b"
)
"""How providers call the parameter that asks for output."""
NAMED_OUTPUT = re.compile(rf"(?:{OUTPUT_NAME})(?: value)?(?: of| is)?[ :=(]{{0,3}}$")
OUTPUT = _any_of(OUTPUT_NAME, r"\b(?:output|completions?|generat\w{1,4}|new tokens)\b")
INPUT = _any_of(r"prompt|inputs?\b|input_|messages?\b|requests?\b|conversation|context|query")

# Units.
ASKED_UNIT = re.compile(
    r" (?:tokens? )?(?:to generate\b|(?:in|for|of|as) (?:the |your )?(?:output|completion|response)"
    rf"|(?:output|completion|new)\b|{OUTPUT_NAME})"
)
SENT_UNIT = re.compile(
    r" (?:tokens? )?(?:(?:in|of|from) (?:the |your )?)?(?:text )?(?:inputs?|prompt|messages)\b"
)
CHARACTER_UNIT = re.compile(r" (?:input )?char(?:acter)?s?\b")
REMAINING_UNIT = re.compile(r" tokens? (?:remain|are left|left|available)")
OTHER_UNIT = _any_of(
    r" ?(?:bytes?|[kmgt]i?b|%|pixels?|images?|pages?|items?|tools?|files?|properties|blocks?|draft)\b",
    r"(?: (?:requests?|tokens?))? ?(?:per|/) ?(?:min|day|hour|sec)",
)
LIMIT_UNIT = _any_of(
    r"(?: tokens?)?,? ?(?:maximum|max\b|limit|allowed|or (?:less|fewer)|at most)",
    r"[- ]token (?:context|limit|window)",
)
EXCLUSIVE = re.compile(r" \(exclusive")

# What was done with a number, directly before it.
VERB = re.compile(
    r"(?:requested|re(?:cei|cie)ved|got|given|supplied|passed|provided|sent|submitted|resulted in|will take"
    r"|requires?|contain(?:s|ed)|has|have|used|counted|actual|keep the first|current(?:ly)?(?: length)?"
    r"|too (?:long|large|big)|too many tokens[\w ]{0,20})"
    r"(?: is| was| of| about| at least| over| a total of| in total|(?: sequence)? length of)?[ :=(]{0,3}$"
)
# The nouns for what was sent, a little further off.
SIZE = re.compile(
    r"(?:prompt|inputs?|requests?|messages?|context|conversation|sequence|text|tokens?|batch|total"
    r"|input_ids\w{0,4}|n_keep|n_prompt_tokens)\w{0,20}[^,;.]{0,24}$"
)
_AT_MOST = _any_of(
    r"max(?:imum)?(?![a-z_])|max_(?!(?:new_|output_|completion_)?tokens?\b)\w+|limit|allow|at most|up to",
    r"no more than|(?:less|lower|fewer|greater|larger|longer|more|bigger) than|[<>]|exceed|above|beyond",
    r"support|range|should be|must be|too (?:large|long|big) for|context[ _]?(?:length|size|window)|window",
    r"slot context|n_ctx|capacity|batch size|upper bound|not less or equal|上限|最大|范围|超",
)
LIMITING = re.compile(rf"(?:{_AT_MOST.pattern})[^,;:()]{{0,44}}[ :=(]{{0,3}}$")
LEAST = re.compile(r"\bmin(?:imum)?\b|at least |(?:greater|more) than or equal to |>= ?$")
WINDOW = _any_of(
    r"context|window|n_ctx|seq_len|model_len|model length|max_num_tokens|total_(?:tokens|len)",
    r"(?:prompt|input)(?: token)? (?:length|limit|size)|(?:prompt|input)[_ ]tokens|token (?:count|limit)",
    r"number of tokens|total tokens|tokens allowed|max_(?:length|prompt)\w{0,8}|maximum length|supports? ",
    r"sequence length",
)
"""What a limit is called that is one of the prompt, and so may be remembered as a window."""

# How one number is held against the next.
COMPARING = _any_of(
    r">|exceed|(?:greater|larger|longer|more|bigger) than|above|beyond|over the|too (?:long|large|big)",
    r"(?:must|should|cannot|can not|may not|can't) ?(?:not )?(?:be )?less",
)
BELOW = re.compile(r"^ ?(?:tokens? )?< ?$")
SLASH = re.compile(r"^ ?/ ?$")
EXCESS = re.compile(r"\bby (?:about |at least )?$")
"""How much too long something is: neither a size nor a limit."""
LOWER_END = re.compile(r"(?:\[|\(|\bbetween|\bfrom) ?\d{1,6} ?(?:,|\band|\(inclusive\) to|\bto) ?(?=\d)")
SUM = re.compile(r"(\d{1,12}) ?\+ ?(\d{1,12}) ?(?:=|>|exceeds) ?(\d{1,12})")

PARTS = re.compile(
    r"\((\d{1,12} [a-z_ ]{2,40}(?:(?:[,;+]|plus|and) ?(?:and |plus )?\d{1,12} [a-z_ ]{2,40}){0,4})\)"
)
PART = re.compile(r"(\d{1,12}) ([a-z_ ]{2,40})")
OUTPUT_PART = _any_of("completion", "output", "response", "max_tokens", "generat")
COUNTED_PART = _any_of("prompt", "message", "input", "function", "tool", "text", "image", OUTPUT_PART.pattern)
