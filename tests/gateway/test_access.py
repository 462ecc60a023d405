"""Who may use the gateway, and whose key goes where."""

import pytest

from midfold.errors import ConfigError
from midfold.gateway import GatewayServer, create_app
from midfold.testing import HttpStatus, Reply, Upstream

BODY = {"model": "any", "messages": [{"role": "user", "content": "hello"}]}
PATH = "/v1/chat/completions"
KEY = "gw-1234567890abcdef"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - it is refused


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(0o600)
    return str(path)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:9999", 200),
        ("localhost:8787", 200),
        ("[::1]:8787", 200),
        ("gateway.example", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:8787", 403),
        ("evil.example@127.0.0.1", 403),
        ("127.0.0.1/evil", 403),
        (EVERYWHERE, 403),
        ("2130706433", 403),
    ],
)
def test_a_host_name_that_is_not_the_gateways_is_refused(gateway, host, status):
    with Upstream(Reply("ok")) as up:
        answer = gateway(up, gateway__allowed_hosts=["gateway.example"]).ask(PATH, BODY, host=host)
    assert answer.status == status
    assert len(up.requests) == (status == 200)


@pytest.mark.parametrize("name", ["host", "origin"])
@pytest.mark.parametrize("path", ["/v1/models", "/admin/api/conversations"])
def test_two_names_in_one_request_are_refused(gateway, name, path):
    running = gateway("http://127.0.0.1:1")
    connection = running.connect()
    connection.putrequest("GET", path, skip_host=True)
    ours = running.url.removeprefix("http://")
    for value in ("evil.example", ours) if name == "host" else (ours,):
        connection.putheader("host", value)
    for value in ("http://evil.example", running.url) if name == "origin" else ():
        connection.putheader("origin", value)
    connection.endheaders()
    assert connection.getresponse().status == 403
    connection.close()


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8787", 200),
        ("http://localhost", 200),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://127.0.0.1.evil.example", 403),
    ],
)
def test_requests_of_foreign_web_pages_are_refused(gateway, origin, status):
    with Upstream(Reply("ok")) as up:
        answer = gateway(up).ask(PATH, BODY, origin=origin)
    assert answer.status == status
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("wrong", ["", "gw-1234567890abcdeF", KEY + "x", "' OR '1'='1", "x" * 50_000])
def test_without_the_key_nothing_is_served(gateway, key_file, wrong):
    with Upstream(Reply("ok")) as up:
        running = gateway(up, gateway__key_file=key_file)
        headers = {"x_midfold_key": wrong} if wrong else {}
        for path, method in ((PATH, "POST"), ("/v1/models", "GET"), ("/v1/responses/x", "DELETE")):
            answer = running.ask(path, BODY, method=method, authorization="Bearer client", **headers)
            assert answer.status == 401
            assert KEY not in answer.body.decode()
    assert up.requests == []


def test_with_the_key_the_clients_own_goes_on_and_the_gateways_does_not(gateway, key_file):
    with Upstream(Reply("ok")) as up:
        running = gateway(up, gateway__key_file=key_file)
        answer = running.ask(PATH, BODY, x_midfold_key=KEY, authorization="Bearer client")
    assert answer.status == 200
    assert up.requests[0].headers["authorization"] == "Bearer client"
    assert KEY not in str(up.requests[0].headers)


