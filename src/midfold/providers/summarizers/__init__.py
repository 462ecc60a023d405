"""Models that write summaries: which one is asked, how its failures are answered, and its cost.

`ModelSummarizer` is awaited, `BlockingSummarizer` is the same without `await`; either one is a callable
from `SummaryRequest` to text. Where no summary is to be had it raises `SummaryUnavailable`, and the built-in
digest stands in.
"""

from midfold.providers.summarizers.costs import Forecast, SummaryCall, forecast
from midfold.providers.summarizers.failures import FailureCause, ModelFailed
from midfold.providers.summarizers.model_ref import MainModel, ModelRef
from midfold.providers.summarizers.summarizer import BlockingSummarizer, ModelSummarizer

__all__ = [
    "BlockingSummarizer",
    "FailureCause",
    "Forecast",
    "MainModel",
    "ModelFailed",
    "ModelRef",
    "ModelSummarizer",
    "SummaryCall",
    "forecast",
]
