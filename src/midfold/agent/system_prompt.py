"""The system prompt, written once at the start of a session: what changed later is told in the conversation.

A prompt that changed between two requests would cost the provider's whole cache.
"""

import platform
import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from importlib.resources import files

from midfold.agent.memory import Memory
from midfold.agent.tools.registry import ToolFailed
from midfold.agent.tools.workspace import Workspace

NOTES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
"""Files in which projects say how to work on them, the most general first."""
NOTES_CHARS = 20_000
"""Of all of them together."""
_END = re.compile(r"<\s*/\s*workspace-notes", re.IGNORECASE)


def write_system(
    workspace: Workspace, memory: Memory, *, today: date, instructions: str | None = None
) -> str:
    """Write the prompt: who it is for, where it works, what is remembered, what the workspace asks for."""
    place = read("place.md").format(
        workspace=workspace.root, system=platform.system(), date=today.isoformat()
    )
    kept = memory.show()
    parts = [
        read("base.md") if instructions is None else instructions,
        place,
        *([read("memory.md").format(memory=kept)] if kept else []),
        *_notes(workspace),
    ]
    return "\n\n".join(parts)


def _notes(workspace: Workspace) -> Iterator[str]:
    """Yield what the workspace's own files say, as far as there is room; nothing is said twice."""
    room = NOTES_CHARS
    said: set[str] = set()
    for name in NOTES:
        text = _read(workspace, name)
        if not text or text in said or room <= 0:
            continue
        said.add(text)
        cut = f", of which the first {room:,} characters are here" if len(text) > room else ""
        # A file that imitates the end of its own block would speak with our voice.
        shown = _END.sub(lambda found: f"({found[0][1:]}", text[:room])
        yield read("file.md").format(name=name, cut=cut, text=shown)
        room -= len(text)


def _read(workspace: Workspace, name: str) -> str:
    try:
        return workspace.read_text(workspace.find(name)).strip()
    except ToolFailed:
        return ""


@cache
def read(name: str) -> str:
    """Return a text, on first use from its file, without the line break at its end."""
    return files(__package__).joinpath("texts", name).read_text("utf-8").rstrip("\n")
