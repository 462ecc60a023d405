"""Tokens: counting them, what providers report, how many fit, and what they cost.

Importing this loads no tokenizer and no table; both are read on the first question that needs them.
"""

from midfold.tokens.approximation import approximate_tokens
from midfold.tokens.breakdown import Breakdown, break_down
from midfold.tokens.calibration import Calibration
from midfold.tokens.counting import TokenCounter, count_tokens, estimate_tokens
from midfold.tokens.learnt import LearntLimits, Lesson
from midfold.tokens.models import ModelFacts, Prices, find_model
from midfold.tokens.pricing import Cost, cache_saving, price
from midfold.tokens.savings import RecordedCall, Savings, net_savings, pays
from midfold.tokens.usage import CanonicalUsage
from midfold.tokens.windows import Window, next_tier, resolve_window

__all__ = [
    "Breakdown",
    "Calibration",
    "CanonicalUsage",
    "Cost",
    "LearntLimits",
    "Lesson",
    "ModelFacts",
    "Prices",
    "RecordedCall",
    "Savings",
    "TokenCounter",
    "Window",
    "approximate_tokens",
    "break_down",
    "cache_saving",
    "count_tokens",
    "estimate_tokens",
    "find_model",
    "net_savings",
    "next_tier",
    "pays",
    "price",
    "resolve_window",
]
