"""Words on the way stand with what came of them; what was taken back or only announced is left out."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.settings import Template
from midfold.summaries.digest import compose, fill_digest, read_entries
from midfold.summaries.digest.entries import EntryKind
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.sentences import split_sentences


def asks(words):
    return Message("user", (Text(words),))


def says(words, *calls):
    return Message("assistant", (*([Text(words)] if words else []), *calls))


def edits(number, path, old="old", new="new"):
    arguments = json.dumps({"file_path": path, "old_string": old, "new_string": new})
    return ToolCall(f"e{number}", "Edit", arguments)


def looks(number, path):
    return ToolCall(f"e{number}", "Read", json.dumps({"file_path": path}))


def answers(number, text="The file was updated."):
    return Message("tool", (ToolResult(f"e{number}", text),))


def quote(messages, tokens=600):
    messages = [asks("Please make the tide importer work."), *messages]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=8)
    words = [entry for entry in entries if entry.kind is EntryKind.WORDS]
    return fill_digest(
        words, count_text=lambda text: len(text) // 4, budget_tokens=tokens, template=Template.HANDOFF
    )


DIAGNOSES = [
    "The fault is in `read_row`: it parses `height` before the header of `tides.csv` was skipped.",
    "问题在于 `read_row` 在跳过 tides.csv 的表头之前就解析了 height 字段。",
    "原因は `read_row` が tides.csv のヘッダーを飛ばす前に height を解析していることです。",
    "El fallo está en `read_row`: analiza `height` antes de saltar la cabecera de `tides.csv`.",
]


def test_a_diagnosis_stands_with_the_change_that_it_led_to():
    for said in DIAGNOSES:
        text = quote([says(said, edits(1, "src/tides/reader.py")), answers(1), says("", looks(2, "a.py"))])
        assert "read_row" in text
        assert text.endswith(" → changed reader.py [1]")


def test_a_change_in_the_next_calls_counts_until_the_model_says_something_else():
    said = DIAGNOSES[0]
    goes_on = [says("", looks(1, "src/tides/reader.py")), answers(1, "def read_row(): ...")]
    mended = [says("", edits(2, "src/tides/reader.py")), answers(2)]
    other = says("The gauge list of `ports.json` holds 12 names and no `height` at all, as it should.")
    assert "→ changed reader.py [4]" in quote([says(said), *goes_on, *mended, other])
    assert "→" not in quote([says(said), *goes_on, other, *mended, says("", looks(3, "b.py"))]).split("\n")[1]


def test_a_change_that_failed_or_a_new_file_is_no_outcome_of_what_was_said():
    failed = Message("tool", (ToolResult("e1", "Error: old_string not found in file.", is_error=True),))
    assert "→" not in quote([says(DIAGNOSES[0], edits(1, "a.py")), failed, says("", looks(2, "b.py"))])
    wrote = ToolCall("e1", "Write", json.dumps({"file_path": "probe.py", "content": "print(1)"}))
    assert "→" not in quote([says(DIAGNOSES[0], wrote), answers(1), says("", looks(2, "b.py"))])


def runs(number, command):
    return ToolCall(f"e{number}", "bash", json.dumps({"command": command}))


@pytest.mark.parametrize(
    "command",
    [
        "cd /app && git diff -- tides/reader.py > patch.txt",
        "cp tides/reader.py tides/reader.py.bak",
        "sed -i 's/a/b/' /tmp/probe/reader.py",
    ],
)
def test_a_patch_a_copy_and_scratch_files_are_no_outcome_of_what_was_said(command):
    assert "→" not in quote([says(DIAGNOSES[0], runs(1, command)), answers(1), says("", looks(2, "b.py"))])


def test_a_change_that_follows_a_cheer_belongs_to_the_next_step():
    goes_on = [says(DIAGNOSES[0], looks(1, "a.py")), answers(1, "def read_row(): ...")]
    next_step = [says("Perfect! Let me write it down:", edits(2, "notes.md")), answers(2)]
    assert "→" not in quote([*goes_on, *next_step])


def test_what_came_of_words_is_read_back_from_notes():
    line = "- [7] The row `height` is parsed too early. → changed reader.py, rows.py [7, 9]"
    [entry] = read_entries(f"## Key Decisions\n{line}")
    assert entry.outcome == "reader.py, rows.py [7, 9]"
    assert entry.render(entry.units) == line


def test_a_finding_counts_though_all_its_words_are_known():
    request = asks("The `read_row` function fails when a header is missing and returns nothing at all.")
    found = "So `read_row` returns `None` when `header` is missing."
    text = quote([request, says(found, looks(1, "src/reader.py")), answers(1, "x")])
    assert found in text


def test_of_what_is_said_twice_on_the_way_the_later_stands():
    first = "The importer reads `height` as text because the schema of the tide table has no unit."
    again = "Because the schema of the tide table has no unit, the importer reads `height` as text here."
    steps = [says(first, looks(1, "a.py")), answers(1, "x"), says(again, looks(2, "b.py")), answers(2, "y")]
    text = quote(steps, tokens=40)
    assert again in text
    assert first not in text


def test_what_is_taken_back_in_the_same_breath_waits_behind_what_took_it_back():
    guess = "The table `tides` is locked by the importer while `read_row` runs over its rows."
    for turn in ("Actually, ", "En realidad, ", "Eigentlich "):
        finding = f"{turn}`read_row` holds no lock: the reader of `ports.json` takes `table_lock` first."
        text = quote([says(f"{guess} {finding}", looks(1, "a.py")), answers(1, "x")], tokens=40)
        assert "ports.json" in text
        assert guess not in text


def test_self_talk_is_not_quoted():
    for talk in (
        "Good idea, the tests come first then.",
        "I have all the context I need.",
        "The user wants me to rename the importer of the tide table.",
        "Great, we've found the reader file.",
    ):
        assert quote([says(talk, looks(1, "reader.py")), answers(1, "x")]) == ""


def test_that_something_was_found_is_no_reason_of_the_change_that_follows():
    for talk in (
        "Great, we've found the test of the importer for tides, which is in the file reader_test.py.",
        "Good, I found where `read_row` is defined in the file of the importer.",
        "Now I can edit it to add the header of the tide table.",
        "Gut, ich habe jetzt die Funktion `read_row` in der Datei des Importers gefunden.",
        "Bien, he encontrado la función `read_row` en el archivo del importador de mareas.",
        "很好，我找到了导入潮汐表的 `read_row` 函数的定义位置。",
        "よし、インポーターの `read_row` 関数の定義場所を見つけました。",
        "潮汐表のインポーターに `read_row` の新しい見出しを追加するで！",
    ):
        assert quote([says(talk, edits(1, "reader.py")), answers(1), says("", looks(2, "b.py"))]) == "", talk


def test_a_find_that_says_what_or_why_is_quoted():
    for talk in (
        "Good, I found that `read_row` returns `None` for the last row of the tide table.",
        "Great, I found the fault of the importer: `read_row` drops the last line of every table.",
        "很好，我找到了原因：`read_row` 丢弃了每个潮汐表的最后一行。",
    ):
        assert "→ changed" in quote(
            [says(talk, edits(1, "reader.py")), answers(1), says("", looks(2, "b.py"))]
        )


def test_a_sentence_that_leans_on_the_one_before_stands_with_it():
    words = "The importer of `tides.csv` never opens the `heights` table. Instead it imports it as a module."
    text = quote([says(words, looks(1, "a.py")), answers(1, "x")])
    assert words in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "The importer might run outside of a harbour, as the nightly export does.",
            "In that case, `find_berth` returns `None` for all rows.",
        ),
        (
            "Der Importer läuft vielleicht ohne Hafen, wie der nächtliche Export es tut.",
            "In diesem Fall liefert `find_berth` den Wert `None` für alle Zeilen.",
        ),
        (
            "インポーターは港なしで実行されるかもしれません。",
            "その場合、`find_berth` はすべての行に `None` を返します。",
        ),
    ],
)
def test_what_holds_in_a_case_stands_with_that_case_or_not_at_all(before, after):
    text = quote([says(f"{before} {after}", edits(1, "a.py")), answers(1), says("", looks(2, "b.py"))])
    assert before in text
    assert after in text
    finding = "The reader of `ports.json` takes `table_lock` before it opens `tides.csv`."
    alone = quote([says(f"{after}\n\n{finding}", looks(1, "a.py")), answers(1, "x")], tokens=45)
    assert finding in alone
    assert after not in alone


def test_items_below_a_line_that_points_back_are_no_decision():
    words = "This way:\n- Other harbours keep the plain `find_berth` of `ports.json`"
    assert quote([says(words, edits(1, "a.py")), answers(1), says("", looks(2, "b.py"))]) == ""


def test_an_item_has_the_lead_of_its_own_list():
    text = (
        "1. Request:\n   The fields go because:\n   - `count` is derived\n\n"
        "2. Files:\n   - **`rows.py`**\n     - Updated `read_row`\n\nAll is well.\n- a loose end"
    )
    leads = {sentence: lead for sentence, _, _, _, lead in split_sentences(text)}
    assert leads["- `count` is derived"] == "The fields go because:"
    assert leads["- Updated `read_row`"] == "`rows.py`"
    assert leads["- a loose end"] == ""


def test_work_to_come_of_a_report_is_over_once_a_later_turn_ended():
    report = (
        "The importer reads `tides.csv` in 3 seconds.\n\n"
        "{coming}\n- Merge of `feature/tides` needs your approval on the board"
    )
    for coming in ("**Next steps:**", "下一步：", "次のステップ：", "다음 단계:", "Próximos pasos:"):
        told = says(report.format(coming=coming))
        assert "approval" in quote([told])
        text = quote([told, asks("Approved."), says("The branch `feature/tides` was merged as 4be1f02.")])
        assert "3 seconds" in text
        assert "approval" not in text


def test_what_an_earlier_summary_calls_pending_is_over_once_a_later_turn_ended():
    summary = (
        "This session is being continued from a previous conversation that ran out of context. "
        "The conversation is summarized below:\n\n"
        "1. Work:\n   - `reader.py` skips the header of `tides.csv` since 4be1f02\n\n"
        f"2. Files:\n   - `ports.json` holds the berths of all harbours{', and their gauges' * 20}\n\n"
        "3. Pending Tasks:\n   - The suite of `tests/tides` still has to be run again\n"
    )
    messages = [asks(summary), says("The suite of `tests/tides` passes: 41 tests in 2.1 s.")]
    ledger = collect(messages, range(2), pair_calls(messages), redact=str)
    entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=8)
    said = {unit.text: unit.weight for entry in entries for unit in entry.units}
    assert said["- The suite of `tests/tides` still has to be run again"] == 0
    assert said["- `reader.py` skips the header of `tides.csv` since 4be1f02"] > 0
