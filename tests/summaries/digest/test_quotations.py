"""Words of a model in a digest: sentence by sentence, and the later of two about one matter first."""

import json

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose, fill_digest
from midfold.summaries.digest.entries import EntryKind, Unit, cost
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.digest.matters import pair_matters
from midfold.summaries.ledger import collect
from midfold.summaries.sections import Template


def say(words):
    return Message("assistant", (Text(words),))


def edit(number, path):
    arguments = json.dumps({"file_path": path, "old_string": "a", "new_string": f"b{number}"})
    call = ToolCall(f"e{number}", "Edit", arguments)
    return [
        Message("assistant", (call,)),
        Message("tool", (ToolResult(f"e{number}", "The file was updated."),)),
    ]


def quotations(messages):
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=8)
    return [entry for entry in entries if entry.kind is EntryKind.WORDS]


def density(unit):
    return unit.weight / cost(unit.text)


def test_a_quotation_needs_no_first_sentence():
    [entry] = quotations([say("Done. The lock in `store.py` is taken before the first read of the table.")])
    done, lock = entry.units
    assert density(done) < density(lock)
    assert entry.render([lock]) == f"- [0] told: {lock.text}"


def test_the_number_of_a_message_is_no_entry_by_itself():
    entries = quotations([say("The cause is a race in the importer of the tide tables.")])
    assert fill_digest(entries, count_text=len, budget_tokens=40, template=Template.HANDOFF) == ""


def test_the_later_of_two_sentences_about_one_matter_weighs_more_for_its_size():
    earlier = Unit("The retry limit of the importer is 5, says settings.py.", 12.0)
    later = Unit("The retry limit of the importer is 3 now.", 0.5)
    other = Unit("Berths are listed by harbour.", 1.0)
    pair_matters([[earlier], [later, other]])
    assert density(later) > density(earlier)
    assert other.weight == 1.0


def test_sentences_about_different_matters_keep_their_weights():
    units = [Unit("The retry limit is five.", 3.0), Unit("Berths are listed by harbour.", 1.0)]
    pair_matters([[units[0]], [units[1]]])
    assert [unit.weight for unit in units] == [3.0, 1.0]


def test_what_is_told_of_a_file_that_was_changed_again_waits_for_the_newer_words():
    first, second = quotations(
        [
            *edit(1, "deploy/release.yml"),
            say("The address of the gauge is now written into `deploy/release.yml` in 3 places, as asked."),
            Message("user", (Text("What about a variable?"),)),
            *edit(2, "deploy/release.yml"),
            say("Good. It reads GAUGE_URL."),
        ]
    )
    assert max(map(density, second.units)) > max(map(density, first.units))


def test_of_very_many_sentences_the_heaviest_are_offered_wherever_they_stand():
    filler = [f"So it goes, {word}." for word in ("on", "and so", "again", "then")] * 10
    lines = [f"{line} {number}" for number, line in enumerate(filler)]
    last = "The cause is that `read_file` opens the tide table without naming its encoding."
    [entry] = quotations([say("\n".join([*lines, last]))])
    assert last in [unit.text for unit in entry.units]


def test_a_finding_before_a_block_of_code_is_quoted():
    found = (
        "In `read_tides` (tides.py:212-222), only lines since the last reading are kept if `start` is set:"
    )
    said = [say(f"{found}\n```python\nlines = lines[start:]\n```"), *edit(1, "tides.py"), say("Done now.")]
    units = [unit for entry in quotations(said) for unit in entry.units if unit.text == found]
    assert [unit.weight > 0 for unit in units] == [True]


def test_words_that_only_open_a_call_weigh_nothing():
    said = [say("Let me look at `read_tides` in tides.py before I change the reader:"), *edit(1, "tides.py")]
    assert not any(unit.weight for entry in quotations(said) for unit in entry.units)
