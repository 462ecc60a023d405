"""What the agent most likely needs again weighs more: by the kind of an entry, and by the names in a line."""

import pytest

from midfold.summaries.digest.entries import DigestEntry, EntryKind, Trait, Unit
from midfold.summaries.digest.expected_use import weigh_use
from midfold.summaries.digest.weights import EntryWeights, entry_weights


def weights(named=0.5, **factors):
    return EntryWeights({trait: factors.get(trait, 1.0) for trait in Trait}, named)


def names(**worths):
    units = [Unit(name, worth, trait=Trait.NAME) for name, worth in worths.items()]
    return DigestEntry(EntryKind.NAMES, 1, "parser.py [3]:", 0.0, units)


def changed(*lines):
    return DigestEntry(EntryKind.CHANGED, 3, "parser.py (changed): Edit [3]", 9.0, [*lines])


def test_a_line_is_worth_a_part_of_the_names_in_it():
    named, bare = Unit("limit = read_limit(tide)", 2.0), Unit("limit = the_default", 2.0)
    weigh_use([changed(named, bare), names(read_limit=8.0)], weights(named=0.5))
    assert (named.weight, bare.weight) == (6.0, 2.0)


def test_a_line_that_says_nothing_is_not_bought_for_a_name():
    idle, alone = Unit("updated read_limit", 0.0), Unit(".read_limit", 1.0)
    weigh_use([changed(idle, alone), names(read_limit=8.0)], weights())
    assert (idle.weight, alone.weight) == (0.0, 1.0)


def test_a_name_in_a_list_weighs_by_its_own_worth_alone():
    listed = names(read_limit=8.0, other_limit=4.0)
    weigh_use([listed], weights(name=1.5))
    assert [unit.weight for unit in listed.units] == [12.0, 6.0]


@pytest.mark.parametrize(
    ("entry", "trait"),
    [
        (DigestEntry(EntryKind.READ, 1, "a.py: Read [1]", 8.0), "read_file"),
        (DigestEntry(EntryKind.ACTION, 1, "[1] Bash: make", 8.0), "action"),
        (DigestEntry(EntryKind.ACTION, 1, "[1] Grep: tide", 8.0, is_look=True), "look"),
        (DigestEntry(EntryKind.ACTION, 1, "[1] Bash: make (failed)", 8.0), "other"),
    ],
)
def test_the_head_of_an_entry_weighs_by_its_kind(entry, trait):
    weigh_use([entry], weights(**{trait: 2.0}))
    assert entry.weight == 16.0


def test_the_learnt_weights_name_every_kind_that_there_is():
    learnt = entry_weights()
    assert set(learnt.factors) == set(Trait)
    assert learnt.factors[Trait.OTHER] == 1.0
    assert learnt.named > 0


def test_small_notes_have_better_things_to_tell_than_what_was_looked_at():
    looks = [DigestEntry(EntryKind.ACTION, 1, "[1] Grep: tide", 8.0, is_look=True) for _ in range(2)]
    for look, room in zip(looks, (1_500, 60_000), strict=True):
        weigh_use([look], weights(), room_bytes=room)
    assert looks[0].weight < looks[1].weight == 8.0
