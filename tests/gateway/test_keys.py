"""Keys that were given out, at a gateway over real HTTP: whom they let in, where to, and for how much."""

import json
import socket
import threading
from decimal import Decimal

import pytest

from midfold.errors import ConfigError
from midfold.gateway import create_app
from midfold.keys import AUDIT_FILE, BudgetBook, KeyBudget, KeyRing
from midfold.testing import Reply, Upstream
from midfold.tokens import CanonicalUsage

PATH = "/v1/chat/completions"
BODY = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 1_000}
API = "/admin/api"
USED = CanonicalUsage(100_000, 10_000)


@pytest.fixture
def ring(home, store):
    return KeyRing(home)


def text_of(made):
    return made.secret.reveal()


def test_from_the_first_key_on_nobody_is_served_without_one(gateway, ring):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        assert running.ask(PATH, BODY).status == 200
        key = text_of(ring.create("ci"))
        for path, method in ((PATH, "POST"), ("/v1/models", "GET"), (f"{API}/conversations", "GET")):
            assert running.ask(path, BODY, method=method).status == 401
            assert running.ask(path, BODY, method=method, x_midfold_key=f"{key}x").status == 401
        assert running.ask(PATH, BODY, x_midfold_key=key).status == 200
        ring.revoke("ci")
        assert running.ask(PATH, BODY, x_midfold_key=key).status == 401
    assert key not in str([received.headers for received in up.requests])


def test_a_client_key_opens_no_dashboard_and_an_admin_key_opens_its_own(gateway, ring):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        client, admin = text_of(ring.create("ci")), text_of(ring.create("ops", is_admin=True))
        other = text_of(ring.create("red-ops", is_admin=True, tenant="red"))
        for path in (f"{API}/conversations", "/metrics", f"{API}/settings", f"{API}/token"):
            assert running.ask(path, method="GET", x_midfold_key=client).status == 403
            assert running.ask(path, method="GET", x_midfold_key=admin).status == 200
        assert running.ask(f"{API}/conversations", method="GET", x_midfold_key=other).status == 200
        for path in ("/metrics", f"{API}/settings"):
            assert running.ask(path, method="GET", x_midfold_key=other).status == 403


def test_a_key_of_the_gateway_never_goes_to_an_upstream(gateway, ring, tmp_path):
    own = tmp_path / "own"
    own.write_text("sk-own-key-of-the-gateway")
    with Upstream(Reply("ok")) as ours, Upstream(Reply("ok")) as theirs:
        upstreams = {
            "openai": {"base_url": ours.url, "key_file": str(own)},
            "anthropic": {"base_url": theirs.url},
        }
        running = gateway(ours, gateway__upstreams=upstreams)
        key = text_of(ring.create("ci"))
        for given in (
            {"authorization": f"Bearer {key}"},
            {"x_api_key": key},
            {"x_midfold_key": key, "authorization": "Bearer client", "cookie": "a=b", "x_unknown": "1"},
        ):
            assert running.ask(PATH, BODY, **given).status == 200
        for given in (
            {"authorization": f"Bearer {key}"},
            {"x_api_key": key},
            {"x_midfold_key": key, "x_api_key": key},
            {"x_midfold_key": key, "authorization": f"bearer {key}"},
        ):
            answer = running.ask("/v1/messages", BODY, **given)
            assert answer.status == 401
            assert "x-midfold-key and nowhere else" in answer.body.decode()
        assert running.ask("/v1/messages", BODY, x_midfold_key=key, x_api_key="client").status == 200
    for received in ours.requests:
        assert received.headers["authorization"] == "Bearer sk-own-key-of-the-gateway"
        assert not {"cookie", "x-unknown", "x-api-key", "x-midfold-key"} & set(received.headers)
    for received in (*ours.requests, *theirs.requests):
        assert key not in str(received.headers)
    assert [received.headers["x-api-key"] for received in theirs.requests] == ["client"]


