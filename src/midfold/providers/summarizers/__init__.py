"""Models that write summaries: which one is asked, what is done when it fails, and what it cost.

`ModelSummarizer` is awaited, `BlockingSummarizer` is the same for everybody else; either one is a callable
from `SummaryRequest` to text. Where no summary is to be had it raises `SummaryUnavailable`, and the built-in
digest stands in.
"""

from midfold.providers.summarizers.blocking import BlockingSummarizer
from midfold.providers.summarizers.cooldowns import ModelFailed, Trouble
from midfold.providers.summarizers.forecasts import Forecast, forecast
from midfold.providers.summarizers.records import SummaryCall
from midfold.providers.summarizers.roles import MainModel, ModelRef
from midfold.providers.summarizers.summarizer import ModelSummarizer

__all__ = [
    "BlockingSummarizer",
    "Forecast",
    "MainModel",
    "ModelFailed",
    "ModelRef",
    "ModelSummarizer",
    "SummaryCall",
    "Trouble",
    "forecast",
]
