"""Layers: what an earlier summary says becomes entries again, and is thinned where room is short.

Rules, requests and changed files stay as they are. Of everything else the head goes last and what hangs on it
goes first, so that a conversation folded ten times remembers its beginnings in outline.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from midfold.late_dataclasses import replace
from midfold.late_patterns import compile_late
from midfold.provenance import Author, is_rules_file
from midfold.summaries.digest.entries import (
    AGENT_LABEL,
    FILE_USES,
    LABEL,
    MUST,
    NAME_SEPARATOR,
    NAMES_HEADING,
    PIN_LABEL,
    REQUEST_HEADINGS,
    REQUEST_KINDS,
    RULES_HEADING,
    SETTLED,
    TOLD_LABEL,
    DigestEntry,
    EntryKind,
    Unit,
    cost,
    format_indices,
    kind_of_item,
    split_item,
    split_outcome,
)
from midfold.summaries.digest.requests import weigh_request_line
from midfold.summaries.ledger.rules import find_rules, is_rule
from midfold.summaries.ledger.sentences import decides, weigh_sentence
from midfold.summaries.ledger.values import Rule
from midfold.summaries.ledger.words import weigh_line
from midfold.summaries.sections import CORRECTIONS_HEADING, FOLDED_HEADING, split_sections
from midfold.summaries.tool_calls.output import find_failure

_WEIGHTS = {
    EntryKind.CHANGED: MUST / 100,
    EntryKind.BROKEN: 16.0,
    EntryKind.ACTION: 12.0,
    EntryKind.READ: 6.0,
    EntryKind.DOING: 2.0,
    EntryKind.STEP: 2.0,
    EntryKind.WORDS: 2.6,
    EntryKind.EARLIER: 6.0,
}
_FIRST_REQUEST_WEIGHT = MUST / 100
_REQUEST_PER_BYTE = 1.0
_FAILURE_WEIGHT = 6.0
_SENTENCE_WEIGHT, _TOLD, _DECIDED = 1.8, 2.5, 1.6
"""a little less than what the same words weigh in the fold that quotes them first"""
_UNIT_WEIGHT = 1.5
_NAME_WEIGHT = 1.0
_PROSE_WEIGHT = 3.0
_RULE_UNIT_WEIGHT = 30.0
_RULE_FACTOR = 3.0
_LONG_HEAD_CHARS = 300
_MOST_ITEMS = 5_000
_NOT_ENTRIES = ("Active Task", FOLDED_HEADING, RULES_HEADING, CORRECTIONS_HEADING)
_NUMBERED = compile_late(r"- \[\d")
_NUMBERS = compile_late(r"\[([\d, …]{1,80})\]")
_NUMBER = compile_late(r"\[(\d{1,9})[\],]")
_NAMES = compile_late(r"- ([^\n]{1,400}) \[([\d, …]{1,80})\]: (\S[^\n]*)$")
_SOURCE = compile_late(r"\(([^()\s]{1,200})\) ")
_USE = compile_late(r"([^\s,\[]{1,80}) \[([\d, …]{1,80})\]")
_BULLET = compile_late(r"(?:[-*•]|\d{1,4}[.)])\s+")
_SENTENCE_END = compile_late(r"(?<=[.!?;])\s+|(?<=[。！？])")


def read_entries(body: str) -> list[DigestEntry]:
    """Take an earlier summary of any author apart; its rules are read by `read_rules`."""
    entries: list[DigestEntry] = []
    for heading, text in split_sections(body).items():
        if heading in _NOT_ENTRIES:
            continue
        order = 0.0
        for item in islice(split_items(text, quotes_messages=heading in REQUEST_HEADINGS), _MOST_ITEMS):
            entries.append(_entry(heading, item, order))
            order = entries[-1].order
    entries = _join_same(entries)
    _weigh_requests([entry for entry in entries if entry.kind in REQUEST_KINDS])
    return entries


def read_rules(body: str) -> list[Rule]:
    """Return the rules of an earlier summary: only code writes under their heading, one a line."""
    rules = []
    for line in split_sections(body).get(RULES_HEADING, "").split("\n"):
        text = line.removeprefix("- ").strip()
        label = LABEL.match(text)
        if text.startswith(PIN_LABEL):
            rules.append(Rule(None, text.removeprefix(PIN_LABEL)))
        elif label:
            rules.append(_read_rule(int(label[1].partition(",")[0]), text[label.end() :]))
    return rules


def _read_rule(index: int, text: str) -> Rule:
    """Read a rule; behind its number may stand the file that set it."""
    source = _SOURCE.match(text)
    if source is None or not is_rules_file(source[1]):
        return Rule(index, text)
    return Rule(index, text[source.end() :], Author.PROJECT, source[1])


def request_entries(rules: Iterable[Rule]) -> list[DigestEntry]:
    """Quote rules as what the user said."""
    heads = [(rule, rule.text if rule.index is None else f"[{rule.index}] {rule.text}") for rule in rules]
    per_byte = _REQUEST_PER_BYTE * _RULE_FACTOR
    return [
        DigestEntry(EntryKind.REQUEST, float(rule.index or 0), head, cost(head) * per_byte)
        for rule, head in heads
    ]


def merge(
    earlier: Sequence[DigestEntry],
    entries: Sequence[DigestEntry],
    *,
    has_new_steps: bool,
    replaced: Container[str] = (),
) -> list[DigestEntry]:
    """Join what an earlier summary says about a file or a command with what is said now.

    A new to-do list takes the place of an older one, and lines that were `replaced` are no longer quoted.
    """
    if not earlier:
        return list(entries)
    by_subject = {subject: entry for entry in entries if (subject := _subject(entry)) is not None}
    said = {_identity(entry) for entry in entries}
    kept: dict[tuple[str, str], DigestEntry] = {}
    for old in earlier:
        if old.kind is EntryKind.CHANGED:
            old.units = [unit for unit in old.units if LABEL.sub("", unit.text) not in replaced]
        new = by_subject.get(_subject(old) or "")
        is_replaced = has_new_steps and old.kind in (EntryKind.DOING, EntryKind.STEP)
        if new is not None:
            _join(old, new)
        elif _identity(old) not in said and not is_replaced:
            kept.setdefault(_identity(old), old)
    return [*kept.values(), *entries]


def split_items(text: str, *, quotes_messages: bool) -> Iterator[str]:
    """Yield the items of a section.

    A message that we quoted has a number and may have lines of its own, bullets among them: it goes on to the
    next item with a number.
    """
    item: list[str] = []
    for line in text.split("\n"):
        is_ours = bool(item) and _NUMBERED.match(item[0]) is not None
        starts = (
            _NUMBERED.match(line) if is_ours and quotes_messages else line.startswith("- ") or not is_ours
        )
        if starts and item:
            yield "\n".join(item)
            item = []
        if line.strip() or item:
            item.append(line)
    if item:
        yield "\n".join(item)


def _entry(heading: str, item: str, after: float) -> DigestEntry:
    """Read one item; without a number of its own it stays behind the one before it."""
    names = _NAMES.match(item) if heading == NAMES_HEADING else None
    if names:
        listed = [Unit(name, _NAME_WEIGHT) for name in names[3].split(NAME_SEPARATOR)]
        first = float(names[2].partition(",")[0])
        return DigestEntry(EntryKind.NAMES, first, f"{names[1]} [{names[2]}]:", 0.0, listed)
    bullet = _BULLET.match(item.lstrip())
    is_bullet = item.startswith("- ")
    text, outcome = split_outcome((item[2:] if is_bullet else item.strip()).rstrip())
    head, *pieces = split_item(text)
    kind = kind_of_item(heading, head)
    if len(head) > _LONG_HEAD_CHARS and not LABEL.match(head) and not FILE_USES.search(head):
        head, *sentences = _SENTENCE_END.split(head)
        pieces = [*sentences, *pieces]
    number = _NUMBER.search(head)
    order = float(number[1]) if number else after
    if kind is EntryKind.WORDS:
        quotation = _quotation(head, pieces, order, is_bullet=is_bullet or bullet is None)
        return replace(quotation, outcome=outcome)
    units = [Unit(piece, _unit_weight(kind, piece)) for piece in pieces if piece]
    return DigestEntry(kind, order, head, _WEIGHTS.get(kind, 0.0), units, is_bullet or bullet is None)


def _quotation(head: str, pieces: Sequence[str], order: float, *, is_bullet: bool) -> DigestEntry:
    """Read the words of a model back, and what they are: said on the way, or the last ones of a turn."""
    label = LABEL.match(head)
    said = head[label.end() :] if label else head
    is_final = said.startswith(TOLD_LABEL)
    factor = _TOLD if is_final else 1.0
    if label:
        speaker = TOLD_LABEL if is_final else AGENT_LABEL if said.startswith(AGENT_LABEL) else ""
        pieces = [said.removeprefix(speaker), *pieces]
        head = f"{label[0].rstrip()} {speaker}".rstrip()
    units = [
        Unit(piece, _SENTENCE_WEIGHT * factor * _weigh_words(piece), is_conclusion=is_final or decides(piece))
        for piece in pieces
        if piece
    ]
    weight = 0.0 if label else _WEIGHTS[EntryKind.WORDS] * factor * _weigh_words(said)
    is_conclusion = not label and decides(said)
    return DigestEntry(EntryKind.WORDS, order, head, weight, units, is_bullet, is_conclusion)


def _weigh_words(text: str) -> float:
    return weigh_sentence(text) * (_DECIDED if decides(text) else 1.0)


def _weigh_requests(requests: Sequence[DigestEntry]) -> None:
    """Let the first request stay; what a person said is thinned after what came of it."""
    first = min(requests, key=lambda entry: entry.order, default=None)
    for entry in requests:
        per_byte = _REQUEST_PER_BYTE * (_RULE_FACTOR if _sets_rule(entry.head) else 1.0)
        entry.weight = _FIRST_REQUEST_WEIGHT if entry is first else cost(entry.head) * per_byte


@lru_cache(maxsize=1024)
def _sets_rule(head: str) -> bool:
    """Whether a request sets a rule; the notes of a conversation are read again in every fold."""
    return bool(find_rules(head))


def _unit_weight(kind: EntryKind, piece: str) -> float:
    if kind in REQUEST_KINDS:
        return _RULE_UNIT_WEIGHT if is_rule(piece) else weigh_request_line(piece, weigh_line(piece))
    if kind is EntryKind.EARLIER:
        return _PROSE_WEIGHT * weigh_sentence(piece)
    label = LABEL.match(piece)
    text = piece[label.end() :] if label else piece
    return _FAILURE_WEIGHT if find_failure(text) else _UNIT_WEIGHT * weigh_line(text)


def _subject(entry: DigestEntry) -> str | None:
    """Return the subject of an entry, whenever it happened: a path, or a tool with what it was given."""
    if entry.kind is EntryKind.NAMES:
        return f"{NAMES_HEADING}: {entry.head.rpartition(' [')[0]}"
    is_file = entry.kind in (EntryKind.CHANGED, EntryKind.READ) and FILE_USES.search(entry.head)
    is_action = entry.kind in (EntryKind.ACTION, EntryKind.BROKEN) and LABEL.match(entry.head)
    return entry.subject if is_file or is_action else None


def _identity(entry: DigestEntry) -> tuple[str, str]:
    """Return what makes two entries the same: the head, and what is quoted first where it is but a number."""
    return entry.head, entry.units[0].text if entry.is_quotation and entry.units else ""


def _join(old: DigestEntry, new: DigestEntry) -> None:
    """Let the entry of now speak for the earlier one as well."""
    if new.kind is EntryKind.NAMES:
        _join_names(old, new)
        return
    if new.kind in (EntryKind.CHANGED, EntryKind.READ):
        subject = _subject(new)
        is_read_again = old.kind is EntryKind.CHANGED and new.kind is EntryKind.READ
        if is_read_again:
            new.kind, new.weight = EntryKind.CHANGED, old.weight
        mark = _mark(old.head) if is_read_again else _mark(new.head)
        new.head = f"{subject}{mark}{_join_uses(old.head, new.head)}"
    else:
        numbers = [int(number) for head in (old.head, new.head) for number in _numbers(head)]
        settled = SETTLED.search(new.head)
        new.head = f"{format_indices(numbers)} {_subject(new)}{settled[0] if settled else ''}"
    new.order = min(old.order, new.order)
    new.units = [*old.units, *new.units]


def _join_same(entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """Let one entry speak for all about a file or a command: several summaries may be read as one."""
    joined: list[DigestEntry] = []
    places: dict[str, int] = {}
    for entry in entries:
        subject = _subject(entry)
        if subject in places:
            _join(joined[places[subject]], entry)
            joined[places[subject]] = entry
            continue
        if subject is not None:
            places[subject] = len(joined)
        joined.append(entry)
    return joined


def _mark(head: str) -> str:
    """Return what stands between a path and its uses: what became of the file."""
    uses = FILE_USES.search(head)
    return f"{uses[0].partition(': ')[0]}: " if uses else ": "


def _join_names(old: DigestEntry, new: DigestEntry) -> None:
    """List the names of both, those of now first."""
    listed = {unit.text for unit in new.units}
    new.units += [unit for unit in old.units if unit.text not in listed]
    numbers = [
        number for head in (old.head, new.head) for number in _read_numbers(_NUMBERS.findall(head)[-1])
    ]
    new.head = f"{new.head.rpartition(' [')[0]} {format_indices(numbers)}:"
    new.order = min(old.order, new.order)


def _read_numbers(listed: str) -> list[int]:
    """Return the numbers of a list; the mark for those that were left out is none."""
    return [int(number) for number in listed.split(",") if number.strip().isdigit()]


def _join_uses(old: str, new: str) -> str:
    uses: dict[str, list[int]] = {}
    for head in (old, new):
        found = FILE_USES.search(head)
        for tool, numbers in _USE.findall(found[0]) if found else ():
            uses.setdefault(tool, []).extend(_read_numbers(numbers))
    return ", ".join(f"{tool} {format_indices(numbers)}" for tool, numbers in uses.items())


def _numbers(head: str) -> list[str]:
    label = LABEL.match(head)
    return label[1].replace("…, ", "").split(", ") if label else []
