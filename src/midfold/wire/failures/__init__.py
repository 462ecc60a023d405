"""What providers mean when they fail, told by numbers and shape, since the same words serve for opposites."""

from midfold.wire.failures.classify import classify
from midfold.wire.failures.kinds import Failure, FailureKind
from midfold.wire.failures.replies import FailureSign, SilentFailure, find_error, judge_reply

__all__ = ["Failure", "FailureKind", "FailureSign", "SilentFailure", "classify", "find_error", "judge_reply"]