@pytest.mark.parametrize(
    "given",
    [
        [("authorization", "Bearer {}"), ("authorization", "Bearer client")],
        [("x-api-key", "{}"), ("x-api-key", "client")],
        [("api-key", "{}")],
        [("x-goog-api-key", "{}")],
        [("authorization", "Basic {}")],
        [("openai-organization", "{}")],
        [("user-agent", "client {}")],
    ],
    ids=str,
)
def test_a_key_that_would_go_out_in_any_header_is_refused(gateway, ring, given):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        key = text_of(ring.create("ci"))
        connection = running.connect()
        connection.putrequest("GET", "/v1/models")
        for name, value in [("x-midfold-key", key), *given]:
            connection.putheader(name, value.format(key))
        connection.endheaders()
        assert connection.getresponse().status == 401
        connection.close()
        for query in (f"key={key}", f"key={key.replace('mfk', '%6dfk')}"):
            assert running.ask(f"/v1/models?{query}", method="GET", x_midfold_key=key).status == 401
    assert up.requests == []


def test_a_key_reaches_its_own_upstream_and_no_other(gateway, ring, tmp_path):
    own = tmp_path / "own"
    own.write_text("sk-of-the-eu")
    with Upstream(Reply("ok")) as usual, Upstream(Reply("eu")) as eu:
        upstreams = {
            "openai": {"base_url": usual.url},
            "anthropic": {"base_url": usual.url},
            "openai-eu": {"base_url": eu.url, "api": "openai", "key_file": str(own)},
        }
        running = gateway(usual, gateway__upstreams=upstreams)
        key = text_of(ring.create("eu", upstreams=["openai-eu"]))
        lost = text_of(ring.create("lost", upstreams=["gone"]))
        for n in range(20):
            headers = {"authorization": f"Bearer {key}", "x_midfold_upstream": "openai"}
            answer = running.ask(PATH, BODY | {"base_url": usual.url, "user": str(n)}, **headers)
            assert answer.status == 200
        assert running.ask("/v1/messages", BODY, x_midfold_key=key).status == 403
        assert running.ask(PATH, BODY, x_midfold_key=lost).status == 403
    assert usual.requests == []
    assert {received.headers["authorization"] for received in eu.requests} == {"Bearer sk-of-the-eu"}


@pytest.mark.parametrize(
    ("upstreams", "words"),
    [
        ({"eu": {"base_url": "http://x"}}, "gateway.upstreams.eu.api is None; expected one of openai"),
        ({"a b": {"base_url": "http://x", "api": "openai"}}, "a name of its own"),
        ({"openai": {"api": "anthropic"}}, "a name of its own"),
    ],
)
def test_an_upstream_that_cannot_be_is_refused(settings_for, upstreams, words):
    with pytest.raises(ConfigError, match=words):
        create_app(settings_for("http://x", gateway__upstreams=upstreams), is_stored=False)


