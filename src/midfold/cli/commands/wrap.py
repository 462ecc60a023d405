"""`midfold wrap -- COMMAND`: a client run through a gateway of its own, which is loaded for that alone."""

import logging
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from midfold.config import load_settings

_EPILOG = """\b
Examples:
  midfold wrap -- claude
  midfold wrap -- codex exec "fix the failing test"
  midfold wrap -- python agent.py

\b
midfold starts a gateway on a free port and sets ANTHROPIC_BASE_URL,
OPENAI_BASE_URL and OPENAI_API_BASE for the command. codex reads none of
them and gets "-c openai_base_url=...". Nothing else changes. Addresses that
were set before become the gateway's upstreams.
"""
_OPENAI_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_ANTHROPIC_VARIABLE = "ANTHROPIC_BASE_URL"
_ADDRESS_OPTIONS = {"codex": "openai_base_url"}
"""Settings of programs that read their address from no variable."""
_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")
_NOT_FOUND, _NOT_RUNNABLE, _BY_SIGNAL = 127, 126, 128


@click.command(epilog=_EPILOG, context_settings={"ignore_unknown_options": True})
@click.option("--no-store", is_flag=True, help="Keep conversations in memory only.")
@click.argument("arguments", metavar="-- COMMAND [ARGS]...", nargs=-1, type=click.UNPROCESSED, required=True)
def command(no_store: bool, arguments: tuple[str, ...]) -> int:
    """Run a client through its own gateway.

    The gateway ends with the client, and returns its exit status.
    """
    from midfold.gateway import ServerThread, create_app

    flags: dict[str, object] = {"gateway.host": "127.0.0.1", "gateway.port": 0}
    settings = load_settings(flags=flags | _upstreams_from(os.environ))
    for name in ("midfold.gateway", "uvicorn.error"):
        logging.getLogger(name).addHandler(logging.NullHandler())  # the screen is the command's
    with ServerThread(create_app(settings, is_stored=not no_store)) as server:
        return _run(_with_address(arguments, server.url), {**os.environ, **_variables(server.url)})


def _variables(url: str) -> dict[str, str]:
    return {_ANTHROPIC_VARIABLE: url, **dict.fromkeys(_OPENAI_VARIABLES, f"{url}/v1")}


def _with_address(arguments: tuple[str, ...], url: str) -> tuple[str, ...]:
    """Return a command with the address as an argument, where its program reads it from no variable.

    An address that the person gives there stays.
    """
    program, *others = arguments
    option = _ADDRESS_OPTIONS.get(Path(program).stem)
    if option is None or any(option in each for each in others):
        return arguments
    return program, "-c", f'{option}="{url}/v1"', *others


def _upstreams_from(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the addresses that the client would have used, as settings."""
    found: dict[str, object] = {}
    openai = next((environ[name] for name in _OPENAI_VARIABLES if environ.get(name)), "")
    if openai:
        found["gateway.upstreams.openai.base_url"] = openai
    if anthropic := environ.get(_ANTHROPIC_VARIABLE, "").rstrip("/"):
        found["gateway.upstreams.anthropic.base_url"] = anthropic.removesuffix("/v1") + "/v1"
    return found


def _run(arguments: tuple[str, ...], environ: Mapping[str, str]) -> int:
    try:
        process = subprocess.Popen(arguments, env=environ)  # noqa: S603 - what the person asked for
    except FileNotFoundError:
        click.echo(f"midfold wrap: no such command: {arguments[0]}", err=True)
        return _NOT_FOUND
    except PermissionError:
        click.echo(f"midfold wrap: it cannot be run: {arguments[0]}", err=True)
        return _NOT_RUNNABLE
    with _passing_signals_to(process):
        status = process.wait()
    return _BY_SIGNAL - status if status < 0 else status


@contextmanager
def _passing_signals_to(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Pass signals on; an interrupt from the keyboard reaches the command by itself."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    handled = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    for name in _PASSED_ON:
        if (number := getattr(signal, name, None)) is not None:
            handled[number] = signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, before in handled.items():
            signal.signal(number, before)
