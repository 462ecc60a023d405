"""The MCP server with the official client: in this process, and as a command over standard input."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from mcp import Client, StdioServerParameters, stdio_client
from midfold.mcp import SessionTools, make_server
from midfold.store import open_store

FACT = "The spare key of meter 4711 hangs behind the blue door."


def fill(path):
    with open_store(path) as store:
        session = store.create_session(dialect="openai_chat")
        store.append(
            session.id, [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
        )


def read(result):
    assert not result.is_error
    return result.structured_content or json.loads(result.content[0].text)


def test_a_client_lists_and_calls_the_tools(tmp_path):
    fill(tmp_path / "s.db")

    async def talk(server):
        async with Client(server) as client:
            listed = await client.list_tools()
            names = [tool.name for tool in listed.tools]
            found = read(await client.call_tool("search", {"query": "spare key door"}))
            wrong = await client.call_tool("expand", {"messages": "all"})
        return names, found, wrong

    with open_store(tmp_path / "s.db") as store:
        names, found, wrong = asyncio.run(talk(make_server(SessionTools(store))))
    assert names == ["search", "describe", "expand", "stats", "compress", "pin"]
    assert "blue door" in found["hits"][0]["text"]
    assert wrong.is_error
    assert "12-20" in wrong.content[0].text


def test_a_reading_server_offers_no_changes(tmp_path):
    async def names(server):
        async with Client(server) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with open_store(tmp_path / "s.db") as store:
        tools = SessionTools(store, changes=False)
        assert asyncio.run(names(make_server(tools))) == ["search", "describe", "expand", "stats"]


async def call_everything(client):
    """Call every tool of a server over `fill`, each in a good and in a senseless way."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["search", "describe", "expand", "stats", "compress", "pin"]
    found = read(await client.call_tool("search", {"query": "spare key door"}))
    hit = found["hits"][0]
    assert "blue door" in hit["text"]
    around = {"session": hit["session"], "messages": hit["message"]}
    assert read(await client.call_tool("expand", around))["messages"][0]["text"] == FACT
    assert read(await client.call_tool("pin", {"text": "Coins only."})) == {"pins": ["Coins only."]}
    assert read(await client.call_tool("describe", {}))["pins"] == ["Coins only."]
    assert read(await client.call_tool("compress", {}))["changed"] is False
    assert read(await client.call_tool("stats", {}))["conversations"][0]["messages"] == 2
    assert read(await client.call_tool("stats", {"session": hit["session"]}))["session"] == hit["session"]
    for name, arguments, words in SENSELESS:
        wrong = await client.call_tool(name, arguments)
        assert wrong.is_error
        assert words in wrong.content[0].text


SENSELESS = [
    ("search", {"query": " "}, "query is empty"),
    ("search", {"query": "x", "role": "moon"}, "user, assistant, tool"),
    ("search", {}, "query"),
    ("expand", {"messages": "all"}, "12-20"),
    ("expand", {"page": 9}, "pages 1 to 1"),
    ("describe", {"session": "nobody"}, "no session"),
    ("stats", {"session": "nobody"}, "no session"),
    ("compress", {"session": "nobody"}, "no session"),
    ("pin", {"text": ""}, "a sentence"),
    ("fly", {}, "Unknown tool"),
]


@pytest.fixture
def environment(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    fill(home / "sessions.db")
    return {**os.environ, "MIDFOLD_HOME": str(home)}


@pytest.mark.slow
def test_the_command_serves_standard_input(environment):
    command = StdioServerParameters(command=sys.executable, args=["-m", "midfold", "mcp"], env=environment)

    async def talk():
        async with Client(stdio_client(command)) as client:
            await call_everything(client)

    asyncio.run(talk())


def wait_for(url, process):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        assert process.poll() is None
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=1).close()
            return
        time.sleep(0.05)
    raise AssertionError("the server did not start")


@pytest.mark.slow
def test_the_command_serves_streamable_http(environment):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "midfold", "mcp", "--http", str(port)]
    url = f"http://127.0.0.1:{port}/mcp"

    async def talk():
        async with Client(url) as client:
            await call_everything(client)

    with subprocess.Popen(command, env=environment) as process:
        try:
            wait_for(url, process)
            asyncio.run(talk())
            assert status_for(port, "evil.example") in (403, 421)
        finally:
            process.terminate()


def status_for(port, host):
    """Return the status of a request under another host's name, as a page in a browser could send it."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/mcp", "{}", {"Host": host, "Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()
