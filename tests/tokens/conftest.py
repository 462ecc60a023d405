"""Real conversations, read once for all tests here that measure on them."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from midfold.messages import Message
from midfold.wire import parse


@dataclass(frozen=True)
class Conversation:
    name: str
    model: str
    messages: list[Message]
    tools: list[object]
    usage: list[dict[str, int]]
    """prompt tokens that the provider reported for `messages[:index]`"""


@pytest.fixture(scope="session")
def corpus(data_dir: Path) -> list[Conversation]:
    return [_read(path) for path in sorted((data_dir / "corpus").glob("*.json.gz"))]


def _read(path: Path) -> Conversation:
    content = json.loads(gzip.decompress(path.read_bytes()))
    meta = content["meta"]
    return Conversation(
        path.name.removesuffix(".json.gz"),
        meta.get("model") or next(iter(meta.get("models") or ["claude-opus-4-5"])),
        parse(content["messages"], "openai_chat"),
        content.get("tools") or [],
        meta.get("usage") or [],
    )
