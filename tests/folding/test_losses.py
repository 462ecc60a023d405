"""The loss report: what left the context, most important first, with where it is found again."""

import json

from midfold.api import compress
from midfold.engines import ContextCompressor
from midfold.folding import CompressionPolicy, Strategy
from midfold.folding.fold import Fate
from midfold.folding.losses import list_losses


def user(words):
    return {"role": "user", "content": words}


def assistant(words):
    return {"role": "assistant", "content": words}


def step(key, tool, arguments, output="ok"):
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": key, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": key, "content": output},
    ]


def work(first, turns):
    output = "built part_{n} in {n}9 ms\nchecked it against docs/part{n}/notes.md\nall {n}77 rows are there\n"
    numbers = range(first, first + turns)
    return [
        m
        for n in numbers
        for m in step(f"w{n}", "bash", {"command": f"make part{n}"}, output.format(n=n) * 3)
    ]


SESSION = [user("Begin."), assistant("Yes."), *work(0, 80), user("Now the last part."), *work(100, 2)]
FOLDED = compress(SESSION, max_tokens=1_500)


def test_what_is_lost_is_listed_with_the_message_that_has_it():
    losses = list_losses(FOLDED, most=500)
    assert losses
    for loss in losses:
        parts = FOLDED.before[loss.index].parts
        texts = [getattr(part, "text", "") + getattr(part, "arguments", "") for part in parts]
        assert any(loss.what.removeprefix("bash: ").rstrip("…") in text for text in texts)


def test_the_most_important_losses_come_first_and_no_more_than_asked_for():
    weights = [loss.weight for loss in list_losses(FOLDED, most=500)]
    assert weights == sorted(weights, reverse=True)
    assert len(list_losses(FOLDED, most=3)) == 3
    assert list_losses(FOLDED, most=0) == []


def test_nothing_is_listed_that_is_still_in_the_context():
    context = json.dumps(FOLDED.messages, ensure_ascii=False)
    assert not [loss for loss in list_losses(FOLDED, most=500) if loss.what in context]


def test_every_loss_is_found_again_where_the_report_says():
    for loss in list_losses(FOLDED, most=50):
        words = loss.what.removeprefix("bash: ").rstrip("…")
        assert loss.index in {match.index for match in FOLDED.find(words)}


def test_without_a_change_nothing_is_lost():
    result = compress(SESSION, max_tokens=10**6)
    assert not result.changed
    assert list_losses(result) == []


def test_a_fold_that_kept_everything_lost_nothing_of_worth():
    messages = [
        user("Begin."),
        assistant("Yes."),
        *work(0, 8),
        *[assistant("Same words.")] * 2_000,
        user("Now."),
    ]
    losses = list_losses(compress(messages, max_tokens=3_000))
    assert not [loss for loss in losses if loss.kind == "action"]


def test_fates_say_what_became_of_each_message():
    fates = FOLDED.fates
    assert len(fates) == len(SESSION)
    folded = {index for span in FOLDED.folded for index in span}
    assert {index for index, fate in enumerate(fates) if fate is Fate.FOLDED} == folded
    kept = [message for message, fate in zip(SESSION, fates, strict=True) if fate is Fate.KEPT]
    assert all(any(message is new for new in FOLDED.messages) for message in kept)
    assert compress(SESSION, max_tokens=10**6).fates == [Fate.KEPT] * len(SESSION)


PRUNED = compress([user("Begin."), assistant("Yes."), *work(0, 80), user("Now.")], max_tokens=5_500)


def test_what_was_shortened_is_told_from_what_was_folded():
    assert PRUNED.reason == "pruned"
    assert Fate.SHORTENED in PRUNED.fates
    assert Fate.FOLDED not in PRUNED.fates


def test_what_pruning_took_away_is_listed():
    assert list_losses(PRUNED)


def test_an_earlier_summary_is_no_request_that_was_lost():
    second = compress([*FOLDED.messages, *work(200, 80), user("Go on with it.")], max_tokens=1_500)
    assert not [
        loss for loss in list_losses(second, most=500) if "MIDFOLD" in loss.what or "request" in loss.kind
    ]


def test_a_sentence_with_a_secret_that_stands_in_the_summary_is_not_lost():
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = ContextCompressor(8_000, policy=CompressionPolicy(strategy=Strategy.FOLD, protect_first_n=1))
    messages = [user("Begin."), assistant("Yes."), user(f"Never print {secret} here."), *SESSION[1:]]
    result = made.compress_result(messages)
    assert "Never print" in result.summary
    assert not [loss for loss in list_losses(result, most=500) if "Never print" in loss.what]


def test_no_secret_is_in_the_report():
    secret = "AK" + "IA" + "IOSFODNN7QWERTYU"
    messages = [user("Begin."), assistant("Yes."), *step("s", "bash", {"command": f"echo {secret}"}, secret)]
    assert secret not in repr(list_losses(compress([*messages, *SESSION], max_tokens=1_500), most=500))


def test_a_call_that_is_still_there_is_no_loss_where_only_its_result_was_shortened():
    arguments = json.dumps({"command": "make check --all", "description": "Check everything"})
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": arguments}}
    output = "\n".join(f"src/part_{number}.py:{number}: ok" for number in range(600))
    items = [
        {"role": "user", "content": "Check the tree."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"{output}\nError: 3 checks failed"},
        {"role": "assistant", "content": "Three checks fail."},
        {"role": "user", "content": "Go on."},
    ]
    result = compress(items, max_tokens=600)
    assert len(result.messages) == len(items)
    assert result.headline == "Compressed: 5 messages, some shortened, none folded"
    assert [loss.what for loss in list_losses(result, 50) if loss.index == 1] == []
