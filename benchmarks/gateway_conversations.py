"""What the gateway does to conversations: what it leaves alone, how often it folds, and who is asked for it.

Counts, not times: gateway and scripted upstream run in this process, over real HTTP. Requests are cut from
real conversations where there are any.
"""

import gzip
import http.client
import json
import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.timing import report
from midfold.config import load_settings
from midfold.gateway import GatewayApp, ServerThread, create_app
from midfold.messages import Message
from midfold.testing import HttpStatus, Reply, Upstream, transcript
from midfold.testing.upstream import Received
from midfold.wire import parse, render

HERD = 100
REQUESTS = 1_000
TURNS = 60
WINDOW = 60_000
DATA = Path(os.environ.get("MIDFOLD_DATA", Path(__file__).parents[2] / "shared" / "data")) / "corpus"
_PATHS = {
    "openai_chat": ("/v1/chat/completions", "messages"),
    "anthropic": ("/v1/messages?beta=true", "messages"),
    "openai_responses": ("/v1/responses", "input"),
}
_MOST_BYTES = 150_000
_SUMMARY = "## Goal\nMake the tariff follow the zones.\n\n## Remaining Work\nGo on with the newest request."
Items = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as a client gets it."""

    status: int
    body: bytes
    changes: dict[str, str]


@contextmanager
def running(up: Upstream, **flags: object) -> Iterator[tuple[Callable[[str, bytes], Answered], GatewayApp]]:
    """Run a gateway; give what asks it, and the application."""
    with tempfile.TemporaryDirectory() as home:
        named = {name.replace("__", "."): value for name, value in flags.items()}
        upstreams = {name: {"base_url": up.url} for name in ("openai", "anthropic")}
        providers = {"scripted": {"base_url": f"{up.url}/v1"}}
        settings = load_settings(
            environment={"MIDFOLD_HOME": home},
            flags={"gateway.port": 0, "gateway.upstreams": upstreams, "providers": providers, **named},
        )
        app = create_app(settings, home=Path(home))
        with ServerThread(app) as server:
            port = int(server.url.rpartition(":")[2])
            yield lambda path, body: _ask(port, path, body), app


def _ask(port: int, path: str, body: bytes) -> Answered:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, body, {"content-type": "application/json", "x-api-key": "any"})
    answer = connection.getresponse()
    said = answer.read()
    changes = {
        name.lower(): value for name, value in answer.getheaders() if name.lower().startswith("x-midfold-")
    }
    connection.close()
    return Answered(answer.status, said, changes)


def _settle(app: GatewayApp) -> None:
    """Wait until nothing goes on behind an answer, and no fold is being prepared."""
    pause = threading.Event()
    while app.open_requests or app.gateway.parts.background:
        pause.wait(0.002)
    for session in app.gateway.parts.index.sessions:
        while (
            session.engine is not None and session.engine.get_status()["preparation"]["phase"] == "preparing"
        ):
            pause.wait(0.002)


def passing() -> None:
    """Print how many requests of conversations without a fold pass byte for byte, both ways."""
    said: list[bytes] = []
    chance = random.Random(5)

    def answer(received: Received) -> HttpStatus:
        said.append(
            json.dumps(
                {"of": len(received.body), "x": chance.random()}, indent=chance.choice([None, 2])
            ).encode()
        )
        return HttpStatus(200, said[-1], {"Content-Type": "application/json"})

    with Upstream(answer) as up, running(up) as (ask, _):
        same = 0
        for path, body in _requests(REQUESTS):
            answered = ask(path, body)
            same += (up.requests[-1].body, answered.body, answered.changes) == (body, said[-1], {})
    report(f"of {REQUESTS} requests without a fold pass byte for byte, both ways", f"{same}", f"{REQUESTS}")


def _requests(count: int) -> Iterator[tuple[str, bytes]]:
    """Cut requests from conversations, in all formats and spellings of JSON."""
    chance, made = random.Random(4), 0
    while True:
        for messages in _conversations():
            dialect = chance.choice(sorted(_PATHS))
            path, name = _PATHS[dialect]
            stop = chance.randint(1, len(messages))
            items: Sequence[object] = render(messages[:stop], dialect)
            body = {"model": "gpt-4.1", name: items, "max_tokens": 500, "odd": [None, 1e-7, 2**70]}
            encoded = json.dumps(body, indent=chance.choice([None, 1]), ensure_ascii=chance.random() < 0.5)
            if len(encoded) <= _MOST_BYTES:
                yield path, encoded.encode("utf-8", "surrogatepass")
                made += 1
            if made == count:
                return


def _conversations() -> Iterator[list[Message]]:
    real = [
        json.loads(gzip.decompress(path.read_bytes()))["messages"] for path in sorted(DATA.glob("*.json.gz"))
    ]
    for items in real or [
        transcript("openai_chat", seed=seed, turns=9, images=seed % 3 == 0) for seed in range(40)
    ]:
        yield parse(items[:80], "openai_chat")


def herd() -> None:
    """Print how often a model is asked where a hundred requests of one conversation need the same fold."""
    may_answer = threading.Event()

    def answer(received: Received) -> Reply:
        if received.json["model"] != "writer":
            return Reply("ok")
        may_answer.wait(30)
        return Reply(_SUMMARY)

    items = transcript("openai_chat", turns=110, result_chars=1_000)[:400]
    longer = [*items, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}]
    flags = {
        "compression.summary_model": "scripted/writer",
        "compression.strategy": "fold",
        "model.context_length": 100_000,
    }
    with Upstream(answer) as up, running(up, **flags) as (ask, app), ThreadPoolExecutor(HERD) as pool:
        bodies = [json.dumps({"model": "gpt-5-mini", "messages": each}).encode() for each in (items, longer)]
        path = _PATHS["openai_chat"][0]
        first = list(pool.map(lambda _: ask(path, bodies[0]), range(HERD)))
        may_answer.set()
        _settle(app)
        second = list(pool.map(lambda _: ask(path, bodies[1]), range(HERD)))
        _settle(app)
        asked = sum(received.json["model"] == "writer" for received in up.requests)
        folded = sum(each.changes.get("x-midfold-folded") == "1" for each in second)
    errors = sum(each.status != 200 for each in (*first, *second))
    report(
        f"{HERD} at once over the threshold, twice: summariser calls, folded, errors",
        f"{asked}, {folded}, {errors}",
        f"1, {HERD}, 0",
    )


def growing() -> None:
    """Print how often a conversation is folded that grows by sixty turns, and what a provider could cache."""
    items: Items = []
    sent: list[list[bytes]] = []
    views: list[tuple[int, int]] = []
    """folds under the request, and its tokens as it was sent"""
    with (
        Upstream(lambda received: Reply(f"Done with step {len(received.messages)}.")) as up,
        running(up, model__context_length=WINDOW) as (ask, app),
    ):
        for number in range(TURNS):
            items += [{"role": "user", "content": f"Turn {number}: look at zone {number}." + " word" * 1_500}]
            body = {
                "model": "claude-opus-4-1",
                "max_tokens": 500,
                "system": "You are an agent.",
                "messages": items,
            }
            answered = ask(_PATHS["anthropic"][0], json.dumps(body).encode())
            _settle(app)
            items += [{"role": "assistant", "content": json.loads(answered.body)["content"]}]
            folds = int(answered.changes.get("x-midfold-folded", 0))
            views.append((folds, up.requests[-1].count_tokens()))
            sent.append(_up_to_last_marker(up.requests[-1].json))
        thresholds = [
            session.engine.threshold_tokens for session in app.gateway.parts.index.sessions if session.engine
        ]
    pairs = list(zip(views, views[1:], sent, sent[1:], strict=False))
    stable = [before == after[: len(before)] for (one, _), (two, _), before, after in pairs if one == two]
    headrooms = _headrooms(views, max(thresholds))
    report(
        f"{TURNS} turns: prefixes unchanged between folds; folds; largest request",
        f"{sum(stable)} of {len(stable)}; {views[-1][0]}; {max(tokens for _, tokens in views)}",
        f"all; -; {WINDOW}",
    )
    report("headroom used between two folds: least", f"{min(headrooms):.0%}" if headrooms else "-", "80%")


def _up_to_last_marker(body: dict[str, Any]) -> list[bytes]:
    """Return what a provider would cache, block by block: all up to the last breakpoint, without markers."""
    blocks = [
        *_blocks(body.get("system", "")),
        *(block for item in body["messages"] for block in _blocks(item["content"])),
    ]
    marked = [index for index, block in enumerate(blocks) if "cache_control" in block]
    kept = blocks[: marked[-1] + 1] if marked else blocks
    return [
        json.dumps({key: value for key, value in block.items() if key != "cache_control"}).encode()
        for block in kept
    ]


def _blocks(content: object) -> Items:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)  # type: ignore[call-overload]


def _headrooms(views: Sequence[tuple[int, int]], threshold: int) -> list[float]:
    """Return how much of the room behind a fold is used before the next one is made."""
    used, room_from = [], None
    for (before, last), (folds, tokens) in pairwise(views):
        if folds > before:
            if room_from is not None:
                used.append((last - room_from) / (threshold - room_from))
            room_from = tokens
    return used


def conversations() -> None:
    """Print the figures."""
    passing()
    herd()
    growing()


if __name__ == "__main__":
    conversations()
