"""Conversations made to order: any dialect, any length, always the same for the same seed.

They look like a coding agent's work because that is what fills windows: files read, commands run, errors met
and repaired, results of every size.
"""

import json
import random
from collections.abc import Iterator
from enum import StrEnum

from midfold.messages import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from midfold.testing.defects import Defect, add_defects
from midfold.wire import DIALECTS, parse

__all__ = ["Defect", "conversation", "transcript"]

# One grey pixel, as a real PNG.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

_FILES = ("src/tariff.py", "src/meters/coin.py", "tests/test_tariff.py", "docs/rates.md", "config/zones.toml")
_NOUNS = ("tariff", "zone", "meter", "receipt", "grace period", "coin slot", "night rate", "ticket")
_RULES = (
    "Never touch the files under config/.",
    "Use at most 3 retries, please.",
    "请不要修改数据库结构。",
    "Only use the standard library.",
    "Los precios deben llevar siempre dos decimales.",
)
_ERRORS = (
    "ModuleNotFoundError: No module named 'meters.coin'",
    "AssertionError: assert Decimal('2.40') == Decimal('2.50')",
    "OSError: [Errno 28] No space left on device: '/var/spool/receipts'",
)


class ToolName(StrEnum):
    """The tools that the agent of these conversations has."""

    READ = "read_file"
    WRITE = "write_file"
    SEARCH = "search_files"
    TERMINAL = "terminal"


def conversation(dialect: str = "openai_chat", **options: object) -> list[Message]:
    """Return a conversation as messages; the options are those of `transcript`."""
    return parse(transcript(dialect, **options), dialect)  # type: ignore[arg-type]


def transcript(
    dialect: str = "openai_chat",
    *,
    seed: int = 0,
    turns: int = 5,
    steps: int = 3,
    parallel: int = 2,
    result_chars: int = 600,
    system: bool = True,
    thinking: bool = False,
    images: bool = False,
    last: str | None = None,
    defects: frozenset[Defect] = frozenset(),
) -> list[object]:
    """Return a conversation as wire items.

    Each of `turns` user requests is worked on in up to `steps` rounds of up to `parallel` tool calls, with
    results of about `result_chars`. It is legal for its provider unless `defects` is asked for. `last` adds a
    closing user request with these words.
    """
    chance = random.Random(seed)  # noqa: S311 - made to be repeated
    script = _Script(chance, steps, parallel, result_chars, thinking, images)
    messages = list(_open(system and dialect != "anthropic"))
    for turn in range(turns):
        messages += script.turn(turn)
    if last is not None:
        messages.append(Message("user", (Text(last),)))
    items = [item for message in messages for item in DIALECTS[dialect].build(message)]
    return add_defects(items, defects, chance) if defects else items


def _open(system: bool) -> Iterator[Message]:
    if system:
        yield Message(
            "system", (Text("You are a careful engineer in the repository of a parking meter maker."),)
        )


class _Script:
    """Writes turns; everything random comes from one seeded source."""

    def __init__(
        self,
        chance: random.Random,
        steps: int,
        parallel: int,
        result_chars: int,
        thinking: bool,
        images: bool,
    ) -> None:
        self.chance = chance
        self.steps = steps
        self.parallel = parallel
        self.result_chars = result_chars
        self.thinking = thinking
        self.images = images
        self.calls = 0

    def turn(self, number: int) -> Iterator[Message]:
        yield Message("user", tuple(self._request(number)))
        for _ in range(self.chance.randint(0, self.steps) if self.parallel else 0):
            yield from self._round()
        yield Message("assistant", (*self._think(), Text(f"Done with the {self._noun()}; all checks pass.")))

    def _request(self, number: int) -> Iterator[Part]:
        rule = self.chance.choice(_RULES) if self.chance.random() < 0.3 else ""
        yield Text(f"Request {number}: make the {self._noun()} follow the new {self._noun()}. {rule}".strip())
        if self.images and self.chance.random() < 0.3:
            yield Media("image", "image/png", PIXEL)

    def _round(self) -> Iterator[Message]:
        calls = [self._call() for _ in range(self.chance.randint(1, self.parallel))]
        words = [Text(f"Looking at the {self._noun()} first.")] if self.chance.random() < 0.5 else []
        yield Message("assistant", (*self._think(), *words, *calls))
        yield Message("tool", tuple(self._result(call) for call in calls))

    def _think(self) -> list[Part]:
        if not self.thinking:
            return []
        return [
            Reasoning(
                f"The {self._noun()} depends on the {self._noun()}.", f"c2ln{self.chance.getrandbits(64):x}"
            )
        ]

    def _call(self) -> ToolCall:
        self.calls += 1
        tool = self.chance.choice(list(ToolName))
        path = self.chance.choice(_FILES)
        arguments: dict[ToolName, dict[str, object]] = {
            ToolName.READ: {"path": path, "offset": self.chance.randint(1, 400)},
            ToolName.WRITE: {"path": path, "content": self._lines(self.result_chars // 2)},
            ToolName.SEARCH: {"pattern": self._noun(), "path": "src"},
            ToolName.TERMINAL: {"command": f"pytest -q {path}", "timeout": 60},
        }
        return ToolCall(f"call_{self.calls:05d}", tool.value, json.dumps(arguments[tool], ensure_ascii=False))

    def _result(self, call: ToolCall) -> ToolResult:
        failed = self.chance.random() < 0.15
        body = (
            self.chance.choice(_ERRORS)
            if failed
            else self._lines(self.chance.randint(0, self.result_chars * 2))
        )
        shot = self.images and self.chance.random() < 0.1
        media = (Media("image", "image/png", PIXEL),) if shot else ()
        return ToolResult(call.id, body or "ok", is_error=failed, media=media, name=call.name)

    def _lines(self, chars: int) -> str:
        lines = []
        while chars > 0:
            name = self._noun().replace(" ", "_")
            line = f"def {name}_{self.chance.randint(0, 999)}(): return {self.chance.random():.4f}"
            lines.append(line)
            chars -= len(line) + 1
        return "\n".join(lines)

    def _noun(self) -> str:
        return self.chance.choice(_NOUNS)
