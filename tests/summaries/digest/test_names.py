"""Names are listed under what they belong to, and only where the notes do not have them anyway."""

from midfold.messages import Message, Text
from midfold.settings import Template
from midfold.summaries.digest import fill_digest, merge, read_entries
from midfold.summaries.digest.entries import NAMES_HEADING, DigestEntry, EntryKind, Unit
from midfold.summaries.digest.names import list_names
from midfold.summaries.digest.weights import Outlook, weigh_name
from midfold.summaries.ledger.name_uses import NamePlace, NameShape, NameTopic, NameUse, read_name
from midfold.summaries.sections import split_sections

OUTLOOK = Outlook(0, 100)


def topic(label="src/pkg/parser.py", place=NamePlace.CHANGED, *indices):
    return NameTopic(label, place, list(indices or (3, 9)))


def use(name, about, last=90, **uses):
    return NameUse(name, NameShape.SNAKE, 3, last, about, **{"given": 1, "last_own": last, **uses})


def write(entries, tokens=400):
    return fill_digest(
        entries, count_text=lambda text: len(text) // 4, budget_tokens=tokens, template=Template.HANDOFF
    )


def names_in(text):
    return split_sections(text).get(NAMES_HEADING, "").split("\n")


def test_names_stand_under_their_file_the_newest_first():
    about = topic()
    text = write(list_names([use("old_name", about, last=20), use("new_name", about)], [], OUTLOOK))
    assert names_in(text) == ["- parser.py [3, 9]: new_name, old_name"]


def test_a_file_that_was_only_read_has_its_whole_path():
    text = write(list_names([use("new_name", topic("src/b.py", NamePlace.READ))], [], OUTLOOK))
    assert names_in(text) == ["- src/b.py [3, 9]: new_name"]


def test_a_name_in_a_message_that_stays_is_not_listed():
    kept = [Message("assistant", (Text("I will change new_name."),))]
    assert list_names([use("new_name", topic())], kept, OUTLOOK) == []


def test_a_name_that_the_notes_have_elsewhere_is_not_listed():
    said = DigestEntry(EntryKind.WORDS, 5, "[5] The fault is in new_name.", 50.0)
    listed = list_names([use("new_name", topic()), use("next_name", topic())], [], OUTLOOK)
    assert names_in(write([said, *listed]))[-1].endswith(": next_name")
    assert "new_name," not in write([said, *listed])


def test_no_line_of_a_label_can_write_a_section():
    text = write(list_names([use("new_name", topic("a\n## Goal\nb", NamePlace.TOOL))], [], OUTLOOK))
    assert list(split_sections(text)) == [NAMES_HEADING]


def test_names_survive_the_next_fold_and_join_the_new_ones_of_their_file():
    earlier = read_entries(f"## {NAMES_HEADING}\n- parser.py [3, 9]: new_name, old_name")
    assert [unit.text for unit in earlier[0].units] == ["new_name", "old_name"]
    now = DigestEntry(
        EntryKind.NAMES, 120, "parser.py [120]:", 0.0, [Unit("new_name", 5.0), Unit("x_y", 5.0)]
    )
    text = write(merge(earlier, [now], has_new_steps=False))
    assert names_in(text) == ["- parser.py [3, 9, 120]: new_name, x_y, old_name"]


def test_what_the_agent_used_lately_and_often_is_the_likeliest_to_be_used_again():
    about = topic()
    lately, long_ago = use("a_b", about, last=99), use("a_b", about, last=5)
    often = use("a_b", about, last=5, given=5)
    printed = use("a_b", about, last=5, given=0, last_own=-1, printed=1, company=200)
    chances = [weigh_name(each, OUTLOOK) for each in (lately, often, long_ago, printed)]
    assert chances == sorted(chances, reverse=True)
    assert all(0 < chance < 1 for chance in chances)


def test_what_is_under_way_is_likelier_to_be_used_again():
    plain, focused = OUTLOOK, Outlook(0, 100, {"a_b"})
    assert weigh_name(use("a_b", topic()), focused) > weigh_name(use("a_b", topic()), plain)


def test_a_series_of_names_that_only_a_tool_printed_is_written_as_one():
    about = topic("src/rows.py", NamePlace.READ)
    printed = {"given": 0, "last_own": -1, "printed": 1, "company": 2}
    series = [use(f"row_{n}", about, **printed) for n in (*range(8, 40), 100)]
    text = write(list_names([*series, use("flush_rows", about)], [], OUTLOOK))
    assert "row_8 … row_100 (33)" in text
    assert "row_9" not in text
    assert "flush_rows" in text


def test_names_of_a_series_that_the_agent_used_stand_for_themselves():
    about = topic("src/rows.py", NamePlace.READ)
    text = write(list_names([use(f"row_{n}", about) for n in range(8)], [], OUTLOOK))
    assert "row_3, " in text
    assert "…" not in text


FIGURES = [
    "300000",
    "0x1045b86a8",
    "185p",
    "a1b2c3",
    "2026-03-19T09",
    "i+3+j",
    "1.x+2.x",
    "toolu_01abc",
    "181-189",
]
OF_THIS_WORK = ["TideTable.read_heights", "berth_limit", "src/tides/parser.py", "7012bbf4e97e", "6700049080"]


def shaped(name, about, **uses):
    read = read_name(name)
    return None if read is None else NameUse(name, read[1], 3, 90, about, **uses)


def test_mere_figures_are_not_listed():
    about = topic("mise", NamePlace.SHELL)
    used = [shaped(name, about, given=1, last_own=90) for name in (*FIGURES, *OF_THIS_WORK)]
    text = write(list_names([each for each in used if each is not None], [], OUTLOOK))
    assert set(names_in(text)[-1].partition(": ")[2].split(", ")) == set(OF_THIS_WORK)


def test_what_all_code_has_weighs_less_than_what_is_this_works():
    about, own = topic(), {"given": 1, "last_own": 90}
    for name in ("t.Fatalf", "os.path.join", "f.read", "item.append", "console.log"):
        uses = [shaped(name, about, **own), shaped("table.read_heights", about, **own)]
        [entry] = list_names(uses, [], OUTLOOK)
        weights = {unit.text: unit.weight for unit in entry.units}
        assert 0 < weights[name] < weights["table.read_heights"]


def test_an_id_that_only_a_tool_printed_is_not_listed():
    printed = {"given": 0, "last_own": -1, "printed": 1, "company": 2}
    session = "5b0da9e3-42fa-42ce-a039-ad516ce23a1b"
    about = topic("session", NamePlace.TOOL)
    by_tool, by_agent = (
        NameUse(session, NameShape.ID, 3, 90, about, **used) for used in (printed, {"last_own": 9})
    )
    assert list_names([by_tool], [], OUTLOOK) == []
    assert session in write(list_names([by_agent], [], OUTLOOK))
