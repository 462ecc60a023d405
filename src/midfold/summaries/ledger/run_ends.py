"""Reads how a call ended, and what went wrong: by its status, its output, the summary of tests in it."""

import re
from collections.abc import Sequence

from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.messages import ToolCall, ToolResult
from midfold.summaries.ledger.exchanges import is_cancelled
from midfold.summaries.ledger.invocations import Aim, Invocation, RunEnd
from midfold.summaries.ledger.shell import ShellCommand
from midfold.summaries.ledger.words import COMMIT
from midfold.summaries.tool_calls.output import cut_at_word, find_failures, read_outcome
from midfold.summaries.tool_calls.stubs import error_of

_MOST_FAILURES, _FAILURE_CHARS = 5, 300
_REFUSAL_CHARS = 600
_REFUSED = compile_late(
    r"\b(?:user|human|operator)\b.{0,60}\b(?:reject|refus|den(?:y|ied)|declin|cancel|abort|interrupt"
    r"|(?:doesn't|does not) want|did not approve|disapprov)"
    r"|(?:reject|den(?:y|ied)|declin|cancel|abort|interrupt)\w*\sby\s(?:the\s)?user"
    r"|tool use was rejected|request interrupted|^command aborted$|\boperation (?:was )?(?:abort|cancell?ed)",
    re.IGNORECASE | re.MULTILINE,
)
_TURNED_DOWN = compile_late(
    r"\W{0,4}(?:(?:tool )?error: )?(?:"
    r"(?:the )?(?:user|human|operator) (?:has )?(?:(?:doesn't|does not|didn't|did not) (?:want|approve|allow)"
    r"|rejected|refused|denied|declined|cancell?ed|aborted|interrupted|disapproved)"
    r"|(?:the )?(?:tool|command|request|operation|execution|call)(?: use| call| execution)?"
    r"(?: was| has been)? (?:rejected|refused|denied|declined|cancell?ed|aborted|interrupted)"
    r" by (?:the )?(?:user|human|operator))",
    re.IGNORECASE,
)
"""how a client begins the answer to a call that a person stopped"""
NOTHING_COMMITTED = (
    r"\bnothing (?:added )?to commit\b|\bno changes added to commit\b|nichts zu committen|rien à valider"
    r"|nada para hacer commit|无文件要提交|无需提交|コミットするものがありません|커밋할 사항 없음"
    r"|нечего коммитить"
)
_NOTHING_COMMITTED = compile_late(rf"^.*(?:{NOTHING_COMMITTED}).*$", re.IGNORECASE | re.MULTILINE)
_LOOKING_KINDS = frozenset({"search", "list"})
_NO_MATCH_CODES = (1, 2)
_COMPARERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "diff", "cmp"})
"""filters whose status says whether they found a match or a difference"""
_FILTERS = frozenset({"grep", "egrep", "rg", "awk", "sed", "wc", "sort", "uniq", "cut"})


@dataclass(frozen=True, slots=True)
class CallEnding:
    """How a call ended, and what went wrong; `has_failed` is what its output looks like."""

    end: RunEnd
    failures: tuple[str, ...]
    has_failed: bool
    is_told: bool = False
    """its output sums up that all is well"""


_MISSING = compile_late(r": No module named ['\"]?([\w-]+)|([\w-]+): (?:command )?not found")
"""what is said of a program that is not there"""
_UNDONE = compile_late(
    r"\b(?:was|were|is|are|has|have|had|could|did|will)(?: not|n't)(?: been| be)? (?:\w+ly )?"
    r"(?:applied|changed|written|saved|made|modified|replaced|updated|edited|found|match\w*|accepted)\b"
    r"|\bnot? (?:changes? (?:was|were|made)|matche?s?\b|occurrences?\b|replacements?\b)"
    r"|\bintroduce[sd]? .{0,20}\berrors?\b"
    r"|^\W{0,3}(?:operation |edit |user )?(?:cancell?ed|rejected|aborted)\b"
    r"|未(?:应用|修改|写入|找到)|(?:適用|変更|保存)(?:され|でき)(?:ません|なかった)"
    r"|(?:적용|변경|저장)되지 않",
    re.IGNORECASE,
)
"""how a tool for files says that it left them as they were"""
_ECHO_CHARS, _FENCED_LINE = 2_000, 3
_TRACEBACK = "Traceback (most recent call last)"
_CRASH = compile_late(r"(?:\w+\.){0,8}\w*(?:Error|Exception|Interrupt)(?::|$)")
_CLOSING_TAGS = compile_late(r"(?:\s{0,20}</\w{1,20}>)*\s*\Z")
_WAITS = frozenset({"wait", "poll"})
_TIMED_OUT = compile_late(r"time(?:d\s|-|_)?\s?out", re.IGNORECASE)


