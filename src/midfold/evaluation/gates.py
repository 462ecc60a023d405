"""Floors and caps for figures, so that a build can fail when fidelity does."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TypeVar

from midfold.errors import ConfigError
from midfold.evaluation.baselines import DIGEST
from midfold.evaluation.future import FutureFigures, find_least_lead
from midfold.evaluation.probes import ProbeKind
from midfold.evaluation.report import ChainFigures, MethodFigures, Report
from midfold.evaluation.studies import Studies
from midfold.evaluation.truth_figures import TruthFigures
from midfold.late_dataclasses import dataclass

_F = TypeVar("_F", TruthFigures, FutureFigures, MethodFigures)
FLOORS = (
    "verbatim",
    "verbatim_met",
    "verbatim_family",
    "associated",
    "weighted",
    "macro",
    "ends",
    "must_keep",
    "fill",
    "kept_per_1000",
)
"""Figures that must not be lower; kinds of probes and what chains keep are among them."""
CAPS = ("lost", "inventions", "unsound", "secrets", "over_ceiling", "unstable", "cpu_ms_per_450k")
"""Figures that must not be higher."""
CHAINS = ("chain_task", "chain_constraints", "chain_must_keep")
TRUTH_FLOORS = (
    "rules_true",
    "rules_shown",
    "rules_anywhere",
    "blocked_true",
    "pending_true",
    "open_covered",
    "facts_3",
    "facts_2",
    "facts_1",
)
TRUTH_CAPS = ("wrong_per_100", "non_rules_shown", "overcome_shown", "outdated_alone")
FUTURE = ("future", "future_macro", "future_lead")
CEILINGS = ("larger_results", "unmet_ceilings")
ENGINE = ("engine_must_keep", "engine_middle")
SEARCH = ("search", "search_lead")
NAMES = (
    *FLOORS,
    *CAPS,
    *CHAINS,
    *ProbeKind,
    *TRUTH_FLOORS,
    *TRUTH_CAPS,
    *FUTURE,
    *CEILINGS,
    *ENGINE,
    *SEARCH,
)
_ALL_CAPS = (*CAPS, *TRUTH_CAPS, *CEILINGS)


class Study(StrEnum):
    """The measurement that a figure needs."""

    PROBES = "probes"
    CHAINS = "chains"
    TRUTH = "truth"
    FUTURE = "future"
    CEILINGS = "ceilings"
    ENGINE = "engine"
    SEARCH = "search"


def study_of(name: str) -> Study:
    """Return the study that a figure comes from."""
    named = {
        Study.CHAINS: CHAINS,
        Study.TRUTH: (*TRUTH_FLOORS, *TRUTH_CAPS),
        Study.FUTURE: FUTURE,
        Study.CEILINGS: CEILINGS,
        Study.ENGINE: ENGINE,
        Study.SEARCH: SEARCH,
    }
    return next((study for study, names in named.items() if name in names), Study.PROBES)


@dataclass(frozen=True, slots=True)
class Gate:
    """A bound for a figure of midfold's digest; without a ratio it holds for the first one measured."""

    name: str
    value: float
    ratio: float | None = None

    @property
    def is_cap(self) -> bool:
        return self.name in _ALL_CAPS

    def __str__(self) -> str:
        at = "" if self.ratio is None else f"@{self.ratio:g}"
        return f"{self.name}{at} {'at most' if self.is_cap else 'at least'} {self.value:g}"


@dataclass(frozen=True, slots=True)
class GateMiss:
    """A gate that was not met. `found` is `None` where there was nothing to measure."""

    gate: Gate
    found: float | None

    def __str__(self) -> str:
        found = "there was nothing to measure" if self.found is None else f"it is {self.found:.4g}"
        return f"gate missed: {self.gate}; {found}"


def read_gates(given: Sequence[str]) -> list[Gate]:
    """Read gates: `KEY=VALUE`, `KEY@RATIO=VALUE`, or the name of a file with one a line.

    Raises `ConfigError` for an unknown key, a value that is no number, and a file that cannot be read.
    """
    return [gate for words in given for gate in _read(words)]


