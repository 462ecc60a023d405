"""The dashboard in a real browser: every page works, by keyboard too, and nothing of a transcript runs."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from scripts.browser import CHROMIUM, DRIVER, Browser

from midfold.testing import HttpStatus, Reply, Upstream

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None, reason="needs Chromium and chromedriver (chromium-driver)"
    ),
]
RUNS = "document.documentElement.setAttribute('data-ran','1')"
VECTORS = [
    "<script>{}</script>",
    "<script src=data:text/javascript,{}></script>",
    '<img src=x onerror="{}">',
    "<img src=x onerror={}//",
    '<svg onload="{}">',
    "<svg><script>{}</script></svg>",
    '<svg><animate onbegin="{}" attributeName=x dur=1s>',
    '<body onload="{}">',
    '<iframe srcdoc="<script>parent.{}</script>"></iframe>',
    '<iframe src="javascript:parent.{}"></iframe>',
    '<a href="javascript:{}" autofocus onfocus="{}">x</a>',
    '<input autofocus onfocus="{}">',
    '<details open ontoggle="{}">',
    '<video><source onerror="{}"></video>',
    '<object data="javascript:{}">',
    '<embed src="javascript:{}">',
    '<math href="javascript:{}">x</math>',
    '<form action="javascript:{}"><button autofocus>x</button></form>',
    '<meta http-equiv=refresh content="0;url=javascript:{}">',
    '<link rel=stylesheet href="data:text/css,*{{}}" onload="{}">',
    '<style onload="{}"></style>',
    '<marquee onstart="{}">x</marquee>',
    '<base href="javascript:{}//">',
    "{{{{constructor.constructor('{}')()}}}}",
    "${{{}}}",
    "javascript:{}",
    "data:text/html,<script>{}</script>",
]
BREAKOUTS = ["{}", "\"'>{}", "</title></pre></textarea></style>{}"]
PAYLOADS = [
    outer.format(vector.replace("{}", RUNS).replace("{{", "{").replace("}}", "}"))
    for outer in BREAKOUTS
    for vector in VECTORS
][:80]


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture
def hostile(store):
    """Conversations whose every text is an attack; one is folded and corrected in `attack_by_hand`."""
    call = {"id": "c", "type": "function", "function": {"name": "", "arguments": ""}}
    ids = []
    for number, attack in enumerate(PAYLOADS):
        session = store.create_session(source=attack[:60], model=attack, title=attack, dialect="openai_chat")
        named = {**call, "function": {"name": attack, "arguments": json.dumps({attack: attack})}}
        said = [
            {"role": "user", "content": f"find me {number} {attack}"},
            {"role": "assistant", "content": attack, "tool_calls": [named]},
            {"role": "tool", "tool_call_id": "c", "content": attack},
            {"role": "assistant", "content": attack},
        ]
        store.append(session.id, said)
        ids.append(session.id)
    return ids


def look(browser, running, path, words):
    """Open a page, and check that nothing ran and nothing was even tried."""
    browser.open(f"{running.url}/{path}")
    text = browser.wait_for(
        "document.querySelector('main h1') && document.body.innerText.includes(arguments[0])"
        " && document.body.innerText",
        words,
    )
    assert not browser.run("return document.documentElement.hasAttribute('data-ran')"), path
    assert (
        browser.run(
            "return document.querySelectorAll('main :is(script, iframe, object, embed, style)').length"
        )
        == 0
    )
    assert "[object" not in text
    assert browser.console() == [], path
    return text


def test_eighty_attacks_through_every_text_field_run_nowhere(gateway, browser, hostile):
    assert len(set(PAYLOADS)) == 80
    running = gateway("http://127.0.0.1:1")
    look(browser, running, "#/", "Conversations")
    for number, name in enumerate(hostile):
        text = look(browser, running, f"#/conversations/{name}", "Messages")
        assert PAYLOADS[number][:30].strip() in text
    look(browser, running, f"#/conversations/{hostile[0]}/messages/1", "Message 1")
    look(browser, running, "#/search?q=find%20me", "Search")
    for attack in PAYLOADS[:20]:
        browser.open(f"{running.url}/#/search?q=x")
        script = "location.hash = '#/search?q=' + encodeURIComponent(arguments[0])"
        browser.run(script, attack)
        browser.wait_for("document.querySelector('input[type=search]')?.value === arguments[0]", attack)
        browser.run("location.hash = '#/' + encodeURIComponent(arguments[0])", attack)
        browser.wait_for("document.body.innerText.includes('No such page')")
        assert not browser.run("return document.documentElement.hasAttribute('data-ran')")
    assert browser.console() == []


@pytest.fixture
def talk(store):
    """A conversation that is long enough to be folded."""
    session = store.create_session(source="test", model="gpt-4o", title="The long one", dialect="openai_chat")
    said = [{"role": "user", "content": "Please fix the parser. Never touch migrations/0007.sql."}]
    for number in range(40):
        function = {"name": "read_file", "arguments": f'{{"path": "src/part{number}.py"}}'}
        words = f"Part {number} failed with E{number}, so I decided to use port {4000 + number}."
        said += [
            {
                "role": "assistant",
                "content": words,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"def part_{number}(): pass\n" * 200},
        ]
    store.append(session.id, [*said, {"role": "user", "content": "Go on."}])
    return session.id


def press_button(browser, words):
    """Press the first button with these words, as a person does."""
    browser.wait_for(
        "[...document.querySelectorAll('button')].some((b) => b.textContent === arguments[0])", words
    )
    browser.run(
        "[...document.querySelectorAll('button')].find((b) => b.textContent === arguments[0]).click()", words
    )


def told(browser, words):
    return browser.wait_for("document.getElementById('notice').textContent.includes(arguments[0])", words)


def test_a_person_folds_reads_corrects_and_takes_back(gateway, browser, talk):
    running = gateway("http://127.0.0.1:1", model__context_length=40_000)
    look(browser, running, f"#/conversations/{talk}", "Nothing is folded")
    attack = PAYLOADS[2]
    browser.run("document.querySelector('input[aria-label=Focus]').value = arguments[0]", attack)
    press_button(browser, "Compress now")
    told(browser, "Compressed: ")
    browser.wait_for("document.body.innerText.includes('focus: <img')")
    look(browser, running, f"#/conversations/{talk}/folds/1", "Before and after")
    press_button(browser, "Compare")
    browser.wait_for("document.querySelector('.originals .message')")
    for note in (attack, "The port is 4040."):
        browser.run("document.querySelector('input[aria-label=\"New note\"]').value = arguments[0]", note)
        press_button(browser, "Add")
        told(browser, "Noted.")
        last = browser.run("return location.hash.replace(/\\d+$/, (n) => Number(n) + 1)")
        look(browser, running, last, "Undo this fold")
    assert "The port is 4040." in browser.run("return document.querySelector('main').innerText")
    press_button(browser, "Strike")
    told(browser, "Struck.")
    browser.run("location.hash = location.hash.replace(/\\d+$/, (n) => Number(n) + 1)")
    browser.wait_for("document.querySelector('.note.struck')")
    press_button(browser, "Pin")
    told(browser, "Pinned")
    press_button(browser, "Undo this fold")
    told(browser, "Taken back")
    assert not browser.run("return document.documentElement.hasAttribute('data-ran')")
    look(browser, running, "#/settings", "compression.threshold")
    assert browser.console() == []


def test_requests_appear_live_while_one_watches(gateway, browser):
    hello = {"model": PAYLOADS[2], "messages": [{"role": "user", "content": "secret words"}]}
    with Upstream([Reply("ok"), HttpStatus(500, PAYLOADS[0])]) as up:
        running = gateway(up)
        look(browser, running, "#/live", "Waiting for requests")
        running.ask("/v1/chat/completions", hello)
        browser.wait_for("document.querySelector('tbody tr')?.innerText.includes('<img src=x')")
        running.ask("/v1/chat/completions", hello)
        look(browser, running, "#/usage", "Usage")
    assert "secret words" not in browser.run("return document.body.innerText")
    assert not browser.run("return document.documentElement.hasAttribute('data-ran')")


def test_the_keyboard_reaches_everything(gateway, browser, talk):
    running = gateway("http://127.0.0.1:1")
    look(browser, running, "#/", "Conversations")
    browser.press("Tab")
    assert browser.run("return document.activeElement.className") == "skip"
    browser.press("Enter")
    assert browser.run("return [document.activeElement.id, location.hash]") == ["page", "#/"]
    for _ in range(3):
        browser.press("Tab")
        if browser.run("return document.activeElement.textContent") == "The long one":
            break
    browser.press("Enter")
    browser.wait_for("document.querySelector('h1').textContent === 'The long one'")
    assert browser.run("return document.activeElement.id") == "page"


def pages_of(name):
    """Every page, each with words that it shows once it is there."""
    return {
        "#/": "Conversations",
        f"#/conversations/{name}": "Compress now",
        f"#/conversations/{name}/folds/1": "Before and after",
        f"#/conversations/{name}/messages/3": "Message 3",
        "#/search": "Try:",
        "#/search?q=port": "message",
        "#/search?q=zzqqxx": "Nothing found",
        "#/usage": "Usage",
        "#/live": "Live",
        "#/settings": "Set by you",
        "#/nowhere": "No such page",
    }


FAULTS = """
const all = (selector) => [...document.querySelectorAll(selector)];
const isNamed = (e) => e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length;
const ids = all('[id]').map((e) => e.id);
return [
  ...all('a, button, input, [role=region], [role=img]').filter((e) => !isNamed(e)),
  ...all('img:not([alt])'),
  ...all('[role=row]').filter((e) => !e.querySelector('[role=cell], [role=columnheader]')),
].map((e) => e.outerHTML.slice(0, 200)).concat(
  ids.filter((id, at) => ids.indexOf(id) !== at),
  all('h1').length === 1 ? [] : ['not one heading'],
  document.documentElement.lang ? [] : ['no language']);
