"""Checks of the installation: the settings, SQLite, the extras and the tokenizer."""

import os
from collections.abc import Iterator
from importlib.util import find_spec

from midfold import __version__
from midfold.cli.checkup.findings import Finding, Severity, fine
from midfold.cli.commands.config import find_remarks
from midfold.cli.terminal import printable
from midfold.config import CheckedSettings
from midfold.store import engine_version
from midfold.tokens import TokenCounter

_MOST_CHARS = 300
_EXTRAS = {
    "models": "aiohttp",
    "chat": "prompt_toolkit",
    "parquet": "pyarrow",
    "zstd": "zstandard",
    "ray": "ray",
}
# Counted by the vocabulary that comes with the tokenizer; its approximation says something else.
_SAMPLE, _SAMPLE_TOKENS = "Nothing is lost: the middle is folded, both ends stay.", 13


def check_setup(checked: CheckedSettings) -> Iterator[Finding]:
    """Look at everything that needs no store."""
    yield fine("version", f"midfold {__version__}")
    yield from _check_settings(checked)
    yield _check_sqlite()
    yield _check_tokenizer()
    yield _check_extras()


def _check_settings(checked: CheckedSettings) -> Iterator[Finding]:
    for problem in checked.problems:
        text = printable(str(problem), _MOST_CHARS)
        yield Finding("settings", Severity.PROBLEM, text, "correct it; until then it has no effect")
    for remark in find_remarks(checked.settings, os.environ):
        yield Finding("settings", Severity.WARN, printable(remark, _MOST_CHARS))
    if not checked.problems:
        yield fine("settings", str(checked.file) if checked.file else "no settings file, all defaults")


def _check_sqlite() -> Finding:
    engine = engine_version()
    if engine.is_safe:
        return fine("sqlite", f"{engine.version}, safe for several processes that write")
    return Finding(
        "sqlite",
        Severity.WARN,
        f"{engine.version}, which is safe for one process that writes at a time",
        f"install pysqlite3, or a Python with SQLite {engine.safe_version} or later",
    )


def _check_tokenizer() -> Finding:
    try:
        count = TokenCounter("gpt-5").count_text(_SAMPLE)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs on this line
        text = f"the tokenizer fails: {type(error).__name__}: {printable(str(error), 100)}"
        return Finding("tokenizer", Severity.PROBLEM, text, "install splintr-rs again")
    if find_spec("splintr") is None:
        text = "not installed; tokens are approximated"
        return Finding("tokenizer", Severity.WARN, text, "pip install splintr-rs")
    if count != _SAMPLE_TOKENS:
        text = f"counts {count} tokens where {_SAMPLE_TOKENS} are right"
        return Finding("tokenizer", Severity.PROBLEM, text, "install splintr-rs again")
    return fine("tokenizer", "counts as it should")


def _check_extras() -> Finding:
    missing = [extra for extra, module in _EXTRAS.items() if find_spec(module) is None]
    present = [extra for extra in _EXTRAS if extra not in missing]
    text = f"installed: {', '.join(present) or 'none'}"
    if missing:
        text += f"; not installed: {', '.join(missing)} (pip install 'midfold[{missing[0]}]')"
    return fine("extras", text)
