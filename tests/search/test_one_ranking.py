"""One ranking: a question has the same first answers wherever it is asked."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import midfold
from midfold.cli.main import cli
from midfold.documents import read_documents
from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.folding import CompressionPolicy
from midfold.folding.originals import Originals
from midfold.gateway.recall import RecallTools
from midfold.mcp.sessions import SessionTools
from midfold.messages import ToolCall
from midfold.search import SearchIndex
from midfold.store import open_store
from midfold.wire import parse

SHOWN = 5
TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
QUESTIONS = {
    "openai-chat-flaky-test.json": [
        "why did the test fail now and then",
        "which change made it stable",
        "what did the user ask for first",
    ],
    "openai-chat-support.json": ["how was the customer refunded", "what is the order about"],
    "openai-chat-spanish.json": ["qué pidió el usuario primero", "qué archivo se cambió al final"],
}


def ask_index(items, question):
    return [each.number for each in SearchIndex(read_documents(parse(items))).search(question, SHOWN)]


def ask_result(items, question):
    messages = parse(items)
    return [match.index for match in Originals(messages, range(len(messages))).find(question)]


def ask_store(store, session, question):
    return [hit.seq for hit in store.search(question, session_id=session, limit=SHOWN).hits]


def ask_recall_tool(store, session, question):
    answer = midfold.recall_tool(store, session_id=session).handle({"query": question})
    return [int(number) for number in re.findall(r"^session \S+ message (\d+)", answer, re.MULTILINE)]


def ask_gateway(store, session, question):
    call = ToolCall("1", "midfold_recall", json.dumps({"query": question}))
    [answer] = RecallTools(store).answer([call], SimpleNamespace(id=session, engine=None), most_chars=20_000)
    return [int(number) for number in re.findall(r"^\[\w+:(\d+),", answer, re.MULTILINE)]


def ask_engine(store, session, question):
    engine = LosslessEngine.open(EngineSetup(CompressionPolicy(), store=store))
    engine.on_session_start(session)
    found = json.loads(
        engine.handle_tool_call("lcm_grep", {"query": question, "scope": "messages"}, messages=[])
    )
    return [each["message"] for each in found["results"]]


def ask_engine_without_store(items, question):
    engine = LosslessEngine.open(EngineSetup(CompressionPolicy()))
    asked = [*items, {"role": "user", "content": "Look it up."}]
    found = json.loads(
        engine.handle_tool_call("lcm_grep", {"query": question, "scope": "messages"}, messages=asked)
    )
    return [each["message"] for each in found["results"]]


def ask_command_line(session, question):
    answer = CliRunner().invoke(cli, ["sessions", "search", "--json", "--session", session, "--", question])
    return [hit["seq"] for hit in json.loads(answer.stdout)["hits"]]


def ask_mcp(store, session, question):
    return [hit["message"] for hit in SessionTools(store).search(question, session)["hits"]]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_door_gives_the_same_first_answers(name, tmp_path, monkeypatch):
    items = json.loads((TRANSCRIPTS / name).read_text("utf-8"))
    items = items if isinstance(items, list) else items["messages"]
    monkeypatch.setenv("MIDFOLD_HOME", str(tmp_path))
    with open_store(tmp_path / "sessions.db") as store:
        session = store.create_session(dialect="openai_chat").id
        store.append(session, items)
        for question in QUESTIONS[name]:
            first = ask_index(items, question)
            assert len(first) >= 2, question
            answers = {
                "result": ask_result(items, question),
                "store": ask_store(store, session, question),
                "recall": ask_recall_tool(store, session, question),
                "gateway": ask_gateway(store, session, question),
                "engine": ask_engine(store, session, question),
                "engine without a store": ask_engine_without_store(items, question),
                "command line": ask_command_line(session, question),
                "mcp": ask_mcp(store, session, question),
            }
            assert {door: found[: len(first)] for door, found in answers.items()} == dict.fromkeys(
                answers, first
            ), question
