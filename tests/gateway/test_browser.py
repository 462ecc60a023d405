"""The dashboard in a real browser: every page loads, and nothing of a transcript runs."""

import html
import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
_RUNS = "document.title='RAN';document.documentElement.setAttribute('data-ran','1')"
PAYLOADS = [
    f"<script>{_RUNS}</script>",
    f'<img src=x onerror="{_RUNS}">',
    f'"><svg onload="{_RUNS}">',
    f"javascript:{_RUNS}",
    f'<iframe srcdoc="<script>parent.{_RUNS}</script>"></iframe>',
    f"</title></pre><body onload={_RUNS}>",
    f"<a href='javascript:{_RUNS}' autofocus onfocus={_RUNS}>x</a>",
    "{{constructor.constructor('" + _RUNS + "')()}}",
]


def load(running, path):
    """Return a page as the browser has it in the end, and what its console said."""
    ran = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--dump-dom",
            f"{running.url}/{path}",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout, [line for line in ran.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture
def hostile(store):
    """A conversation whose every text is an attack."""
    attack = " ".join(PAYLOADS)
    session = store.create_session(source=attack, model=attack, title=attack, dialect="openai_chat")
    call = {"id": "c", "type": "function", "function": {"name": PAYLOADS[1], "arguments": '{"a": 1}'}}
    store.append(
        session.id,
        [
            {"role": "user", "content": f"find me {attack}"},
            {"role": "assistant", "content": attack, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": attack},
            {"role": "assistant", "content": attack},
        ],
    )
    return session.id


def test_every_page_loads_and_no_attack_runs(gateway, hostile):
    running = gateway("http://127.0.0.1:1")
    pages = {
        "#/": "Conversations",
        f"#/conversations/{hostile}": "Pressure",
        f"#/conversations/{hostile}/messages/1": "Message 1",
        "#/search?q=find%20me": "Search",
        "#/usage": "Usage",
        "#/live": "Live",
        "#/settings": "compression.threshold",
        "#/%3Cimg%20src=x%20onerror=alert(1)%3E": "No such page",
    }
    for path, words in pages.items():
        dom, console = load(running, path)
        assert words in dom, path
        assert "[object" not in dom
        assert "data-ran=" not in dom
        assert not re.search(r"<(script|iframe|img|svg)[^>]*(onerror|onload|srcdoc)", dom)
        assert console == [], path
    dom, _ = load(running, f"#/conversations/{hostile}")
    assert html.escape(PAYLOADS[0], quote=False) in dom
