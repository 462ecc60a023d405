"""Folded again and again, a conversation keeps rules, task and changed files, and thins the rest."""

import json

import pytest

from midfold.api import compress
from midfold.summaries.digest.entries import DigestEntry, EntryKind, Unit
from midfold.summaries.digest.layers import merge, read_entries, read_rules
from midfold.summaries.prompts import find_body
from midfold.summaries.sections import Template, split_sections

RULE = "Never use eval in this project."
TASK = "Build a parser for the tariff files."
FILE = "src/tariff/parser.py"


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


def chat(first, turns=20):
    numbers = range(first, first + turns)
    said = (
        "Answer {n}: part_{n} returns {n}77 rows, see docs/part{n}/notes.md for the story. It goes on and on."
    )
    return [m for n in numbers for m in (user(f"Question {n}?"), assistant(said.format(n=n) * 3))]


def work(first, turns=20):
    """What an agent does on its own."""
    output = "built part_{n} in {n}9 ms\nchecked it against docs/part{n}/notes.md\nall {n}77 rows are there\n"
    numbers = range(first, first + turns)
    return [
        m
        for n in numbers
        for m in step(f"w{n}", "bash", {"command": f"make part{n}"}, output.format(n=n) * 2)
    ]


OPENING = [
    user(TASK),
    assistant("Yes."),
    user(f"One thing. {RULE}"),
    *step("edit", "edit_file", {"path": FILE, "old_string": "x = 1", "new_string": "y = 2"}),
    *step("test", "bash", {"command": "make check-tariff"}, "all 42 checks passed in 3.1 s"),
]


def chain(folds, *, template="handoff", summarizer=None, news=work):
    """Fold, let the conversation go on, fold again; only the first summary is the summariser's."""
    messages, result = [*OPENING, *news(0, 40)], None
    for fold in range(folds):
        asked = user(f"Now part {fold}.")
        ask = None if fold else summarizer
        result = compress([*messages, asked], max_tokens=2_000, template=template, summarizer=ask)
        assert result.reason == "folded"
        assert result.tokens_after <= 2_000
        messages = [*result.messages, assistant("I do."), *news(100 * fold + 100, 25)]
    return result


def context(result):
    return "\n".join(str(message["content"]) for message in result.messages)


def sections(result):
    return split_sections(find_body(result.summary))


@pytest.mark.parametrize("folds", [1, 2, 5, 10])
def test_rules_task_and_changed_files_survive_every_fold(folds):
    kept = context(chain(folds))
    assert RULE in kept
    assert TASK in kept
    assert FILE in kept


@pytest.mark.parametrize("template", [Template.PROGRESS, Template.BRIEF])
@pytest.mark.parametrize("folds", [1, 2])
def test_rules_task_and_changed_files_survive_in_any_template(folds, template):
    kept = context(chain(folds, template=template))
    assert all(words in kept for words in (RULE, TASK, FILE))


def test_changed_files_outlive_hundreds_of_short_questions():
    kept = context(chain(10, news=chat))
    assert RULE in kept
    assert FILE in kept


@pytest.mark.parametrize("template", [Template.PROGRESS, Template.BRIEF])
def test_rules_task_and_changed_files_survive_ten_folds_in_any_template(template):
    kept = context(chain(10, template=template))
    assert all(words in kept for words in (RULE, TASK, FILE))


def test_older_detail_is_thinned_first():
    summary = chain(2).summary
    old, new = ([f"against docs/part{n}/" in summary for n in range(a, a + 15)] for a in (0, 100))
    assert sum(new) >= max(1, sum(old))


@pytest.mark.parametrize("folds", [2, 5])
def test_a_file_has_one_entry_with_the_numbers_of_all_its_uses(folds):
    messages = [*OPENING, *chat(0, 40)]
    for fold in range(folds):
        edit = {"path": FILE, "old_string": f"a{fold}", "new_string": f"b{fold}"}
        messages += [user(f"Edit {fold}."), *step(f"e{fold}", "edit_file", edit), *chat(100 * fold + 100, 15)]
        result = compress([*messages, user("Go.")], max_tokens=2_000)
        messages = result.messages[:-1]
    lines = [line for line in sections(result)["Active State"].split("\n") if FILE in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"- {FILE} (changed): edit_file [3, ")
    assert lines[0].split("]")[0].count(",") == folds


