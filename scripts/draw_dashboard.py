"""Draw the pictures of the dashboard: the real gateway in Chromium, with a bundled session."""

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

TRANSCRIPT = ROOT / "examples" / "transcripts" / "parking-meter.json"
IMAGES = ROOT / "docs" / "images"
WIDTH = 1000


def main() -> None:
    """Import a transcript, fold it with a focus, and take a picture of the conversation and of its fold."""
    with TemporaryDirectory() as home, serve(Path(home)) as url, Browser() as browser:
        api = f"{url}/admin/api"
        (conversation,) = ask(f"{api}/conversations")["conversations"]
        path = f"conversations/{conversation['id']}"
        token = ask(f"{api}/token")["token"]
        ask(f"{api}/{path}/compress", {"focus": "tariff"}, {"x-midfold-token": token})
        shoot(browser, f"{url}/#/{path}", "Compress now", 830, IMAGES / "dashboard-conversation.png")
        shoot(browser, f"{url}/#/{path}/folds/1", "Undo", 900, IMAGES / "dashboard-fold.png")


@contextmanager
def serve(home: Path) -> Iterator[str]:
    """Run a gateway on a folder with one imported conversation, and yield its address."""
    environ = {**os.environ, "MIDFOLD_HOME": str(home)}
    midfold = [sys.executable, "-m", "midfold"]
    subprocess.run(
        [*midfold, "sessions", "import", str(TRANSCRIPT)], env=environ, check=True, capture_output=True
    )
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
