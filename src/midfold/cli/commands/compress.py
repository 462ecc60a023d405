"""`midfold compress`: one transcript in, a shorter one out."""

import gzip
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from midfold.api import CompressOptions, plan_compression
from midfold.cli.options import dialect_option, fold_option, row_option
from midfold.cli.render.compression import print_compression, print_losses, print_plan
from midfold.cli.render.console import make_console
from midfold.config import load_settings
from midfold.engines import SummarizerCaller
from midfold.errors import ConfigError, SummaryUnavailable
from midfold.files import replace_file
from midfold.folding import (
    Compression,
    Flow,
    SummaryRequest,
    list_losses,
    rehearse,
    run,
)
from midfold.summaries import Retention
from midfold.transcripts import Transcript, load_transcript

if TYPE_CHECKING:
    from midfold.providers.summarizers import SummaryCall

_EPILOG = """\b
Examples:
  midfold compress session.json --max-tokens 20000 -o shorter.json
  midfold compress session.jsonl --context-length 200000 --strategy prune > pruned.json
  midfold compress session.json --max-tokens 20000 --plan
  midfold compress session.json --max-tokens 20000 --model openai/gpt-5-mini --preview
"""


@click.command(epilog=_EPILOG)
@click.argument("transcript", metavar="IN")
@click.option(
    "-o", "--output", metavar="OUT", help="Where to write; standard output if not given. .gz packs it."
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), metavar="N", help="A hard ceiling for the whole request."
)
@click.option(
    "--context-length", type=click.IntRange(min=1), metavar="N", help="Fold for a model with this window."
)
@click.option("--focus", metavar="TEXT", help="A topic that gets most of the summary.")
@fold_option("strategy")
@fold_option("style")
@fold_option("template")
@click.option(
    "--pin", multiple=True, metavar="TEXT", help="Keep this sentence word for word; may be repeated."
)
@click.option("--no-pins", is_flag=True, help="Do not keep the user's rules word for word.")
@click.option("--model", metavar="M", help="Let this model write the summary: provider/model.")
@click.option("--base-url", metavar="URL", help="Where that model is, if not at its provider's own address.")
@click.option(
    "--summarizer-window",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many tokens that model can take.",
)
@click.option(
    "--tokenizer", metavar="MODEL", help="Count as this model does; default: the one the transcript names."
)
@dialect_option
@row_option
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be folded; write nothing.")
@click.option("--preview", is_flag=True, help="Show that with its price and time; nothing is sent.")
@click.option(
    "--losses", type=click.IntRange(min=1), metavar="N", help="List the N most important things that left."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Report as one JSON object: on stdout with -o, else on stderr."
)
def command(
    transcript: str,
    output: str | None,
    dialect: str | None,
    row: int | None,
    only_plan: bool,
    preview: bool,
    losses: int | None,
    as_json: bool,
    no_pins: bool,
    **options: Unpack[CompressOptions],
) -> int:
    """Compress one transcript: keep both ends, fold the middle into a digest, or into a model's summary.

    IN is what `midfold inspect` reads. A bare list gives a list, an object gives the same object with other
    messages. Exits with status 1 if the ceiling cannot be met; the best result is written all the same.
    """
    if (options.get("max_tokens") is None) == (options.get("context_length") is None):
        raise click.UsageError("give either --max-tokens or --context-length")
    if options.get("base_url") and not options.get("model"):
        raise click.UsageError("--base-url needs a --model")
    loaded = load_transcript(transcript, row=row, dialect=dialect)
    options["pins"] = not no_pins
    is_for_show = only_plan or preview
    outcome = _dry_run(loaded, options) if is_for_show else _compress(loaded, options)
    if preview:
        _report_preview(outcome, loaded, options, as_json=as_json)
    elif only_plan:
        _report_plan(outcome, loaded, as_json=as_json)
    else:
        _write(loaded.request.with_messages(outcome.result.messages), output)
        _report(outcome, loaded, as_json=as_json, to_stdout=output is not None)
    if losses and not as_json:
        print_losses(list_losses(outcome.result, losses), make_console(stderr=not is_for_show))
    return 1 if outcome.result.over_budget and options.get("max_tokens") is not None else 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result, its time, and the requests that a model got, or would get."""

    result: Compression[object]
    elapsed_ms: float
    requests: tuple[SummaryRequest, ...] = ()
    calls: "tuple[SummaryCall, ...] | None" = None


def _compress(loaded: Transcript, options: CompressOptions) -> _Outcome:
    """Compress, with a model where one is named."""
    model = options.get("model")
    if not model:
        return _run(loaded, options, _no_model)
    from midfold.cli.render.preview import announced, open_summarizer

    with open_summarizer(model, options.get("base_url")) as summarizer:
        what = f"the middle of {len(loaded.request.messages):,} messages with {model}"
        ask = SummarizerCaller().for_fold(summarizer)
        outcome = _run(loaded, options, announced(ask, what, make_console(stderr=True)))
        return replace(outcome, calls=summarizer.calls)


def _run(
    loaded: Transcript, options: CompressOptions, summarize: Callable[[SummaryRequest], str]
) -> _Outcome:
    started = time.perf_counter()
    result = run(_plan(loaded, options), summarize)
    return _Outcome(result, (time.perf_counter() - started) * 1000)


def _dry_run(loaded: Transcript, options: CompressOptions) -> _Outcome:
    """Find out what would be done, and what a model would be asked; nothing is sent."""
    started = time.perf_counter()
    rehearsal = rehearse(_plan(loaded, options))
    elapsed_ms = (time.perf_counter() - started) * 1000
    return _Outcome(rehearsal.result, elapsed_ms, requests=rehearsal.requests)


def _plan(loaded: Transcript, options: CompressOptions) -> Flow[object]:
    uses_model = bool(options.get("model"))
    if uses_model and not options.get("summarizer_window"):
        options = {**options, "summarizer_window": load_settings().auxiliary.compression.context_length}
    return plan_compression(loaded.request, use_model=uses_model, **options)


def _no_model(_request: SummaryRequest) -> str:
    raise SummaryUnavailable("no model is configured")


def _write(body: object, output: str | None) -> None:
    """Write the transcript in one step, so that a failed run leaves the old file."""
    data = _encode(body)
    if output is None or output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    try:
        replace_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    except OSError as error:
        raise ConfigError(
            "--output", output, hint=f"a file that can be written ({error.strerror})"
        ) from error


def _encode(body: object) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except ValueError:  # NaN and infinity are no JSON, though some write and read them
        return _encode(_without_odd_numbers(body))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half an emoji: only an escape can carry it
        return json.dumps(body).encode() + b"\n"


def _without_odd_numbers(value: object) -> object:
    """Return a value with null in the place of what is no number."""
    if isinstance(value, dict):
        return {key: _without_odd_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_odd_numbers(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _report(outcome: _Outcome, loaded: Transcript, *, as_json: bool, to_stdout: bool) -> None:
    if as_json:
        click.echo(json.dumps(_facts(outcome, loaded)), err=not to_stdout)
        return
    console = make_console(stderr=True)
    print_compression(outcome.result, loaded.source, outcome.elapsed_ms, console)
    if outcome.calls:
        from midfold.cli.render.preview import print_calls

        print_calls(outcome.calls, console)


def _report_plan(outcome: _Outcome, loaded: Transcript, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_facts(outcome, loaded)))
    else:
        print_plan(outcome.result, loaded.source, make_console())


def _report_preview(
    outcome: _Outcome, loaded: Transcript, options: CompressOptions, *, as_json: bool
) -> None:
    from midfold.cli.render.preview import as_preview, foresee, print_preview

    model = options.get("model")
    expected = foresee(outcome.requests, model, options.get("base_url")) if model else None
    if as_json:
        click.echo(json.dumps({**_facts(outcome, loaded), "preview": as_preview(expected)}))
        return
    console = make_console()
    print_plan(outcome.result, loaded.source, console)
    print_preview(expected, outcome.result, outcome.elapsed_ms, console)


def _facts(outcome: _Outcome, loaded: Transcript) -> dict[str, object]:
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
