"""Floors and caps for figures, so that a build can fail when fidelity does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from midfold.errors import ConfigError
from midfold.evaluation.baselines import DIGEST
from midfold.evaluation.probes import ProbeKind
from midfold.evaluation.report import ChainFigures, MethodFigures, Report

FLOORS = ("verbatim", "associated", "weighted", "macro", "ends", "must_keep", "fill", "kept_per_1000")
"""Figures that must not be lower; kinds of probes and what chains keep are among them."""
CAPS = ("lost", "inventions", "unsound", "secrets", "over_ceiling", "unstable", "cpu_ms_per_450k")
"""Figures that must not be higher."""
CHAINS = ("chain_task", "chain_constraints", "chain_must_keep")
NAMES = (*FLOORS, *CAPS, *CHAINS, *ProbeKind)


@dataclass(frozen=True, slots=True)
class Gate:
    """A bound for a figure of midfold's digest; without a ratio it holds for the first one measured."""

    name: str
    value: float
    ratio: float | None = None

    @property
    def is_cap(self) -> bool:
        return self.name in CAPS

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
        raise ConfigError("--gate", words, hint=f"one of {', '.join(NAMES)}")
    try:
        gate = Gate(name, float(value), float(ratio) if ratio else None)
    except ValueError:
        raise ConfigError("--gate", words, hint="a number after = and after @") from None
    if not isfinite(gate.value):
        raise ConfigError("--gate", words, hint="a finite number after =")
    return gate


def find_misses(gates: Iterable[Gate], report: Report) -> list[GateMiss]:
    """Return the gates that the digest does not meet; one with nothing to measure is not met."""
    misses = []
    for gate in gates:
        found = _measured(gate, report)
        if found is None or (found > gate.value if gate.is_cap else found < gate.value):
            misses.append(GateMiss(gate, found))
    return misses


def _measured(gate: Gate, report: Report) -> float | None:
    own = [figures for figures in report.figures if figures.method == DIGEST]
    ratio = gate.ratio if gate.ratio is not None else own[0].ratio if own else None
    at_ratio = next((figures for figures in own if figures.ratio == ratio), None)
    if gate.name in CHAINS:
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
