"""Trajectories: finished agent runs, made to fit a training window without losing what happened in them.

`TrajectoryCompressor` takes one run or one row of a data set at a time; files, workers and clusters are built
around it.
"""

from midfold.trajectories.batch import (
    Engine,
    LocalEngine,
    Watch,
    compress_files,
    measure_files,
)
from midfold.trajectories.compressor import TrajectoryCompressor
from midfold.trajectories.config import CompressionConfig, OnFailure
from midfold.trajectories.metrics import AggregateMetrics, Histogram, RowStatus, TrajectoryMetrics
from midfold.trajectories.ray import RayEngine
from midfold.trajectories.report import as_values, write_report
from midfold.trajectories.rows import RowResult
from midfold.trajectories.runs import Batch, BatchProgress, BatchResult, SummaryBill
from midfold.trajectories.sources import read_share

__all__ = [
    "AggregateMetrics",
    "Batch",
    "BatchProgress",
    "BatchResult",
    "CompressionConfig",
    "Engine",
    "Histogram",
    "LocalEngine",
    "OnFailure",
    "RayEngine",
    "RowResult",
    "RowStatus",
    "SummaryBill",
    "TrajectoryCompressor",
    "TrajectoryMetrics",
    "Watch",
    "as_values",
    "compress_files",
    "measure_files",
    "read_share",
    "write_report",
]
