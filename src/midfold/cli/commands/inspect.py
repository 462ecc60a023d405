"""`midfold inspect`: what fills the window, without folding anything."""

import json
from dataclasses import asdict

import click

from midfold.cli.inputs import find_inputs, say_unreadable
from midfold.cli.options import complete_model, dialect_option, read_tokens, row_option, whole_number
from midfold.cli.render.console import make_console
from midfold.cli.render.context import print_inspection, print_inspections
from midfold.config import find_home
from midfold.engines import ContextBreakdown, section_breakdown
from midfold.errors import DialectError
from midfold.folding import CompressionPolicy
from midfold.late_dataclasses import dataclass
from midfold.ports import Fault
from midfold.tokens import (
    LIMITS_FILE,
    Breakdown,
    LearnedLimits,
    TokenCounter,
    Window,
    break_down,
    resolve_window,
)
from midfold.transcripts import Transcript, load_transcript
from midfold.wire import parse
from midfold.wire.validate import continues_stored_history, profile_for, validate

_SHARES = ("speakers", "kinds", "tools", "largest")
_EPILOG = """\b
Examples:
  midfold inspect
  midfold inspect session.json
  midfold inspect ~/.claude/projects/app/s.jsonl --context-length 200k
  midfold inspect trajectories.jsonl.gz --row 17 --json
  some-agent --dump | midfold inspect -
"""


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that the command knows about a transcript. `window` is `None` where the model is unknown."""

    transcript: Transcript
    model: str | None
    window: Window | None
    breakdown: Breakdown
    context: ContextBreakdown
    faults: tuple[Fault, ...]
    profile: str
    """The provider profile whose rules the faults break."""


@click.command(epilog=_EPILOG)
@click.argument("transcripts", metavar="[IN]...", nargs=-1)
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=complete_model,
    help="Count as this model does; default: the transcript's.",
)
@click.option(
    "--context-length", type=read_tokens, metavar="N", help="Context window to compare with, such as 128k."
)
@dialect_option
@row_option
@click.option(
    "--top",
    type=whole_number(0),
    metavar="N",
    default=5,
    help="Number of large messages to list; default: 5.",
)
@click.option("--strict", is_flag=True, help="Exit with status 2 if the provider would refuse the messages.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(
    transcripts: tuple[str, ...],
    model: str | None,
    context_length: int | None,
    dialect: str | None,
    row: int | None,
    top: int,
    strict: bool,
    as_json: bool,
) -> int:
    """Show what fills the window, by speaker, kind and tool.

    IN is a file, or - for standard input: a list of messages or a request body in any dialect (OpenAI chat,
    OpenAI Responses, Anthropic, ShareGPT), or a session file of Claude Code, Codex or Hermes; JSON or JSON
    lines, gzipped or not. A folder stands for its newest session, or for the transcripts in it. The default
    is the newest session of Claude Code or Codex in this folder. Nothing is changed.
    """
    files = find_inputs(transcripts)
    found: list[Inspection] = []
    for file in files:
        try:
            loaded = load_transcript(file, row=row, dialect=dialect)
            found.append(inspect_transcript(loaded, model, context_length, top))
        except DialectError as error:
            say_unreadable(file, error)
    if not found:
        return 2
    _report(found, is_single=len(files) == 1, as_json=as_json)
    faulty = any(fault.severity == "error" for each in found for fault in each.faults)
    return 2 if len(found) < len(files) or (strict and faulty) else 0


def _report(found: list[Inspection], *, is_single: bool, as_json: bool) -> None:
    if as_json:
        listed = [_as_dict(each) for each in found]
        click.echo(json.dumps(listed[0] if is_single else listed, indent=2))
    elif is_single:
        print_inspection(found[0], make_console())
    elif found:
        print_inspections(found, make_console())


def inspect_transcript(
    transcript: Transcript, model: str | None = None, context_length: int | None = None, top: int = 5
) -> Inspection:
    """Take a transcript apart, count it as `model` does, and look up its window."""
    request = transcript.request
    model = model or request.model
    messages = parse(request.messages, request.dialect)
    count = TokenCounter(model or request.counted_as)
    breakdown = break_down(
        messages,
        count,
        system_tokens=count.count_text(request.system_text),
        schema_tokens=count.count_tools(request.tools or ()),
        largest=top,
    )
    profile = profile_for(model, request.dialect)
    faults = validate(
        request.messages,
        dialect=request.dialect,
        system=request.system,
        tools=request.tools,
        profile=profile,
        continues=continues_stored_history(request.raw),
    )
    stated = transcript.session.facts.window_tokens if transcript.session else None
    window = _find_window(model, context_length or stated)
    policy = CompressionPolicy(context_length=window.tokens) if window else None
    context = section_breakdown(messages, breakdown, policy)
    return Inspection(transcript, model, window, breakdown, context, tuple(faults), profile.name)


def _find_window(model: str | None, context_length: int | None) -> Window | None:
    if model is None and context_length is None:
        return None
    limits = LearnedLimits(find_home() / LIMITS_FILE)
    window = resolve_window(model or "", explicit=context_length, limits=limits)
    return window if window.source != "probe" else None


def _as_dict(inspection: Inspection) -> dict[str, object]:
    request = inspection.transcript.request
    window = inspection.window
    return {
        "source": inspection.transcript.source,
        "dialect": request.dialect,
        "model": inspection.model,
        "messages": len(request.messages),
        "tokens": inspection.breakdown.tokens,
        "context_length": window.tokens if window else None,
        "usage_percent": round(100 * inspection.breakdown.tokens / window.tokens, 1) if window else None,
        **{key: value for key, value in asdict(inspection.breakdown).items() if key in _SHARES},
        "sections": [asdict(share) for share in inspection.context.sections],
        "profile": inspection.profile,
        "faults": [asdict(fault) for fault in inspection.faults],
        "notes": list(inspection.transcript.notes),
    }
