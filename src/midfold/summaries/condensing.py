"""One summary in place of several: their sections joined for the digest, or a model's words on them."""

from collections.abc import Generator, Sequence

from midfold.errors import SummaryUnavailable
from midfold.summaries import prompts
from midfold.summaries.model_summary import LEAST_SUMMARY_TOKENS, judge
from midfold.summaries.sections import join_sections, split_sections
from midfold.summaries.sources import Sources, SummaryJob
from midfold.summaries.summary_request import SummaryRequest


def join_bodies(bodies: Sequence[str]) -> str:
    """Join the notes of several summaries, section by section, in their order."""
    joined: dict[str, list[str]] = {}
    for body in bodies:
        for heading, words in split_sections(body).items():
            joined.setdefault(heading, []).append(words)
    return join_sections({heading: "\n".join(words) for heading, words in joined.items()})


def condense_with_model(job: SummaryJob, sources: Sources) -> Generator[SummaryRequest, str, str]:
    """Ask a model for one summary of the notes in `job.previous`.

    Raises `SummaryUnavailable` where there is no answer that can be used.
    """
    budget = min(job.model_tokens, job.body_tokens)
    if budget < LEAST_SUMMARY_TOKENS:
        raise SummaryUnavailable(f"there is room for {budget:,} tokens, too few for a model's summary")
    notes = prompts.neutralize(job.redact(job.previous or ""))
    prompt = prompts.render_prompt(
        template=job.template,
        turns=notes,
        budget_tokens=budget,
        focus=job.redact(job.focus) if job.focus else None,
        facts=[prompts.neutralize(fact) for fact in sources.facts],
    )
    answer = yield SummaryRequest(prompt, budget, sources.facts, job.is_manual)
    return judge(answer, job, sources, prompt=prompt, turns=notes, budget_tokens=budget)
