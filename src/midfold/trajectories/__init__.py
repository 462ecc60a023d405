"""Trajectories: finished agent runs, made to fit a training window without losing what happened in them.

`TrajectoryCompressor` takes one run or one row of a data set at a time; files, workers and clusters are built
around it.
"""

from midfold.trajectories.compressor import TrajectoryCompressor
from midfold.trajectories.config import CompressionConfig, OnFailure
from midfold.trajectories.metrics import AggregateMetrics, Histogram, TrajectoryMetrics
from midfold.trajectories.rows import RowResult, RowStatus

__all__ = [
    "AggregateMetrics",
    "CompressionConfig",
    "Histogram",
    "OnFailure",
    "RowResult",
    "RowStatus",
    "TrajectoryCompressor",
    "TrajectoryMetrics",
]