def test_a_rate_is_answered_in_the_words_of_the_api(gateway, ring):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        key = text_of(ring.create("slow", per_minute=2))
        answers = [running.ask(PATH, BODY, x_midfold_key=key) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 429, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 30
    assert "more requests than it may" in answers[-1].json["error"]["message"]


def test_a_hundred_requests_at_once_overshoot_by_no_reservation(gateway, ring, home):
    made = ring.create("poor", budget_dollars=Decimal("0.02"))
    with Upstream(Reply("ok", usage=CanonicalUsage(1_000, 900))) as up:
        running = gateway(up)
        statuses = []

        def ask(n):
            body = BODY | {"messages": [{"role": "user", "content": f"number {n}"}]}
            statuses.append(running.ask(PATH, body, x_midfold_key=text_of(made)).status)

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        running.settle()
    assert set(statuses) <= {200, 402}
    assert 0 < statuses.count(200) < 100
    one = (
        KeyBudget(made.key, BudgetBook(home / "elsewhere")).reserve("openai/gpt-5-mini", 1_000, 1_000).dollars
    )
    assert BudgetBook(home).spent(made.key) <= Decimal("0.02") + one


@pytest.mark.parametrize(
    "asked",
    [
        {"n": 128},
        {"best_of": 128},
        {"max_tokens": 1, "max_completion_tokens": 100_000},
        {"max_tokens": -1_000_000_000},
        {"max_tokens": None},
        {"max_tokens": "1"},
        {"max_tokens": True},
    ],
    ids=str,
)
def test_the_most_that_a_request_may_cost_is_put_aside(gateway, ring, home, asked):
    made = ring.create("poor", budget_dollars=Decimal("0.10"))
    with Upstream(Reply("ok")) as up:
        answer = gateway(up).ask(PATH, BODY | asked, x_midfold_key=text_of(made))
    assert answer.status == 402
    assert up.requests == []
    assert BudgetBook(home).spent(made.key) == 0


def test_a_client_that_does_not_wait_for_its_answer_pays_for_it(gateway, ring, home):
    made = ring.create("poor", budget_dollars=Decimal("1"))
    book = BudgetBook(home)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        running = gateway(f"http://127.0.0.1:{silent.getsockname()[1]}")
        connection = running.connect()
        connection.request("POST", PATH, json.dumps(BODY), {"x-midfold-key": text_of(made)})
        taken, _ = silent.accept()
        assert taken.recv(1)
        reserved = book.spent(made.key)
        connection.close()
        running.settle()
        taken.close()
    assert book.spent(made.key) == reserved > 0


def test_a_budget_is_settled_at_the_real_price(gateway, ring, home):
    made = ring.create("poor", budget_dollars=Decimal("1"))
    key = text_of(made)
    with Upstream(Reply("ok", usage=USED)) as up:
        running = gateway(up)
        assert running.ask(PATH, BODY, x_midfold_key=key).status == 200
        stream = BODY | {"stream": True, "stream_options": {"include_usage": True}}
        assert running.ask(PATH, stream, x_midfold_key=key).status == 200
        running.settle()
        answer = running.ask(PATH, BODY | {"model": "of-nobody"}, x_midfold_key=key)
        assert answer.status == 402
        assert "the price of openai/of-nobody is not known" in answer.body.decode()
    # $0.25 and $2 for a million tokens
    assert BudgetBook(home).spent(made.key) == 2 * (Decimal("0.025") + Decimal("0.02"))


def test_an_answer_that_never_came_costs_nothing(gateway, ring, home):
    made = ring.create("poor", budget_dollars=Decimal("1"))
    running = gateway("http://127.0.0.1:1")
    assert running.ask(PATH, BODY, x_midfold_key=text_of(made)).status == 502
    running.settle()
    assert BudgetBook(home).spent(made.key) == 0


def test_what_cannot_be_read_is_not_sent_on_a_budget(gateway, ring):
    key = text_of(ring.create("poor", budget_dollars=Decimal("1")))
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        assert running.ask(PATH, b"{", x_midfold_key=key).status == 402
        assert running.ask("/v1/responses/compact", b"{}", x_midfold_key=key).status == 402
        assert running.ask("/v1/models", method="GET", x_midfold_key=key).status == 200
    assert len(up.requests) == 1


def test_damaged_keys_let_nobody_in(gateway, ring):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        key = text_of(ring.create("ci"))
        ring.path.write_text("{}x")
        answer = running.ask(PATH, BODY, x_midfold_key=key)
        assert answer.status == 503
        assert running.ask(f"{API}/conversations", method="GET", x_midfold_key=key).status == 503
        assert str(ring.path) not in answer.body.decode()
    assert up.requests == []


def test_the_audit_log_says_who_changed_what(gateway, ring, store, home):
    running = gateway("http://127.0.0.1:1")
    session = store.create_session(source="test", dialect="openai_chat").id
    key = text_of(ring.create("ops", is_admin=True))
    token = running.ask(f"{API}/token", method="GET", x_midfold_key=key).json["token"]
    given = {"x_midfold_key": key, "x_midfold_token": token}
    assert running.ask(f"{API}/conversations/{session}/pins", {"text": "keep it"}, **given).status == 200
    [line] = (home / AUDIT_FILE).read_text().splitlines()
    assert json.loads(line)["by"] == "ops"
    assert json.loads(line)["action"] == "pin"
    assert "keep it" not in line


def test_keys_whose_file_is_lost_let_nobody_in_after_a_restart(gateway, ring):
    ring.create("ci")
    ring.path.unlink()
    with Upstream(Reply("ok")) as up:
        assert gateway(up).ask(PATH, BODY).status == 401
    assert up.requests == []


def test_a_gateway_with_keys_may_listen_to_a_network(settings_for, ring, home):
    everywhere = "0.0.0.0"  # noqa: S104 - it is not listened on
    settings = settings_for("http://127.0.0.1:1", gateway__host=everywhere)
    with pytest.raises(ConfigError, match="midfold keys create"):
        create_app(settings, is_stored=False, home=home)
    ring.create("ci")
    create_app(settings, is_stored=False, home=home)
