"""A relayed request and its answer are the same bytes on both sides, whatever they are."""

import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.providers import KeySource, Relay, RelayRequest, RequestRefused

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def pass_on(url: str, request: RelayRequest, **options) -> tuple[int, tuple, bytes]:
    async with (
        Relay.open("local", base_url=url, **{"keys": KeySource.CLIENT, **options}) as relay,
        relay.send(request) as answer,
    ):
        return answer.status, answer.headers, b"".join([chunk async for chunk in answer.chunks()])


def lines_of(head: bytes) -> list[bytes]:
    return head.removesuffix(b"\r\n\r\n").split(b"\r\n")


def chunked(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"


NAMES = st.text("abcdefghijklmnopqrstuvwxyz-0123456789", min_size=1, max_size=12).map(
    lambda name: f"x-{name}"
)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126) | st.sampled_from("é世"), max_size=30)
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=6)
SAFE = "abcXYZ019-_~!$&'()*+,;=:@"
PATHS = st.lists(
    st.text(SAFE, min_size=1, max_size=8) | st.sampled_from(["%2F", "%E4%B8%96", "a%20b", "a.b"]), min_size=1
).map(lambda parts: "/" + "/".join(parts))
QUERIES = st.text(SAFE + '%/?[]{}|^"<>.', max_size=30)


@pytest.mark.slow
def test_random_requests_and_answers_arrive_byte_for_byte(serve):
    to_send: list[bytes] = []

    async def write(writer):
        for piece in to_send:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    with serve(write) as server, asyncio.Runner() as runner:

        @given(
            st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
            PATHS,
            st.none() | QUERIES,
            HEADERS,
            st.binary(max_size=400),
            HEADERS,
            st.lists(st.binary(max_size=3_000), max_size=6),
            st.booleans(),
        )
        def check(method, path, query, sent_headers, body, answer_headers, pieces, in_chunks):
            path = path if query is None else f"{path}?{query}"
            framing = (
                b"Transfer-Encoding: chunked" if in_chunks else b"Content-Length: %d" % sum(map(len, pieces))
            )
            fields = [b"%b: %b" % (name.encode(), value.encode()) for name, value in answer_headers]
            to_send[:] = [b"\r\n".join([b"HTTP/1.1 200 Fine", framing, *fields, b"", b""])]
            to_send.extend([chunked(pieces)] if in_chunks else pieces)
            status, headers, received = runner.run(
                pass_on(server.url, RelayRequest(method, path, sent_headers, body))
            )
            assert (status, received) == (200, b"".join(pieces))
            passed = [(name, value) for name, value in headers if name.lower() != b"content-length"]
            assert passed == [(name.encode(), value.encode()) for name, value in answer_headers]
            assert server.bodies[-1] == body
            first, *rest = lines_of(server.heads[-1])
            assert first == f"{method} /v1{path} HTTP/1.1".encode()
            expected = [f"{name}: {value}".encode() for name, value in sent_headers]
            assert rest[-len(expected) :] == expected or not expected
            added = {line.split(b":")[0].lower() for line in rest[: len(rest) - len(expected)]}
            assert added <= {b"host", b"content-length"}

        check()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/a?", "/a?b=%2f%2F&c=+%20", "/a%2Fb//c", "/", "/a?x=http://b/../c", "/a=b:c@d"]
)
def test_path_and_query_are_sent_as_they_came(serve, path):
    with serve(OK) as server:
        asyncio.run(pass_on(server.url, RelayRequest("GET", path)))
    assert server.heads[0].startswith(f"GET /v1{path} HTTP/1.1\r\n".encode())


def test_nothing_is_added_but_the_host_and_the_length(serve):
    with serve(OK) as server:
        asyncio.run(pass_on(server.url, RelayRequest("POST", "/x", {"anthropic-beta": "new-1"}, b"{}")))
    host = server.url.split("/")[2].encode()
    assert lines_of(server.heads[0])[1:] == [b"Host: " + host, b"Content-Length: 2", b"anthropic-beta: new-1"]


def test_packed_answer_stays_packed(serve):
    packed = gzip.compress(b'{"choices": []}')
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with serve(head + packed) as server:
        _, headers, body = asyncio.run(pass_on(server.url, RelayRequest("POST", "/chat/completions")))
    assert body == packed
    assert headers == ((b"Content-Encoding", b"gzip"), (b"Content-Length", b"%d" % len(packed)))


def test_packed_request_stays_packed(serve):
    packed = gzip.compress(b"{}")
    with serve(OK) as server:
        asyncio.run(pass_on(server.url, RelayRequest("POST", "/x", {"Content-Encoding": "gzip"}, packed)))
    assert server.bodies == [packed]
    assert b"Content-Encoding: gzip" in server.heads[0]


