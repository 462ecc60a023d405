"""`midfold doctor`: checks the installation, and repairs it."""

import json
from collections.abc import Iterator

import click
from rich.console import Console
from rich.text import Text

from midfold.cli.checkup import Finding, Severity, check_home, check_outputs, check_setup, check_store
from midfold.cli.render.console import make_console
from midfold.config import OUTPUT_FOLDER, check_settings, find_home, own_store_url
from midfold.errors import ConfigError, MidfoldError
from midfold.late_dataclasses import dataclass, field
from midfold.store import find_kept, read_path

_STYLES = {Severity.OK: "green", Severity.WARN: "yellow", Severity.PROBLEM: "bold red"}
_AREA_CELLS = 10
_LEVEL_CELLS = 8


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired without loss.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(fix: bool, as_json: bool) -> int:
    """Check settings, permissions, the session store, offloaded output and extras.

    --fix makes files private, rebuilds the search index and removes leftovers. It copies the readable part of
    a damaged store into a new one, and keeps the old one. Exits with status 1 if problems remain.
    """
    findings = list(examine())
    repairs = _repair(findings) if fix else _Repairs()
    if repairs.done:
        findings = list(examine())
    problems = sum(finding.level is Severity.PROBLEM for finding in findings)
    if as_json:
        click.echo(json.dumps(_as_dict(findings, repairs), indent=2))
    else:
        _print(findings, repairs, make_console())
    return 1 if problems else 0


@dataclass(frozen=True, slots=True)
class _Repairs:
    """The repairs that were made, and why others could not be."""

    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def _repair(findings: list[Finding]) -> _Repairs:
    """Repair all that can be; one repair that fails keeps none of the others from being tried."""
    repairs = _Repairs()
    for finding in findings:
        try:
            if finding.repair:
                repairs.done.append(finding.repair())
        except OSError as error:
            repairs.failed.append(f"{finding.text}: {error.strerror or error}")
        except MidfoldError as error:
            repairs.failed.append(f"{finding.text}: {error}")
    return repairs


def examine() -> Iterator[Finding]:
    """Run every check."""
    checked = check_settings()
    home = find_home()
    yield from check_setup(checked)
    try:
        store = read_path(own_store_url(checked.settings))
    except ConfigError as error:
        yield Finding("store", Severity.PROBLEM, str(error))
        return
    yield from check_home(home, store)
    found = list(check_store(store, checked.settings))
    yield from found
    # Sessions that a rescue could not read may be in the file that it kept, and their output is still theirs.
    is_sound = not find_kept(store) and not any(finding.level is Severity.PROBLEM for finding in found)
    yield from check_outputs(home / OUTPUT_FOLDER, store, is_sound=is_sound)


def _print(findings: list[Finding], repairs: _Repairs, console: Console) -> None:
    for finding in findings:
        level = (f"{finding.level:<{_LEVEL_CELLS}}", _STYLES[finding.level])
        area = (f"{finding.area:<{_AREA_CELLS}}", "dim")
        console.print(Text.assemble(level, area, finding.text), soft_wrap=True)
        if finding.advice:
            console.print(
                Text(" " * (_LEVEL_CELLS + _AREA_CELLS) + finding.advice, style="dim"), soft_wrap=True
            )
    for what in repairs.done:
        console.print(Text.assemble((f"{'fixed':<{_LEVEL_CELLS}}", "bold green"), what), soft_wrap=True)
    for what in repairs.failed:
        console.print(Text.assemble((f"{'failed':<{_LEVEL_CELLS}}", "bold red"), what), soft_wrap=True)
    console.print()
    console.print(Text(_verdict(findings), style="bold"))


def _verdict(findings: list[Finding]) -> str:
    problems = sum(finding.level is Severity.PROBLEM for finding in findings)
    warnings = sum(finding.level is Severity.WARN for finding in findings)
    if not problems and not warnings:
        return "all is well"
    counts = ((problems, "problem"), (warnings, "warning"))
    return " and ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count)


def _as_dict(findings: list[Finding], repairs: _Repairs) -> dict[str, object]:
    return {
        "ok": not any(finding.level is Severity.PROBLEM for finding in findings),
        "findings": [
            {
                "area": finding.area,
                "level": finding.level,
                "text": finding.text,
                "advice": finding.advice,
                "can_be_fixed": finding.repair is not None,
            }
            for finding in findings
        ],
        "fixed": repairs.done,
        "failed": repairs.failed,
    }
