"""The system prompt, written once at the start of a session: what changes later is said in the conversation.

A prompt that changed between two requests would cost the provider's whole cache.
"""

import platform
import re
from collections.abc import Iterator
from datetime import date

from midfold.agent.memory import Memory
from midfold.agent.tools.registry import ToolFailed
from midfold.agent.tools.workspace import Workspace
from midfold.late_patterns import compile_late
from midfold.texts import read_text

NOTES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
"""Files in which projects say how to work on them, the most general first."""
NOTES_CHARS = 20_000
"""Of all of them together."""
_END = compile_late(r"<\s*/\s*(?:workspace-notes|memory)", re.IGNORECASE)


def write_system_prompt(
    workspace: Workspace, memory: Memory, *, today: date, instructions: str | None = None
) -> str:
    """Write the prompt: who it is for, where it works, what is remembered, what the workspace asks for."""
    facts = {"workspace": workspace.root, "system": platform.system(), "date": today.isoformat()}
    kept = memory.show()
    parts = [
        _text("base") if instructions is None else instructions,
        _text("environment").format(**facts),
        *([_text("memory").format(memory=_fence(kept))] if kept else []),
        *_notes(workspace),
    ]
    return "\n\n".join(parts)


def is_own_prompt(system: str, instructions: str | None = None) -> bool:
    """Whether a prompt was written here, with these instructions, and may be written anew."""
    return system.startswith(f"{_text('base') if instructions is None else instructions}\n\n")


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
        yield _text("workspace_note").format(name=name, cut=cut, text=_fence(text[:room]))
        room -= len(text)


def _fence(text: str) -> str:
    """Return a text that cannot imitate the end of its own block, and so speak with our voice."""
    return _END.sub(lambda found: f"({found[0][1:]}", text)


def _read(workspace: Workspace, name: str) -> str:
    try:
        return workspace.read_text(workspace.find(name)).strip()
    except ToolFailed:
        return ""


def _text(name: str) -> str:
    return read_text("midfold.agent", f"texts/{name}.md")
