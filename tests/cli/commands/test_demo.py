"""`midfold demo` and `midfold plugins`: what a newcomer sees first."""

import json
import re

from midfold.cli.commands.demo import find_by_question, fold_to_a_tenth, load_facts, load_session, measure
from midfold.wire.validate import validate


def test_the_demo_fits_a_terminal_and_ends_with_its_headline(run):
    status, out, err = run("demo", columns=80)
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert len(lines) <= 22  # of 24, with the prompts before and after
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r"\d\d of 30 facts are left word for word in a tenth of the tokens", lines[-1])


def test_the_demo_compares_at_the_same_size():
    session = load_session()
    result = fold_to_a_tenth(session)
    figures = measure(session, result)
    assert len(figures.kept) > max(count for _, count in figures.baselines)
    assert all(count > 0 for _, count in figures.baselines)


def test_the_demo_searches_with_the_words_of_the_question():
    session, facts = load_session(), load_facts()
    found = find_by_question(session, facts)
    assert len(found) >= len(facts) / 2
    assert all(fact.answer not in fact.question for fact in facts)


def test_the_legend_of_the_demo_has_the_cells_of_its_bar(run):
    lines = run("demo", columns=80)[1].splitlines()
    bar = next(line for line in lines if line.startswith("index"))
    legend = lines[lines.index(bar) + 1]
    assert all(entry in legend for entry in ("█ kept", "▒ shortened", "░ folded"))
    assert set(bar.removeprefix("index").strip()) <= set("█▒░")


def test_the_demo_fits_a_tenth_and_is_legal():
    session = load_session()
    result = fold_to_a_tenth(session)
    assert not result.over_budget
    assert result.tokens_after >= result.budget_tokens * 0.98
    assert validate(result.messages, dialect="openai_chat", tools=session.tools) == []


def test_most_facts_survive_and_the_others_are_found_again():
    result = fold_to_a_tenth(load_session())
    kept = json.dumps(result.messages, ensure_ascii=False)
    facts = load_facts()
    survivors = [fact for fact in facts if json.dumps(fact.answer, ensure_ascii=False)[1:-1] in kept]
    assert len(survivors) >= len(facts) * 0.8
    assert all(result.find(fact.answer) for fact in facts)


def test_the_summary_can_be_read_as_a_whole(run):
    assert "## Active Task" in run("demo", "--summary")[1]


def test_plugins_lists_engines(run):
    assert "compressor" in run("plugins")[1]
    assert json.loads(run("plugins", "--json")[1]) == [
        {"name": name, "source": "built in"} for name in ("compressor", "lcm")
    ]
