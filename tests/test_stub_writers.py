"""Stub writers that packages bring for their tools."""

import sys

import pytest

import midfold
from midfold.engines import ContextCompressor
from midfold.stub_writers import load_stub_writers
from midfold.testing import transcript

POINTS = """[midfold.stubs]
weigh_coins = coin_scale:write
broken_scale = coin_scale:fail
missing_scale = nowhere:write
no_scale = coin_scale:NOTHING
"""
MODULE = """
NOTHING = 5
def write(call, result):
    return f"weighed the coins: {result.text.splitlines()[-1]}"
def fail(call, result):
    raise RuntimeError("no scale")
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that is installed, as far as Python can tell."""
    facts = tmp_path / "coin_scale-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: coin-scale\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(POINTS)
    (tmp_path / "coin_scale.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    load_stub_writers.cache_clear()
    yield
    load_stub_writers.cache_clear()
    sys.modules.pop("coin_scale", None)


def session(tool):
    call = {"id": "c", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    first, *rest = transcript(turns=30, result_chars=800)
    return [
        first,
        {"role": "user", "content": "Weigh the coins."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "grain\n" * 900 + "12.5 kg"},
        *rest,
    ]


@pytest.mark.parametrize(
    ("tool", "stub"),
    [
        ("weigh_coins", "[weigh_coins] weighed the coins: 12.5 kg"),
        ("broken_scale", "[broken_scale] gave 5,407 chars"),
    ],
)
def test_a_plug_in_writes_the_stub_of_its_tool(installed, tool, stub):
    result = midfold.compress(session(tool), max_tokens=20_000, strategy="prune")
    assert stub in str(result.messages)
    folded = ContextCompressor(8_000, key=b"k").compress_result(session(tool))
    assert folded.changed


@pytest.mark.parametrize("tool", ["missing_scale", "no_scale", "unknown_scale"])
def test_a_plug_in_that_does_not_load_changes_nothing(installed, tool):
    result = midfold.compress(session(tool), max_tokens=20_000, strategy="prune")
    assert f"[{tool}] " in str(result.messages)
