"""Checks a summary against what it stands for: what is missing is added, what is made up is named."""

import re
from collections.abc import Callable, Mapping, Sequence

from midfold.compression.digest import fill, fill_bare
from midfold.compression.digest.entries import MUST, Entry, Kind
from midfold.compression.digest.headings import NOTED_HEADING, NOTES_HEADING, RULES_HEADING
from midfold.compression.policy import Template
from midfold.compression.results import Retention
from midfold.compression.sections import join_sections, split_sections

_MOST_INVENTIONS = 50
# What a summariser can make up and a reader will believe: figures, paths, addresses, ids.
_CLAIM = re.compile(
    r"https?://[^\s)\]}>\"'`]{4,200}"
    r"|(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]{1,80}){2,20}|(?<![\w/.])[\w@+-]{1,80}(?:/[\w.@+-]{1,80}){1,20}\.\w{1,8}\b"
    r"|\b[0-9a-f]{7,64}\b(?<![a-f]{7})|\b\w{1,40}_\w{0,40}\d\w{0,40}\b|\b[A-Z]{1,6}-?\d{2,12}\b"
    r"|(?<![\w.,])\d[\d,.]{1,14}\d(?![\w,])|(?<![\w.,])\d{3,15}(?![\w,.]\d)"
)


def check(body: str, facts: Sequence[str], *, elsewhere: Callable[[], str]) -> Retention:
    """Look for facts in a summary and, where they are not there, in what stays beside it."""
    missing = [fact for fact in facts if fact not in body]
    if missing:
        beside = elsewhere()
        missing = [fact for fact in missing if fact not in beside]
    return Retention(len(facts), len(facts) - len(missing), tuple(missing))


def find_inventions(body: str, source: Callable[[], str]) -> tuple[str, ...]:
    """List the figures, paths and ids of a summary that never occur in its source."""
    claims = dict.fromkeys(claim.rstrip(".,:;*_~") for claim in _CLAIM.findall(body))
    if not claims:
        return ()
    text = source()
    plain = text.replace(",", "")
    made_up = (claim for claim in claims if claim not in text and claim.replace(",", "") not in plain)
    return tuple(made_up)[:_MOST_INVENTIONS]


def repair(
    body: str,
    entries: Sequence[Entry],
    *,
    count_text: Callable[[str], int],
    budget_tokens: int,
    template: Template,
) -> str:
    """Add to a model's summary what it does not say, the most important first, while there is room.

    Facts come before the model's words, which give way where both do not fit. What the model wrote under the
    heading of the rules is only noted: rules are quoted by code.
    """
    sections = split_sections(body)
    for heading, name in ((RULES_HEADING, NOTED_HEADING), ("", NOTES_HEADING)):
        if heading in sections:
            sections[name] = sections.pop(heading)
    words = join_sections(sections)
    facts = [entry for entry in entries if entry.worth >= MUST / 200 and _is_missing(entry, words)]
    reserve = min(count_text(fill_bare(facts, template)), budget_tokens // 2)
    words = shorten(words, count_text=count_text, budget_tokens=budget_tokens - reserve)
    missing = [entry for entry in entries if _is_missing(entry, words)]
    room = budget_tokens - count_text(words)
    added = fill(missing, count_text=count_text, budget_tokens=max(room, 0), template=template)
    return _merge(split_sections(words), split_sections(added))


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


def _is_missing(entry: Entry, words: str) -> bool:
    return entry.kind is Kind.RULE or entry.subject not in words


def _merge(sections: Mapping[str, str], added: Mapping[str, str]) -> str:
    names = dict.fromkeys([RULES_HEADING, *sections, *added])
    return join_sections(
        {name: "\n".join(filter(None, (sections.get(name), added.get(name)))) for name in names}
    )
