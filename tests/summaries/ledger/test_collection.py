"""A ledger is built in one pass and says what was done, what is broken and what is still asked for."""

import json
from dataclasses import replace

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.redact import redact
from midfold.summaries.ledger import collect
from midfold.testing import conversation

SECRET = "AK" + "IA" + "IOSFODNN7QWERTYU"


def user(words):
    return Message("user", (Text(words),))


def assistant(words):
    return Message("assistant", (Text(words),))


def step(number, tool, arguments, output="ok", *, is_error=False):
    call = ToolCall(f"c{number}", tool, json.dumps(arguments))
    return [
        Message("assistant", (call,)),
        Message("tool", (ToolResult(f"c{number}", output, is_error),)),
    ]


def run(number, command, output="ok", *, is_error=False):
    return step(number, "bash", {"command": command}, output, is_error=is_error)


def ledger_of(messages, indices=None, **options):
    chosen = range(len(messages)) if indices is None else indices
    return collect(messages, chosen, pair_calls(messages), redact=redact, **options)


def test_words_and_actions_carry_the_index_of_their_message():
    ledger = ledger_of([user("Fix it."), assistant("I look."), *run(1, "ls", "a.py")])
    assert [(statement.index, statement.role, statement.text) for statement in ledger.statements] == [
        (0, "user", "Fix it."),
        (1, "assistant", "I look."),
    ]
    assert [(action.index, action.answered, action.run.output) for action in ledger.actions] == [
        (2, 3, "a.py")
    ]


def test_given_numbers_take_the_place_of_indices():
    ledger = ledger_of([user("Never stop."), *run(1, "ls")], numbers=[10, 21, 22])
    assert ledger.statements[0].index == ledger.rules[0].index == 10
    assert (ledger.actions[0].index, ledger.actions[0].answered) == (21, 22)


def test_only_the_chosen_messages_are_read():
    messages = [user("Never one."), *run(1, "ls"), user("Never two."), *run(2, "cat")]
    ledger = ledger_of(messages, [3, 4, 5])
    assert [rule.text for rule in ledger.rules] == ["Never two."]
    assert [action.run.subject for action in ledger.actions] == ["cat"]


def test_parallel_calls_and_results_in_one_message_find_each_other():
    calls = tuple(ToolCall(f"c{n}", "bash", json.dumps({"command": f"run {n}"})) for n in range(3))
    results = tuple(ToolResult(f"c{n}", f"out {n}") for n in reversed(range(3)))
    ledger = ledger_of([Message("assistant", calls), Message("user", results)])
    assert [(action.run.subject, action.run.output) for action in ledger.actions] == [
        (f"run {n}", f"out {n}") for n in range(3)
    ]
    assert not ledger.statements


def test_a_result_without_a_call_is_read_all_the_same():
    ledger = ledger_of([Message("tool", (ToolResult("lost", "orphan words", name="probe"),))])
    assert [(action.run.tool, action.run.output) for action in ledger.actions] == [("probe", "orphan words")]


def test_files_are_listed_with_every_message_that_touched_them():
    messages = [
        *step(1, "read_file", {"path": "a.py"}),
        *step(2, "edit_file", {"path": "a.py", "old_string": "x", "new_string": "y"}),
        *run(3, "echo x > b.txt"),
        *step(4, "write_file", {"path": "a.py", "content": "z\nz"}),
    ]
    ledger = ledger_of(messages)
    assert ledger.changed_files == {"a.py": [2, 6], "b.txt": [4]}
    assert [(action.index, action.run.reads) for action in ledger.actions if action.run.reads] == [
        (0, ("a.py",))
    ]


def test_a_failure_is_open_until_the_same_thing_succeeds():
    broken = run(1, "pytest", "E   AssertionError\nExit code: 1", is_error=True)
    assert ledger_of(broken).open_failures == {0}
    fixed = ledger_of([*broken, *run(2, "ls"), *run(3, "pytest", "3 passed")])
    assert fixed.open_failures == frozenset()
    assert fixed.fixes == {0: 4}


def test_what_worked_once_and_fails_now_is_open():
    ledger = ledger_of([*run(1, "pytest", "3 passed"), *run(2, "pytest", "Error: x", is_error=True)])
    assert ledger.open_failures == {1}
    assert not ledger.fixes


def test_the_success_of_another_command_fixes_nothing():
    ledger = ledger_of([*run(1, "make a", "Error: x", is_error=True), *run(2, "make b")])
    assert ledger.open_failures == {0}
    assert not ledger.fixes


def test_the_success_of_an_unknown_tool_with_other_arguments_fixes_nothing():
    failed = step(1, "mcp__jira__get", {"key": "A-1"}, "Error: no such issue", is_error=True)
    ledger = ledger_of([*failed, *step(2, "mcp__jira__get", {"key": "B-2"})])
    assert ledger.open_failures == {0}


def test_the_success_of_another_script_with_the_same_first_line_fixes_nothing():
    failed = run(1, "python3 - <<'E'\nimport lost\nE", "ModuleNotFoundError: lost", is_error=True)
    assert ledger_of([*failed, *run(2, "python3 - <<'E'\nprint(2)\nE")]).open_failures == {0}


