"""How far our counts are from what providers reported, on real sessions; where there are none, it says so."""

import gzip
import json
import os
import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import report
from midfold.tokens import Calibration, TokenCounter
from midfold.wire import parse

DATA = Path(os.environ.get("MIDFOLD_DATA", Path(__file__).parents[2] / "shared" / "data"))
WARM_UP_REPLIES = 3


def main() -> None:
    """Print the median error over all replies, and over the conversations' own medians."""
    conversations = list(_conversations())
    if not conversations:
        print(f"no real transcripts at {DATA}; set MIDFOLD_DATA to measure counting errors")
        return
    errors = [list(_errors(conversation)) for conversation in conversations]
    medians = [statistics.median(some) for some in errors if some]
    every = [error for some in errors for error in some]
    report(f"counting: median error of {len(every):,} replies", f"{statistics.median(every):.2%}", "7 %")
    report(f"counting: worst of {len(medians)} conversations' medians", f"{max(medians):.2%}", "7 %")


def _conversations() -> Iterator[dict[str, object]]:
    for path in sorted((DATA / "corpus").glob("*.json.gz")):
        conversation = json.loads(gzip.decompress(path.read_bytes()))
        if conversation["meta"].get("usage"):
            yield conversation


def _errors(conversation: dict) -> Iterator[float]:
    """Estimate each request before its report is known, as an engine would."""
    meta = conversation["meta"]
    count = TokenCounter(meta.get("model") or (meta.get("models") or ["claude"])[0])
    sizes = [count(message) for message in parse(conversation["messages"], "openai_chat")]
    calibration = Calibration()
    for reply, usage in enumerate(meta["usage"]):
        counted = sum(sizes[: usage["index"]])
        if reply >= WARM_UP_REPLIES and usage["prompt_tokens"]:
            yield abs(calibration.estimate(counted) - usage["prompt_tokens"]) / usage["prompt_tokens"]
        calibration = calibration.observe(usage["prompt_tokens"], counted)


if __name__ == "__main__":
    main()
