"""`midfold eval`: measures what a compression keeps of real transcripts, without a model."""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import click

from midfold.cli.options import whole_number
from midfold.cli.render.console import make_console
from midfold.cli.render.evaluation import print_report, print_studies
from midfold.cli.terminal import printable
from midfold.errors import ConfigError, UnreadableTranscript
from midfold.evaluation import (
    FUTURE_RATIOS,
    CeilingLadder,
    ChainResult,
    EngineRun,
    FutureScore,
    Gate,
    Labels,
    MeasuredConversation,
    Report,
    Score,
    SearchScore,
    Studies,
    Study,
    TruthScore,
    Unusable,
    as_values,
    chain_folds,
    climb_down,
    evaluate,
    find_labels,
    find_misses,
    find_transcripts,
    judge_truth,
    load_conversation,
    name_transcript,
    read_gates,
    read_labels,
    run_engine,
    score_future,
    score_locomo,
    score_search,
    study_of,
    study_values,
    summarize,
    summarize_studies,
    write_page,
)
from midfold.files import replace_file
from midfold.late_dataclasses import dataclass, field

_PROBE_RATIOS = (0.1, 0.05, 0.025)
_TRUTH_RATIOS = (0.1, 0.05)
_EPILOG = """\b
Examples:
  midfold eval session.json
  midfold eval corpus/ --chains --html report.html
  midfold eval corpus/ --ratio 0.1 --gate verbatim=0.85 --gate must_keep=1.0
  midfold eval corpus/ --truth --future --gate wrong_per_100=2
  midfold eval corpus/ --search --locomo locomo10.json --gate search_lead=0
"""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The measurements that were asked for, and their inputs."""

    studies: frozenset[Study]
    ratios: tuple[float, ...]
    probes_dir: Path | None
    labels_dir: Path | None

    def ratios_of(self, study: Study) -> tuple[float, ...]:
        """Return the ratios that a study folds to: those that were given, or its own."""
        own = {Study.TRUTH: _TRUTH_RATIOS, Study.FUTURE: FUTURE_RATIOS, Study.CHAINS: _PROBE_RATIOS[:1]}
        given = self.ratios[:1] if study is Study.CHAINS else self.ratios
        return given or own.get(study, _PROBE_RATIOS)


@dataclass(slots=True)
class _Findings:
    """The measurements so far."""

    scores: list[Score] = field(default_factory=list)
    links: list[ChainResult] = field(default_factory=list)
    unusable: list[Unusable] = field(default_factory=list)
    truth: list[TruthScore] = field(default_factory=list)
    future: list[FutureScore] = field(default_factory=list)
    ladders: list[CeilingLadder] = field(default_factory=list)
    engine_runs: list[EngineRun] = field(default_factory=list)
    searches: list[SearchScore] = field(default_factory=list)


def _read_ratio(text: str) -> float:
    """Read a part of one; an option's type."""
    try:
        ratio = float(text)
    except ValueError:
        ratio = 0.0
    if not 0 < ratio < 1:
        raise click.BadParameter(f"{text!r} is no part; write one between 0 and 1, such as 0.1")
    return ratio


@click.command(epilog=_EPILOG)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--probes",
    "probes_dir",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of probes, NAME.json for each transcript; default: probes/ beside the folder of PATH.",
)
@click.option(
    "--labels",
    "labels_dir",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of labels, NAME.json for each transcript; default: gold/ beside the folder of PATH.",
)
@click.option(
    "--ratio",
    "ratios",
    type=_read_ratio,
    metavar="PART",
    multiple=True,
    help="Target size as a part of the original, such as 0.1; may be repeated.",
)
@click.option("--truth", is_flag=True, help="Judge the notes by labels; list wrong entries.")
@click.option(
    "--future", is_flag=True, help="Cut each session, fold, and look for what the agent used after the cut."
)
@click.option("--ceilings", is_flag=True, help="Fold to smaller and smaller ceilings.")
@click.option("--engine", is_flag=True, help="Run an engine over whole conversations.")
@click.option("--search", is_flag=True, help="Run labelled searches, beside a plain full-text index.")
@click.option(
    "--locomo",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --search: also ask the questions of a LoCoMo file.",
)
@click.option(
    "--chains",
    is_flag=True,
    help="Also fold 1, 2, 5 and 10 times in a row, to the first ratio.",
)
@click.option("--all", "everything", is_flag=True, help="Run every measurement.")
@click.option("--limit", type=whole_number(1), metavar="N", help="Read only the first N transcripts.")
@click.option("--missing", "with_missing", is_flag=True, help="With --truth: also list missing facts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with everything measured.")
@click.option("--html", "page", metavar="FILE", help="Write one page with tables and charts.")
@click.option(
    "--gate",
    "gates",
    metavar="KEY=VALUE",
    multiple=True,
    help="Exit with status 1 if the digest misses this figure; or a file of gates, one a line.",
)
def command(
    paths: tuple[Path, ...],
    probes_dir: Path | None,
    labels_dir: Path | None,
    ratios: tuple[float, ...],
    limit: int | None,
    with_missing: bool,
    as_json: bool,
    page: str | None,
    gates: tuple[str, ...],
    locomo: Path | None,
    **studies: bool,
) -> int:
    """Compress transcripts with several methods and compare what they keep.

    PATH is a transcript or a folder of them. Probes are exact strings that should survive: they come from
    files, or are derived from the transcript. --truth, --future, --ceilings, --engine and --search run other
    measurements instead. No model and no network.
    """
    plan = _Plan(_choose_studies(studies), tuple(dict.fromkeys(ratios)), probes_dir, labels_dir)
    wanted = read_gates(gates)
    _check_gates(wanted, plan)
    found = _measure(list(islice(find_transcripts(paths), limit)), plan)
    if locomo is not None and Study.SEARCH in plan.studies:
        found.searches += score_locomo(locomo)
    report = summarize(found.scores, found.links, found.unusable)
    judged = summarize_studies(found.truth, found.future, found.ladders, found.engine_runs, found.searches)
    _check_findings(report, judged, plan)
    if page is not None:
        _write_page(report, judged, page)
    if as_json:
        click.echo(json.dumps(as_values(report) | study_values(judged), ensure_ascii=False))
    else:
        console = make_console()
        if report.scores:
            print_report(report, console)
        print_studies(judged, console, with_missing=with_missing)
    misses = find_misses(wanted, report, judged)
    for miss in misses:
        click.echo(f"midfold: {miss}", err=True)
    return 1 if misses else 0


