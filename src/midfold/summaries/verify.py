"""Checks a summary against what it stands for: what is missing is added, what is made up is named."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.settings import Template
from midfold.summaries.digest.choice import fill_digest, write_heads
from midfold.summaries.digest.entries import (
    MUST,
    NAMES_HEADING,
    NOTES_HEADING,
    RULES_HEADING,
    DigestEntry,
    EntryKind,
    cost,
    note_heading,
)
from midfold.summaries.phrases import Phrases, find_absent
from midfold.summaries.sections import FOLDED_HEADING, HEADINGS, as_noted, join_sections, split_sections

_BEGINNING_CHARS = 8
_MOST_INVENTIONS = 50
# What a summariser can make up and a reader will believe: figures, paths, addresses, ids.
_CLAIM = compile_late(
    r"https?://[^\s)\]}>\"'`]{4,200}"
    r"|(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]{1,80}){2,20}|(?<![\w/.])[\w@+-]{1,80}(?:/[\w.@+-]{1,80}){1,20}\.\w{1,8}\b"
    r"|\b[0-9a-f]{7,64}\b(?<![a-f]{7})|\b\w{1,40}_\w{0,40}\d\w{0,40}\b|\b[A-Z]{1,6}-?\d{2,12}\b"
    r"|(?<![\w.,])\d[\d,.]{1,14}\d(?![\w,])|(?<![\w.,])\d{3,15}(?![\w,.]\d)"
)
# What makes a line say something that nobody could have guessed: figures, code, joined names, quotations.
_NAMED = compile_late(r"\d|`|[a-z][A-Z]|\w[./_]\w|\"[^\"]{3}|“|「")
_BULLET = compile_late(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+")
_NAMES_MUCH = 0.5
"""Of what there is to say: from here on notes that name nothing are not what they stand for."""
_IDLE_PER_NAMING = 2
"""From there on, the room of lines that name nothing for each line that does: reasons need words, too."""
_IDLE_PART = 0.05
"""Of the budget: what they may take in any case."""
_BYTES_PER_TOKEN = 3.3
_RAISED_PART = 0.1
"""Of the budget: what lines that hold facts may take before anything else is weighed."""
_ASKED_HEADINGS = frozenset({NOTES_HEADING, NAMES_HEADING, FOLDED_HEADING}.union(*HEADINGS.values()))
_FIRM = MUST / 200
"""The weight from which an entry must survive."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The facts that had to survive a fold, those that did, and claims of its summary without a source."""

    facts: int
    kept: int
    missing: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()


def check(body: str, facts: Sequence[str], *, elsewhere: Callable[[], Iterable[str]]) -> Retention:
    """Look for facts in a summary and, where they are not there, in the texts that stay beside it."""
    missing = find_absent(facts, [body])
    if missing:
        missing = find_absent(missing, elsewhere())
    return Retention(len(facts), len(facts) - len(missing), tuple(missing))


