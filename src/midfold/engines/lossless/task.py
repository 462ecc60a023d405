"""The active task as the frame says it: what a person asked last, and how far the work on it has come."""

from midfold.engines.lossless.layers import Layers
from midfold.folding import CompressionJob, FoldPlan
from midfold.summaries import active_task, cut_words, describe_progress

_TASK_PART = 0.03
_SHORT_TASK_CHARS, _CHARS_PER_TOKEN = 200, 4


def quote_task(job: CompressionJob) -> str:
    """Quote what was asked last, under a ceiling only its first words: the request follows the summaries."""
    task = job.redact(active_task(job.layout.messages, observations=job.layout.observations))
    if not job.has_ceiling:
        return task
    most_chars = int(job.policy.target_tokens * _TASK_PART * _CHARS_PER_TOKEN)
    return cut_words(task, max(most_chars, _SHORT_TASK_CHARS))


def report_progress(job: CompressionJob, layers: Layers, plan: FoldPlan) -> str:
    """Say on a line of its own how far the work on the task has come, in this fold and those before it."""
    layout = job.layout
    if layout.asked is None:
        return ""
    asked = layers.numbers[layout.asked]
    ends = [span.stop for placed in layers.nodes for span in placed.node.spans]
    # What an earlier fold took from behind the request is no longer in the list.
    folded = {layout.asked + 1} if max(ends, default=0) > asked + 1 else set[int]()
    folded.update(index for span in plan.spans for index in span)
    answer = "" if layout.answered is None else job.redact(layout.messages[layout.answered].text)
    said = describe_progress(
        range(max(len(layout.messages), layout.asked + 2)),
        folded,
        asked=layout.asked,
        answered=layout.answered,
        answer=answer,
    )
    return f"\n{said}" if said else ""
