"""Trajectories: finished agent runs, made to fit a training window without losing what happened in them.

`TrajectoryCompressor` takes one run or one row of a data set at a time; files, workers and clusters are built
around it.
"""

from midfold.trajectories.batch import Batch, BatchResult, Engine, LocalEngine, compress_files, measure_files
from midfold.trajectories.compressor import TrajectoryCompressor
from midfold.trajectories.config import CompressionConfig, OnFailure
from midfold.trajectories.metrics import AggregateMetrics, Histogram, TrajectoryMetrics
from midfold.trajectories.ray import RayEngine
from midfold.trajectories.report import as_values, write_report
from midfold.trajectories.rows import RowResult, RowStatus
from midfold.trajectories.totals import Bill

__all__ = [
    "AggregateMetrics",
    "Batch",
    "BatchResult",
    "Bill",
    "CompressionConfig",
    "Engine",
    "Histogram",
    "LocalEngine",
    "OnFailure",
    "RayEngine",
    "RowResult",
    "RowStatus",
    "TrajectoryCompressor",
    "TrajectoryMetrics",
    "as_values",
    "compress_files",
    "measure_files",
    "write_report",
]
