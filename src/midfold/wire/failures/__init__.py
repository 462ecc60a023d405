"""The meaning of providers' errors, by their numbers and shape, since the same words serve for opposites.

An error that is taken for another kind is corrected in `patterns`, the table of all wordings.
"""

from midfold.wire.failures.classify import Failure, FailureKind, classify
from midfold.wire.failures.silent_failures import FailureSign, SilentFailure, find_silent_error, judge_reply

__all__ = [
    "Failure",
    "FailureKind",
    "FailureSign",
    "SilentFailure",
    "classify",
    "find_silent_error",
    "judge_reply",
]
