"""The state of each file after all that happened to it: its lines of now, or its end; one path a file.

Absolute and relative spellings of one path are joined, and lines that a later edit replaced are left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.summaries.ledger.folders import Folders, is_absolute
from midfold.summaries.ledger.shell import EVERYTHING, RESET, STASHED, UNSTASHED, last_name
from midfold.summaries.ledger.values import Action, ToolRun

_WILD = ("*", "?")
_GONE = ("deleted", "moved to ")
_REVERTED = "reverted"
_BACK = compile_late(r"(?:HEAD)?(?:~(\d{1,3})|(\^{1,9}))?|ORIG_HEAD|@", re.IGNORECASE)
_MOST_SEARCHES = 200
_MOST_SPELLINGS = 20
_APPLIERS = frozenset({"patch", "git apply", "git am"})


@dataclass(slots=True)
class FileState:
    """One file, the actions that touched it by their position, and what it is now."""

    path: str
    positions: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    """the positions of those that changed it"""
    fate: str = ""
    """deleted, moved or reverted, where nothing changed it since"""
    undone: set[int] = field(default_factory=set)
    """the positions of changes that were reverted"""

    def undo(self, fate: str, committed: int) -> None:
        """Take note of its end; what was reverted takes the changes since the commit along."""
        self.fate = fate
        if fate != _REVERTED:
            return
        self.undone.update(at for at in self.changed if at > committed)
        self.changed = [at for at in self.changed if at <= committed] or self.changed[-1:]

    @property
    def name(self) -> str:
        """The last part of its path."""
        return last_name(self.path)

    @property
    def is_changed(self) -> bool:
        return bool(self.changed)

    @property
    def is_gone(self) -> bool:
        return self.fate.startswith(_GONE)


def trace_files(actions: Sequence[Action]) -> list[FileState]:
    """Follow each file through the actions, in the order of the first that touched it."""
    folders = Folders.of([(_place_of(each), (*each.run.changes, *each.run.reads)) for each in actions])
    touched = [(*action.run.changes, *action.run.drafts, *action.run.reads) for action in actions]
    names = _join_paths(
        [
            path
            for action, paths in zip(actions, touched, strict=True)
            for path in folders.place(_place_of(action), paths).values()
        ],
        folders,
    )
    states: dict[str, FileState] = {}
    undoing = _Undoing(states, names, folders)
    drafts: dict[str, tuple[str, ...]] = {}
    for position, action in enumerate(actions):
        run = action.run
        changes = (*run.changes, *_find_applied(run, drafts)) if run.has_changed else run.changes
        drafts.update(dict.fromkeys(map(last_name, run.changes), run.drafts) if run.drafts else {})
        for path, full in folders.place(_place_of(action), (*changes, *run.reads)).items():
            name = names.get(full, full)
            state = states.setdefault(name, FileState(name))
            state.positions.append(position)
            if path in changes and run.has_changed:
                state.fate = ""
                state.changed = [at for at in state.changed if at not in state.undone] + [position]
        undoing.read(position, action)
    return list(states.values())


def _place_of(action: Action) -> str:
    """Return the folder that a command goes to first."""
    return action.run.invocations[-1].place.rstrip("/\\")


def _find_applied(run: ToolRun, drafts: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the files that a command changes by applying patches that were written before."""
    if drafts and any(each.program in _APPLIERS for each in run.invocations):
        for patch, files in drafts.items():
            if patch in run.subject:
                yield from files


def live_lines(actions: Sequence[Action], state: FileState) -> dict[int, tuple[str, ...]]:
    """Return by position the lines that changes wrote and no later change replaced."""
    if state.fate:
        return dict.fromkeys(state.positions, ())
    live: dict[int, tuple[str, ...]] = {}
    gone: set[str] = set()
    is_replaced = False
    for position in reversed(state.positions):
        run = actions[position].run
        if not run.has_changed or is_replaced or position in state.undone:
            live[position] = ()
            continue
        live[position] = tuple(line for line in run.content if line not in gone)
        gone |= run.removed
        gone -= set(run.content)
        is_replaced = run.is_whole
    return live


