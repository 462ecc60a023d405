"""Entries of requests: what is open in a person's words, and what is over with the message that ended it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from midfold.provenance import Author
from midfold.summaries.digest.entries import (
    DigestEntry,
    EntryKind,
    Unit,
    answered_at,
    cancelled_at,
    cost,
)
from midfold.summaries.ledger.sentences import count_words, weigh_sentence
from midfold.summaries.ledger.values import Ledger, Statement
from midfold.summaries.ledger.words import Words, weigh_lines
from midfold.summaries.sections import cut_at_break

_REQUEST_PER_BYTE, _RULING_REQUEST_PER_BYTE = 1.0, 3.0
_RULE_IN_REQUEST_WEIGHT = 30.0
_OPEN_PER_BYTE = 4.0
_LINE_WEIGHT = 4.0
_PROSE_PER_BYTE, _PROSE_LETTERS = 0.3, 0.85
"""Lines of letters and blanks are a person's own words; what has many signs was pasted."""
_ANSWERED_CHARS, _WHOLE_ANSWERED_CHARS = 240, 560
"""of a request whose work has ended, what is quoted first; a shorter one is quoted whole"""
_MOST_LINES = 40
_LEAST_REST_WORDS = 3
_LEAST_SAME_CHARS = 20
_QUESTION_CHARS, _ANSWERED_QUESTION_CHARS = 400, 160


def quote_requests(
    ledger: Ledger, said: set[str], pending: Mapping[int, Sequence[str]]
) -> Iterator[DigestEntry]:
    """Quote what the user said: a short message whole, a long one by its start, its rules, its lines.

    `pending` are wishes by their messages that nobody took up.
    """
    rules: dict[int | None, list[str]] = {}
    for rule in ledger.rules:
        rules.setdefault(rule.index, []).append(rule.text)
    pinned = frozenset(said)
    said |= _asked_again(ledger)
    for statement in ledger.statements:
        key = f"{statement.text}{statement.question}"  # two questions may have the same answer
        if statement.role != "user" or statement.author is not Author.PERSON or key in said:
            continue
        if statement.is_reply and " ".join(statement.text.split()) in pinned:
            continue  # all that it says is a rule, which stands among these
        said.add(key)
        wishes = pending.get(statement.index, ())
        for wish in wishes:
            head = f"[{statement.index}] {wish}"
            yield DigestEntry(EntryKind.OPEN_REQUEST, statement.index, head, cost(head) * _OPEN_PER_BYTE)
        if statement.text in wishes:
            continue
        answer = ledger.exchanges.find_answer(statement.index)
        if answer is not None:
            is_sure = ledger.exchanges.is_answered_by(statement.index, answer)
            end = answered_at(answer) if is_sure else ""
            yield _ended(statement, end, rules.get(statement.index, []), said)
            continue
        cancelled = ledger.exchanges.find_cancellation(statement.index)
        if cancelled is not None:
            yield _ended(statement, cancelled_at(cancelled), rules.get(statement.index, []), said)
            continue
        kind = EntryKind.OPEN_REQUEST if statement.index in ledger.open_requests else EntryKind.REQUEST
        opening = statement.text[: statement.words.opening_chars]
        head = f"[{statement.index}] {opening.strip()}{_quote_question(statement)}"
        units = _request_units(statement.words, rules.get(statement.index, []), said)
        per_byte = _RULING_REQUEST_PER_BYTE if statement.index in rules else _REQUEST_PER_BYTE
        yield DigestEntry(kind, statement.index, head, cost(head) * per_byte, units)


def _asked_again(ledger: Ledger) -> set[str]:
    """Return the words of the newest request, which stays: who said the same before asked for it already."""
    people = [each for each in (ledger.after or Ledger()).statements if each.author is Author.PERSON]
    return {each.text for each in people[-1:] if len(each.text) >= _LEAST_SAME_CHARS}


def _ended(statement: Statement, end: str, found: Sequence[str], said: set[str]) -> DigestEntry:
    """Quote a request whose work has ended: its first words, and the rest where there is room."""
    words = statement.text
    opening = words if len(words) <= _WHOLE_ANSWERED_CHARS else cut_at_break(words, _ANSWERED_CHARS)
    goes_on = " …" if len(opening) < len(words) else ""
    ending = _quote_question(statement, _ANSWERED_QUESTION_CHARS) if statement.is_reply else end
    head = f"[{statement.index}] {opening.strip()}{goes_on}{ending}"
    rules = [rule for rule in found if rule not in said and rule not in opening]
    rest = [line.strip() for line in words[len(opening) :].split("\n")[:_MOST_LINES] if line.strip()]
    units = [Unit(rule, _RULE_IN_REQUEST_WEIGHT) for rule in rules]
    units += _quote_lines(rest, said, rules, found)
    return DigestEntry(EntryKind.ANSWERED, statement.index, head, cost(head) * _REQUEST_PER_BYTE, units)


def weigh_request_line(line: str, weight: float) -> float:
    """Weigh a line of a request by what it says; a person's own words weigh by their size at least."""
    own = sum(map(str.isalpha, line)) + line.count(" ")
    least = cost(line) * _PROSE_PER_BYTE if own >= _PROSE_LETTERS * len(line) else 0.0
    return max(least, _LINE_WEIGHT * max(weight, weigh_sentence(line)))


def _quote_lines(
    lines: Iterable[str], said: set[str], rules: Sequence[str], found: Sequence[str]
) -> list[Unit]:
    """Quote the lines of a request without the rules that were found, which stand by themselves."""
    pieces = [
        piece for line in lines if line not in said and line not in rules for piece in _leave_out(line, found)
    ]
    return [Unit(piece, weigh_request_line(piece, weight)) for piece, weight in weigh_lines(pieces)]


def _leave_out(line: str, rules: Sequence[str]) -> list[str]:
    """Return what a line says beside the rules in it, where that is more than a word or two."""
    pieces = [line]
    for rule in rules:
        pieces = [rest for piece in pieces for rest in piece.split(rule)]
    if len(pieces) == 1:
        return pieces
    return [piece.strip() for piece in pieces if count_words(piece) >= _LEAST_REST_WORDS]


def _quote_question(statement: Statement, most: int = _QUESTION_CHARS) -> str:
    """Say what a short answer answers, on the same line."""
    if not statement.question:
        return ""
    question = " ".join(statement.question.split())
    if len(question) > most:
        question = f"… {question[-most:].partition(' ')[2]}"  # the question itself stands at the end
    return f" (answers: {question})"


def _request_units(words: Words, found: Sequence[str], said: set[str]) -> list[Unit]:
    """Quote what follows the opening of a request: the rules it sets, then its lines."""
    rest = words.text[words.opening_chars :] if found else ""
    rules = [rule for rule in found if rule not in said and rule in rest]
    return [
        *(Unit(rule, _RULE_IN_REQUEST_WEIGHT) for rule in rules),
        *_quote_lines((line for line, _ in words.lines), said, rules, found),
    ]