@pytest.mark.slow
def test_headers_of_one_connection_go_no_further_than_that(serve):
    own = b"Connection: x-hop, close\r\nKeep-Alive: 5\r\nX-Hop: 1\r\nProxy-Authenticate: x\r\nTrailer: y\r\n"
    answer = b"HTTP/1.1 200 OK\r\n" + own + b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
    hop_by_hop = {
        "Connection": "keep-alive, X-Mine",
        "X-Mine": "1",
        "Keep-Alive": "5",
        "TE": "trailers",
        "Trailer": "x",
        "Transfer-Encoding": "chunked",
        "Upgrade": "h2c",
        "Proxy-Authorization": "Basic eA==",
        "Proxy-Connection": "close",
        "Host": "elsewhere.example",
        "Content-Length": "99",
        "Expect": "100-continue",
        "Cookie": "session=1",
    }
    with serve(answer) as server:
        request = RelayRequest("POST", "/x", {**hop_by_hop, "X-Kept": "1"}, b"body")
        _, headers, _ = asyncio.run(pass_on(server.url, request))
    assert headers == ((b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=2"), (b"Content-Length", b"0"))
    host = server.url.split("/")[2].encode()
    assert lines_of(server.heads[0])[1:] == [b"Host: " + host, b"Content-Length: 4", b"X-Kept: 1"]


@pytest.mark.slow
def test_cookie_of_an_upstream_is_not_sent_back_to_it(serve):
    async def twice(url: str) -> None:
        async with Relay.open("local", base_url=url) as relay:
            for _ in range(2):
                async with relay.send(RelayRequest("GET", "/x")) as answer:
                    assert [chunk async for chunk in answer.chunks()] == [b"ok"]

    with serve(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=1; Path=/\r\n\r\n")) as server:
        asyncio.run(twice(server.url))
    assert len(server.heads) == 2
    assert b"cookie" not in server.heads[1].lower()


async def pieces_of(*pieces: bytes):
    for piece in pieces:
        yield piece


@pytest.mark.slow
def test_body_that_comes_in_pieces_is_sent_in_chunks_or_with_its_length(serve):
    with serve(OK) as server:
        asyncio.run(pass_on(server.url, RelayRequest("POST", "/x", body=pieces_of(b"ab", b"c"))))
        asyncio.run(pass_on(server.url, RelayRequest("POST", "/x", body=pieces_of(b"ab", b"c"), length=3)))
    assert server.bodies == [b"abc", b"abc"]
    assert b"Transfer-Encoding: chunked" in server.heads[0]
    assert b"Content-Length: 3" in server.heads[1]
    assert b"Transfer-Encoding" not in server.heads[1]


@pytest.mark.parametrize("length", [2, 4])
def test_body_that_is_not_as_long_as_it_says_is_refused(serve, length):
    with serve(OK) as server, pytest.raises(RequestRefused, match="not as long as it says"):
        asyncio.run(
            pass_on(server.url, RelayRequest("POST", "/x", body=pieces_of(b"ab", b"c"), length=length))
        )


BODILESS = {
    "HEAD": ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", 200),
    "no content": ("DELETE", b"HTTP/1.1 204 No Content\r\n\r\n", 204),
    "not modified": ("GET", b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n', 304),
    "an empty chunked body": ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200),
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "answer", "status"), BODILESS.values(), ids=BODILESS)
def test_answer_without_a_body_ends_at_once(serve, method, answer, status):
    with serve(answer) as server:
        found, _, body = asyncio.run(pass_on(server.url, RelayRequest(method, "/x")))
    assert (found, body) == (status, b"")


@pytest.mark.slow
def test_answer_that_ends_with_its_connection_is_whole(serve):
    async def write(writer):
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        writer.close()

    with serve(write) as server:
        assert asyncio.run(pass_on(server.url, RelayRequest("GET", "/x")))[2] == b"all of it"


def test_interim_answers_are_not_passed_on(serve):
    with serve(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", OK) as server:
        status, _, body = asyncio.run(pass_on(server.url, RelayRequest("GET", "/x")))
    assert (status, body) == (200, b"ok")


@pytest.mark.slow
def test_large_headers_of_an_answer_pass(serve):
    answer = b"HTTP/1.1 200 OK\r\nX-Policy: " + b"p" * 40_000 + b"\r\nContent-Length: 0\r\n\r\n"
    with serve(answer) as server:
        _, headers, _ = asyncio.run(pass_on(server.url, RelayRequest("GET", "/x")))
    assert headers[0] == (b"X-Policy", b"p" * 40_000)
