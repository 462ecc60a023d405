"""What a summary is written from: the ledger of what is folded, the user's rules, what was said before.

The built-in digest is made of nothing else. A model's summary is checked against it and made whole from it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from midfold.folding.choose import Choice, Job
from midfold.summaries import weigh
from midfold.summaries.digest import (
    Entry,
    Kind,
    compose,
    cost,
    fill,
    focus_on,
    lines_per_deed,
    merge,
    read_entries,
    read_rules,
    request_entries,
)
from midfold.summaries.ledger import Ledger, Rule, collect

PINS_PART = 0.02
"""Of the budget, the most that pinned rules may take."""
_BYTES_PER_TOKEN = 3.3
_USER_WORDS_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything a summary can be made of."""

    ledger: Ledger
    pins: tuple[Rule, ...]
    entries: Sequence[Entry]

    @property
    def facts(self) -> tuple[str, ...]:
        """Exact strings that must survive: pinned rules, changed files, what is still broken."""
        return tuple(dict.fromkeys([*(rule.text for rule in self.pins), *self.ledger.facts]))

    @property
    def user_words(self) -> str:
        """What the user said, as far as it tells the language of the conversation."""
        said = (saying.text for saying in self.ledger.sayings if saying.role == "user")
        return "\n".join(said)[:_USER_WORDS_CHARS]

    def write(self, job: Job, budget_tokens: int) -> str:
        """Write the digest."""
        return fill(
            self.entries,
            count_text=job.count_text,
            budget_tokens=budget_tokens,
            template=job.policy.template,
        )


def gather(job: Job, choice: Choice) -> Sources:
    """Read what is about to be folded, and what an earlier summary says."""
    layout = job.layout
    folded = {index for span in choice.spans for index in span}
    indices = sorted(folded - {layout.summary})
    previous = job.redact(layout.previous or "")
    unpinned = {_as_pinned(job, text) for text in job.state.unpinned}
    rules = [rule for rule in read_rules(previous) if rule.text not in unpinned]
    earlier = read_entries(previous)
    ledger = collect(
        layout.messages,
        indices,
        layout.pairing,
        redact=job.redact,
        memory=job.memory,
        numbers=layout.numbers,
        # Deeds without a call in sight: the model gives its commands in words.
        is_led_by_words=any(entry.kind in (Kind.DEED, Kind.BROKEN) for entry in earlier),
    )
    pins = choose_pins(job, [*rules, *ledger.rules])
    # A rule that is pinned no longer is still something that the user said.
    earlier += request_entries(rule for rule in rules if rule not in pins)
    kept = (
        message
        for index, message in enumerate(layout.messages)
        if index not in folded and index >= layout.lead
    )
    entries = compose(
        ledger,
        pins=pins,
        importance=weigh(ledger, kept, layout.numbers[-1]),
        most_lines=lines_per_deed(ledger, choice.body_tokens),
    )
    merged = merge(earlier, entries, has_new_steps=bool(ledger.steps))
    return Sources(ledger, pins, focus_on(merged, job.focus) if job.focus else merged)


def choose_pins(job: Job, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Choose the rules to pin: those pinned by hand, then the newest, while they fit; in their order.

    A rule without a number in an earlier summary was pinned by hand, before a restart perhaps.
    """
    by_hand = [Rule(None, _as_pinned(job, text)) for text in job.state.pins]
    unpinned = {_as_pinned(job, text) for text in job.state.unpinned}
    known = [rule for rule in rules if rule.text not in unpinned]
    by_hand += [rule for rule in known if rule.index is None]
    pinned = {rule.text: rule for rule in by_hand}
    left = job.policy.target_tokens * PINS_PART * _BYTES_PER_TOKEN
    for rule in reversed(known if job.policy.pins else ()):
        size = cost(rule.text)
        if rule.text not in pinned and size <= left:
            pinned[rule.text] = rule
            left -= size
    return tuple(sorted(pinned.values(), key=lambda rule: -1 if rule.index is None else rule.index))


def share_facts(facts: Sequence[str], *, count: Callable[[str], int], budget_tokens: int) -> list[list[str]]:
    """Part facts into lists that fit beside the turns of one prompt each; none is left out."""
    shares: list[list[str]] = []
    left = 0
    for fact in facts:
        tokens = count(fact)
        if not shares or tokens > left:
            shares.append([])
            left = budget_tokens
        shares[-1].append(fact)
        left -= tokens
    return shares


def _as_pinned(job: Job, text: str) -> str:
    """Spell a sentence as a summary does: on one line, without secrets."""
    return job.redact(" ".join(text.split()))