"""


def test_every_page_has_names_for_all_that_is_on_it(gateway, browser, talk):
    running = gateway("http://127.0.0.1:1", model__context_length=40_000)
    look(browser, running, f"#/conversations/{talk}", "Nothing is folded")
    press_button(browser, "Compress now")
    told(browser, "Compressed: ")
    for path, words in pages_of(talk).items():
        look(browser, running, path, words)
        assert browser.run(FAULTS) == [], path
    browser.run("document.querySelector('nav a').textContent = ''")
    assert browser.run(FAULTS) != []


def test_a_long_text_is_cut_until_all_of_it_is_asked_for(gateway, browser, store):
    session = store.create_session(source="test", dialect="openai_chat")
    texts = ["x" * 2_000 + " end of the first", "y" * 9_000 + " end of the second"]
    store.append(session.id, [{"role": "user", "content": text} for text in texts])
    running = gateway("http://127.0.0.1:1")
    shown = look(browser, running, f"#/conversations/{session.id}", "Show all 9,018 characters")
    assert "end of the" not in shown
    for words, size in (("first", "2,017"), ("second", "9,018")):
        press_button(browser, f"Show all {size} characters")
        browser.wait_for("document.body.innerText.includes(arguments[0])", f"end of the {words}")


class HostilePage(BaseHTTPRequestHandler):
    """An upstream that answers with a page."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(f"<p>nothing there<script>{RUNS}</script>".encode())

    def log_message(self, *_args):
        pass