def _choose_studies(options: dict[str, bool]) -> frozenset[Study]:
    """Return what was asked for; without a wish, the comparison of methods by probes."""
    if options["everything"]:
        return frozenset(Study)
    asked = {study for study in Study if options.get(study.value)}
    if not asked or Study.CHAINS in asked:
        asked.add(Study.PROBES)
    return frozenset(asked)


def _check_gates(gates: Sequence[Gate], plan: _Plan) -> None:
    for gate in gates:
        study = study_of(gate.name)
        if study not in plan.studies:
            hint = "no study that leaves out probes" if study is Study.PROBES else f"--{study}"
            raise ConfigError("--gate", str(gate), hint=f"{hint}, without which it is not measured")
        ratios = plan.ratios_of(study)
        if gate.ratio is not None and gate.ratio not in ratios:
            raise ConfigError(
                "--gate", str(gate), hint=f"a ratio that is measured: {', '.join(map(str, ratios))}"
            )


def _check_findings(report: Report, studies: Studies, plan: _Plan) -> None:
    if Study.TRUTH in plan.studies and not studies.truth:
        raise click.UsageError("no transcript has labels; --labels says where they lie")
    if plan.studies == {Study.SEARCH} and not studies.search:
        raise click.UsageError("no transcript has queries among its labels; --labels says where they lie")
    if not (report.scores or study_values(studies)):
        raise click.UsageError("there is no transcript to measure with")


def _measure(paths: Sequence[Path], plan: _Plan) -> _Findings:
    """Measure every transcript; one that is none is worth a warning, not the end."""
    found = _Findings()
    console = make_console(stderr=True)
    with console.status("") as status:
        for number, path in enumerate(paths, 1):
            status.update(f"{number} of {len(paths)}  {printable(path.name)}")
            conversation = load_conversation(path, plan.probes_dir)
            if isinstance(conversation, Unusable):
                _leave_out(conversation, found)
            else:
                _measure_one(conversation, path, plan, found)
    return found


def _leave_out(unusable: Unusable, found: _Findings) -> None:
    found.unusable.append(unusable)
    warning = f"{unusable.path.name}: left out: {unusable.reason}"
    click.echo(f"midfold: {printable(warning, 200)}", err=True)


def _measure_one(conversation: MeasuredConversation, path: Path, plan: _Plan, found: _Findings) -> None:
    studies = plan.studies
    if Study.PROBES in studies:
        found.scores += evaluate(conversation, plan.ratios_of(Study.PROBES))
    if Study.CHAINS in studies:
        found.links += chain_folds(conversation, plan.ratios_of(Study.CHAINS)[0])
    if labels := _read_labels(conversation, path, plan, found):
        if Study.TRUTH in studies:
            found.truth += [judge_truth(conversation, labels, ratio) for ratio in plan.ratios_of(Study.TRUTH)]
        score = score_search(conversation, labels) if Study.SEARCH in studies else None
        found.searches += [] if score is None else [score]
    if Study.FUTURE in studies:
        found.future += score_future(conversation, plan.ratios_of(Study.FUTURE))
    if Study.CEILINGS in studies:
        found.ladders.append(climb_down(conversation))
    if Study.ENGINE in studies:
        run = run_engine(conversation)
        found.engine_runs += [] if run is None else [run]


def _read_labels(
    conversation: MeasuredConversation, path: Path, plan: _Plan, found: _Findings
) -> Labels | None:
    """Read the labels of a transcript, where a study needs them and it has some."""
    listed = find_labels(path, name_transcript(path), plan.labels_dir)
    if listed is None or plan.studies.isdisjoint((Study.TRUTH, Study.SEARCH)):
        return None
    try:
        return read_labels(listed, len(conversation.messages))
    except UnreadableTranscript as error:
        _leave_out(Unusable(listed, error.reason), found)
        return None


def _write_page(report: Report, studies: Studies, page: str) -> None:
    try:
        replace_file(Path(page), write_page(report, studies).encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError("--html", page, hint=f"a file that can be written ({error.strerror})") from error
