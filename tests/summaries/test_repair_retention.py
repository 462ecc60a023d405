"""With a summariser that drops every name, a fold keeps what the digest would have kept."""

from pathlib import Path
from random import Random

import pytest

import midfold
from midfold.evaluation import METHODS, MethodOutcome, evaluate, load_conversation
from midfold.evaluation.baselines import DIGEST
from midfold.summaries.prompts import HEADINGS
from midfold.summaries.sections import Template
from midfold.wire import parse

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.json*"))
CORPUS = (
    "sweagent-fc-marshmallow-1867",
    "deerflow-5aa47db1",
    "cc-entire-28dc0d91",
    "miniswe-ds_lite_dev-pylint-dev__astroid-1333",
    "hermes-20260219_011410_8b7098a3",
    "codex-rollout-action",
)
MOST_POINTS = 3.0
IDLE = """
    the work went on as planned and relevant parts were looked at with care before anything was changed by
    whoever took over while some questions stayed open until later
"""


def write_idly(request):
    """Fill all the room with notes that read well and name nothing."""
    chance = Random(7)
    headings = HEADINGS[Template.HANDOFF][1:]
    lines_each = max(1, request.max_tokens // len(headings) // 15)
    sections = [
        "\n".join([f"## {heading}", *(f"- {sentence(chance)}" for _ in range(lines_each))])
        for heading in headings
    ]
    return "\n\n".join(sections)


def write_little(_request):
    return "## Goal\nThe user is at work on a project.\n\n## Remaining Work\nSome of it was left."


def sentence(chance):
    return " ".join(chance.choices(IDLE.split(), k=12)).capitalize() + "."


def folded_with(summarize):
    """Return a method of the evaluation: a fold whose summary this summariser writes."""

    def method(conversation, ceiling):
        request = conversation.request
        result = midfold.compress(
            request.messages,
            max_tokens=ceiling,
            system=request.system,
            tools=request.tools,
            tokenizer=request.model,
            summarizer=summarize,
        )
        tokens = sum(map(conversation.count, parse(result.messages, request.dialect)))
        return MethodOutcome(result.messages, tokens, 0.0, result.summary)

    return method


def retention(paths, ratio, summarize):
    """Return the part of all probes in context, in percent: by the digest, and with a summariser."""
    methods = {DIGEST: METHODS[DIGEST], "named": folded_with(summarize)}
    kept, total = dict.fromkeys(methods, 0), 0
    for path in paths:
        scores = evaluate(load_conversation(path), [ratio], methods)
        total += len(scores[0].verdicts)
        for score in scores:
            kept[score.method] += sum(verdict.fate.in_context for verdict in score.verdicts)
    return tuple(100 * count / total for count in kept.values())


@pytest.mark.slow
@pytest.mark.parametrize("summarize", [write_idly, write_little])
@pytest.mark.parametrize("ratio", [0.1, 0.2])
def test_notes_without_names_leave_as_much_as_the_digest(summarize, ratio):
    by_digest, with_notes = retention(TRANSCRIPTS, ratio, summarize)
    assert by_digest > 27
    assert abs(by_digest - with_notes) <= MOST_POINTS


def test_so_they_do_in_real_conversations(data_dir):
    paths = [data_dir / "corpus" / f"{name}.json.gz" for name in CORPUS]
    by_digest, with_notes = retention(paths, 0.1, write_idly)
    assert abs(by_digest - with_notes) <= MOST_POINTS


def test_notes_that_name_things_stay_as_they_are():
    talk = [{"role": "user", "content": "Begin."}]
    for number in range(120):
        talk.append({"role": "assistant", "content": f"Wrote src/part{number}.py, {number}7 rows."})
        talk.append({"role": "user", "content": f"Go on with part {number}, please, as before."})
    notes = "## Goal\n" + "\n".join(
        f"- Part {n} was written to src/part{n}.py.\n- It went well because the plan was sound."
        for n in range(9)
    )
    result = midfold.compress(talk, max_tokens=2_500, summarizer=lambda _request: notes)
    assert result.summary.count("the plan was sound") == 9