def read_ending(
    call: ToolCall,
    result: ToolResult | None,
    output: str,
    *,
    kind: str,
    commands: Sequence[ShellCommand],
    invocation: Invocation,
) -> CallEnding:
    """Read the end of a call of this kind, of which `invocation` is the decisive one."""
    if result is None:
        return CallEnding(RunEnd.UNCLEAR, (), has_failed=False)
    commands = [command for command in commands if command.words]
    if is_stopped(read_outcome(output).text):
        return CallEnding(
            RunEnd.REFUSED, (read_outcome(output).text.strip()[:_FAILURE_CHARS],), has_failed=True
        )
    if invocation.aim is not Aim.LOOK and is_echo(output, call.arguments):
        return CallEnding(RunEnd.UNCLEAR, (), has_failed=False)
    failures = _failures(call, result, output)
    has_failed = bool(failures) or result.is_error
    looks = _ends_in_look(kind, invocation, commands)
    end = _read_end(result, output, has_failed=has_failed, looks=looks)
    if invocation.aim is Aim.TEST and end is RunEnd.PASSED and _ran_nothing(read_outcome(output).text):
        return CallEnding(RunEnd.UNCLEAR, failures, has_failed)
    if invocation.aim in (Aim.TEST, Aim.LINT):
        is_piped = bool(commands) and commands[-1].is_piped
        if is_piped or (read_outcome(output).exit_code is None and end is not RunEnd.PASSED):
            ending = CallEnding(end, failures, has_failed)
            return _without_proof(_hear_verdict(ending, output, invocation.program), commands, output)
    if kind in ("edit", "write") and not has_failed and (why := _find_refusal(output)):
        return CallEnding(RunEnd.FAILED, (why,), has_failed=True)
    if end is RunEnd.LOOKED and not find_failures(read_outcome(output).text, 1):
        return CallEnding(end, (), has_failed=False)  # it found nothing, or a difference
    if has_failed and not result.is_error and _asks_about(commands) and not find_failures(output, 1):
        return CallEnding(RunEnd.PASSED, (), has_failed=False)  # how to call a program is what was asked
    if has_failed and not _WAITS.isdisjoint(call.name.lower().split("_")) and _TIMED_OUT.search(output):
        return CallEnding(RunEnd.UNCLEAR, (), has_failed=False)  # others are not done yet
    ending = CallEnding(end, failures, has_failed)
    return _without_proof(_read_last_words(ending, output, commands, invocation), commands, output)


def is_stopped(text: str) -> bool:
    """Whether a result only says that a person, or their client, stopped the call."""
    said = text.strip()
    is_word = said.isalpha() and said.islower()  # a state that a program printed
    return _TURNED_DOWN.match(said) is not None or (not is_word and is_cancelled(said))


def is_echo(output: str, said: str) -> bool:
    """Whether an output only repeats the command, as an export of a terminal does that shows nothing else."""
    lines = [line for line in output.strip()[:_ECHO_CHARS].split("\n") if line.strip()]
    is_fenced = len(lines) == _FENCED_LINE and lines[0].startswith("```") and lines[2].startswith("```")
    return is_fenced and _letters(lines[1]) in _letters(said[:_ECHO_CHARS])


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _read_last_words(
    ending: CallEnding, output: str, commands: Sequence[ShellCommand], invocation: Invocation
) -> CallEnding:
    """Believe what a program said last, where no status tells how it ended."""
    text = read_outcome(output).text
    if invocation.program == "git commit" and not ending.has_failed:
        found = _NOTHING_COMMITTED.search(text[-_END_CHARS:])
        if found is not None and not COMMIT.search(text):
            return CallEnding(RunEnd.FAILED, (found[0].strip()[:_FAILURE_CHARS],), has_failed=True)
    if ending.end is RunEnd.UNCLEAR and commands and commands[-1].is_piped and _ends_in_crash(text):
        return replace(ending, end=RunEnd.FAILED)
    return ending


