"""`midfold trajectories`: finished runs, from one file to a cluster, made to fit a training window."""

import errno
import json
import os
import secrets
import shlex
import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from midfold.cli.options import (
    DIGEST_WORD,
    former_model_option,
    read_tokens,
    summary_model_option,
    whole_number,
)
from midfold.cli.render.console import make_console
from midfold.cli.render.trajectories import print_result, show_progress
from midfold.cli.summary_model import CallRecorder, choose_summary_model
from midfold.errors import MidfoldError
from midfold.late_dataclasses import replace
from midfold.store import Call
from midfold.tokens import CanonicalUsage
from midfold.trajectories import (
    Batch,
    BatchResult,
    CompressionConfig,
    Engine,
    LocalEngine,
    SummaryBill,
    Watch,
    as_values,
    compress_files,
    measure_files,
    read_share,
    write_report,
)
from midfold.usage import SUMMARY, CostKind

_SETTINGS = ("target_max_tokens", "tokenizer", "summary_model", "base_url")
_INTERRUPTED = 130
_FULL = (errno.ENOSPC, errno.EDQUOT)
_EPILOG = """\b
Examples:
  midfold trajectories runs.jsonl -o short.jsonl
  midfold trajectories runs.jsonl --dry-run --sample 5%
  midfold trajectories data/ -o short/ --target-max-tokens 8k --report report/
  midfold trajectories runs.jsonl.gz -o short.jsonl.gz --tokenizer qwen3
  midfold trajectories in.jsonl -o s.jsonl --summary-model openai/o3 --resume
  midfold trajectories data/ -o short/ --engine ray --ray-address auto

\b
A file for --config holds any of the settings, for instance:
  target_max_tokens: 15250
  summary_target_tokens: 750
  protect_last_turns: 4
"""


class Flags(TypedDict):
    """The options beside the input."""

    output: Path | None
    config_file: Path | None
    target_max_tokens: int | None
    tokenizer: str | None
    summary_model: str | None
    base_url: str | None
    engine: str
    ray_address: str | None
    workers: int | None
    sample: str | None
    seed: int
    dry_run: bool
    resume: bool
    report: Path | None
    as_json: bool


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Output: a file for a file, a folder for a folder.",
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A YAML or TOML file with settings.",
)
@click.option(
    "--target-max-tokens",
    type=read_tokens,
    metavar="N",
    help=f"Target size of a row; default: {CompressionConfig().target_max_tokens:,}.",
)
@click.option("--tokenizer", metavar="NAME", help="Vocabulary, model, or path of a tokenizer.json.")
@summary_model_option
@former_model_option
@click.option("--base-url", metavar="URL", help="Address of the summary model; default: its provider's.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    metavar="NAME",
    default="local",
    help="Where to run: local (default) or ray.",
)
@click.option("--ray-address", metavar="URL", help="Ray cluster to use; default: start one.")
@click.option(
    "--workers", type=whole_number(1), metavar="N", help="Number of processes; default: one for each core."
)
@click.option("--sample", metavar="PART", help="Read only a sample: 5%, or 500 rows.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of the sample; default: 0.")
@click.option("--dry-run", is_flag=True, help="Count and plan every row; write nothing.")
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@click.option(
    "--report",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for figures (JSON) and histograms (SVG).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table.")
def command(source: Path, **flags: Unpack[Flags]) -> int:
    """Compress finished agent runs so that each fits a training window.

    IN is a file of JSON lines (plain, gzip, zstd) or Parquet, or a folder of such files. Each row holds turns
    under `conversations` (from, value) or messages under `messages`. A summary replaces the middle of a row
    that is too long. Unreadable rows are listed in OUT.rejects.jsonl. Continue an interrupted or killed run
    with --resume. Exits with status 1 if no row was usable, or every summary failed.
    """
    output = flags["output"]
    if output is None and not flags["dry_run"]:
        raise click.UsageError("give -o OUT, or --dry-run to measure only")
    batch = _read_batch(source, flags)
    engine = _choose_engine(flags)
    if flags["report"]:
        flags["report"].mkdir(parents=True, exist_ok=True)  # now, as it must not fail after all the work
    try:
        with show_progress(make_console(stderr=True)) as watch:
            if output is None or flags["dry_run"]:
                result = measure_files(batch, engine=engine, watch=watch)
            else:
                result = _compress(batch, output, engine, watch, resume=flags["resume"])
    except KeyboardInterrupt:
        click.echo(f"midfold: interrupted{_say_how_to_resume(flags)}", err=True)
        return _INTERRUPTED
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise MidfoldError(f"{output or source}: {error.strerror}{_say_how_to_resume(flags)}") from error
    if flags["report"]:
        write_report(flags["report"], batch, result)
    _print(result, flags)
    metrics = result.totals.metrics
    has_no_row = metrics.rows == metrics.rejected
    has_no_summary = metrics.kept and not metrics.compressed
    return 1 if has_no_row or has_no_summary else 0


def _compress(batch: Batch, output: Path, engine: Engine, watch: Watch, *, resume: bool) -> BatchResult:
    """Compress, and record what summaries cost after each chunk."""
    with CallRecorder("trajectories", str(batch.source)) as record:
        return compress_files(
            batch,
            output,
            engine=engine,
            resume=resume,
            watch=watch,
            on_bill=lambda bill: record(_as_call(bill, batch.config.summary_model or "")),
        )


def _as_call(bill: SummaryBill, model: str) -> Call:
    """Read the bill of a chunk as one call to be recorded."""
    if bill.unpriced_calls == bill.calls:
        cost, kind = None, CostKind.UNKNOWN
    else:
        cost, kind = bill.dollars, CostKind.PARTIAL if bill.unpriced_calls else CostKind.COMPUTED
    return Call(
        usage=CanonicalUsage(bill.input_tokens, bill.output_tokens),
        model=model,
        purpose=SUMMARY,
        id=secrets.token_hex(16),
        cost=cost,
        cost_kind=kind,
        facts={"calls": bill.calls},
    )


def _read_batch(source: Path, flags: Flags) -> Batch:
    file = flags["config_file"]
    config = CompressionConfig.from_yaml(file) if file else CompressionConfig()
    given = {name: flags[name] for name in _SETTINGS if flags[name] is not None}  # type: ignore[literal-required]
    if given.get("summary_model") == DIGEST_WORD:
        given["summary_model"] = None
    elif "summary_model" not in given and config.summary_model is None:
        given["summary_model"] = choose_summary_model(None)
    share = read_share(flags["sample"]) if flags["sample"] else None
    return Batch(source, replace(config, **given), share, flags["seed"])


def _choose_engine(flags: Flags) -> Engine:
    if flags["engine"] == "ray":
        from midfold.trajectories import RayEngine

        return RayEngine(flags["ray_address"], flags["workers"])
    if flags["ray_address"]:
        raise click.UsageError("--ray-address needs --engine ray")
    return LocalEngine(flags["workers"] or _count_cores())


def _count_cores() -> int:
    """Return the cores that this process may use, which in a container are fewer than there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _say_how_to_resume(flags: Flags) -> str:
    if flags["dry_run"]:
        return ""
    arguments = [argument for argument in sys.argv[1:] if argument != "--resume"]
    return f"; finished rows are kept; continue with: {shlex.join(['midfold', *arguments, '--resume'])}"


def _print(result: BatchResult, flags: Flags) -> None:
    if flags["as_json"]:
        click.echo(json.dumps(as_values(result)))
        return
    print_result(result, make_console(), is_dry_run=flags["dry_run"], report=flags["report"])
