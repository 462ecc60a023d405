"""Requests stand with their outcome: what is over is told as over, and what is open is the goal."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose
from midfold.summaries.digest.entries import EntryKind
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.digest.layers import read_entries
from midfold.summaries.ledger import Rule, collect
from midfold.summaries.sources import close_requests


def user(words):
    return Message("user", (Text(words),))


def assistant(words):
    return Message("assistant", (Text(words),))


def work(number, command="make", output="done"):
    call = ToolCall(f"c{number}", "bash", json.dumps({"command": command}))
    return [Message("assistant", (call,)), Message("tool", (ToolResult(f"c{number}", output),))]


def requests_of(messages):
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
    kinds = (EntryKind.REQUEST, EntryKind.OPEN_REQUEST, EntryKind.ANSWERED)
    return [(entry.kind, entry.head) for entry in entries if entry.kind in kinds]


def test_a_request_that_was_answered_names_the_last_words_of_its_turn():
    messages = [user("Faites une pull request."), *work(1), assistant("PR 255 créée."), user("Et la doc ?")]
    assert requests_of(messages) == [
        (EntryKind.ANSWERED, "[0] Faites une pull request. (answered at [3])"),
        (EntryKind.OPEN_REQUEST, "[4] Et la doc ?"),
    ]


def test_no_answer_is_named_where_another_request_came_before_the_last_words():
    messages = [
        user("Build the importer and install it for all users of the harbour."),
        *work(1),
        user("Count the berths of Oban in the table."),
        *work(2),
        assistant("Oban has 41 berths."),
        user("Now those of Leith."),
    ]
    kind, head = requests_of(messages)[0]
    assert kind is EntryKind.ANSWERED
    assert "answered at" not in head
    assert requests_of(messages)[1][1].endswith("(answered at [6])")
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    earlier = read_entries("## Earlier Requests\n- [0] Build the importer and install it for all users.")
    close_requests(earlier, ledger)
    assert [entry.kind for entry in earlier] == [EntryKind.ANSWERED]
    assert "answered at" not in earlier[0].head


def test_the_only_request_of_an_unattended_run_stays_the_goal():
    messages = [user("Port the parser to Rust."), *work(1), *work(2), *work(3)]
    assert requests_of(messages) == [(EntryKind.REQUEST, "[0] Port the parser to Rust.")]


def test_words_between_calls_do_not_end_a_turn():
    messages = [user("Port it."), assistant("I look first."), *work(1), user("Mind the tests."), *work(2)]
    assert [kind for kind, _ in requests_of(messages)] == [EntryKind.REQUEST, EntryKind.REQUEST]


def test_an_answer_to_a_question_goes_on_with_what_was_asked_before():
    messages = [
        user("Удали старую таблицу заказов из базы."),
        assistant("Таблица не пуста. Удалить вместе с данными?"),
        user("да"),
        *work(1),
        assistant("Удалена."),
        user("Спасибо, теперь обнови схему."),
        *work(2),
    ]
    asked = requests_of(messages)
    assert asked[0] == (EntryKind.ANSWERED, "[0] Удали старую таблицу заказов из базы. (answered at [5])")
    assert asked[1][0] is EntryKind.ANSWERED
    assert "answered at" not in asked[1][1]
    assert "Удалить вместе с данными?" in asked[1][1]
    assert asked[2][0] is EntryKind.REQUEST


def test_a_task_that_begins_as_an_earlier_one_takes_its_place():
    task = "We are solving the following issue in our repository: "
    messages = [user(f"{task}rounding."), *work(1), user(f"{task}an IndexError."), *work(2)]
    kinds = [kind for kind, _ in requests_of(messages)]
    assert kinds == [EntryKind.ANSWERED, EntryKind.REQUEST]


def test_a_long_request_that_is_over_is_told_by_its_first_words():
    text = "Rework the billing. " + "The invoices of last year carry the wrong rate in some rows. " * 30
    [(_, head), _] = requests_of([user(text), assistant("Reworked."), user("Thanks, next the menus.")])
    assert head.startswith("[0] Rework the billing. ")
    assert len(head) < 300


def test_a_to_do_list_of_an_ended_turn_is_not_under_way():
    todos = {
        "todos": [{"content": "Draw", "status": "in_progress"}, {"content": "Ship", "status": "pending"}]
    }
    plan = [
        Message("assistant", (ToolCall("p", "TodoWrite", json.dumps(todos)),)),
        Message("tool", (ToolResult("p", "ok"),)),
    ]

    def steps_of(messages):
        ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
        entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
        return [
            (entry.kind, entry.head) for entry in entries if entry.kind in (EntryKind.DOING, EntryKind.STEP)
        ]

    turn = [user("Draw it and ship it."), *plan, *work(1)]
    assert steps_of(turn) == [(EntryKind.DOING, "[1] Draw"), (EntryKind.STEP, "[1] Ship")]
    ended = [*turn, assistant("All is drawn and shipped.")]
    mark = "(list not touched since; [5] ended the turn)"
    assert steps_of(ended) == [(EntryKind.STEP, f"[1] Draw {mark}"), (EntryKind.STEP, f"[1] Ship {mark}")]
    assert steps_of([*ended, user("Now translate the menus of the shop.")]) == []


def test_a_long_question_is_quoted_by_its_end_in_whole_words():
    question = f"{'I looked at every booking of yours. ' * 20}Which reservation shall I change?"
    messages = [user("Change my flight."), assistant(question), user("VA5SGQ"), *work(1), assistant("Done.")]
    [_, (_, head)] = requests_of(messages)
    quoted = head.partition("(answers: … ")[2].partition(")")[0]
    assert quoted.endswith("Which reservation shall I change?")
    assert question.endswith(f" {quoted}")


@pytest.mark.parametrize(
    ("later", "kind"),
    [
        ("The mail to the harbour office about the fees is written.", EntryKind.ANSWERED),
        ("Four ferries sail on Sunday.", EntryKind.OPEN_REQUEST),
    ],
)
def test_a_wish_that_earlier_notes_call_open_is_closed_by_what_takes_it_up(later, kind):
    [entry] = read_entries(
        "## Pending User Asks\n- [3] Please write a mail to the harbour office about the fees."
    )
    messages = [Message("user", (Text("ok"),)), Message("assistant", (Text(later),))]
    close_requests([entry], collect(messages, range(2), pair_calls(messages), redact=str))
    assert entry.kind is kind


def test_of_a_long_request_the_persons_own_words_weigh_more_than_what_was_pasted():
    own = "Consider whether the first figure should stay as it was or be worked out again when it is needed"
    pasted = "at Object.<anonymous> (/srv/app/src/tariff.ts:34:11) { code: 'E_RANGE', value: [1, 2] }"
    paste = "\n".join(f"{pasted[:-1]} {number}}}" for number in range(12))
    messages = [
        user(f"This came up in the night.\n{paste}\n{own}"),
        *work(1),
        assistant("Done."),
        user("Next?"),
    ]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    request = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)[0]
    weights = {unit.text: unit.weight / len(unit.text) for unit in request.units}
    assert weights.pop(own) > 2 * max(weights.values())


def test_what_a_person_said_long_ago_weighs_as_much_as_what_they_said_since():
    body = "## Earlier Requests\n" + "\n".join(
        f"- [{at}] Add the tariff of zone {at}. (answered at [{at + 1}])" for at in range(10, 90, 10)
    )
    first, *others = read_entries(body)
    assert first.weight > max(entry.weight for entry in others)
    assert len({entry.weight / len(entry.head) for entry in others}) == 1


def test_what_stands_beside_a_rule_in_its_line_is_quoted_without_it():
    start = "The board at Hallay times out. " * 20
    wish = "I want 95 % of the answers within 150 ms there."
    rule = "Never use a cache that could show an old hold to the skippers, whatever it costs."
    messages = [user(f"{start}\n{wish} {rule}"), *work(1), assistant("Done."), user("Und die Tafel?")]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    first = compose(ledger, pins=ledger.rules, factors=WeightFactors(), most_lines=20)
    [request] = [entry for entry in first if entry.kind is EntryKind.ANSWERED]
    assert wish in [unit.text for unit in request.units]
    assert rule not in request.render(request.units)


def test_a_reply_that_is_a_rule_from_end_to_end_is_said_once():
    ruling = "Never touch the tide tables."
    asked = [assistant("Shall I go on with the tables, or do you prefer the charts first?"), user(ruling)]
    messages = [user("Plan the port."), *asked, *work(1), assistant("Planned."), user("And the quay?")]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    pins = [Rule(2, ruling)]
    entries = compose(ledger, pins=pins, factors=WeightFactors(), most_lines=20)
    assert [entry.kind for entry in entries if ruling in entry.head] == [EntryKind.RULE]


def test_a_turn_that_was_cancelled_answers_nothing():
    messages = [
        user("Publish the new price list to the shop."),
        *work(1),
        assistant("Cancelled"),
        user("Count the open orders of May."),
        *work(2),
        assistant("There are 41."),
        user("And June?"),
    ]
    assert [head for _, head in requests_of(messages)] == [
        "[0] Publish the new price list to the shop. (cancelled at [3])",
        "[4] Count the open orders of May. (answered at [7])",
        "[8] And June?",
    ]


def test_a_mark_of_the_client_is_no_answer():
    messages = [
        user("Is there a race between two checkouts?"),
        *work(1),
        assistant("No: both take the lock of the basket."),
        user("<command-name>/exit</command-name>"),
        assistant("No response requested."),
        user("Fix the rounding."),
    ]
    assert requests_of(messages)[0][1].endswith("(answered at [3])")


def test_a_command_run_beside_the_conversation_is_no_request():
    messages = [
        user("Why is the basket empty?"),
        assistant("It expired."),
        user("<bash-input>git branch -v</bash-input>"),
        user("<bash-stdout>* main 1a2b3c4 Prices</bash-stdout><bash-stderr></bash-stderr>"),
        user("Keep it for a day."),
    ]
    assert not any("git branch" in head for _, head in requests_of(messages))


def test_a_word_of_approval_says_what_was_approved():
    messages = [
        user("Plan the move to the new price table."),
        assistant("The plan stands.\n\nWaiting at the design gate; say approved to go on."),
        user("approved"),
        *work(1),
        assistant("Moved."),
        user("And the docs?"),
    ]
    assert any("approved (answers: Waiting at the design gate" in head for _, head in requests_of(messages))


def plan(number, *steps):
    todos = [{"content": step, "status": "pending"} for step in steps]
    call = ToolCall(f"p{number}", "todo_write", json.dumps({"todos": todos}))
    return [Message("assistant", (call,)), Message("tool", (ToolResult(f"p{number}", "ok"),))]


def steps_of(messages):
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
    return [entry.head for entry in entries if entry.kind is EntryKind.STEP]


def test_a_step_that_only_runs_something_is_done_when_that_passed():
    steps = ("Run the tests", "Write tests for tax", "Run linting and all tests")
    planned = [user("Round prices."), *plan(1, *steps)]
    assert len(steps_of(planned)) == 3
    tested = [*planned, *work(2, "pytest", "40 passed")]
    assert steps_of(tested) == ["[1] Write tests for tax", "[1] Run linting and all tests"]
    assert steps_of([*tested, *work(3, "ruff check .", "All checks passed!")]) == ["[1] Write tests for tax"]


def test_a_plan_whose_first_step_a_person_turned_down_says_so():
    planned = [user("What is in prices.py?"), *plan(1, "Move rounding to its own file")]
    call = ToolCall("c2", "bash", json.dumps({"command": "git mv prices.py rounding.py"}))
    refusal = ToolResult("c2", "The user doesn't want to proceed with this tool use.", is_error=True)
    refused = [Message("assistant", (call,)), Message("tool", (refusal,))]
    stopped = "[1] Move rounding to its own file (stopped by the user at [4])"
    assert steps_of([*planned, *refused]) == [stopped]