def _ends_in_crash(text: str) -> bool:
    """Whether the last thing that a program printed is the error that ended it."""
    last = _CLOSING_TAGS.sub("", text[-_FAILURE_CHARS * 4 :]).rpartition("\n")[2]
    return _TRACEBACK in text and _CRASH.match(last) is not None


_ABOUT = frozenset({"--help", "-h", "help", "--version", "-V", "version"})


def _asks_about(commands: Sequence[ShellCommand]) -> bool:
    """Whether a shell line asks a program for its version or how it is called."""
    return any(not _ABOUT.isdisjoint(command.words[1:]) for command in commands)


def _find_refusal(output: str) -> str:
    """Return the first line of what a tool for files says, if that is that it changed nothing."""
    first = read_outcome(output).text.lstrip()[:_FAILURE_CHARS].partition("\n")[0]
    return first.strip() if _UNDONE.search(first) else ""


def _without_proof(ending: CallEnding, commands: Sequence[ShellCommand], output: str) -> CallEnding:
    is_unproven = ending.end is RunEnd.PASSED and not ending.is_told and _proves_nothing(commands, output)
    return replace(ending, end=RunEnd.UNCLEAR) if is_unproven else ending


def _hear_verdict(ending: CallEnding, output: str, program: str) -> CallEnding:
    """Believe the summary of tests where the status is that of a filter, or tells nothing."""
    text = read_outcome(output).text
    verdict = read_verdict(text)
    if verdict and ending.end is RunEnd.FAILED and not read_outcome(output).exit_code and _ends_well(text):
        return CallEnding(RunEnd.PASSED, (), has_failed=False, is_told=True)
    if verdict and ending.end is not RunEnd.FAILED:
        return CallEnding(RunEnd.PASSED, (), has_failed=False, is_told=True)
    if verdict is False and ending.end is not RunEnd.REFUSED:
        failures = ending.failures or tuple(find_failures(text, _MOST_FAILURES))
        return CallEnding(RunEnd.FAILED, failures, has_failed=True)
    missing = (_MISSING.search(line) for line in ending.failures[:1])
    if any(found and program.startswith(found[1] or found[2]) for found in missing):
        return replace(ending, end=RunEnd.FAILED)
    if ending.end is RunEnd.LOOKED and not find_failures(text, 1):
        return CallEnding(ending.end, (), has_failed=False)
    return ending


def _proves_nothing(commands: Sequence[ShellCommand], output: str) -> bool:
    """Whether the end of a shell line is that of a filter, and so says nothing of the program before it."""
    last = commands[-1] if commands else None
    if last is None or not last.is_piped or not last.words:
        return False
    return not read_outcome(output).text.strip() or last.words[0] in _FILTERS or _is_filtered(commands)


def _is_filtered(commands: Sequence[ShellCommand]) -> bool:
    return any(each.is_piped and each.words and each.words[0] in _FILTERS for each in commands)


def _failures(call: ToolCall, result: ToolResult | None, output: str) -> tuple[str, ...]:
    """Quote what went wrong, where something did."""
    if result is None:
        return ()
    error = error_of(call, ToolResult(result.call_id, output, result.is_error, (), result.name))
    if not error:
        return ()
    found = find_failures(read_outcome(output).text, _MOST_FAILURES)
    return tuple(found) if found else (cut_at_word(error.strip(), _FAILURE_CHARS),)


def _read_end(result: ToolResult | None, output: str, *, has_failed: bool, looks: bool) -> RunEnd:
    """Say how a call ended; `has_failed` is what its output looks like."""
    if result is None:
        return RunEnd.UNCLEAR
    code = read_outcome(output).exit_code
    if has_failed or result.is_error:
        if _REFUSED.search(output[:_REFUSAL_CHARS]):
            return RunEnd.REFUSED
        if code == 0:
            return RunEnd.UNCLEAR
    elif not code:
        return RunEnd.PASSED
    return RunEnd.LOOKED if looks and code in (None, *_NO_MATCH_CODES) else RunEnd.FAILED


