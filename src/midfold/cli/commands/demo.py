"""`midfold demo`: the whole story on a bundled session, in seconds, without a key or a network."""

import json
import time
from dataclasses import dataclass

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from midfold.api import compress
from midfold.cli.render.compression import index_bar, stretch_table
from midfold.cli.render.console import make_console
from midfold.folding import Compression
from midfold.texts import read_bytes, read_text
from midfold.tokens import TokenCounter
from midfold.transcripts import decode_transcript
from midfold.wire import Request, parse

_BAR_CELLS = 56
_SHOWN_LOST = 4


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a person may ask about later: the question, and the words that answer it."""

    question: str
    answer: str
    where: int


@click.command()
@click.option(
    "--summary", "show_summary", is_flag=True, help="Print the whole summary that the next model reads."
)
def command(show_summary: bool) -> None:
    """Fold a long coding session to a tenth of its size and show what survived.

    Everything runs on this machine: no model, no key, no network.
    """
    console = make_console()
    request = load_session()
    started = time.perf_counter()
    result = fold_to_a_tenth(request)
    seconds = time.perf_counter() - started
    if show_summary:
        console.print(Text(result.summary or ""), soft_wrap=True)
        return
    print_demo(result, seconds, console)
    console.print(
        "\nmidfold demo --summary shows the summary; midfold compress does this to your own files",
        style="dim",
    )


def load_session() -> Request:
    """Read the bundled session."""
    data = read_bytes("midfold.cli", "data/demo.json.gz")
    return decode_transcript(data, source="the bundled session").request


def load_facts() -> list[Fact]:
    """Read the questions that come with it."""
    text = read_text("midfold.cli", "data/demo_facts.json")
    return [Fact(**fact) for fact in json.loads(text)]


def fold_to_a_tenth(request: Request) -> Compression[object]:
    """Compress the session with the built-in digest."""
    count = TokenCounter(request.model)
    tokens = sum(map(count, parse(request.messages))) + count.count_tools(request.tools or ())
    return compress(request.messages, max_tokens=tokens // 10, tools=request.tools, tokenizer=request.model)


def print_demo(result: Compression[object], seconds: float, console: Console) -> None:
    """Print the story: how much, what by index, what survived and what can be found again."""
    _print_story(result, seconds, console)
    _print_survivors(result, console)


def _print_story(result: Compression[object], seconds: float, console: Console) -> None:
    console.print(Text("A long afternoon of a coding agent, folded to a tenth", style="bold"))
    console.print(f"{result.headline}, in {seconds:.1f} s, by the built-in digest\n")
    for label, tokens, style in (
        ("before", result.tokens_before, "cyan"),
        ("after", result.tokens_after, "green"),
    ):
        cells = max(1, round(tokens / result.tokens_before * _BAR_CELLS))
        console.print(Text.assemble(f"{label:<7}", ("█" * cells, style), f" {tokens:,} tokens"))
    console.print("\nthe session by index: kept, shortened, folded", style="dim")
    console.print(index_bar(result))
    console.print(stretch_table(result))


def _print_survivors(result: Compression[object], console: Console) -> None:
    kept_text = _visible_text(result)
    facts = load_facts()
    kept = [fact for fact in facts if fact.answer in kept_text]
    lost = [fact for fact in facts if fact.answer not in kept_text]
    console.print(
        f"\n{len(kept)} of {len(facts)} facts from the folded part are still there word for word",
        style="bold",
    )
    console.print(_fact_table(kept[:8], "✓", "green"))
    if lost:
        found = [fact for fact in lost if result.find(fact.answer)]
        console.print(
            f"\nthe other {len(lost)} left the context, and {len(found)} are found again in the originals",
            style="bold",
        )
        console.print(_fact_table(lost[:_SHOWN_LOST], "↩", "yellow", result))


def _visible_text(result: Compression[object]) -> str:
    return json.dumps(result.messages, ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n")


def _fact_table(facts: list[Fact], mark: str, style: str, result: Compression[object] | None = None) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(width=1)
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    for fact in facts:
        answer = fact.answer
        if result is not None:
            matches = result.find(fact.answer)
            answer = f'find("{fact.answer[:30]}") → message {matches[0].index}' if matches else fact.answer
        table.add_row(
            Text(mark, style=style), Text(fact.question, overflow="ellipsis"), Text(answer, style=style)
        )
    return table
