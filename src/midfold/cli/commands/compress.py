"""`midfold compress`: one transcript in, a shorter one out."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import click

from midfold.api import CompressOptions, plan_compression, writes_by_old_meaning
from midfold.cli.inputs import find_inputs, say_unreadable
from midfold.cli.options import (
    complete_model,
    dialect_option,
    fold_option,
    read_tokens,
    row_option,
    summary_model_option,
    whole_number,
)
from midfold.cli.render.compression import print_compression, print_losses, print_plan
from midfold.cli.render.console import make_console
from midfold.cli.results import FORMS, choose_destination, print_written, write_result
from midfold.cli.summary_model import choose_summary_model, open_summarizer, record_summary_calls, say
from midfold.config import load_settings
from midfold.errors import DialectError, SummaryUnavailable
from midfold.folding import (
    Compression,
    Flow,
    SummaryRequest,
    run,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.summaries import Retention
from midfold.transcripts import Transcript, load_transcript

if TYPE_CHECKING:
    from midfold.providers.summarizers import SummaryCall

_EPILOG = """\b
Examples:
  midfold compress --max-tokens 20k --plan
  midfold compress session.json --max-tokens 20k -o shorter.json
  midfold compress s.json --context-length 200k --strategy prune > out.json
  midfold compress s.json --max-tokens 20k --summary-model openai/o3 --preview
"""


@click.command(epilog=_EPILOG)
@click.argument("transcripts", metavar="[IN]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="Output file or folder; default: standard output. .gz compresses it.",
)
@click.option(
    "--as",
    "form",
    type=click.Choice(FORMS),
    metavar="FORM",
    help="Write messages, or a session for its client to resume.",
)
@click.option(
    "--max-tokens", type=read_tokens, metavar="N", help="A hard ceiling for the whole request, such as 20k."
)
@click.option(
    "--context-length", type=read_tokens, metavar="N", help="Fold for a model with this window, such as 200k."
)
@click.option("--focus", metavar="TEXT", help="A topic that gets most of the summary.")
@fold_option("strategy")
@fold_option("style")
@fold_option("template")
@click.option(
    "--pin", multiple=True, metavar="TEXT", help="Keep this sentence word for word; may be repeated."
)
@click.option("--no-pins", is_flag=True, help="Do not keep the user's rules word for word.")
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=complete_model,
    help="Model that reads the messages; default: the transcript's.",
)
@summary_model_option
@click.option("--base-url", metavar="URL", help="Address of the summary model; default: its provider's.")
@click.option(
    "--summarizer-window",
    type=read_tokens,
    metavar="N",
    help="Context window of the summary model.",
)
@click.option("--tokenizer", hidden=True)
@dialect_option
@row_option
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be folded; write nothing.")
@click.option("--preview", is_flag=True, help="Show the plan with price and time; send nothing.")
@click.option("--losses", type=whole_number(1), metavar="N", help="List the N most important losses.")
@click.option(
    "--json", "as_json", is_flag=True, help="Report as one JSON object: on stdout with -o, else on stderr."
)
def command(
    transcripts: tuple[str, ...],
    output: str | None,
    form: str | None,
    no_pins: bool,
    dialect: str | None,
    row: int | None,
    only_plan: bool,
    preview: bool,
    losses: int | None,
    as_json: bool,
    **options: Unpack[CompressOptions],
) -> int:
    """Compress a transcript: keep both ends, fold the middle into a digest, or into a model's summary.

    IN is as for `midfold inspect`; by default the newest session of Claude Code or Codex in this folder. The
    output has the form of the input, which never changes. Exits with status 1 if the ceiling cannot be met,
    and writes the best result.
    """
    if (options.get("max_tokens") is None) == (options.get("context_length") is None):
        raise click.UsageError("give either --max-tokens or --context-length")
    if options.get("base_url") and not options.get("summary_model"):
        raise click.UsageError("--base-url needs a --summary-model; --model is the model you talk to")
    files = find_inputs(transcripts)
    is_for_show = only_plan or preview
    if len(files) > 1 and not is_for_show and (output is None or not Path(output).is_dir()):
        raise click.UsageError(f"{len(files)} transcripts need a folder to write to: -o FOLDER")
    options = fill_in(options)
    if no_pins:
        options["pins"] = False
    if not options["summary_model"] and writes_by_old_meaning(options.get("model")):
        say(f"--model counts; --summary-model {options['model']} would let it write the summary")
    wanted = _Wanted(output, form, losses, only_plan=only_plan, preview=preview, as_json=as_json)
    statuses: list[int] = []
    for file in files:
        try:
            loaded = load_transcript(file, row=row, dialect=dialect)
        except DialectError as error:
            say_unreadable(file, error)
            statuses.append(2)
        else:
            statuses.append(_treat(loaded, wanted, options))
    return max(statuses)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The use of a result, as the options say."""

    output: str | None
    form: str | None
    losses: int | None
    only_plan: bool
    preview: bool
    as_json: bool


def _treat(loaded: Transcript, wanted: _Wanted, options: CompressOptions) -> int:
    """Compress one transcript, or show what would be done; return the status."""
    is_for_show = wanted.only_plan or wanted.preview
    destination = None if is_for_show else choose_destination(loaded, wanted.output, wanted.form)
    outcome = _dry_run(loaded, options) if is_for_show else compress_transcript(loaded, options)
    if wanted.preview:
        _report_preview(outcome, loaded, options, as_json=wanted.as_json)
    elif wanted.only_plan:
        _report_plan(outcome, loaded, as_json=wanted.as_json)
    else:
        written = write_result(loaded, outcome.result, destination)
        _report(outcome, loaded, as_json=wanted.as_json, to_stdout=wanted.output is not None)
        if written is not None and not wanted.as_json:
            print_written(written)
    if wanted.losses and not wanted.as_json:
        from midfold.folding import list_losses

        print_losses(list_losses(outcome.result, wanted.losses), make_console(stderr=not is_for_show))
    return 1 if outcome.result.over_budget and options.get("max_tokens") is not None else 0


