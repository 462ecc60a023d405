"""Probes from any transcript: found by our own rules, the same every time."""

from pathlib import Path

import pytest

from midfold.evaluation import ProbeKind, Unusable, Zone, derive_probes, load_conversation
from midfold.evaluation.probes import MOST_PER_KIND
from midfold.evaluation.signals import find_rules
from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.testing import conversation

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.json*"))


def user(text):
    return Message("user", (Text(text),))


def call(name, arguments):
    return Message("assistant", (ToolCall("c1", name, arguments),))


def result(text):
    return Message("tool", (ToolResult("c1", text),))


def padded(*middle):
    """Put messages between a head and a tail that say nothing."""
    ends = [Message("assistant", (Text("ok"),))] * 24
    return [user("Please look after the shop"), *ends[:3], *middle, *ends]


def answers(messages, kind):
    return [probe.answer for probe in derive_probes(messages) if probe.kind is kind]


@pytest.mark.parametrize(
    "rule",
    [
        "Never push to main without asking me.",
        "Die Tabelle darf nicht gelöscht werden.",
        "No uses más de dos hilos, como máximo.",
        "Ne modifie jamais le fichier de configuration.",
        "不要修改生产环境的数据库配置文件。",
        "テストは必ず最後まで実行してください。",
        "Никогда не удаляй резервные копии.",
    ],
)
def test_rules_are_found_in_several_languages(rule):
    assert list(find_rules(f"Hello there. {rule}")) == [rule]


def test_rules_are_not_looked_for_in_code_or_markup():
    assert list(find_rules("```\nnever do this at all\n```\n<b>never do this at all</b>")) == []


def test_a_call_tells_of_commands_files_and_other_values():
    messages = padded(
        call("bash", '{"command": "pytest -x tests/orders"}'),
        result("E   ValueError: no such order\nexit code 2"),
        call("edit_file", '{"path": "src/orders.py", "new_string": "x = 1"}'),
        result("done"),
        call("read_file", '{"path": "src/carts.py"}'),
        result("import os"),
        call("search", '{"pattern": "total_price"}'),
        result('{"order_id": "A-1009", "total": 12}'),
    )
    assert answers(messages, ProbeKind.COMMAND) == ["pytest -x tests/orders"]
    assert answers(messages, ProbeKind.COMMAND_STATUS) == ["exit code 2"]
    assert answers(messages, ProbeKind.ERROR) == ["E   ValueError: no such order"]
    assert answers(messages, ProbeKind.FILE_EDITED) == ["src/orders.py"]
    assert answers(messages, ProbeKind.FILE_READ) == ["src/carts.py"]
    assert answers(messages, ProbeKind.TOOL_ARGUMENT) == ["total_price"]
    assert answers(messages, ProbeKind.RESULT_FIELD) == ["A-1009"]


def test_a_file_that_was_changed_is_not_asked_for_as_read():
    messages = padded(
        call("read_file", '{"path": "src/orders.py"}'),
        result("x"),
        call("write_file", '{"path": "src/orders.py", "content": "y"}'),
        result("done"),
    )
    assert answers(messages, ProbeKind.FILE_READ) == []


def test_identifiers_and_figures_are_found_in_results():
    messages = padded(result("built 4f2a9c1 for v2.14.3 in 418 ms, ticket OPS-311"))
    assert set(answers(messages, ProbeKind.IDENTIFIER)) == {"4f2a9c1", "v2.14.3", "OPS-311"}
    assert answers(messages, ProbeKind.NUMBER) == ["418 ms"]


def test_a_string_of_the_tail_is_no_probe_of_the_middle():
    rule = "Never push to main without asking."
    [probe] = [p for p in derive_probes(padded(user(rule))) if p.kind is ProbeKind.CONSTRAINT]
    assert probe.zone is Zone.MIDDLE
    again = [*padded(user(rule)), user(f"Remember: {rule}")]
    [probe] = [p for p in derive_probes(again) if p.kind is ProbeKind.CONSTRAINT and p.answer == rule]
    assert probe.zone is Zone.TAIL


def test_each_kind_is_sampled_evenly_and_the_same_every_time():
    commands = [f"run step-{number:03}" for number in range(240)]
    messages = padded(*[call("bash", f'{{"command": "{command}"}}') for command in commands])
    taken = answers(messages, ProbeKind.COMMAND)
    assert taken == answers(messages, ProbeKind.COMMAND)
    assert len(taken) == MOST_PER_KIND
    steps = [commands.index(command) for command in taken]
    assert all(step * MOST_PER_KIND // 240 == place for place, step in enumerate(steps))


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "openai_responses", "sharegpt"])
def test_every_dialect_gives_probes(dialect):
    assert derive_probes(conversation(dialect, seed=3, turns=30))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.name)
def test_every_answer_stands_in_its_evidence(path):
    loaded = load_conversation(path)
    assert not isinstance(loaded, Unusable)
    assert loaded.probes
    for probe in loaded.probes:
        assert probe.evidence[0] in loaded.source.holders(probe.answer)