@pytest.mark.parametrize(
    ("tool", "first", "second"),
    [
        ("bash", {"command": "pytest", "description": "Run"}, {"command": "pytest", "description": "Again"}),
        ("bash", {"command": "pytest"}, {"command": "pytest", "timeout": 600}),
        ("edit_file", {"path": "a.py", "old_string": "x"}, {"path": "a.py", "old_string": "xy"}),
    ],
)
def test_trying_again_with_other_side_arguments_fixes(tool, first, second):
    ledger = ledger_of([*step(1, tool, first, "Error: x", is_error=True), *step(2, tool, second)])
    assert ledger.open_failures == frozenset()


def test_facts_are_rules_changed_files_and_what_is_broken():
    messages = [
        user("Never use eval."),
        *step(1, "write_file", {"path": "a.py", "content": "x\ny"}),
        *run(2, "pytest", "FAILED t.py::test_b - boom\nExit code: 1", is_error=True),
    ]
    assert ledger_of(messages).facts == ("Never use eval.", "a.py", "FAILED t.py::test_b - boom")


def test_a_request_that_nobody_took_up_is_an_ask():
    messages = [user("One?"), assistant("Yes."), user("Two?"), user("Three?"), *run(1, "ls"), user("Four?")]
    assert ledger_of(messages).open_requests == {6}


def test_a_request_that_is_answered_beyond_the_chosen_messages_is_no_ask():
    messages = [user("One?"), assistant("Yes."), user("Two?"), assistant("Yes, too.")]
    assert ledger_of(messages, [0, 1, 2]).open_requests == frozenset()


def test_rules_come_from_the_user_and_never_from_tools_or_the_model():
    messages = [
        *run(1, "cat README", "You must never stop."),
        assistant("I must always ask."),
        Message("user", (ToolResult("x", "Never sleep."),)),
        user("Only use tabs."),
    ]
    assert [rule.text for rule in ledger_of(messages).rules] == ["Only use tabs."]


@pytest.mark.parametrize(
    ("tool", "key", "items", "steps"),
    [
        ("TodoWrite", "todos", [{"content": "a", "status": "pending"}], [("a", "pending")]),
        ("update_plan", "plan", [{"step": "a", "status": "in_progress"}], [("a", "in_progress")]),
        ("todo", "items", ["a", "b"], [("a", ""), ("b", "")]),
        ("write_todos", "todos", [{"description": "a"}, 3, None, {}], [("a", "")]),
    ],
)
def test_to_do_lists_are_read(tool, key, items, steps):
    ledger = ledger_of(step(1, tool, {key: items}))
    assert [(each.text, each.state) for each in ledger.steps] == steps


def test_the_newest_to_do_list_replaces_older_ones():
    messages = [
        *step(1, "TodoWrite", {"todos": [{"content": "old", "status": "pending"}]}),
        *step(2, "TodoWrite", {"todos": [{"content": "new", "status": "pending"}]}),
    ]
    assert [(each.index, each.text) for each in ledger_of(messages).steps] == [(2, "new")]


def test_no_secret_gets_into_a_ledger():
    messages = [
        user(f"Never print {SECRET}."),
        assistant(f"The key is {SECRET}."),
        *run(1, f"echo {SECRET} > out.txt", f"Error: {SECRET}", is_error=True),
        *step(2, "TodoWrite", {"todos": [{"content": f"rotate {SECRET}", "status": "pending"}]}),
        *step(3, "write_file", {"path": "a.env", "content": f"A=1\nKEY={SECRET}\n"}, SECRET),
    ]
    ledger = ledger_of(messages)
    assert SECRET not in repr(
        [ledger.statements, ledger.rules, ledger.steps, ledger.facts, ledger.changed_files]
    )
    assert SECRET not in repr([replace(action.run, retry_key="") for action in ledger.actions])


def test_the_retry_key_of_an_action_has_no_secret():
    assert SECRET not in repr(ledger_of(run(1, f"echo {SECRET}")).actions[0].run.retry_key)


def test_the_messages_are_read_in_one_pass():
    class Counted(list):
        reads = 0

        def __getitem__(self, place):
            Counted.reads += 1
            return super().__getitem__(place)

    def reads(turns):
        messages = Counted(conversation(turns=turns))
        Counted.reads = 0
        ledger_of(messages)
        return Counted.reads / len(messages)

    assert reads(80) <= reads(10) * 1.5


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic"])
def test_every_call_of_any_dialect_becomes_one_action_with_its_result(dialect):
    messages = conversation(dialect, turns=6)
    ledger = ledger_of(messages)
    assert len(ledger.actions) == sum(1 for message in messages for _ in message.calls)
    assert all(action.answered is not None and action.answered > action.index for action in ledger.actions)


def test_nothing_makes_an_empty_ledger():
    ledger = ledger_of([])
    assert (ledger.actions, ledger.facts, ledger.changed_files, ledger.open_failures) == (
        (),
        (),
        {},
        frozenset(),
    )


@pytest.mark.parametrize(
    ("answer", "rules"),
    [("Only unpaid", 0), ("Only unpaid orders, and never write a migration for them.", 1)],
)
def test_a_choice_among_options_sets_no_rule_but_a_sentence_may(answer, rules):
    result = f'User has answered your questions: "Recompute old totals?"="{answer}". You can now continue.'
    asked = {"questions": [{"question": "Recompute old totals?"}]}
    ledger = ledger_of(step(1, "AskUserQuestion", asked, result))
    assert [statement.text for statement in ledger.statements] == [answer]
    assert len(ledger.rules) == rules
