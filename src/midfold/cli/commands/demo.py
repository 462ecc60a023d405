"""`midfold demo`: the whole story on a bundled session, in seconds, without a key or a network."""

import json
import time
from collections.abc import Sequence

import click
from rich.console import Console
from rich.text import Text

from midfold.api import compress
from midfold.cli.render.compression import LEGEND, index_bar
from midfold.cli.render.console import make_console
from midfold.cli.render.format import format_dollars
from midfold.evaluation import METHODS, make_conversation
from midfold.folding import Compression
from midfold.late_dataclasses import dataclass
from midfold.store import Order, Store, open_store
from midfold.texts import read_bytes, read_text
from midfold.tokens import CanonicalUsage, TokenCounter, price
from midfold.transcripts import decode_transcript
from midfold.wire import Request, parse

_BAR_CELLS = 52
_SHOWN_FACTS = 3
_SHOWN_LOST = 2
_READ_HITS = 10
"""A person looks at so many results of a search."""
_QUESTION_CELLS = 44
_BASELINES = {"clear output": "old tool output cleared", "newest only": "newest messages only"}
_PRICED_MODEL = "gpt-5"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a person may ask about later: the question, and the words that answer it."""

    question: str
    answer: str
    where: int

    def is_in(self, text: str) -> bool:
        return self.answer in text


@dataclass(frozen=True, slots=True)
class DemoFigures:
    """The figures of the demo: what was kept, at the same size, by several methods."""

    kept: list[Fact]
    lost: list[Fact]
    baselines: list[tuple[str, int]]
    """what else there is, and how many facts it keeps"""


@click.command()
@click.option("--summary", "show_summary", is_flag=True, help="Print the summary that the next model reads.")
def command(show_summary: bool) -> None:
    """Fold a long scripted session to a tenth and show what survived.

    The figures are computed while you wait. No model, no key, no network.
    """
    console = make_console()
    request = load_session()
    started = time.perf_counter()
    result = fold_to_a_tenth(request)
    seconds = time.perf_counter() - started
    if show_summary:
        console.print(Text(result.summary or ""), soft_wrap=True)
        return
    print_demo(request, result, seconds, console)


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
    count = TokenCounter(request.counted_as)
    tokens = sum(map(count, parse(request.messages))) + count.count_tools(request.tools or ())
    return compress(request.messages, max_tokens=tokens // 10, tools=request.tools, tokenizer=request.model)


def measure(request: Request, result: Compression[object]) -> DemoFigures:
    """Look for the facts in what is left, and in what other methods leave at the same size."""
    facts = load_facts()
    text = _visible_text(result.messages)
    conversation = make_conversation("demo", request, ())
    left = {
        name: _visible_text(METHODS[name](conversation, result.budget_tokens).items) for name in _BASELINES
    }
    return DemoFigures(
        kept=[fact for fact in facts if fact.is_in(text)],
        lost=[fact for fact in facts if not fact.is_in(text)],
        baselines=[(_BASELINES[name], sum(fact.is_in(left[name]) for fact in facts)) for name in _BASELINES],
    )


def find_by_question(request: Request, facts: Sequence[Fact]) -> dict[Fact, int]:
    """Search the originals with the words of each question; return where the answer was among the results."""
    with open_store("sqlite::memory:") as store:
        session = store.create_session(dialect=request.dialect).id
        store.append(session, request.messages)
        found = {fact: _search(store, session, fact) for fact in facts}
    return {fact: index for fact, index in found.items() if index is not None}


def _search(store: Store, session: str, fact: Fact) -> int | None:
    hits = store.search(fact.question, session_id=session, order=Order.RELEVANCE, limit=_READ_HITS).hits
    items = store.messages(session)
    return next((hit.seq for hit in hits if fact.is_in(_visible_text([items[hit.seq]]))), None)


def print_demo(request: Request, result: Compression[object], seconds: float, console: Console) -> None:
    """Print the story on a screen of 80 by 24: how much, what by index, what survived; the headline last."""
    figures = measure(request, result)
    found = find_by_question(request, figures.lost)
    _print_story(result, seconds, console)
    _print_facts(figures, found, console)
    _print_headline(result, figures, found, console)


def _print_story(result: Compression[object], seconds: float, console: Console) -> None:
    console.print(
        f"A scripted afternoon of a coding agent, {len(result.before)} messages, folded in {seconds:.1f} s"
    )
    console.print("to a tenth by the built-in digest: no model, no key, no network", style="dim")
    console.print()
    for label, tokens, style in (
        ("before", result.tokens_before, "cyan"),
        ("after", result.tokens_after, "green"),
    ):
        cells = max(1, round(tokens / result.tokens_before * _BAR_CELLS))
        console.print(Text.assemble(f"{label:<7}", ("█" * cells, style), f" {tokens:,} tokens"))
    console.print(Text("index  ").append_text(index_bar(result)))
    console.print(
        Text("       ").append_text(LEGEND.copy()).append(f" into {result.summary_tokens:,} tokens")
    )


def _print_facts(figures: DemoFigures, found: dict[Fact, int], console: Console) -> None:
    total = len(figures.kept) + len(figures.lost)
    console.print(f"\nfacts of the folded part that are left, at the same size, of {total}", style="bold")
    rows = [("midfold's digest", len(figures.kept)), *figures.baselines]
    for name, count in rows:
        style = "green" if count == len(figures.kept) else "yellow"
        bar = "█" * round(count / total * _BAR_CELLS / 2)
        console.print(Text.assemble(f"  {name:<25}{count:>3} ", (bar, style)))
    console.print()
    for fact in figures.kept[:_SHOWN_FACTS]:
        console.print(_fact_line("✓", "green", fact.question, fact.answer, console.width))
    for fact in figures.lost[:_SHOWN_LOST]:
        where = f"message {found[fact]}" if fact in found else f"not in the first {_READ_HITS} results"
        console.print(_fact_line("↩", "yellow", fact.question, where, console.width))


def _fact_line(mark: str, style: str, question: str, answer: str, width: int) -> Text:
    asked, said = Text(question), Text(answer, style=style)
    asked.truncate(_QUESTION_CELLS, overflow="ellipsis", pad=True)
    said.truncate(max(10, width - _QUESTION_CELLS - 6), overflow="ellipsis")
    return Text.assemble((f"{mark} ", style), asked, "  ", said)


def _print_headline(
    result: Compression[object], figures: DemoFigures, found: dict[Fact, int], console: Console
) -> None:
    before, after = (_dollars(tokens) for tokens in (result.tokens_before, result.tokens_after))
    total = len(figures.kept) + len(figures.lost)
    console.print()
    if figures.lost:
        asked = f"{len(found)} of the other {len(figures.lost)}"
        console.print(f"a search of the originals by the words of the question finds {asked}")
    console.print(f"each later turn: {before} → {after} of input at {_PRICED_MODEL}'s price, nothing cached")
    console.print(
        f"{len(figures.kept)} of {total} facts are left word for word in a tenth of the tokens", style="bold"
    )


def _dollars(tokens: int) -> str:
    return format_dollars(price(CanonicalUsage(tokens, 0), _PRICED_MODEL).dollars)


def _visible_text(messages: Sequence[object]) -> str:
    return json.dumps(messages, ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n")
