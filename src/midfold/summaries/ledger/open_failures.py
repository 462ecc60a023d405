"""Outcomes of failures: closed by a later success, by the model's word, by removal of the cause, by age.

A conversation is read once into the newest success of each kind; then each failure is asked about. So the
notes of an earlier fold, which only know the number of a message, can be asked about as well.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import itemgetter

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.summaries.ledger.invocations import Aim, Invocation, RunEnd, is_same_place
from midfold.summaries.ledger.sentences import Claims, is_claim
from midfold.summaries.tool_calls.families import family_of
from midfold.summaries.tool_calls.output import find_names

_LONG_AGO_ACTIONS = 100
_LONG_AGO_PART = 0.2
_SLIP_ACTIONS = 2
"""After so many further actions nobody waits for a command that was only a means."""
_MOVED_ON_REQUESTS = 4
_USED_AGAIN = 2
"""A tool that works again so often is not what is broken."""
_CLAIMED_AIMS = tuple(
    (aim, compile_late(words, re.IGNORECASE))
    for aim, words in (
        (
            Aim.TEST,
            r"\btests?\b|\bspecs?\b|suite|\b(?:all|everything) (?:pass|green)|测试|テスト|테스트|prueba|тест",
        ),
        (Aim.BUILD, r"\bbuild|compil|编译|构建|ビルド|빌드|сборк"),
        (Aim.LINT, r"\blint|type.?check|\bchecks?\b|format|mypy|ruff|eslint|clippy|静态检查|リント"),
    )
)
# What the surroundings do not let happen stays so until it happens.
_DENIED = compile_late(
    r"not found|not recognized|no se reconoce|ObjectNotFound|CommandNotFound|[Pp]ermission ?[Dd]enied|EACCES"
    r"|[Ss]andbox|not permitted|No such (?:command|device)|WinError 2|not installed|未找到命令",
)
_RUN = compile_late(
    r"\b(?:re-?run|run|execute|verify|check|ensure|confirm|pass(?:es)?)\b|运行|执行|验证|実行|確認|실행|확인"
    r"|\b(?:ausführen|prüfen|exécuter|vérifier|ejecutar|comprobar|verificar|запустить|проверить)\b",
    re.IGNORECASE,
)
_MAKE = compile_late(
    r"\b(?:write|add|create|implement|update|fix|extend|refactor)\b|编写|添加|作成|追加|실장|작성|추가",
    re.IGNORECASE,
)
"""what a run does not do"""
_LASTING = (Aim.TEST, Aim.BUILD, Aim.INSTALL, Aim.PUBLISH)
_SHORTEST_NAME = 5
_NEVER_WORKED = 2
_ANY_FAMILY = ("", "agent", "ask", "plan")
"""Other tools are about one file or address each."""
_ABSENT = compile_late(r": No module named |command not found|not recognized|no se reconoce")
"""what is said of a program that is not there: to do the same with another one is as good"""
_PACKAGE_END = compile_late(r"[=<>~!\[]|(?<=.)@")
_CAUSE = compile_late(
    r"(?:[Nn]o module named|Cannot find (?:module|package)|[Mm]odule not found:?|not find)\s"
    r"[\"'`]?([@\w./-]{2,80})|([\w.-]{2,60}): (?:command )?not found"
    r"|[\"'`]([\w.-]{2,60})[\"'`] (?:is not recognized|no se reconoce|not found)"
)


@dataclass(frozen=True, slots=True)
class BrokenRun:
    """Something that failed: what was tried, where, and what was said."""

    index: int
    invocation: Invocation
    words: tuple[str, ...] = ()
    tool: str = ""


@dataclass(slots=True)
class ToolRecord:
    """How often a tool failed and worked."""

    failures: int = 0
    failed_at: int = -1
    has_worked: bool = False

    @property
    def never_worked(self) -> bool:
        return not self.has_worked and self.failures >= _NEVER_WORKED

    def add(self, index: int, end: RunEnd) -> None:
        if end is RunEnd.FAILED:
            self.failures += 1
            self.failed_at = index
        self.has_worked = self.has_worked or end in (RunEnd.PASSED, RunEnd.UNCLEAR)


@dataclass(slots=True)
class Course:
    """The course of a conversation after which something may be closed: message numbers, in their order."""

    aims: dict[Aim, dict[str, int]] = field(default_factory=dict)
    """aim → place → the newest success on everything there"""
    met_aims: dict[Aim, int] = field(default_factory=dict)
    """aim → the newest success, be it on a part"""
    failed: dict[tuple[str, frozenset[str]], int] = field(default_factory=dict)
    """the newest failure of each invocation"""
    passes: dict[str, list[int]] = field(default_factory=dict)
    successes: dict[str, list[tuple[int, Invocation]]] = field(default_factory=dict)
    """program → each success, in order"""
    installed: dict[str, int] = field(default_factory=dict)
    actions: list[int] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    failed_aims: dict[Aim, int] = field(default_factory=dict)
    """aim → the newest failure"""
    claimed_aims: dict[Aim, int] = field(default_factory=dict)
    """aim → the newest message in which the model says that all is well with it"""
    claimed_names: dict[str, int] = field(default_factory=dict)
    """name → the newest message in which the model says that something about it works"""
    claiming: set[int] = field(default_factory=set)
    """the messages in which the model says that anything works, be it with a doubt"""
    tools: dict[str, ToolRecord] = field(default_factory=dict)

    def closing(self, failure: BrokenRun) -> int | None:
        """Return the message that settled a failure; `None` where nothing did."""
        newest = max(self._newest_proof(failure), self._newest_claim(failure))
        return newest if newest > failure.index else None

    def is_proven(self, failure: BrokenRun) -> bool:
        """Whether something else than the model's word shows that a failure is settled."""
        return self._newest_proof(failure) > failure.index

    def _newest_proof(self, failure: BrokenRun) -> int:
        installed = (self.installed.get(name, -1) for name in _causes(failure.words))
        return max(self._newest_success(failure), max(installed, default=-1))

    def find_success(self, failure: BrokenRun) -> int | None:
        """Return the first later success of the same program at the same target; words prove nothing."""
        passed = self.successes.get(failure.invocation.program, [])
        for index, success in passed[bisect_right(passed, failure.index, key=itemgetter(0)) :]:
            if success.covers(failure.invocation, failure.words) or self._is_retry(failure, index):
                return index
        return None

    def _is_retry(self, failure: BrokenRun, index: int) -> bool:
        """Whether the same tool did its work at once with other arguments."""
        tried = failure.invocation
        between = bisect_left(self.actions, index) - bisect_right(self.actions, failure.index)
        return (
            tried.aim is Aim.NONE
            and tried.program == failure.tool
            and family_of(failure.tool) in _ANY_FAMILY
            and between < _SLIP_ACTIONS
            and not any("/" in target or "." in target for target in tried.targets)
        )

    def has_lapsed(self, failure: BrokenRun) -> bool:
        """Whether nobody waits for what failed: it failed again since, or long ago and for the last time.

        A slip, such as a program that does not exist, is over with whatever was done instead.
        """
        invocation, since = failure.invocation, failure.index
        record = self.tools.get(failure.tool, ToolRecord())
        if self.failed.get((invocation.program, invocation.targets), -1) > since:
            return True
        if record.never_worked:
            return record.failed_at > since
        again = self.passes.get(invocation.program, [])
        enough = {Aim.NONE: _USED_AGAIN, Aim.PUBLISH: 1}.get(invocation.aim)
        if enough is not None and bisect_right(again, since) + enough <= len(again):
            return True
        is_denied = any(map(_DENIED.search, failure.words))
        if is_denied and invocation.aim in _LASTING:
            return False
        later = len(self.actions) - bisect_right(self.actions, since)
        asked = len(self.requests) - bisect_right(self.requests, since)
        if invocation.aim in (Aim.NONE, Aim.LOOK):
            patience = 0.0 if is_denied else _SLIP_ACTIONS
        else:
            patience = max(_LONG_AGO_ACTIONS, len(self.actions) * _LONG_AGO_PART)
        return later > patience or (asked >= _MOVED_ON_REQUESTS and later > _SLIP_ACTIONS)

    def is_done(self, index: int, text: str) -> bool:
        """Whether all that a step of message `index` is to run has passed since."""
        aims = _aims_of(text) if _RUN.search(text) and not _MAKE.search(text) else []
        return bool(aims) and all(self.met_aims.get(aim, -1) > index for aim in aims)

    def _newest_claim(self, failure: BrokenRun) -> int:
        """Return the newest word of the model that what failed is well: all of its kind, or it by name."""
        aim = failure.invocation.aim
        if any(map(_ABSENT.search, failure.words)):
            return -1
        names = {name for text in (*failure.words, *failure.invocation.targets) for name in find_names(text)}
        named = (self.claimed_names.get(name, -1) for name in names if len(name) >= _SHORTEST_NAME)
        of_all = self.claimed_aims.get(aim, -1)
        of_all = of_all if of_all > self.failed_aims.get(aim, -1) else -1
        return max(of_all, max(named, default=-1))

    def _newest_success(self, failure: BrokenRun) -> int:
        invocation = failure.invocation
        newest = max(self._newest_same(failure), self._newest_of(invocation.aim, invocation.place))
        if invocation.aim in _LASTING and any(map(_ABSENT.search, failure.words)):
            newest = max(newest, self.met_aims.get(invocation.aim, -1))
        if invocation.aim is not Aim.BUILD:
            return newest
        return max(newest, self._newest_of(Aim.TEST, invocation.place))

    def _newest_of(self, aim: Aim, place: str) -> int:
        """Return the newest success on everything with an aim in the same place."""
        found = self.aims.get(aim, {}).items()
        return max((index for there, index in found if is_same_place(place, there)), default=-1)

    def _newest_same(self, failure: BrokenRun) -> int:
        """Return the newest success of the same program, on everything or at the same target."""
        tried = failure.invocation
        for index, success in reversed(self.successes.get(tried.program, ())):
            if index <= failure.index:
                break
            if success.covers(tried, failure.words):
                return index
        return -1

    def add(self, index: int, tool: str, end: RunEnd, invocations: tuple[Invocation, ...]) -> None:
        """Take note of an action; the newest wins, and the last of its invocations is the decisive one."""
        self.actions.append(index)
        record = self.tools.setdefault(tool, ToolRecord())
        record.add(index, end)
        if end is RunEnd.FAILED:
            self.failed[(invocations[-1].program, invocations[-1].targets)] = index
            self.failed_aims[invocations[-1].aim] = index
        if end is not RunEnd.PASSED:
            return
        for invocation in invocations:
            self.passes.setdefault(invocation.program, []).append(index)
            self.successes.setdefault(invocation.program, []).append((index, invocation))
            self.met_aims[invocation.aim] = index
            if invocation.is_broad and invocation.aim not in (Aim.NONE, Aim.LOOK):
                self.aims.setdefault(invocation.aim, {})[invocation.place] = index
            if invocation.aim is Aim.INSTALL:
                names = (_PACKAGE_END.split(target, maxsplit=1)[0] for target in invocation.targets)
                self.installed.update(dict.fromkeys(names, index))

    def hear(self, index: int, claims: Claims) -> None:
        """Take note of what the model says that works."""
        if claims.is_any:
            self.claiming.add(index)
        for sentence in claims.sentences:
            self.claimed_names.update(dict.fromkeys(find_names(sentence), index))
            self.claimed_aims.update(dict.fromkeys(_aims_of(sentence), index))


def claimed_aims(sentence: str) -> list[Aim]:
    """Return with which aims a sentence says that all is well."""
    return _aims_of(sentence) if is_claim(sentence) else []


def _aims_of(sentence: str) -> list[Aim]:
    return [aim for aim, words in _CLAIMED_AIMS if words.search(sentence)]


def _causes(words: Iterable[str]) -> Iterable[str]:
    """Yield the names of what was missing."""
    for line in words:
        for found in _CAUSE.finditer(line):
            name = next(filter(None, found.groups()))
            yield name
            yield name.partition(".")[0]
