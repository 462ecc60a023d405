"""A fold is worked out of two lists: whatever an engine did, applying the fold gives its list again."""

import copy
import random

import pytest

from midfold.engines.derived_fold import NotAFold, derive_fold
from midfold.folding.fold import Replacement, Span, apply, splice
from midfold.messages import Message, Text, canonical_bytes
from midfold.testing import transcript
from midfold.wire import DIALECTS, parse, render


def derive(before, after, dialect="openai_chat"):
    return derive_fold(parse(before, dialect), parse(after, dialect))


def said(messages):
    return list(map(canonical_bytes, messages))


def session(dialect="openai_chat", turns=6):
    return transcript(dialect, turns=turns, thinking=True)


def note(words, dialect="openai_chat"):
    return render([Message("user", (Text(words),))], dialect)


def test_a_list_that_is_the_same_is_no_fold():
    items = session()
    assert derive(items, list(items)) is None
    assert derive(items, copy.deepcopy(items)) is None


def test_runs_of_old_messages_are_replaced_by_runs_of_new_ones():
    items = session()
    made = [*note("Earlier: the meters were counted."), *note("And the zones were listed.")]
    fold = derive(items, [*items[:2], *made, *items[7:]])
    assert fold.replacements == (
        Replacement(Span(2, 7), Message("user", (Text("Earlier: the meters were counted."),))),
        Replacement(Span(7, 7), Message("user", (Text("And the zones were listed."),))),
    )
    assert said(apply(fold, parse(items, "openai_chat"))) == said(
        parse([*items[:2], *made, *items[7:]], "openai_chat")
    )


def test_copies_of_messages_are_taken_for_what_they_are_copies_of():
    items = session()
    fold = derive(items, copy.deepcopy([items[0], *items[5:]]))
    assert fold.replacements == (Replacement(Span(1, 5)),)


def test_a_result_that_was_cut_short_where_it_stands_is_an_edit():
    items = session()
    at = next(index for index, item in enumerate(items) if item["role"] == "tool")
    after = [*items[:at], {**items[at], "content": "[cut]"}, *items[at + 1 :]]
    fold = derive(items, after)
    assert (fold.replacements, [edit.index for edit in fold.edits]) == ((), [at])


def test_what_is_added_to_the_system_prompt_is_a_note():
    items = session()
    assert items[0]["role"] == "system"
    first = {**items[0], "content": f"{items[0]['content']}\n\nEarlier turns were summarised."}
    fold = derive(items, [first, *items[3:]])
    assert (fold.note, fold.lead) == ("Earlier turns were summarised.", 1)


@pytest.mark.parametrize("change", [lambda items: items[1:], lambda items: [{**items[0], "content": "x"}]])
def test_another_system_prompt_is_no_fold(change):
    items = session()
    with pytest.raises(NotAFold, match="changed the system prompt"):
        derive(items, [*change(items), *items[3:]])


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("seed", range(40))
def test_whatever_an_engine_did_the_fold_does_the_same(dialect, seed):
    chance = random.Random(seed)
    items = transcript(dialect, seed=seed % 4, turns=5, thinking=seed % 2 == 1)
    lead = 1 if parse(items[:1], dialect)[0].role == "system" else 0
    after, index = items[:lead], lead
    while index < len(items):
        step = chance.choice(["keep", "keep", "copy", "drop", "drop", "summary", "twice", "swap"])
        if step == "keep":
            after.append(items[index])
        elif step == "copy":
            after.append(copy.deepcopy(items[index]))
        elif step == "summary":
            after += note(f"Summary {index}", dialect)
        elif step == "twice":
            after += note(f"First {index}", dialect) + note("The same", dialect)
        elif step == "swap" and index + 1 < len(items):
            after += [items[index + 1], items[index]]
            index += 1
        index += 1
    before, wanted = parse(items, dialect), parse(after, dialect)
    fold = derive_fold(before, wanted)
    if fold is None:
        assert said(before) == said(wanted)
        return
    assert said(splice(fold, before)) == said(wanted)
    assert said(apply(fold, before)) == said(wanted)
    grown = [*items, *note("And then?", dialect)]
    assert said(apply(fold, parse(grown, dialect))) == said(parse([*after, grown[-1]], dialect))


def test_a_long_copy_is_read_in_no_time():
    items = session(turns=400)
    after = copy.deepcopy([*items[:3], *note("Summary"), *items[-500:]])
    fold = derive(items, after)
    assert fold.spans == (Span(3, len(items) - 500),)
    assert fold.edits == ()
