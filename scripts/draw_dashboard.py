"""Draw the pictures of the dashboard: the real gateway in Chromium, with a bundled transcript."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from browser import Browser
from draw_pictures import ROOT

from midfold.testing import Reply, Upstream
from midfold.testing.upstream import Received
from midfold.tokens import CanonicalUsage

TRANSCRIPT = ROOT / "examples" / "transcripts" / "parking-meter.json"
IMAGES = ROOT / "docs" / "images"
WIDTH = 1000
BYTES_PER_TOKEN = 4


def main() -> None:
    """Say a transcript turn by turn, fold it, and take a picture of the conversation and of its fold."""
    with (
        TemporaryDirectory() as home,
        Upstream(answer) as upstream,
        serve(Path(home), upstream.url) as url,
        Browser() as browser,
    ):
        talk(url)
        api = f"{url}/admin/api"
        (conversation,) = ask(f"{api}/conversations")["conversations"]
        path = f"conversations/{conversation['id']}"
        token = ask(f"{api}/token")["token"]
        ask(f"{api}/{path}/compress", {}, {"x-midfold-token": token})
        shoot(browser, f"{url}/#/{path}", "Compress now", 850, IMAGES / "dashboard-conversation.png")
        shoot(browser, f"{url}/#/{path}/folds/1", "Undo", 900, IMAGES / "dashboard-fold.png")


def answer(received: Received) -> Reply:
    """Answer as a provider does that has all but the newest of a prompt in its cache."""
    tokens = len(received.body) // BYTES_PER_TOKEN
    return Reply("ok", usage=CanonicalUsage(tokens // 10, 300, cache_read_tokens=tokens - tokens // 10))


def talk(url: str) -> None:
    """Send the transcript through the gateway as a client does, each time with one reply more."""
    said = json.loads(TRANSCRIPT.read_text())["messages"]
    for number, message in enumerate(said):
        if message["role"] == "assistant":
            ask(f"{url}/v1/chat/completions", {"model": "gpt-5-mini", "messages": said[:number]})


@contextmanager
def serve(home: Path, upstream: str) -> Iterator[str]:
    """Run a gateway on a folder of its own, and yield its address."""
    environ = {
        **os.environ,
        "MIDFOLD_HOME": str(home),
        "MIDFOLD_GATEWAY__UPSTREAMS__OPENAI__BASE_URL": upstream,
        "MIDFOLD_MODEL__CONTEXT_LENGTH": "128000",
    }
    midfold = [sys.executable, "-m", "midfold"]
    gateway = subprocess.Popen(
        [*midfold, "serve", "--port", "0"], env=environ, stderr=subprocess.PIPE, text=True
    )
    try:
        lines = iter(gateway.stderr or ())
        found = re.search(r"http://\S+", next(lines))
        if found is None:
            raise SystemExit("the gateway did not say where it listens")
        while "clients" not in next(lines):
            continue
        yield found[0]
    finally:
        gateway.terminate()
        gateway.communicate()


def ask(url: str, body: object = None, headers: dict[str, str] | None = None) -> dict[str, object]:
    """Ask the admin API."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **(headers or {})})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
        return json.load(answer)


def shoot(browser: Browser, url: str, words: str, height: int, path: Path) -> None:
    """Take a picture of a page once it shows these words."""
    browser.resize(WIDTH, height)
    browser.open(url)
    browser.wait_for("document.body.innerText.includes(arguments[0])", words)
    browser.shoot(path)
    print(path)


if __name__ == "__main__":
    main()