@dataclass(frozen=True, slots=True)
class CompressionOutcome:
    """The result, its time, and the requests that a model got, or would get."""

    result: Compression[object]
    elapsed_ms: float
    requests: tuple[SummaryRequest, ...] = ()
    calls: "tuple[SummaryCall, ...] | None" = None


def compress_transcript(
    loaded: Transcript, options: CompressOptions, *, command_name: str = "compress"
) -> CompressionOutcome:
    """Compress, with a model where one is named; what it cost is recorded."""
    model = options.get("summary_model")
    if not model:
        return _run(loaded, options, _no_model)
    from midfold.cli.render.preview import announced
    from midfold.engines import SummarizerCaller

    with open_summarizer(model, options.get("base_url")) as summarizer:
        what = f"the middle of {len(loaded.request.messages):,} messages with {model}"
        ask = SummarizerCaller().for_fold(summarizer)
        try:
            outcome = _run(loaded, options, announced(ask, what, make_console(stderr=True)))
        finally:
            record_summary_calls(summarizer.calls, command_name, loaded.source)
        return replace(outcome, calls=summarizer.calls)


def fill_in(options: CompressOptions) -> CompressOptions:
    """Leave out the options that nobody gave, so that the settings decide, and choose who writes."""
    given = {key: value for key, value in options.items() if value is not None}
    given["summary_model"] = choose_summary_model(options.get("summary_model"))
    return cast("CompressOptions", given)  # some of the same keys


def _run(
    loaded: Transcript, options: CompressOptions, summarize: Callable[[SummaryRequest], str]
) -> CompressionOutcome:
    started = time.perf_counter()
    result = run(_plan(loaded, options), summarize)
    return CompressionOutcome(result, (time.perf_counter() - started) * 1000)


def _dry_run(loaded: Transcript, options: CompressOptions) -> CompressionOutcome:
    """Find out what would be done, and what a model would be asked; nothing is sent."""
    started = time.perf_counter()
    from midfold.folding import dry_run

    planned = dry_run(_plan(loaded, options))
    elapsed_ms = (time.perf_counter() - started) * 1000
    return CompressionOutcome(planned.result, elapsed_ms, requests=planned.requests)


def _plan(loaded: Transcript, options: CompressOptions) -> Flow[object]:
    uses_model = bool(options.get("summary_model"))
    return plan_compression(loaded.request, use_model=uses_model, policy=load_settings().policy(0), **options)


def _no_model(_request: SummaryRequest) -> str:
    raise SummaryUnavailable("no model is configured")


def _report(outcome: CompressionOutcome, loaded: Transcript, *, as_json: bool, to_stdout: bool) -> None:
    if as_json:
        click.echo(json.dumps(_facts(outcome, loaded)), err=not to_stdout)
        return
    console = make_console(stderr=True)
    print_compression(outcome.result, loaded.source, outcome.elapsed_ms, console)
    if outcome.calls:
        from midfold.cli.render.preview import print_calls

        print_calls(outcome.calls, console)


def _report_plan(outcome: CompressionOutcome, loaded: Transcript, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_facts(outcome, loaded)))
    else:
        print_plan(outcome.result, loaded.source, make_console())


def _report_preview(
    outcome: CompressionOutcome, loaded: Transcript, options: CompressOptions, *, as_json: bool
) -> None:
    from midfold.cli.render.preview import as_preview, foresee, print_preview

    model = options.get("summary_model")
    expected = foresee(outcome.requests, model, options.get("base_url")) if model else None
    if as_json:
        click.echo(json.dumps({**_facts(outcome, loaded), "preview": as_preview(expected)}))
        return
    console = make_console()
    print_plan(outcome.result, loaded.source, console)
    print_preview(expected, outcome.result, outcome.elapsed_ms, console)


def _facts(outcome: CompressionOutcome, loaded: Transcript) -> dict[str, object]:
    report = as_report(outcome.result, loaded, outcome.elapsed_ms)
    if outcome.calls is None:
        return report
    from midfold.cli.render.preview import as_bill

    return {**report, "calls": as_bill(outcome.calls)}


def as_report(result: Compression[object], loaded: Transcript, elapsed_ms: float) -> dict[str, object]:
    """Return the facts of a compression under the names that scripts rely on."""
    pruned = result.pruned
    return {
        "changed": result.changed,
        "reason": result.reason,
        "dialect": loaded.request.dialect,
        "messages_before": len(result.before),
        "messages_after": len(result.messages),
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "saved_tokens": result.saved_tokens,
        "budget_tokens": result.budget_tokens,
        "over_budget": result.over_budget,
        "folded": [{"start": span.start, "stop": span.stop} for span in result.folded],
        "pruned": {"results": pruned.results, "duplicates": pruned.duplicates, "arguments": pruned.arguments},
        "summarizer": result.summarizer,
        "summary_tokens": result.summary_tokens,
        "model_tokens": result.model_tokens,
        "retention": _retention(result.retention),
        "warning": result.warning,
        "elapsed_ms": round(elapsed_ms, 1),
    }


def _retention(retention: Retention | None) -> dict[str, object] | None:
    if retention is None:
        return None
    return {
        "facts": retention.facts,
        "kept": retention.kept,
        "missing": list(retention.missing),
        "invented": list(retention.invented),
    }