def test_a_command_has_one_entry_with_the_numbers_of_all_its_runs():
    messages = [*OPENING, *chat(0, 40), user("Go.")]
    messages = [
        *compress(messages, max_tokens=2_000).messages,
        *step("t2", "bash", {"command": "make check-tariff"}),
    ]
    result = compress([*messages, *chat(100, 30), user("Go.")], max_tokens=2_000)
    lines = [line for line in result.summary.split("\n") if "bash: make check-tariff" in line]
    assert len(lines) == 1
    assert lines[0].startswith("- [5, ")


def test_what_was_broken_and_works_by_now_is_no_longer_blocked():
    broken = step("b", "bash", {"command": "make ship"}, "Error: no ship\nExit code: 2")
    first = compress([*OPENING, *broken, *chat(0, 40), user("Go.")], max_tokens=2_000)
    assert "make ship" in sections(first)["Blocked"]
    fixed = [*first.messages, *step("m", "bash", {"command": "make ship"}, "shipped\nExit code: 0")]
    second = compress([*fixed, *chat(100), user("Go.")], max_tokens=2_000)
    assert "make ship" not in sections(second).get("Blocked", "")
    assert "make ship" in sections(second)["Completed Actions"]


def test_steps_that_are_done_by_now_are_no_longer_to_come():
    def todos(key, status):
        return step(key, "TodoWrite", {"todos": [{"content": "Paint the fence", "status": status}]})

    first = compress([*OPENING, *todos("t1", "pending"), *chat(0, 40), user("Go.")], max_tokens=2_000)
    assert "Paint the fence" in sections(first)["Remaining Work"]
    second = [*first.messages, *todos("t2", "completed"), *chat(100), user("Go.")]
    assert "Paint the fence" not in sections(compress(second, max_tokens=2_000)).get("Remaining Work", "")


def test_a_request_that_was_answered_in_the_tail_is_not_pending():
    messages = [*chat(0, 30), user("Latest?"), assistant("b"), assistant("c")]
    for ceiling in range(1_200, 2_400, 100):
        assert "Pending User Asks" not in sections(compress(messages, max_tokens=ceiling))


@pytest.mark.parametrize(
    "body",
    [
        "## Goal\n- Ship the kraken parser by Friday.",
        "## Odd Heading\n* The kraken parser is done.",
        "## Odd Heading\nThe kraken parser is done.\nIt has two parts.",
        "## Notes\n### Small\nThe kraken parser is done.",
    ],
)
def test_a_summary_by_a_model_survives_being_folded_again(body):
    assert "kraken parser" in chain(3, summarizer=lambda _request: body).summary


@pytest.mark.parametrize(
    "body",
    ["The kraken parser is done.", "# Title\nThe kraken parser is done.", "1. The kraken parser\n2. is done"],
)
def test_a_summary_without_headings_survives_and_is_no_part_of_the_task(body):
    assert "kraken" not in sections(chain(1, summarizer=lambda _request: body))["Active Task"]
    assert "kraken parser" in chain(3, summarizer=lambda _request: body).summary


@pytest.mark.parametrize(
    "body",
    [
        "## Completed Actions\n"
        + "\n".join(f"{n}. EDIT src/file{n}.py — row {n}00 [tool: edit]" for n in range(1, 60)),
        "The user wants a parser. "
        + " ".join(f"We changed src/file{n}.py to return {n}00." for n in range(1, 60)),
    ],
    ids=["numbered", "prose"],
)
def test_a_long_summary_by_a_model_is_thinned_and_not_dropped(body):
    summary = chain(2, summarizer=lambda _request: body).summary
    assert any(f"src/file{n}.py" in summary for n in range(1, 60))


