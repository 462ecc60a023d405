"""Typed programs: the types of a caller's messages come back as they went in."""

import subprocess
import sys
from pathlib import Path

import pytest

import midfold
from midfold.testing import transcript

PROGRAM = """
from typing import Any, assert_type

import midfold
from anthropic import Anthropic
from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam


def chat(messages: list[ChatCompletionMessageParam]) -> list[ChatCompletionMessageParam]:
    result = midfold.compress(messages, max_tokens=20_000, model="gpt-5")
    assert_type(result, midfold.Compression[ChatCompletionMessageParam])
    assert_type(result.restore(), list[ChatCompletionMessageParam])
    engine = midfold.ContextCompressor(200_000, model="gpt-5")
    return engine.compress(result.messages)


def claude(messages: list[MessageParam]) -> list[MessageParam]:
    options: midfold.CompressOptions = {"max_tokens": 20_000, "focus": "the tariff"}
    return midfold.compress(messages, **options).messages


async def responses(items: list[ResponseInputItemParam]) -> list[ResponseInputItemParam]:
    return (await midfold.acompress(items, context_length=200_000)).messages


def looked_at(messages: list[MessageParam], store: midfold.Store) -> str:
    result = midfold.compress(messages, max_tokens=20_000)
    losses = [loss.what for loss in midfold.list_losses(result)]
    recall = midfold.recall_tool(result)
    store.continue_session("an id", result.messages, result)
    return recall.handle({"query": losses[0]}) + result.find("tariff")[0].snippet


def wrapped(client: Anthropic) -> Anthropic:
    return midfold.wrap(client, context_length=200_000)


def body(request: dict[str, Any]) -> dict[str, Any]:
    return midfold.compress_request(request, max_tokens=20_000)


def summarize(request: midfold.SummaryRequest) -> str:
    return request.prompt


result = midfold.compress([{"role": "user", "content": "Hello"}], max_tokens=100, summarizer=summarize)
assert_type(result.messages, list[dict[str, str]])
"""


@pytest.mark.slow
def test_a_typed_program_is_clean(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    root = Path(midfold.__file__).parents[2]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(root / ".mypy_cache"), str(program)],
        capture_output=True,
        text=True,
        cwd=root,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_a_result_is_one_short_line():
    result = midfold.compress(transcript("anthropic", turns=40, result_chars=2_000), max_tokens=6_000)
    shown = repr(result)
    assert shown.startswith("<Compression 'folded': ")
    assert f"→ {len(result.messages)} messages" in shown
    assert len(shown) < 150
    assert "\n" not in shown
    unchanged = repr(midfold.compress([], max_tokens=6_000))
    assert "0 → 0 messages" in unchanged
