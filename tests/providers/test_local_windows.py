"""Servers of one's own are asked for the window of their model, each in its own way."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from midfold.providers import ask_window, find_endpoint


@pytest.fixture
def serve():
    """Serve JSON at paths; returns the base URL."""
    servers = []

    def serving(answers):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                found = answers.get(self.path)
                body = found if isinstance(found, bytes) else json.dumps(found).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield serving
    for server in servers:
        server.shutdown()
        server.server_close()


SHOWN = {"model_info": {"qwen3.context_length": 40_960}}


@pytest.mark.parametrize(
    ("answers", "window"),
    [
        ({"/props": {"default_generation_settings": {"n_ctx": 16_384}}}, 16_384),
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": 32_768}]}}, 32_768),
        (
            {
                "/v1/models": {
                    "data": [{"id": "x", "max_model_len": 1_000}, {"id": "m", "max_model_len": 2_000}]
                }
            },
            2_000,
        ),
        ({"/api/v0/models/m": {"loaded_context_length": 6_000, "max_context_length": 131_072}}, 6_000),
        ({"/api/v0/models/m": {"max_context_length": 131_072}}, 131_072),
        ({"/api/ps": {"models": [{"model": "m", "context_length": 9_000}]}, "/api/show": SHOWN}, 9_000),
        ({"/api/show": {**SHOWN, "parameters": "stop x\nnum_ctx    12288\n"}}, 12_288),
        ({"/api/show": SHOWN}, 4_096),
        ({}, None),
        ({"/props": b"<html>", "/v1/models": {"data": "no"}, "/api/show": [1]}, None),
        ({"/props": {"default_generation_settings": {"n_ctx": -1}}}, None),
        ({"/props": {"default_generation_settings": {"n_ctx": True}}}, None),
    ],
)
def test_a_server_is_asked_for_its_window(serve, answers, window):
    assert ask_window(find_endpoint("m", base_url=serve(answers))) == window


def test_a_server_that_is_not_there_says_nothing():
    assert ask_window(find_endpoint("m", base_url="http://127.0.0.1:9/v1")) is None


def test_an_agent_uses_what_its_server_says_and_assumes_little_else(serve, tmp_path):
    from midfold.agent import Agent

    for answers, window, source in (
        ({"/props": {"default_generation_settings": {"n_ctx": 16_384}}}, 16_384, "server"),
        ({}, 8_192, "assumed"),
    ):
        options = {"base_url": serve(answers), "home": tmp_path / "home", "workspace": tmp_path}
        with Agent("m", asks_server=True, **options) as agent:
            status = agent.status()
            assert (status.window_tokens, status.window_source) == (window, source)
        with Agent("m", asks_server=True, context_length=5_000, **options) as agent:
            assert agent.status().window_source == "explicit"
