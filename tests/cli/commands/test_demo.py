"""`midfold demo` and `midfold plugins`: what a newcomer sees first."""

import json

from midfold.cli.commands.demo import fold_to_a_tenth, load_facts, load_session
from midfold.wire.validate import validate


def test_the_demo_tells_the_whole_story(run):
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    for words in (
        "before",
        "after",
        "+ summary",
        "still there word for word",
        "found again in the originals",
    ):
        assert words in out


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
    assert json.loads(run("plugins", "--json")[1]) == [{"name": "compressor", "source": "built in"}]
