"""Lines that say the same in many results make room for those that say something."""

from midfold.settings import Template
from midfold.summaries.digest import fill_digest
from midfold.summaries.digest.entries import DigestEntry, EntryKind, Unit
from midfold.summaries.digest.surprise import weigh_surprise


def entry(number, *lines, **facts):
    units = [Unit(line, 1.0, number + 1, **facts) for line in lines]
    return DigestEntry(EntryKind.ACTION, number, f"[{number}] bash: ./part{number}", 5.0, units)


def weigh(entries):
    weigh_surprise(entries)
    return {unit.text: unit.weight for each in entries for unit in each.units}


def test_lines_that_several_results_share_weigh_little():
    runs = [entry(n, f"Wall time of this run was {n}.3 seconds") for n in range(5)]
    weights = weigh([*runs, entry(9, "The tables of 3 zones have no fee")])
    assert weights["The tables of 3 zones have no fee"] == 1.0
    assert weights["Wall time of this run was 3.3 seconds"] < 0.6


def test_a_line_that_every_result_has_is_not_written_at_all():
    runs = [entry(n, f"Chunk ID: 0000{n:x}", "workdir=/srv/app", f"zone {n} lacks a fee") for n in range(16)]
    runs[3].units.append(Unit("the meter of pier two is late", 1.0, 4))
    weigh_surprise(runs)
    text = fill_digest(runs, count_text=len, budget_tokens=50_000, template=Template.HANDOFF)
    assert "Chunk ID" not in text
    assert "workdir" not in text
    assert "the meter of pier two is late" in text


def test_a_newest_result_is_no_banner():
    runs = [entry(n, f"{n} passed in 0.{n}s") for n in range(13)]
    newest = entry(20, "43 passed in 38.1s", is_conclusion=True)
    weights = weigh([*runs, newest])
    assert weights["43 passed in 38.1s"] > 0
    assert weights["4 passed in 0.4s"] == 0


def test_the_first_and_the_last_line_of_a_series_stand_for_it():
    listing = entry(1, *[f"    batch.append(row_{n})" for n in range(40)], "    return batch")
    weights = weigh([listing])
    ends = weights["    batch.append(row_0)"], weights["    batch.append(row_39)"]
    assert ends == (1.0, 1.0)
    assert weights["    return batch"] == 1.0
    assert weights["    batch.append(row_20)"] < 0.3


def test_a_few_lines_of_one_form_are_no_series():
    failing = entry(1, *[f"FAILED tests/test_{n}.py::test_fee - assert {n} == 0" for n in range(5)])
    assert set(weigh([failing]).values()) == {1.0}
