"""Tokens: counting them, what providers report, how many fit, and what they cost.

Importing this loads no tokenizer and no table; both are read on the first question that needs them.
"""

from typing import TYPE_CHECKING

from midfold.lazy_exports import lazy_getattr
from midfold.tokens.counting import TokenCounter, count_tokens, estimate_tokens, serialize_tools
from midfold.tokens.tokenizers import approximate_tokens, find_family, load_counter

if TYPE_CHECKING:
    from midfold.tokens.breakdown import Breakdown, ToolShare, break_down, share_by_tool
    from midfold.tokens.calibration import Calibration
    from midfold.tokens.images import count_media
    from midfold.tokens.learned_limits import (
        LIMITS_FILE,
        MIN_LIMIT_TOKENS,
        LearnedLimit,
        LearnedLimits,
        Lesson,
    )
    from midfold.tokens.models import ModelFacts, Prices, find_model, list_models, price_steps, snapshot_date
    from midfold.tokens.pricing import Cost, cache_saving, price, price_with
    from midfold.tokens.savings import (
        Amount,
        Payoff,
        RecordedCall,
        Savings,
        net_savings,
        pays,
        savings_by_call,
        total_savings,
    )
    from midfold.tokens.usage import CanonicalUsage
    from midfold.tokens.windows import Window, next_tier, resolve_window

__all__ = [
    "LIMITS_FILE",
    "MIN_LIMIT_TOKENS",
    "Amount",
    "Breakdown",
    "Calibration",
    "CanonicalUsage",
    "Cost",
    "LearnedLimit",
    "LearnedLimits",
    "Lesson",
    "ModelFacts",
    "Payoff",
    "Prices",
    "RecordedCall",
    "Savings",
    "TokenCounter",
    "ToolShare",
    "Window",
    "approximate_tokens",
    "break_down",
    "cache_saving",
    "count_media",
    "count_tokens",
    "estimate_tokens",
    "find_family",
    "find_model",
    "list_models",
    "load_counter",
    "net_savings",
    "next_tier",
    "pays",
    "price",
    "price_steps",
    "price_with",
    "resolve_window",
    "savings_by_call",
    "serialize_tools",
    "share_by_tool",
    "snapshot_date",
    "total_savings",
]

# A fold has no use for these.
__getattr__ = lazy_getattr(
    __name__,
    {
        "breakdown": "Breakdown ToolShare break_down share_by_tool",
        "calibration": "Calibration",
        "images": "count_media",
        "learned_limits": "LIMITS_FILE MIN_LIMIT_TOKENS LearnedLimit LearnedLimits Lesson",
        "models": "ModelFacts Prices find_model list_models price_steps snapshot_date",
        "pricing": "Cost cache_saving price price_with",
        "savings": "Amount Payoff RecordedCall Savings net_savings pays savings_by_call total_savings",
        "usage": "CanonicalUsage",
        "windows": "Window next_tier resolve_window",
    },
)
