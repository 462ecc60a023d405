"""Files of the workspace that are more than text: other programs run them, or agents obey them.

A model that may write these unasked runs code unasked. The folders of version control are
out of bounds. Hidden files, which steer shells, editors, hooks and pipelines, and a few that are known by
their names are asked for, also where edits are accepted unasked.
"""

import re
import unicodedata
from pathlib import Path

from midfold.agent.tools.registry import Risk, ToolFailed
from midfold.late_patterns import compile_late

_REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", ".sl", "git~1"})
# The parts by which git knows a repository, whatever its folder is called.
_GIT_PARTS = ("HEAD", "objects", "refs")
_HIDDEN = "."
_GUARDED = compile_late(
    # notes that agents obey
    r"(?:agents|claude|gemini|copilot-instructions|memory|user)(?:\..{1,40})?\.md"
    # pipelines, and environments that are entered unasked
    r"|jenkinsfile.{0,40}|(?:azure|bitbucket)-pipelines\.ya?ml|appveyor\.yml|cloudbuild\.ya?ml"
    # modules that Python runs as it starts, and the first file of a repository made by hand
    r"|sitecustomize\.py|usercustomize\.py|.{1,200}\.pth|head",
    re.DOTALL,
)


def judge_edit(path: Path, base: Path) -> Risk:
    """Say how much is at stake when a file below `base` is written; raises `ToolFailed` where none may be."""
    if any(_plain(name) in _REPOSITORIES for name in path.parts):
        raise ToolFailed(f"{path.name} belongs to version control and is not written; use its own commands")
    if any(_is_repository(folder) for folder in _folders_between(path, base)):
        raise ToolFailed(f"{path.name} lies in a git repository's own folder and is not written")
    names = [_plain(name) for name in path.relative_to(base).parts]
    is_guarded = any(name.startswith(_HIDDEN) for name in names) or _GUARDED.fullmatch(names[-1])
    return Risk.GUARDED_EDIT if is_guarded else Risk.EDIT


def _plain(name: str) -> str:
    """Return a name as file systems read it that ignore case, unseen characters, or dots at the end."""
    seen = (each for each in unicodedata.normalize("NFKC", name) if unicodedata.category(each) != "Cf")
    return "".join(seen).casefold().rstrip(". ")


def _folders_between(path: Path, base: Path) -> list[Path]:
    """Return the folders of a path that are `base` or below it."""
    return [folder for folder in path.parents if folder.is_relative_to(base)]


def _is_repository(folder: Path) -> bool:
    return all((folder / part).exists() for part in _GIT_PARTS)