def _ends_in_look(kind: str, invocation: Invocation, commands: Sequence[ShellCommand]) -> bool:
    """Whether a call only looks, or its status is that of a command that looks at what others print."""
    last = commands[-1] if commands else None
    is_look = last is not None and last.is_piped and not _COMPARERS.isdisjoint(last.words[:1])
    return kind in _LOOKING_KINDS or invocation.aim is Aim.LOOK or is_look


# Tests and checks sum themselves up; who filters what they print often has only these lines.
_END_CHARS = 6_000
_COUNT = (
    r"(?:^|[,;:=(|\u2716\u2717\u00d7]|\b(?:[Ff]ound|and|with))\W{0,8}(\d{1,7})\s"
    r"(?:(?:tests?|examples?|specs?|suites?|files?),?\s)?"
)
_BAD = compile_late(
    _COUNT + r"(?:failed|failing|failures?|errors?|problems?|issues?)\b"
    r"|\b(?:[Ff]ail(?:ed|ures)|[Ee]rrors)[:=]\s?(\d{1,7})",
    re.MULTILINE,
)
_GOOD = compile_late(_COUNT + r"(?:passed|passing|succeeded)\b", re.MULTILINE)
_RED = compile_late(
    r"^\W{0,8}(?:---\sFAIL|FAIL(?:ED)?\b|not\sok\s\d|BUILD\sFAILED|test\sresult:\sFAILED)", re.MULTILINE
)
_GREEN = compile_late(
    r"^\W{0,8}(?:---\sPASS:|PASS(?:ED)?\b|ok\s{1,6}\S|OK$|OK\s\(|BUILD\sSUCCESS|test\sresult:\sok"
    r"|All\s.{1,40}\spassed|Success:\sno\sissues)",
    re.MULTILINE,
)


_NOTHING_RAN = compile_late(
    r"\bcollected 0 items\b|\bno tests? (?:ran|(?:were )?(?:run|found|executed)|to run|files?)\b"
    r"|\b(?:ran|found|running) 0 tests?\b",
    re.IGNORECASE,
)
_RAN = compile_late(
    r"---\sPASS:|\b[Rr](?:an|unning) [1-9]\d{0,6} tests?\b|^ok\s{1,6}(?![^\n]*\[no tests)\S", re.MULTILINE
)
_LAST_LINE_CHARS = 600


def read_verdict(text: str) -> bool | None:
    """Say whether all was well; `None` where no line sums it up."""
    end = text[-_END_CHARS:]
    bad = [found.groups() for found in _BAD.finditer(end)]
    if _RED.search(end) or any(map(_is_counted, bad)):
        return False
    is_good = _GREEN.search(end) or any(_is_counted(found.groups()) for found in _GOOD.finditer(end))
    return True if is_good or bad else None


def tests_passed(text: str) -> bool:
    """Whether an output says of tests that were counted that all passed, whatever program ran them."""
    end = text[-_END_CHARS:]
    is_counted = _RAN.search(end) or any(_is_counted(found.groups()) for found in _GOOD.finditer(end))
    return bool(is_counted) and read_verdict(end) is True


def _ran_nothing(text: str) -> bool:
    """Whether a test runner says that there was nothing to run, and names no test that passed."""
    end = text[-_END_CHARS:]
    if _NOTHING_RAN.search(end) is None or _RAN.search(end) is not None:
        return False
    return not any(_is_counted(found.groups()) for found in _GOOD.finditer(end))


def _ends_well(text: str) -> bool:
    """Whether the last line of a run of tests says that all went well: errors before it were expected."""
    last = text.rstrip()[-_LAST_LINE_CHARS:].rpartition("\n")[2]
    return read_verdict(last) is True


def sums_up(line: str) -> bool:
    """Whether a line sums up a run of tests or checks."""
    return any(pattern.search(line) for pattern in (_BAD, _GOOD, _RED, _GREEN))


def _is_counted(groups: tuple[str | None, ...]) -> bool:
    return any(int(group) for group in groups if group)