def test_keys_are_bound_to_their_upstream(gateway, key_file, tmp_path):
    own = tmp_path / "own"
    own.write_text("sk-own-key-of-the-gateway")
    own.chmod(0o600)
    with Upstream(Reply("ok")) as openai, Upstream(Reply("ok")) as anthropic:
        upstreams = {
            "openai": {"base_url": openai.url, "key_file": str(own)},
            "anthropic": {"base_url": anthropic.url},
        }
        running = gateway(openai, gateway__upstreams=upstreams, gateway__key_file=key_file)
        for _ in range(20):
            assert running.ask(PATH, BODY, authorization=f"Bearer {KEY}").status == 200
            assert running.ask(PATH, BODY, x_api_key=KEY, cookie="a=b").status == 200
            headers = {"x_midfold_key": KEY, "x_api_key": "client-key", "anthropic_version": "2023-06-01"}
            assert running.ask("/v1/messages", BODY | {"max_tokens": 5}, **headers).status == 200
            assert running.ask("/v1/models", method="GET", **headers).status == 200
            assert running.ask("/v1/messages", BODY, authorization=f"Bearer {KEY}").status == 401
    for received in openai.requests:
        assert received.headers["authorization"] == "Bearer sk-own-key-of-the-gateway"
        assert "x-api-key" not in received.headers
        assert "cookie" not in received.headers
        assert KEY not in str(received.headers)
    for received in anthropic.requests:
        assert received.headers["x-api-key"] == "client-key"
        assert "sk-own" not in str(received.headers)


def test_a_client_cannot_name_an_upstream(gateway):
    with Upstream(Reply("no")) as other, Upstream(Reply("ok")) as up:
        running = gateway(up)
        body = BODY | {"api_base": other.url, "base_url": other.url}
        headers = {
            "x_forwarded_host": other.url,
            "forwarded": f"host={other.url}",
            "x_midfold_upstream": other.url,
        }
        assert running.ask(PATH, body, **headers).status == 200
        absolute = running.ask(f"{other.url}/v1/chat/completions", BODY)
        assert absolute.status in (200, 404)
    assert other.requests == []
    assert not {"x-forwarded-host", "forwarded", "x-midfold-upstream"} & set(up.requests[0].headers)


def test_an_answer_of_an_upstream_sets_nothing_and_runs_nothing_at_our_address(gateway):
    page = HttpStatus(
        404,
        "<script>alert(1)</script>",
        headers={
            "content-type": "text/html",
            "set-cookie": "a=b",
            "x-midfold-folded": "99",
            "x-kept": "as it came",
        },
    )
    with Upstream(page) as up:
        headers = gateway(up).ask(PATH, BODY).headers
    assert not {"set-cookie", "x-midfold-folded"} & set(headers)
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-kept"] == "as it came"


def test_beyond_loopback_it_does_not_start_without_a_key(settings_for, key_file):
    with pytest.raises(ConfigError, match=r"gateway.host is '0.0.0.0'; expected 127.0.0.1, or a key"):
        create_app(settings_for("http://127.0.0.1:1", gateway__host=EVERYWHERE), is_stored=False)
    settings = settings_for("http://127.0.0.1:1", gateway__host=EVERYWHERE, gateway__key_file=key_file)
    server = GatewayServer(create_app(settings, is_stored=False))
    assert server.url.startswith("http://127.0.0.1:")
    server.close()


def test_giants_are_refused_before_they_are_read(gateway):
    with Upstream(Reply("ok")) as up:
        running = gateway(up, gateway__max_body_bytes=1_000)
        assert running.ask(PATH, b"x" * 1_001).status == 413
        assert running.ask(PATH, BODY, x_big="y" * 60_000).status in (200, 431)
        assert running.ask(PATH, BODY, **{f"x_big_{n}": "y" * 7_000 for n in range(10)}).status == 431
    assert len(up.requests) <= 1


@pytest.mark.parametrize(
    ("upstreams", "words"),
    [
        ({"azure": {}}, "gateway.upstreams.azure"),
        ({"openai": {"base_url": "ftp://x"}}, "http"),
        ({"openai": {"key": "sk-secret"}}, "one of base_url, key_env"),
        ({"openai": {"key_env": "NOT_SET_ANYWHERE"}}, "a variable that holds the key"),
        ({"openai": {"provider": "nobody"}}, "gateway.upstreams.openai.provider"),
        ({"openai": 5}, "a mapping with"),
    ],
)
def test_upstreams_that_cannot_be_are_refused_at_once(settings_for, upstreams, words):
    with pytest.raises(ConfigError, match=words) as raised:
        create_app(settings_for("http://x", gateway__upstreams=upstreams), is_stored=False)
    assert "sk-secret" not in str(raised.value)
