"""`midfold compress`: one transcript in, a shorter one out."""

import gzip
import json
import sys
import time
from pathlib import Path

import click

from midfold.api import plan_compression
from midfold.cli.console import make_console
from midfold.cli.folds import print_compression, print_plan
from midfold.compression.policy import Strategy, Style, Template
from midfold.compression.results import Compression
from midfold.compression.run import run
from midfold.compression.state import CompressionState
from midfold.engines.folding import conclude
from midfold.errors import ConfigError, SummaryUnavailable
from midfold.files import replace_file
from midfold.transcripts import Transcript, load_transcript
from midfold.wire import DIALECTS

_EPILOG = """\b
Examples:
  midfold compress session.json --max-tokens 20000 -o shorter.json
  midfold compress session.jsonl --context-length 200000 --strategy prune > pruned.json
  midfold compress session.json --max-tokens 20000 --plan
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
@click.option(
    "--strategy",
    type=click.Choice([choice.value for choice in Strategy]),
    default=Strategy.STAGED.value,
    show_default=True,
)
@click.option(
    "--style",
    type=click.Choice([choice.value for choice in Style]),
    default=Style.STUB.value,
    show_default=True,
)
@click.option(
    "--template",
    type=click.Choice([choice.value for choice in Template]),
    default=Template.HANDOFF.value,
    show_default=True,
)
@click.option(
    "--tokenizer", metavar="MODEL", help="Count as this model does; default: the one the transcript names."
)
@click.option(
    "--dialect", type=click.Choice(sorted(DIALECTS)), help="Read it as this, whatever it looks like."
)
@click.option("--row", type=click.IntRange(min=0), help="Which conversation of a file that holds many.")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be folded; write nothing.")
@click.option(
    "--json", "as_json", is_flag=True, help="Report as one JSON object: on stdout with -o, else on stderr."
)
def command(
    transcript: str,
    output: str | None,
    max_tokens: int | None,
    context_length: int | None,
    focus: str | None,
    strategy: str,
    style: str,
    template: str,
    tokenizer: str | None,
    dialect: str | None,
    row: int | None,
    only_plan: bool,
    as_json: bool,
) -> int:
    """Compress one transcript without a model: keep both ends, fold the middle into a digest.

    IN is what `midfold inspect` reads. A bare list gives a list, an object gives the same object with other
    messages. Leaves with status 1 if the ceiling cannot be met; the best result is written all the same.
    """
    if (max_tokens is None) == (context_length is None):
        raise click.UsageError("give either --max-tokens or --context-length")
    loaded = load_transcript(transcript, row=row, dialect=dialect)
    started = time.perf_counter()
    flow = plan_compression(
        loaded.request,
        use_model=False,
        max_tokens=max_tokens,
        context_length=context_length,
        focus=focus,
        strategy=strategy,
        style=style,
        template=template,
        tokenizer=tokenizer,
    )
    result = conclude(run(flow, _no_model), loaded.request, CompressionState())
    elapsed_ms = (time.perf_counter() - started) * 1000
    if only_plan:
        _report_plan(result, loaded, as_json=as_json, elapsed_ms=elapsed_ms)
    else:
        _write(loaded.request.with_messages(result.messages), output)
        _report(result, loaded, elapsed_ms, as_json=as_json, to_stdout=output is not None)
    return 1 if result.over_budget and max_tokens is not None else 0


def _no_model(_request: object) -> str:
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
        return json.dumps(body, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half an emoji: only an escape can carry it
        return json.dumps(body).encode() + b"\n"


def _report(
    result: Compression[object], loaded: Transcript, elapsed_ms: float, *, as_json: bool, to_stdout: bool
) -> None:
    if as_json:
        click.echo(json.dumps(as_report(result, loaded, elapsed_ms)), err=not to_stdout)
    else:
        print_compression(result, loaded.source, elapsed_ms, make_console(stderr=True))


def _report_plan(
    result: Compression[object], loaded: Transcript, *, as_json: bool, elapsed_ms: float
) -> None:
    if as_json:
        click.echo(json.dumps(as_report(result, loaded, elapsed_ms)))
    else:
        print_plan(result, loaded.source, make_console())


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
        "retention": None,
        "warning": result.warning,
        "elapsed_ms": round(elapsed_ms, 1),
    }
