"""`midfold compact`: the newest session of a client, folded, ready to be resumed."""

import json

import click

from midfold.api import CompressOptions
from midfold.cli.commands.compress import as_report, compress_transcript, fill_in
from midfold.cli.inputs import find_inputs, load_named
from midfold.cli.options import former_model_option, read_tokens, summary_model_option
from midfold.cli.render.compression import print_compression
from midfold.cli.render.console import make_console
from midfold.cli.results import describe_resume, own_destination, print_written, write_result
from midfold.late_dataclasses import replace
from midfold.tokens import TokenCounter, break_down
from midfold.transcripts import Transcript
from midfold.wire import parse

_SHARE = 5
"""A fifth stays, unless a person says how much."""
_LEAST_TOKENS = 8_000
_EPILOG = """\b
Examples:
  midfold compact
  midfold compact --max-tokens 20k --focus "the rounding error"
  midfold compact ~/.claude/projects/-home-mia-app/3f5c1e9a-….jsonl
"""


@click.command(epilog=_EPILOG)
@click.argument("session", required=False)
@click.option(
    "--max-tokens",
    type=read_tokens,
    metavar="N",
    help="Hard ceiling for the messages; default: a fifth of them, at least 8,000.",
)
@click.option("--focus", metavar="TEXT", help="A topic that gets most of the summary.")
@summary_model_option
@former_model_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    session: str | None, max_tokens: int | None, focus: str | None, summary_model: str | None, as_json: bool
) -> int:
    """Fold a Claude Code or Codex session into a new one, and print how to resume it.

    The default is the newest session of this folder. The original never changes: the client lists both.
    """
    files = find_inputs([session] if session else [])
    loaded = load_named(files[0])
    destination = own_destination(loaded)
    # The system prompt is the client's, which sends its own.
    bare = replace(loaded, request=replace(loaded.request, system=None))
    ceiling = max_tokens or _default_ceiling(bare)
    options = fill_in(CompressOptions(max_tokens=ceiling, focus=focus, summary_model=summary_model))
    outcome = compress_transcript(bare, options, command_name="compact")
    written = write_result(loaded, outcome.result, destination) if outcome.result.changed else None
    if as_json:
        report = as_report(outcome.result, loaded, outcome.elapsed_ms)
        told = {"path": str(written.path), "resume": describe_resume(written)} if written else {}
        click.echo(json.dumps({**report, "source": loaded.source, **told}))
    else:
        print_compression(outcome.result, loaded.source, outcome.elapsed_ms, make_console(stderr=True))
        if written is not None:
            print_written(written)
    return 1 if outcome.result.over_budget else 0


def _default_ceiling(loaded: Transcript) -> int:
    request = loaded.request
    tokens = break_down(parse(request.messages, request.dialect), TokenCounter(request.counted_as)).tokens
    return max(_LEAST_TOKENS, tokens // _SHARE)
