"""Compress a file of finished agent runs so that each fits a training window, and draw what happened."""

import json
import tempfile
from pathlib import Path

from midfold.testing import transcript
from midfold.trajectories import Batch, CompressionConfig, compress_files, write_report

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    runs = [transcript("sharegpt", seed=seed, turns=1 + seed % 12, result_chars=1_000) for seed in range(36)]
    lines = [json.dumps({"id": number, "conversations": run}) for number, run in enumerate(runs)]
    (folder / "runs.jsonl").write_text("\n".join([*lines, "{broken"]), "utf-8")

    batch = Batch(folder / "runs.jsonl", CompressionConfig(target_max_tokens=6_000))
    result = compress_files(batch, folder / "short.jsonl")

    metrics = result.totals.metrics
    print(f"{metrics.rows} rows: {metrics.compressed} compressed, {metrics.skipped} fit already")
    print(f"{metrics.original_tokens:,} → {metrics.compressed_tokens:,} tokens")
    for listed in result.examples:
        print(f"{listed.file}:{listed.line}: {listed.status}: {listed.reason}")
    for path in write_report(folder / "report", batch, result):
        print(path.name, f"{path.stat().st_size:,} bytes")
