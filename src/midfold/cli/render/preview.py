"""The model's part of a compression on the command line: its price beforehand, its progress, its bill."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from midfold.cli.render.format import format_cost
from midfold.cli.terminal import printable
from midfold.config import load_settings
from midfold.folding import Compression, Fate, SummaryRequest
from midfold.providers import Provider, read_providers
from midfold.providers.summarizers import (
    Forecast,
    ModelRef,
    SummaryCall,
    forecast,
)
from midfold.tokens import Cost


def foresee(requests: Sequence[SummaryRequest], model: str, base_url: str | None) -> Forecast:
    """Foresee what a model would be sent, and what that would cost."""
    return forecast(requests, ModelRef(model, base_url), providers=_providers())


def announced(
    summarize: Callable[[SummaryRequest], str], what: str, console: Console
) -> Callable[[SummaryRequest], str]:
    """Say on a terminal what is being waited for, while it is."""

    def ask(request: SummaryRequest) -> str:
        with console.status(Text(printable(f"summarising {what}…", 100)), spinner="dots"):
            return summarize(request)

    return ask


def print_preview(
    expected: Forecast | None, result: Compression[object], elapsed_ms: float, console: Console
) -> None:
    """Print what would be sent, what that would cost and take, and what would stay."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in _lines(expected, result, elapsed_ms):
        table.add_row(Text(name, style="dim"), Text(printable(words, 200)))
    console.print()
    console.print(table)


def print_calls(calls: Sequence[SummaryCall], console: Console) -> None:
    """Print the bill: a line for each call."""
    for call in calls:
        words = f"{call.model}: {_format_usage(call)}, {format_cost(call.cost)}, {call.seconds:.1f} s"
        console.print(Text(printable(words, 200)), style="dim", soft_wrap=True)


def as_preview(expected: Forecast | None) -> dict[str, object]:
    """Return a forecast under the names that scripts rely on; without a model it is all nothing."""
    if expected is None:
        return {"model": None, "calls": 0, "input_tokens": 0, "output_tokens": 0, "dollars": 0, "seconds": 0}
    return {
        "model": expected.model,
        "calls": expected.calls,
        "input_tokens": expected.input_tokens,
        "output_tokens": expected.output_tokens,
        "dollars": _dollars(expected.cost),
        "seconds": round(expected.seconds, 1),
    }


def as_bill(calls: Sequence[SummaryCall]) -> list[dict[str, object]]:
    """Return the calls under the names that scripts rely on."""
    return [
        {
            "model": call.model,
            "input_tokens": call.usage.prompt_tokens,
            "output_tokens": call.usage.output_tokens,
            "dollars": _dollars(call.cost),
            "seconds": round(call.seconds, 1),
            "failure": call.failure,
        }
        for call in calls
    ]


def _format_usage(call: SummaryCall) -> str:
    usage = call.usage
    if not usage.total_tokens:
        return "no usage reported"
    return f"{usage.prompt_tokens:,} tokens in, {usage.output_tokens:,} out"


def _dollars(cost: Cost) -> float | None:
    return float(cost.dollars) if cost.dollars is not None and cost.is_complete else None


def _lines(
    expected: Forecast | None, result: Compression[object], elapsed_ms: float
) -> Iterator[tuple[str, str]]:
    if expected is None:
        yield "sent", "nothing: the built-in digest needs no model"
        yield "cost", "nothing"
        yield "time", f"about {max(elapsed_ms, 1):,.0f} ms"
    elif not expected.calls:
        yield "sent", f"nothing: no summary is needed of {expected.model}"
    else:
        calls = "1 call" if expected.calls == 1 else f"{expected.calls} calls"
        tokens = f"{expected.input_tokens:,} tokens in, up to {expected.output_tokens:,} out"
        yield "sent", f"{calls} to {expected.model}: {tokens}"
        yield "cost", f"about {format_cost(expected.cost)}" if expected.cost.is_complete else "unknown"
        source = "as measured" if expected.is_measured else "by a table; nothing was measured yet"
        yield "time", f"about {max(expected.seconds, 1):,.0f} s ({source})"
    # A model may leave out what the dry run has it say.
    yield "kept", _kept(result, is_sure=expected is None or not expected.calls)


def _kept(result: Compression[object], *, is_sure: bool) -> str:
    fates = result.fates
    words = f"{fates.count(Fate.KEPT):,} of {len(fates):,} messages as they are"
    if shortened := fates.count(Fate.SHORTENED):
        words += f", {shortened:,} shortened"
    if result.retention and result.retention.facts:
        most = "" if is_sure else "up to "
        words += f"; {most}{result.retention.kept:,} of {result.retention.facts:,} facts that must survive"
    return words


def _providers() -> dict[str, Provider]:
    return read_providers(load_settings().providers)