@dataclass(slots=True)
class _Undoing:
    """Finds the files that a command deleted, moved or reverted: by name, by folder or by pattern."""

    states: dict[str, FileState]
    names: dict[str, str]
    folders: Folders
    searches: int = 0
    commits: list[int] = field(default_factory=list)
    """the positions of commits: what they hold, only a reset reverts"""
    heads: dict[str, int] = field(default_factory=dict)
    """the name of a commit → its position"""
    pushed: int = -1
    staged: int = -1

    def read(self, position: int, action: Action) -> None:
        """Take note of what an action committed, staged, pushed or undid."""
        run = action.run
        if is_absolute(place := _place_of(action)):
            self.folders.now = place
        if not run.has_changed:
            return
        for tried in run.invocations:
            if tried.program == "git commit":
                self.commits.append(position)
                self.heads |= dict.fromkeys(_HEAD.findall(run.output[:_HEAD_CHARS]), position)
            elif tried.program == "git push":
                self.pushed = position
            elif tried.program == "git add" and tried.targets <= {*EVERYTHING, "-A"}:
                self.staged = position
        if run.undone:
            self._undo(run.undone, action, self._kept(action))

    def _kept(self, action: Action) -> int:
        """Return the position up to which a hard reset leaves everything: by default the newest commit."""
        newest = self.commits[-1] if self.commits else -1
        refs = [ref for it in action.run.invocations if it.program == "git reset" for ref in it.targets]
        if not refs:
            return newest
        back = _BACK.fullmatch(refs[0])
        if back is not None:
            count = int(back[1] or len(back[2] or ""))
            return self.commits[-1 - count] if count < len(self.commits) else -1
        known = next((at for head, at in self.heads.items() if refs[0].startswith(head)), newest)
        return self.pushed if "/" in refs[0] else known

    def _undo(self, undone: Mapping[str, str], action: Action, kept: int) -> None:
        committed = self.commits[-1] if self.commits else -1
        for target, fate in self.folders.place(_place_of(action), undone).items():
            said = undone[target]
            if said == UNSTASHED:
                for state in self.states.values():
                    state.fate = "" if state.fate == STASHED else state.fate
            elif target in EVERYTHING:
                after = kept if said == RESET else max(committed, self.staged if said == _REVERTED else -1)
                said = _REVERTED if said == RESET else said
                for state in self.states.values():
                    is_newer = bool(state.changed) and state.changed[-1] > after
                    if is_newer and not state.fate and self.folders.is_here(state.path):
                        state.undo(said, after)
            else:
                known = self.names.get(fate) or self.names.get(_bare(fate))
                found = [self.states[known]] if known in self.states else self._search(fate)
                for state in found:
                    state.undo(said, committed)

    def _search(self, target: str) -> list[FileState]:
        """Look at all files; only so often, for a session may delete thousands."""
        self.searches += 1
        if self.searches > _MOST_SEARCHES:
            return []
        bare = _bare(target).rstrip("/")
        if any(sign in bare for sign in _WILD):
            pattern = f"*{bare}"
            return [state for path, state in self.states.items() if fnmatchcase(path, pattern)]
        inside = f"{bare}/"
        return [
            state
            for path, state in self.states.items()
            if _bare(path).startswith(inside) or path.endswith(f"/{bare}") or f"/{inside}" in path
        ]


_HEAD = compile_late(r"^\[[^\]\n]{1,100} ([0-9a-f]{7,40})\]", re.MULTILINE)
_HEAD_CHARS = 2_000


def _join_paths(paths: Iterable[str], folders: Folders) -> dict[str, str]:
    """Say for each spelling of a path by which it goes: the one longer that ends with it, if there is one."""
    groups: dict[str, list[str]] = {}
    for path in dict.fromkeys(paths):
        groups.setdefault(_bare(path).rpartition("/")[2], []).append(path)
    names: dict[str, str] = {}
    for group in groups.values():
        longest = sorted(group, key=len, reverse=True)[:_MOST_SPELLINGS]
        for path in group:
            ending = f"/{_bare(path)}"
            longer = [
                other
                for other in longest
                if other != path and f"/{_bare(other)}".endswith(ending) and not folders.is_elsewhere(other)
            ]
            names[path] = longer[0] if len(set(map(_bare, longer[:2]))) == 1 else path
    return {path: names.get(name, name) for path, name in names.items()}


def _bare(path: str) -> str:
    """Return a path without what stands for a folder that is not named."""
    return path.replace("\\", "/").removeprefix("~").removeprefix(".").lstrip("/") or path
