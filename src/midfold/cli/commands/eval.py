"""`midfold eval`: what a compression keeps of real transcripts, measured without any model."""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import click

from midfold.cli.render.console import make_console
from midfold.cli.render.evaluation import print_report
from midfold.cli.terminal import printable
from midfold.errors import ConfigError
from midfold.evaluation import (
    CHAINS,
    ChainResult,
    Gate,
    Report,
    Score,
    Unusable,
    as_values,
    chain_folds,
    evaluate,
    find_misses,
    find_transcripts,
    load_conversation,
    read_gates,
    summarize,
    write_page,
)
from midfold.files import replace_file

_DEFAULT_RATIOS = (0.1, 0.05)
_EPILOG = """\b
Examples:
  midfold eval session.json
  midfold eval corpus/ --chains --html report.html
  midfold eval corpus/ --ratio 0.1 --gate verbatim=0.85 --gate must_keep=1.0
"""


@click.command(epilog=_EPILOG)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--probes",
    "probes_dir",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Where probes lie, NAME.json for each transcript; default: the folder probes beside that of PATH.",
)
@click.option(
    "--ratio",
    "ratios",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    multiple=True,
    default=_DEFAULT_RATIOS,
    show_default=True,
    help="The part of its size to compress to; may be given again.",
)
@click.option(
    "--chains",
    "with_chains",
    is_flag=True,
    help="Also fold 1, 2, 5 and 10 times in a row, to the first ratio.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Take the first N transcripts only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with everything measured.")
@click.option("--html", "page", metavar="FILE", help="Write one page with tables and charts.")
@click.option(
    "--gate",
    "gates",
    metavar="KEY=VALUE",
    multiple=True,
    help="Exit with status 1 if a figure of the digest misses this; or a file with one on each line.",
)
def command(
    paths: tuple[Path, ...],
    probes_dir: Path | None,
    ratios: tuple[float, ...],
    with_chains: bool,
    limit: int | None,
    as_json: bool,
    page: str | None,
    gates: tuple[str, ...],
) -> int:
    """Compress transcripts in several ways and show what each of them keeps.

    PATH is a transcript that `midfold inspect` reads, or a folder of them. Probes, exact strings that should
    survive, are read from files where there are some and derived from the transcript where not. No model and
    no network is needed.
    """
    wanted = read_gates(gates)
    _check_gates(wanted, ratios, with_chains=with_chains)
    found = list(islice(find_transcripts(paths), limit))
    report = _measure(found, probes_dir, tuple(dict.fromkeys(ratios)), with_chains=with_chains)
    if not report.scores:
        raise click.UsageError("there is no transcript to measure with")
    if page is not None:
        _write_page(report, page)
    if as_json:
        click.echo(json.dumps(as_values(report), ensure_ascii=False))
    else:
        print_report(report, make_console())
    misses = find_misses(wanted, report)
    for miss in misses:
        click.echo(f"midfold: {miss}", err=True)
    return 1 if misses else 0


def _check_gates(gates: Sequence[Gate], ratios: Sequence[float], *, with_chains: bool) -> None:
    for gate in gates:
        if gate.ratio is not None and gate.ratio not in ratios:
            raise ConfigError(
                "--gate", str(gate), hint=f"a ratio that is measured: {', '.join(map(str, ratios))}"
            )
        if gate.name in CHAINS and not with_chains:
            raise ConfigError("--gate", str(gate), hint="--chains, without which nothing is chained")


def _measure(
    paths: Sequence[Path], probes_dir: Path | None, ratios: Sequence[float], *, with_chains: bool
) -> Report:
    """Measure every transcript; one that is none is worth a warning, not the end."""
    scores: list[Score] = []
    links: list[ChainResult] = []
    unusable: list[Unusable] = []
    console = make_console(stderr=True)
    with console.status("") as status:
        for number, path in enumerate(paths, 1):
            status.update(f"{number} of {len(paths)}  {printable(path.name)}")
            conversation = load_conversation(path, probes_dir)
            if isinstance(conversation, Unusable):
                unusable.append(conversation)
                warning = f"{path.name}: left out: {conversation.reason}"
                click.echo(f"midfold: {printable(warning, 200)}", err=True)
                continue
            scores += evaluate(conversation, ratios)
            if with_chains:
                links += chain_folds(conversation, ratios[0])
    return summarize(scores, links, unusable)


def _write_page(report: Report, page: str) -> None:
    try:
        replace_file(Path(page), write_page(report).encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError("--html", page, hint=f"a file that can be written ({error.strerror})") from error
