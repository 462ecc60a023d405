"""The change of a file: judged, shown, kept as it was, made; and taken back."""

from functools import partial
from pathlib import Path

from midfold.agent.edit_history import (
    EditHistory,
    FileChangedSince,
    KeptVersion,
    NoEditToUndo,
    is_as_left,
)
from midfold.agent.tools.diffs import describe_change
from midfold.agent.tools.guarded_paths import judge_edit
from midfold.agent.tools.registry import Proposal, ToolFailed
from midfold.agent.tools.workspace import Workspace
from midfold.late_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileEdits:
    """Edits of the files of a workspace, each of which can be taken back."""

    workspace: Workspace
    history: EditHistory

    def propose(self, path: Path, before: bytes | None, after: str, done: str) -> Proposal:
        """Propose to give a file new text; `done` is what the model is told once that is so.

        Raises `ToolFailed` for a file that may not be written.
        """
        try:
            data = after.encode()
        except UnicodeEncodeError:
            raise ToolFailed("the text holds half a character and cannot be written") from None
        risk = judge_edit(path, self.workspace.base_of(path))
        self.workspace.check_writable(path)
        preview = describe_change(self.workspace.name(path), before, after)
        return Proposal(risk, preview, partial(self._make, path, before, data, done))

    def _make(self, path: Path, before: bytes | None, after: bytes, done: str) -> str:
        """Make the change that was shown, if the file is still the one that was shown."""
        name = self.workspace.name(path)
        if self.workspace.read_if_there(path) != before:
            raise ToolFailed(f"{name} was changed by somebody else meanwhile; read it again")
        try:
            version = self.history.keep(path, before, after)
        except OSError as error:
            why = f"the version before cannot be kept: {error.strerror or type(error).__name__}"
            raise ToolFailed(f"{name} was not written, as {why}") from None
        try:
            self.workspace.write(path, after)
        except BaseException:
            self.history.forget(version)
            raise
        return done

    def undo(self, path: str | None = None, *, force: bool = False) -> KeptVersion:
        """Take the newest edit back, or the newest of one file, and return the version that is there again.

        Raises `NoEditToUndo`, `FileChangedSince` unless forced, and `ToolFailed`.
        """
        version = self._newest(path)
        if not force and not is_as_left(version, self.workspace.read_if_there(version.path)):
            raise FileChangedSince(self.workspace.name(version.path))
        if version.before is not None:
            self.workspace.write(version.path, version.before)
        elif self.workspace.read_if_there(version.path) is not None:
            self.workspace.remove(version.path)
        self.history.forget(version)
        return version

    def changes(self) -> list[str]:
        """Describe what all edits of the conversation changed, a diff for each file that differs."""
        first: dict[Path, KeptVersion] = {}
        for version in self.history.versions():
            first.setdefault(version.path, version)
        return [shown for version in first.values() if (shown := self._describe(version))]

    def _describe(self, version: KeptVersion) -> str:
        name = self.workspace.name(version.path)
        try:
            now = self.workspace.read_if_there(self.workspace.find(str(version.path)))
        except ToolFailed as error:
            return f"{name}: {error}"
        if now == version.before:
            return ""
        if now is None:
            return f"{name}: removed since"
        return describe_change(name, version.before, now.decode("utf-8", "replace"))

    def _newest(self, path: str | None) -> KeptVersion:
        wanted = None if path is None else self.workspace.find(path)
        for version in reversed(self.history.versions()):
            if wanted in (None, version.path):
                # Judged anew: links may have changed, and the workspace may be another.
                if self.workspace.find(str(version.path)) != version.path:
                    raise ToolFailed(f"{self.workspace.name(version.path)} leads elsewhere by now")
                return version
        raise NoEditToUndo(path)