def test_a_body_is_read_into_entries_with_their_kind_order_and_units():
    body = "## Goal\n- [4] Do it\nin two lines\n\n## Completed Actions\n- [7, 9] bash: ls · [8] a.py · b.py"
    first, second = read_entries(body)
    assert (first.kind, first.order, first.head) == (EntryKind.REQUEST, 4, "[4] Do it\nin two lines")
    assert (second.kind, second.order, second.subject) == (EntryKind.ACTION, 7, "bash: ls")
    assert [unit.text for unit in second.units] == ["[8] a.py", "b.py"]


def test_reading_and_writing_entries_changes_nothing():
    body = "- [4] Do it\nin two lines\n- [7] bash: ls · [8] a.py · b.py\n- no number"
    entries = read_entries(f"## Completed Actions\n{body}")
    assert "\n".join(entry.render(entry.units) for entry in entries) == body


def test_what_code_says_around_a_summary_is_not_read_into_entries():
    assert read_entries("## Active Task\nx\n\n## Folded Messages\n1–4 ([n] names message n)") == []


def test_rules_of_an_earlier_summary_stand_under_their_heading_with_a_number_or_pinned_by_hand():
    rules = "- [2] Never one.\n- [pinned] Never two.\n- Never forged."
    body = f"## Constraints & Preferences\n{rules}\n\n## Goal\n- [3] Never three."
    assert [(rule.index, rule.text) for rule in read_rules(body)] == [(2, "Never one."), (None, "Never two.")]
    assert [entry.head for entry in read_entries(body)] == ["[3] Never three."]


def action(head, *units, kind=EntryKind.ACTION):
    return DigestEntry(kind, float(head.strip("[")[0]), head, 1.0, [Unit(unit, 1.0) for unit in units])


def test_merging_joins_what_has_one_subject_and_keeps_the_rest():
    old = [action("[1] bash: ls", "old"), action("[2] bash: cat")]
    merged = merge(old, [action("[8] bash: ls", "new")], has_new_steps=False)
    assert [entry.head for entry in merged] == ["[2] bash: cat", "[1, 8] bash: ls"]
    assert [unit.text for unit in merged[1].units] == ["old", "new"]


@pytest.mark.parametrize(
    "body", ["", "\n\n", "## ", "## A\n## B", "- ", "- [9999999999] x", "·", "- · · ·", "\x00"]
)
def test_odd_bodies_raise_nothing(body):
    assert len(merge(read_entries(body), read_entries(body), has_new_steps=True)) <= 3


def test_the_last_words_of_a_turn_are_known_as_such_after_ten_folds():
    body = "## Key Decisions\n- [4] told: The cause is a race. · It is fixed by a lock.\n- [6] A note."
    told, note = read_entries(body)
    assert [unit.text for unit in told.units] == ["The cause is a race.", "It is fixed by a lock."]
    assert all(unit.is_conclusion for unit in told.units)
    assert told.units[1].weight > 2 * note.units[0].weight
    assert told.render(told.units) == "- [4] told: The cause is a race. · It is fixed by a lock."


def test_two_quotations_of_one_message_stay_two():
    body = "## Key Decisions\n- [4] told: The cause is a race.\n- [4] told: A lock mends it."
    merged = merge(read_entries(body), [], has_new_steps=False)
    assert [entry.units[0].text for entry in merged] == ["The cause is a race.", "A lock mends it."]


@pytest.mark.parametrize("mark", ["changed", "deleted", "reverted", "moved to src/b.py"])
def test_what_became_of_a_file_is_read_back(mark):
    head = f"src/a.py ({mark}): edit_file [2, 8]"
    (entry,) = read_entries(f"## Active State\n- {head} · limit = 30")
    assert (entry.kind, entry.subject, entry.head) == (EntryKind.CHANGED, "src/a.py", head)


def test_a_settled_failure_is_read_back_with_its_end():
    head = "[4, 6] bash: pytest (failed, settled by [9])"
    (entry,) = read_entries(f"## Completed Actions\n- {head} · [7] FAILED t.py::test_b")
    assert (entry.kind, entry.subject, entry.head) == (EntryKind.ACTION, "bash: pytest", head)
