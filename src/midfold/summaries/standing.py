"""Facts that stand however often summaries are condensed: rules, goal, changed files, open work.

It is carried from fold to fold beside the summaries, so that it never depends on what one of them left out.
"""

from collections.abc import Iterable, Sequence

from midfold.late_dataclasses import replace
from midfold.summaries.digest.choice import fill_digest
from midfold.summaries.digest.composition import compose, find_factors
from midfold.summaries.digest.entries import DigestEntry, EntryKind
from midfold.summaries.digest.layers import merge, read_entries, read_rules
from midfold.summaries.ledger.values import Ledger
from midfold.summaries.sources import Sources, SummaryJob, choose_pins, close_requests, settle_failures

_STANDING = frozenset(
    {
        EntryKind.REQUEST,
        EntryKind.OPEN_REQUEST,
        EntryKind.ANSWERED,
        EntryKind.CHANGED,
        EntryKind.BROKEN,
        EntryKind.DOING,
        EntryKind.STEP,
    }
)
_UNITS = {EntryKind.ANSWERED: 0, EntryKind.CHANGED: 0, EntryKind.BROKEN: 1}
"""Of these the head says enough, with so much of what hangs on it; the summaries have the rest."""


def carry_on(job: SummaryJob, earlier: str, sources: Sequence[Sources]) -> str:
    """Write into the room of `job` what stood `earlier`, and what `sources` add to it, in their order."""
    rules = read_rules(earlier)
    entries = _standing(read_entries(earlier))
    for each in sources:
        ledger = each.ledger
        rules += ledger.rules
        settle_failures(entries, ledger.course)
        close_requests(entries, ledger)
        has_new_steps = bool(ledger.steps or (ledger.after and ledger.after.steps))
        entries = merge(_standing(entries), _standing(each.entries), has_new_steps=has_new_steps)
    pins = choose_pins(job, rules)
    said = {pin.text for pin in pins}
    pinned = compose(Ledger(), pins=pins, factors=find_factors(Ledger(), (), 0), most_lines=0)
    return fill_digest(
        [*pinned, *(entry for entry in entries if entry.subject not in said)],
        count_text=job.count_text,
        budget_tokens=job.body_tokens,
        template=job.template,
    )


def _standing(entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """Return entries of their own for what must stand: merging changes them."""
    return [
        replace(entry, units=entry.units[: _UNITS.get(entry.kind, len(entry.units))])
        for entry in entries
        if entry.kind in _STANDING
    ]
