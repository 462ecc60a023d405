"""Drives a real Chromium over WebDriver, for the tests of the dashboard and the pictures of its docs.

It needs `chromium` and `chromedriver`, and nothing else: WebDriver is JSON over HTTP.
"""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)
_WAIT_SECONDS = 60.0


class Browser:
    """A browser with one window: `with Browser() as browser: browser.open(url)`."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        self._driver = subprocess.Popen(
            [str(DRIVER), f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._session = ""
        try:
            self._session = self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        if self._session:
            self._ask("DELETE", "")
        self._driver.terminate()
        self._driver.wait(10)
        self._folder.cleanup()

    def _begin(self) -> str:
        chrome = {"binary": CHROMIUM, "args": [*_FLAGS, f"--user-data-dir={self._folder.name}"]}
        wanted = {"goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}
        until = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                return f"/session/{made['sessionId']}"
            except urllib.error.URLError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def open(self, url: str) -> None:
        """Load an address from the beginning, also where only the part behind the # is another."""
        self._ask("POST", "/url", {"url": "about:blank"})
        self._ask("POST", "/url", {"url": url})

    def run(self, script: str, *args: object) -> Any:
        """Run a function body in the page; its value is JSON."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def run_later(self, script: str, *args: object) -> Any:
        """Run a function body whose last argument is called with the value."""
        return self._ask("POST", "/execute/async", {"script": script, "args": list(args)})

    def wait_for(self, condition: str, *args: object) -> Any:
        """Wait until an expression is true in the page, and return it."""
        until = time.monotonic() + _WAIT_SECONDS
        while not (value := self.run(f"return {condition}", *args)):
            if time.monotonic() > until:
                raise TimeoutError(f"{condition} at {self.run('return document.body.innerText')[:500]}")
            time.sleep(0.02)
        return value

    def resize(self, width: int, height: int, *, is_dark: bool = False) -> None:
        """Set the size of the page, and whether it is shown dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._devtools("Emulation.setEmulatedMedia", {"features": [scheme]})

    def press(self, key: str) -> None:
        """Press a key, such as Tab or Enter."""
        codes = {"Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r")}
        code, number, text = codes[key]
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number, "text": text}
            self._devtools("Input.dispatchKeyEvent", event)

    def console(self) -> list[str]:
        """Return what the console said since it was last asked."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def shoot(self, path: Path) -> None:
        """Save a picture of the page."""
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def _devtools(self, command: str, given: dict[str, object]) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": given})

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        return self._call(method, f"{self._session}{path}", body)

    def _call(self, method: str, path: str, body: object) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        asked = urllib.request.Request(f"{self._url}{path}", data, headers, method=method)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None
