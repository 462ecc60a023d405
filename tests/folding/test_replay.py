"""Finished work is not done again. Seven shapes of a conversation in which an agent did so elsewhere.

What a next model makes of a summary cannot be tested without one; what it is given can: the newest request
behind the summary, that request alone as the active task, and whatever is over told as over.
"""

import re
from dataclasses import dataclass

import pytest

from midfold.folding import CompressionPolicy
from midfold.folding.flow import compress
from midfold.folding.run import run
from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.summaries.prompts import HEADINGS, SUMMARY_PREFIX, find_body
from midfold.summaries.sections import split_sections
from midfold.tokens import TokenCounter

POLICY = CompressionPolicy(context_length=30_000, target_ratio=0.05, protect_first_n=1)
COUNT = TokenCounter()
FIRST = "Migrate the orders table."
OLD = "Deploy release 41 to staging."
NEWEST = "What is the rate for zone 3?"


def user(words):
    return Message("user", (Text(words),))


def assistant(words):
    return Message("assistant", (Text(words),))


def work(first, count=14):
    """Return finished steps: calls with their results."""
    messages = []
    for number in range(first, first + count):
        call = ToolCall(f"c{number}", "terminal", f'{{"command": "make part{number}"}}')
        done = ToolResult(call.id, f"part{number} built and checked, {number} files\n" * 40)
        messages += [Message("assistant", (call,)), Message("tool", (done,))]
    return messages


@dataclass(frozen=True)
class Shape:
    messages: list
    task: str
    over: tuple = (FIRST, OLD)
    """requests that were met: none of them is the task, and none is pending"""
    progress: str = ""
    """how far the work on the task has come"""


DONE = [user(FIRST), *work(0), assistant("Migrated."), user(OLD), *work(20), assistant("Release 41 is out.")]
BEGUN = r"\n\(Begun: these notes tell the work on this\. Go on from there\.\)"
SHAPES = {
    "another request follows finished work": Shape([*DONE, user(NEWEST)], NEWEST),
    "the reply to the newest request is there already": Shape(
        [*DONE, user(NEWEST), *work(40, 2), assistant("Zone 3 costs 2.40.")],
        NEWEST,
        progress=r"\n\(Answered: the answer follows these notes\.\)",
    ),
    "nothing but tool results follows the only request": Shape([user(FIRST), *work(0, 40)], FIRST, (), BEGUN),
    "the newest request takes an older one back": Shape(
        [*DONE, user("Stop, do not deploy anything else.")], "Stop, do not deploy anything else."
    ),
    "the newest message only says to go on": Shape(
        [*DONE, user(NEWEST), *work(40, 2), assistant("Shall I look it up?"), user("yes, go on")],
        f"yes, go on\n(This answers: Shall I look it up?)\n(Asked before: {NEWEST})",
    ),
    "the same request is made again, for another target": Shape(
        [*DONE, user("Deploy release 42 to staging.")], "Deploy release 42 to staging."
    ),
    "the user only thanks": Shape(
        [*DONE, user("Great, that was all I wanted to know about it today.")],
        "Great, that was all I wanted to know about it today.",
    ),
}
STALE = f"## Active Task\n{OLD}\n\n## In Progress\nNone.\n\n## Remaining Work\n- {FIRST} was done."


def digest_of(messages):
    return run(compress(messages, policy=POLICY, count=COUNT, is_manual=True), summarize=None)


def model_of(messages, answer=STALE):
    flow = compress(messages, policy=POLICY, count=COUNT, is_manual=True, use_model=True)
    return run(flow, lambda _request: answer)


def notes_of(result):
    return split_sections(find_body(result.fold.summary.text))


def check_shape(shape, result):
    messages, summary = result.messages, result.fold.summary
    place = messages.index(summary)
    newest = max(index for index, message in enumerate(shape.messages) if message.role == "user")
    assert place < len(messages) - 1
    spoken = [message for message in messages[place + 1 :] if message.role == "user"]
    assert spoken[-1] is shape.messages[newest]
    assert summary.text.count("## Active Task\n") == 1
    notes = notes_of(result)
    assert re.fullmatch(re.escape(shape.task) + shape.progress, notes["Active Task"])
    pending = notes.get("Pending User Asks", "")
    assert [request for request in shape.over if request in notes["Active Task"] + pending] == []


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("fold", [digest_of, model_of])
def test_newest_request_alone_is_the_task_and_stands_behind_the_summary(name, fold):
    check_shape(SHAPES[name], fold(SHAPES[name].messages))


@pytest.mark.parametrize("name", SHAPES)
def test_task_of_the_first_fold_is_not_the_task_of_the_second(name):
    shape = SHAPES[name]
    later = "Now paint the meters green."
    for fold in (digest_of, model_of):
        grown = [*fold(shape.messages).messages, *work(60, 4), assistant("Done so far."), user(later)]
        again = fold([*grown, *work(80)])
        check_shape(Shape([*grown, *work(80)], later, (*shape.over, shape.task), BEGUN), again)


@pytest.mark.parametrize("name", SHAPES)
def test_messages_after_the_newest_request_stay_as_they_are(name):
    shape = SHAPES[name]
    newest = max(index for index, message in enumerate(shape.messages) if message.role == "user")
    after = shape.messages[newest + 1 :]
    result = digest_of(shape.messages)
    kept = [message for message in after if message in result.messages]
    assert result.messages[len(result.messages) - len(kept) :] == kept
    assert len(after) > 3 or kept == after


def test_digest_gives_no_orders_of_its_own():
    headings = set(HEADINGS[POLICY.template]) | {"Earlier Requests", "Folded Messages"}
    for shape in SHAPES.values():
        notes = notes_of(digest_of(shape.messages))
        assert set(notes) <= headings
        assert re.search(r"(?m)^(?:- )?(?:Next|Now|TODO|Please)\b", "\n".join(notes.values())) is None


def test_prefix_says_that_notes_are_history():
    for said in ("give no orders", "not to be repeated", "Only the newest user message after the notes"):
        assert said in SUMMARY_PREFIX


def test_seven_shapes():
    assert len(SHAPES) == 7
