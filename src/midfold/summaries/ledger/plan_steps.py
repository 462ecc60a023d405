"""Reads the items of a to-do list, under the names that they commonly go by."""

from collections.abc import Callable, Mapping

from midfold.summaries.ledger.values import PlanStep
from midfold.summaries.tool_calls.families import first_of

STEP_TEXTS = ("subject", "content", "description", "step", "title", "text", "task")
STEP_STATES = ("status", "state")


def read_step(number: int, item: object, redact: Callable[[str], str]) -> PlanStep | None:
    """Return an item, if it has a text."""
    if isinstance(item, str):
        return PlanStep(number, redact(item), "")
    if not isinstance(item, Mapping):
        return None
    text, state = first_of(item, STEP_TEXTS), first_of(item, STEP_STATES)
    if not isinstance(text, str):
        return None
    return PlanStep(number, redact(text), state if isinstance(state, str) else "")
