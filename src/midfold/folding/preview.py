"""A compression for show: what a model would be asked, and what would come of it, without asking it."""

from typing import Generic, TypeVar

from midfold.folding.compression import Compression, Flow
from midfold.folding.run import run
from midfold.late_dataclasses import dataclass, replace
from midfold.summaries import SummaryRequest

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class DryRun(Generic[M]):
    """The questions of a flow, and its result with other words instead of the model's."""

    requests: tuple[SummaryRequest, ...]
    result: Compression[M]


def dry_run(flow: Flow[M]) -> DryRun[M]:
    """Run a flow to its end without a model.

    Each answer is made of the facts that should survive, which is what the fold makes sure of anyway.
    """
    asked: list[SummaryRequest] = []

    def stand_in(request: SummaryRequest) -> str:
        asked.append(request)
        return "\n".join(["## Critical Context", *(f"- {fact}" for fact in request.facts or ("None.",))])

    result = run(flow, stand_in)
    return DryRun(tuple(asked), replace(result, is_dry_run=True))
