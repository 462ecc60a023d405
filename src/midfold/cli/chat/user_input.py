"""The attachments of a prompt: files that it names with an @, and standard input beside a prompt."""

import os
import re
import select
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from midfold.agent import Agent, ToolFailed
from midfold.cli.chat.slash.base import Suggestion

MAX_FILES = 20
"""Of one prompt; more are a paste with signs in it."""
_MENTION = re.compile(r"(?<!\S)@(?:\"([^\"\n]{1,500})\"|([^\s\"]{1,500}))")
_PUNCTUATION = ".,;:!?)]}'"
_OPEN_MENTION = re.compile(r"(?<!\S)@([^\s\"]{0,500})$")
_MOST_SUGGESTIONS = 50
_WAIT_SECONDS = 3.0


def attach_files(agent: Agent, prompt: str) -> list[str]:
    """Attach the files that a prompt names with an @; return what went wrong with those that are there.

    A name that is no file, as of a person, is left alone.
    """
    problems = []
    for name in _find_mentions(prompt)[:MAX_FILES]:
        if not _is_file(agent, name):
            continue
        try:
            agent.attach(name)
        except ToolFailed as error:
            problems.append(str(error))
    return problems


def _is_file(agent: Agent, name: str) -> bool:
    try:
        return (agent.status().workspace / Path(name).expanduser()).is_file()
    except (OSError, RuntimeError, ValueError):
        return False


def _find_mentions(prompt: str) -> list[str]:
    found = (quoted or plain.rstrip(_PUNCTUATION) for quoted, plain in _MENTION.findall(prompt))
    return list(dict.fromkeys(name for name in found if name))


def complete_file(agent: Agent, line: str) -> Sequence[Suggestion]:
    """Offer the files that a name after an @ may become."""
    found = _OPEN_MENTION.search(line)
    if found is None:
        return ()
    folder, _, beginning = found[1].rpartition("/")
    try:
        with os.scandir(agent.status().workspace / folder) as entries:
            names = sorted(
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in entries
                if entry.name.startswith(beginning) and (beginning or not entry.name.startswith("."))
            )
    except OSError:
        return ()
    return [Suggestion(name, replaces=len(beginning)) for name in names[:_MOST_SUGGESTIONS]]


def read_piped_input() -> str:
    """Return what is piped or redirected into standard input; nothing of a terminal or of an idle pipe.

    A pipe that a caller left open without writing to it would be waited for in vain.
    """
    try:
        handle = sys.stdin.fileno()
        mode = os.fstat(handle).st_mode
    except (OSError, ValueError, AttributeError):
        return ""
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if is_pipe and sys.platform != "win32" and not select.select([handle], [], [], _WAIT_SECONDS)[0]:
        return ""
    return sys.stdin.read() if is_pipe or stat.S_ISREG(mode) else ""