def find_inventions(body: str, source: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    """List the figures, paths and ids of a summary that never occur in the texts of its source."""
    claims = dict.fromkeys(claim.rstrip(".,:;*_~") for claim in _CLAIM.findall(body))
    # Claims that begin alike are looked for together: where their beginning is not, none of them is.
    alike: dict[str, dict[str, str]] = {}
    for claim in claims:
        bare = claim.replace(",", "")
        alike.setdefault(bare[:_BEGINNING_CHARS], {})[claim] = bare
    for text in source() if claims else ():
        if not alike:
            break
        said = text.replace(",", "")
        for beginning in [each for each in alike if each in said]:
            left = {claim: bare for claim, bare in alike[beginning].items() if bare not in said}
            if left:
                alike[beginning] = left
            else:
                del alike[beginning]
    never = {claim for each in alike.values() for claim in each}
    return tuple(claim for claim in claims if claim in never)[:_MOST_INVENTIONS]


def repair(
    body: str,
    entries: Sequence[DigestEntry],
    *,
    facts: Sequence[str] = (),
    count_text: Callable[[str], int],
    budget_tokens: int,
    template: Template,
) -> str:
    """Add to a model's summary what it does not say, the most important first, while there is room.

    `facts` are exact strings that must survive. They come before the model's words, which give way where both
    do not fit, and first those that name nothing: a model that drops every name must not leave less than the
    digest would. What the model wrote about rules, goals and open requests is only noted: code quotes those.
    """
    sections = split_sections(body)
    words = join_sections(
        {_noted(heading) if heading else NOTES_HEADING: said for heading, said in sections.items()}
    )
    if _has_more_to_say(entries, budget_tokens - count_text(words)):
        words = _without_idle_lines(words, budget_tokens)
    unsaid = find_absent(facts, [words])
    entries = _raise_facts(entries, unsaid, budget_tokens)
    firm = [entry for entry in entries if entry.weight >= _FIRM and _is_missing(entry, words)]
    reserve = min(count_text(write_heads(firm, template)), budget_tokens // 2)
    words = shorten(words, count_text=count_text, budget_tokens=budget_tokens - reserve)
    missing = [entry for entry in entries if _is_missing(entry, words)]
    room = budget_tokens - count_text(words)
    added = fill_digest(missing, count_text=count_text, budget_tokens=max(room, 0), template=template)
    return _merge(split_sections(words), split_sections(added))


def _noted(heading: str) -> str:
    """Return the heading for a model's words: one that was not asked for must not pass for the code's own."""
    return note_heading(heading) if heading in _ASKED_HEADINGS else as_noted(heading)


def shorten(body: str, *, count_text: Callable[[str], int], budget_tokens: int) -> str:
    """Drop lines from the end of a summary until it fits."""
    if count_text(body) <= budget_tokens:
        return body
    lines = body.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count_text("\n".join(lines[:middle])) <= budget_tokens:
            low = middle
        else:
            high = middle - 1
    return "\n".join(lines[:low])


def _has_more_to_say(entries: Sequence[DigestEntry], room_tokens: int) -> bool:
    """Whether there is more to say than fits, and most of it has names."""
    texts = [text for entry in entries for text in (entry.subject, *[unit.text for unit in entry.units])]
    total = sum(map(cost, texts))
    if total <= room_tokens * _BYTES_PER_TOKEN:
        return False
    naming = accumulate(cost(text) for text in texts if _names(text))
    return any(found >= total * _NAMES_MUCH for found in naming) or not total


def _without_idle_lines(words: str, budget_tokens: int) -> str:
    """Leave out lines that name nothing, the last first, where they take too much of the room."""
    lines = words.split("\n")
    idle = {number for number, line in enumerate(lines) if line[:1] != "#" and not _names(line)}
    naming = sum(cost(line) for number, line in enumerate(lines) if line[:1] != "#" and number not in idle)
    left = max(float(naming * _IDLE_PER_NAMING), budget_tokens * _BYTES_PER_TOKEN * _IDLE_PART)
    kept = []
    for number, line in enumerate(lines):
        left -= cost(line) if number in idle else 0
        if number not in idle or left >= 0:
            kept.append(line)
    return join_sections(split_sections("\n".join(kept)))


def _names(line: str) -> bool:
    bullet = _BULLET.match(line)
    return _NAMED.search(line, bullet.end() if bullet else 0) is not None


def _raise_facts(
    entries: Sequence[DigestEntry], facts: Sequence[str], budget_tokens: int
) -> list[DigestEntry]:
    """Let little come before a line that holds a fact: it stands in the head of its entry from here on.

    Where there are many, weight decides among them as it does in a digest.
    """
    left = budget_tokens * _BYTES_PER_TOKEN * _RAISED_PART
    raised = []
    phrases = Phrases(facts)
    for entry in entries:
        if entry.weight >= _FIRM or left <= 0:
            raised.append(entry)
            continue
        holding = [unit for unit in entry.units if phrases.is_any_in(unit.text)]
        head = entry.render(holding).removeprefix("- ")
        if holding and cost(head) <= left:
            left -= cost(head)
            rest = [unit for unit in entry.units if unit not in holding]
            raised.append(replace(entry, head=head, weight=MUST, units=rest))
        else:
            raised.append(entry)
    return raised


def _is_missing(entry: DigestEntry, words: str) -> bool:
    return entry.kind is EntryKind.RULE or entry.subject not in words


def _merge(sections: Mapping[str, str], added: Mapping[str, str]) -> str:
    coded = [name for name in added if note_heading(name) != name]
    names = dict.fromkeys([RULES_HEADING, *coded, *sections, *added])
    return join_sections(
        {name: "\n".join(filter(None, (sections.get(name), added.get(name)))) for name in names}
    )