def _read(words: str) -> Iterator[Gate]:
    if "=" in words:
        yield _parse(words)
        return
    try:
        lines = Path(words).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ConfigError("--gate", words, hint="KEY=VALUE, or a file with one on each line") from None
    for line in lines:
        said = line.partition("#")[0].strip()
        if said:
            yield _parse(said)


def _parse(words: str) -> Gate:
    key, _, value = words.partition("=")
    name, _, ratio = key.strip().partition("@")
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f"a figure such as {near[0]}" if near else f"one of {', '.join(NAMES)}"
        raise ConfigError("--gate", words, hint=hint)
    try:
        gate = Gate(name, float(value), float(ratio) if ratio else None)
    except ValueError:
        raise ConfigError("--gate", words, hint="a number after = and after @") from None
    if not isfinite(gate.value):
        raise ConfigError("--gate", words, hint="a finite number after =")
    return gate


def find_misses(gates: Iterable[Gate], report: Report, studies: Studies | None = None) -> list[GateMiss]:
    """Return the gates that the digest does not meet; one with nothing to measure is not met."""
    misses = []
    for gate in gates:
        found = _measured(gate, report, studies or Studies())
        if found is None or (found > gate.value if gate.is_cap else found < gate.value):
            misses.append(GateMiss(gate, found))
    return misses


def _measured(gate: Gate, report: Report, studies: Studies) -> float | None:
    if gate.name in (*TRUTH_FLOORS, *TRUTH_CAPS):
        judged = _at_ratio(studies.truth, gate.ratio)
        figure: float | None = None if judged is None else getattr(judged, gate.name)
        return figure
    if gate.name in FUTURE:
        return _future(gate, studies)
    if gate.name in CEILINGS:
        count: int | None = None if studies.ceilings is None else getattr(studies.ceilings, gate.name)
        return count
    if gate.name in ENGINE:
        name = gate.name.removeprefix("engine_")
        part: float | None = None if studies.engine is None else getattr(studies.engine, name)
        return part
    if gate.name in SEARCH:
        found: float | None = getattr(studies.search[0], gate.name) if studies.search else None
        return found
    return _measured_probes(gate, report)


def _future(gate: Gate, studies: Studies) -> float | None:
    own = [one for one in studies.future if one.method == DIGEST and one.family is None]
    overall = _at_ratio(own, gate.ratio)
    if overall is None:
        return None
    if gate.name == "future_lead":
        return find_least_lead(studies.future, overall.ratio)
    return overall.micro if gate.name == "future" else overall.macro


def _at_ratio(figures: Sequence[_F], ratio: float | None) -> _F | None:
    """Return the figures at a ratio; without one, the first."""
    return next((one for one in figures if ratio is None or one.ratio == ratio), None)


def _measured_probes(gate: Gate, report: Report) -> float | None:
    own = [figures for figures in report.figures if figures.method == DIGEST]
    at_ratio = _at_ratio(own, gate.ratio)
    if gate.name in CHAINS:
        ratio = gate.ratio if at_ratio is None else at_ratio.ratio
        chains = [chain for chain in report.chains if chain.method == DIGEST and chain.ratio == ratio]
        return _worst(chains, gate.name)
    return None if at_ratio is None else _figure(at_ratio, gate.name)


def _figure(figures: MethodFigures, name: str) -> float | None:
    if name in (*FLOORS, *CAPS):
        found: float | None = getattr(figures, name)
        return found
    kind = figures.kinds.get(ProbeKind(name))
    return kind.verbatim if kind else None


def _worst(chains: Sequence[ChainFigures], name: str) -> float | None:
    """Return the least that any length of chain kept."""
    parts = {
        "chain_task": [chain.task for chain in chains],
        "chain_constraints": [chain.constraints for chain in chains],
        "chain_must_keep": [chain.must_keep for chain in chains],
    }[name]
    return min([part for part in parts if part is not None], default=None)
