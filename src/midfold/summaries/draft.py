"""A summary under way: its sources, a model's words where there are some, and what went wrong.

The fold needs no more than this: it asks for a draft, has it written into the room there is, and checked.
"""

from collections.abc import Callable, Generator, Iterable, Sequence

from midfold.errors import SummaryUnavailable
from midfold.late_dataclasses import dataclass, replace
from midfold.summaries.digest.choice import fill_digest
from midfold.summaries.sources import Sources, SummaryJob, gather_sources
from midfold.summaries.summary_request import SummaryRequest
from midfold.summaries.verify import Retention, check, find_inventions, repair

DIGEST = "digest"
MODEL = "model"


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that the words of one summary come from."""

    job: SummaryJob
    sources: Sources
    words: str | None = None
    """a model's, already judged; `None` where the digest stands alone"""
    warning: str | None = None

    @property
    def by(self) -> str:
        return DIGEST if self.words is None else MODEL

    def write(self, budget_tokens: int) -> str:
        """Write the digest, or a model's words made whole, behind the user's corrections."""
        corrections, count_text = self.sources.corrections, self.job.count_text
        if corrections is None:
            return self._write_notes(budget_tokens)
        # Corrections come first: there are few, and the rest of the notes is wrong without them.
        own = corrections.write("", count_text=count_text, budget_tokens=budget_tokens)
        notes = self._write_notes(max(budget_tokens - count_text(own), 0))
        return f"{own}\n\n{notes}" if own else notes

    def _write_notes(self, budget_tokens: int) -> str:
        entries, count_text, template = self.sources.entries, self.job.count_text, self.job.template
        corrections = self.sources.corrections
        if self.words is None:
            return fill_digest(entries, count_text=count_text, budget_tokens=budget_tokens, template=template)
        return repair(
            corrections.clean_words(self.words) if corrections else self.words,
            entries,
            facts=self.sources.facts,
            count_text=count_text,
            budget_tokens=budget_tokens,
            template=template,
        )

    def check(
        self,
        body: str,
        *,
        elsewhere: Callable[[], Iterable[str]],
        source: Callable[[], Iterable[str]],
    ) -> Retention:
        """Say what survived; what a model wrote is also searched for things that nobody said."""
        retention = check(body, self.sources.facts, elsewhere=elsewhere)
        if self.words is None:
            return retention
        return replace(retention, invented=find_inventions(self.words, source))

    def check_focus(self, body: str, folded: Callable[[], Sequence[str]]) -> str | None:
        """Warn if little of the topic that a compression was to keep is left."""
        if not self.job.focus:
            return None
        from midfold.summaries.focus import check_focus

        return check_focus(self.job.focus, folded(), body, is_by_model=self.by == MODEL).warning


def draft_summary(job: SummaryJob, *, use_model: bool) -> Generator[SummaryRequest, str, Draft]:
    """Gather what there is to say, and ask the model; where it fails, the digest says it alone."""
    sources = gather_sources(job)
    if not use_model:
        return Draft(job, sources)
    from midfold.summaries.model_summary import ask_model, explain_failure  # for a model alone

    try:
        return Draft(job, sources, (yield from ask_model(job, sources)))
    except SummaryUnavailable as error:
        why, folded = explain_failure(error, job), len(job.folded)
        warning = f"{why}; the built-in digest stands in for {folded:,} messages"
        return Draft(job, sources, warning=warning)
