"""The admin API over real HTTP: what it shows, what it changes, and whom it refuses."""

import json
import re
from itertools import product

import pytest

from midfold.gateway.admin import ADMIN_ROUTES
from midfold.gateway.admin.answers import ANSWERS
from midfold.gateway.admin.routes import find_admin_route
from midfold.keys import AUDIT_FILE
from midfold.testing import Reply, Upstream

API = "/admin/api"
NOWHERE = "http://127.0.0.1:1"
RULE = "Never touch the file migrations/0007.sql, whatever happens."


@pytest.fixture
def talk(store):
    """A long conversation in the store."""
    session = store.create_session(source="test", model="gpt-4o", title="The long one", dialect="openai_chat")
    said = [{"role": "user", "content": "Please fix the parser in src/app.py."}]
    for number in range(60):
        function = {"name": "read_file", "arguments": f'{{"path": "src/part{number}.py"}}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        words = f"Part {number} failed with error E{number * 31}, so I decided to use port {4000 + number}."
        result = f"def part_{number}(): return {number * 7919}\n" * 400
        said += [
            {"role": "assistant", "content": words, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        ]
        if number == 9:
            said += [{"role": "user", "content": RULE}, {"role": "assistant", "content": "I will not."}]
    said += [{"role": "user", "content": "Go on, please."}, {"role": "assistant", "content": "I do."}]
    store.append(session.id, said)
    return session.id


KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def check_answer(schema, value, at="answer"):
    """Fail where a value is not as the description of the API says."""
    if "type" not in schema:
        return
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    assert any(isinstance(value, KINDS[kind]) for kind in kinds), (at, value)
    if isinstance(value, dict):
        assert set(schema["required"]) <= set(value), at
        for name, each in schema["properties"].items():
            check_answer(each, value[name], f"{at}.{name}")
    for each in value if isinstance(value, list) else ():
        check_answer(schema["items"], each, f"{at}[]")


class Person:
    """Somebody with a browser."""

    def __init__(self, running):
        self.running = running
        self.token = self.get("/token")["token"]

    def get(self, path):
        answer = self.running.ask(f"{API}{path}", method="GET")
        assert answer.status == 200, answer.body
        self.check("GET", path, answer.json)
        return answer.json

    def check(self, method, path, value):
        route, _ = find_admin_route(method, path.partition("?")[0])
        check_answer(ANSWERS[route.operation], value, f"{method} {path}")

    def change(self, path, body, method="POST", **headers):
        given = {"x_midfold_token": self.token, **headers}
        return self.running.ask(f"{API}{path}", body, method=method, **given)

    def done(self, path, body, method="POST"):
        answer = self.change(path, body, method)
        assert answer.status == 200, answer.body
        self.check(method, path, answer.json)
        return answer.json


@pytest.fixture
def person(gateway):
    return Person(gateway(NOWHERE, model__context_length=70_000))


def test_conversations_come_in_pages(person, store, talk):
    for number in range(5):
        store.create_session(source="test", title=f"number {number}")
    first = person.get("/conversations?limit=4")
    second = person.get(f"/conversations?limit=4&after={first['next']}")
    ids = [each["id"] for page in (first, second) for each in page["conversations"]]
    assert len(ids) == len(set(ids)) == 6
    assert second["next"] is None


def test_a_conversation_is_folded_read_corrected_and_unfolded(person, talk, store, home):
    folded = person.done(f"/conversations/{talk}/compress", {"focus": "the parser"})
    assert folded["changed"]
    assert re.match(r"Compressed: 125 → \d+ messages", folded["headline"])
    shown = person.get(f"/conversations/{talk}")
    assert [each["kind"] for each in shown["chain"]] == ["root", "continuation"]
    assert shown["folds"][0]["focus"] == "the parser"
    before, after = (point["tokens"] for point in shown["pressure"][-2:])
    assert (before, after) == (shown["folds"][0]["tokens_before"], shown["folds"][0]["tokens_after"])
    fold = person.get(f"/conversations/{talk}/folds/1")
    assert fold["is_newest"]
    assert {row["before"] for row in fold["rows"] if row["before"] is not None} == set(range(125))
    assert "folded" in {row["fate"] for row in fold["rows"]}
    assert all(loss["index"] < 125 for loss in fold["losses"])
    rule = next(note for note in fold["notes"] if RULE in note["text"])
    assert rule["author"] == "user"
    source = rule["sources"][0]["number"]
    [message] = person.get(f"/sessions/{talk}/messages?start={source}&limit=1")["messages"]
    assert RULE in message["parts"][0]["text"]

    person.done(f"/conversations/{talk}/notes/strike", {"numbers": [rule["number"]]})
    assert person.change(f"/conversations/{talk}/notes/strike", {"numbers": [rule["number"]]}).status == 409
    person.done(f"/conversations/{talk}/notes", {"text": "The port is 4040."})
    person.get("/conversations")
    notes = person.get(f"/conversations/{talk}/notes")["notes"]
    [added] = [note for note in notes if note["text"] == "The port is 4040."]
    assert added["author"] == "you"
    person.done(f"/conversations/{talk}/notes/{added['number']}", {"text": "The port is 5050."}, "PUT")
    texts = [note["text"] for note in person.get(f"/conversations/{talk}/notes")["notes"]]
    assert "The port is 5050." in texts
    assert person.done(f"/conversations/{talk}/pins", {"text": "Keep it small."})["pins"] == [
        "Keep it small."
    ]
    assert person.done(f"/conversations/{talk}/pins", {"text": "Keep it small."}, "DELETE")["pins"] == []
    for _ in range(4):
        person.done(f"/conversations/{talk}/undo", {})
    assert person.get(f"/conversations/{talk}")["folds"] == []
    assert person.change(f"/conversations/{talk}/undo", {}).status == 409
    lines = [json.loads(line) for line in (home / AUDIT_FILE).read_text().splitlines()]
    assert [line["action"] for line in lines][:4] == ["compress", "note-strike", "note-strike", "note-add"]
    assert lines[-1]["refused"] == "StoreError"
    assert "4040" not in (home / AUDIT_FILE).read_text()
    assert (home / AUDIT_FILE).stat().st_mode & 0o077 == 0


def test_what_cannot_be_audited_is_not_done(person, talk, home):
    (home / AUDIT_FILE).mkdir()
    answer = person.change(f"/conversations/{talk}/pins", {"text": "keep"})
    assert answer.status == 503
    assert "the audit log cannot be written" in answer.json["error"]
    assert person.get(f"/conversations/{talk}")["pins"] == []


def test_an_error_of_ours_is_told_in_one_line(person, monkeypatch, caplog):
    monkeypatch.setattr("midfold.gateway.admin.reading.AdminReader.usage", lambda *_: {}["a secret"])
    answer = person.running.ask(f"{API}/usage", method="GET")
    assert (answer.status, answer.json) == (500, {"error": "the gateway failed (KeyError)"})
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "the dashboard failed: KeyError" in caplog.text


def test_messages_come_in_pages_and_credentials_are_not_shown(person, store):
    session = store.create_session(source="test", dialect="openai_chat")
    key = "sk-proj-" + "a1B2c3D4e5" * 4
    store.append(session.id, [{"role": "user", "content": f"my key is {key} {n}"} for n in range(7)])
    page = person.get(f"/sessions/{session.id}/messages?start=5&limit=50")
    assert [each["number"] for each in page["messages"]] == [5, 6]
    assert page["total"] == 7
    assert key not in json.dumps(page)


def test_search_usage_and_settings_answer(person, talk):
    found = person.get("/search?q=which+file+must+not+be+touched")
    assert any(RULE in "".join(piece["text"] for piece in hit["pieces"]) for hit in found["hits"])
    usage = person.get("/usage?days=7")
    assert {"net", "left_out"} <= set(usage["savings"])
    assert "hit_rate" in usage["cache"]
    keys = {each["key"] for each in person.get("/settings")["settings"]}
    assert {"compression.threshold", "gateway.port"} <= keys


def test_the_description_is_made_from_the_routes(person):
    described = person.get("/openapi.json")
    assert described["openapi"] == "3.1.0"
    operations = {
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    }
    assert operations == {(route.method, f"{API}{route.path}") for route in ADMIN_ROUTES}
    assert set(ANSWERS) == {route.operation for route in ADMIN_ROUTES}


def test_requests_are_seen_live_without_what_they_say(gateway):
    with Upstream(Reply("forty-two")) as up:
        running = gateway(up)
        running.ask("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "word"}]})
        running.settle()
        connection = running.connect()
        connection.request("GET", f"{API}/events")
        response = connection.getresponse()
        lines = []
        while not any(line.startswith(b"data:") for line in lines):
            lines.append(response.readline())
        connection.close()
    event = json.loads(lines[-1].removeprefix(b"data: "))
    assert event["kind"] == "request"
    assert event["model"] == "m"
    assert b"forty-two" not in b"".join(lines)
    assert b"word" not in b"".join(lines)


def test_health_readiness_and_metrics(gateway):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        assert running.ask("/healthz", method="GET").json == {"status": "ok"}
        assert running.ask("/readyz", method="GET").json == {"status": "ready"}
        running.ask("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
        running.settle()
        text = running.ask("/metrics", method="GET").body.decode()
    assert 'midfold_requests_total{kind="model",status="200"} 1' in text
    sample = re.compile(r'(# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)')
    assert all(sample.fullmatch(line) for line in text.splitlines())


def test_a_gateway_stops_while_somebody_watches(settings_for, run_gateway):
    with run_gateway(settings_for(NOWHERE)) as running:
        connection = running.connect()
        connection.request("GET", f"{API}/events")
        response = connection.getresponse()
        assert response.readline() == b": hello\n"
    assert response.read() == b"\n"
    connection.close()


# -- who is refused


@pytest.mark.parametrize("key", ["", "wrong", "' OR '1'='1", "x" * 50_000, "Bearer ", "gw-1234567890abcdeF"])
def test_without_the_key_no_route_answers(keyed, key):
    for route in ADMIN_ROUTES:
        path = f"{API}{route.path}".replace("{id}", "a").replace("{number}", "1")
        answer = keyed.ask(path, b"{}", method=route.method, **({"x_midfold_key": key} if key else {}))
        assert answer.status == 401, path
        assert set(answer.json) == {"error"}


def test_with_the_key_it_answers(keyed):
    assert keyed.ask("/metrics", method="GET").status == 401
    assert keyed.ask("/healthz", method="GET").status == 200
    assert keyed.ask("/", method="GET").status == 200
    assert keyed.ask(f"{API}/settings", method="GET", x_midfold_key="gw-1234567890abcdef").status == 200


@pytest.fixture
def keyed(gateway, tmp_path):
    path = tmp_path / "key"
    path.write_text("gw-1234567890abcdef")
    path.chmod(0o600)
    return gateway(NOWHERE, gateway__key_file=str(path))


_HOSTS = (
    "127.0.0.1",
    "localhost:{port}",
    "[::1]:{port}",
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost@evil.example",
    "0.0.0.0:{port}",
    "2130706433",
    "127.0.0.1/x",
    "evil.example:{port}",
)
_ORIGINS = (
    None,
    "same",
    "https://evil.example",
    "null",
    "http://127.0.0.1:9",
    "http://localhost.evil.example",
)


def test_only_our_own_pages_under_our_own_names_are_served(person):
    for host, origin in product(_HOSTS, _ORIGINS):
        named = host.format(port=person.running.url.rpartition(":")[2])
        sent = {"origin": f"http://{named}" if origin == "same" else origin} if origin else {}
        is_ours = host in _HOSTS[:3] and origin in (None, "same")
        for path in ("/", "/healthz", "/metrics", f"{API}/conversations"):
            answer = person.running.ask(path, method="GET", host=named, **sent)
            assert answer.status == (200 if is_ours else 403), (host, origin, path)
            assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"content_type": "multipart/form-data; boundary=x"}, 415),
        ({"content_encoding": "gzip"}, 415),
        ({"x_midfold_token": ""}, 403),
        ({"x_midfold_token": "guessed"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
    ],
)
def test_forged_changes_change_nothing(person, talk, headers, status):
    assert person.change(f"/conversations/{talk}/pins", {"text": "forged"}, **headers).status == status
    assert person.get(f"/conversations/{talk}")["pins"] == []


HOSTILE_BODIES = [  # the first two are nested deeply
    b"[" * 5_000 + b"]" * 5_000,
    b'{"a":' * 200 + b"1" + b"}" * 200,
    b'{"text": ' + b"1" * 5_000 + b"}",
    b'{"text": NaN}',
    b'{"text": Infinity}',
    b'{"text": "a", "text": "b"}',
    b'{"text": "\\ud800"}',
    b'{"text": "a\\u0000b"}',
    b'{"text": "x", "other": 1}',
    b'{"text": 5}',
    b"[]",
    b"\xff\xfe",
    b"{",
    b"null",
    b"",
    b'{"text": "' + b"x" * 9_000 + b'"}',
]


def test_hostile_bodies_are_refused_in_one_line(person, talk):
    for body in HOSTILE_BODIES:
        answer = person.change(f"/conversations/{talk}/pins", body)
        assert answer.status == 400, body[:40]
        assert ("nested deeper than 100" in answer.json["error"]) == (body in HOSTILE_BODIES[:2])
        assert "\n" not in answer.json["error"]


def test_a_giant_body_is_refused(person, talk):
    answer = person.change(f"/conversations/{talk}/pins", b'{"text": "' + b"x" * 300_000)
    assert answer.status == 413


@pytest.mark.parametrize(
    "path",
    [
        "/conversations?limit=0",
        "/conversations?limit=9999999999999",
        "/conversations?limit=-1",
        "/conversations?limit=%D9%A1",
        "/usage?days=100000",
        "/search?q=%00",
        "/search?q=%ff",
        "/search?q=a&order=sideways",
        "/sessions/a/messages?view=sideways",
        "/sessions/a/messages?full=maybe",
    ],
)
def test_wrong_queries_are_refused_in_one_line(person, path):
    answer = person.running.ask(f"{API}{path}", method="GET")
    assert answer.status == 400
    assert answer.json["error"]


@pytest.mark.parametrize(
    "name", ["nobody", "0" * 32, "%27%20OR%201=1", "%00", "..%2f..%2fetc", "%F0%9F%98%80"]
)
def test_what_is_not_there_is_not_found_in_the_same_words(person, name):
    answer = person.running.ask(f"{API}/conversations/{name}", method="GET")
    assert (answer.status, answer.json) == (404, {"error": "there is no such conversation"})


def test_unknown_paths_and_methods_are_refused(person):
    assert person.running.ask(f"{API}/nothing", method="GET").status == 404
    assert person.running.ask(f"{API}/settings", b"{}", method="POST").status == 405
    assert person.running.ask("/", b"{}", method="POST").status == 405
    assert person.running.ask("/static/../app.py", method="GET").status == 404
    assert person.running.ask("/static/%2e%2e/app.py", method="GET").status == 404


def test_every_answer_forbids_scripts_that_are_not_ours(person):
    for path in ("/", "/healthz", f"{API}/settings", f"{API}/nothing"):
        headers = person.running.ask(path, method="GET").headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