def test_a_page_in_an_answer_of_an_upstream_runs_nothing(gateway, browser):
    with ThreadingHTTPServer(("127.0.0.1", 0), HostilePage) as upstream:
        threading.Thread(target=upstream.serve_forever).start()
        try:
            browser.open(f"{gateway(f'http://127.0.0.1:{upstream.server_port}').url}/v1/models/x")
            browser.wait_for("document.body.innerText.includes('nothing there')")
        finally:
            upstream.shutdown()
    assert not browser.run("return document.documentElement.hasAttribute('data-ran')")
    assert "sandboxed" in " ".join(browser.console())


def test_a_page_fits_a_phone_in_light_and_dark(gateway, browser, talk):
    running = gateway("http://127.0.0.1:1", model__context_length=40_000)
    look(browser, running, f"#/conversations/{talk}", "Nothing is folded")
    press_button(browser, "Compress now")
    told(browser, "Compressed: ")
    for is_dark in (False, True):
        browser.resize(390, 844, is_dark=is_dark)
        pages = {"#/": "Conversations"} if is_dark else pages_of(talk)
        for path, words in pages.items():
            look(browser, running, path, words)
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= 390, (path, wide)
            cut = (
                "return [...document.querySelectorAll('.card')].filter((e) => e.scrollWidth > e.clientWidth)"
            )
            assert browser.run(f"{cut}.map((e) => e.ariaLabel)") in ([], ["Chain"]), path
        ground = browser.run("return getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(20, 23, 28)") is is_dark
    browser.resize(1200, 900)


def test_a_gateway_with_a_key_asks_for_it(gateway, browser, tmp_path):
    (tmp_path / "key").write_text("gw-1234567890abcdef")
    running = gateway("http://127.0.0.1:1", gateway__key_file=str(tmp_path / "key"))
    browser.open(f"{running.url}/")
    browser.wait_for("document.querySelector('input[type=password]')")
    browser.run("document.querySelector('input[type=password]').value = 'gw-1234567890abcdef'")
    press_button(browser, "Go on")
    browser.wait_for("document.body.innerText.includes('Nothing here yet')")
    browser.console()


def test_ten_thousand_conversations_are_painted_without_a_wait(gateway, browser, store):
    for number in range(10_000):
        store.create_session(source="test", title=f"number {number}", dialect="openai_chat")
    running = gateway("http://127.0.0.1:1")
    running.ask("/", method="GET")
    look(browser, running, "#/", "number 9999")
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        browser.open(f"{running.url}/#/")
        browser.wait_for("document.querySelectorAll('tbody tr').length >= 50")
        whole = time.perf_counter() - started
        paint = browser.run("return performance.getEntriesByType('paint').at(-1).startTime / 1000")
        seconds.append((round(paint, 3), round(whole, 3)))
    print("first paint and the whole list, seconds:", seconds)  # noqa: T201
    # Some 0.2 s where nothing else runs; a list that holds all of them takes minutes.
    assert min(whole for _, whole in seconds) <= 10
