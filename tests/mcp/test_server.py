"""The MCP server with the official client: in this process, and as a command over standard input."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
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


@pytest.mark.slow
def test_the_command_serves_standard_input(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    fill(home / "sessions.db")
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "midfold", "mcp"],
        env={**os.environ, "MIDFOLD_HOME": str(home)},
    )

    async def talk():
        async with Client(stdio_client(command)) as client:
            return read(await client.call_tool("search", {"query": "spare key door"}))

    assert "blue door" in asyncio.run(talk())["hits"][0]["text"]


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
def test_the_command_serves_streamable_http(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    fill(home / "sessions.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "midfold", "mcp", "--http", str(port)]
    url = f"http://127.0.0.1:{port}/mcp"

    async def talk():
        async with Client(url) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found = read(await client.call_tool("search", {"query": "spare key door"}))
            hit = found["hits"][0]
            around = {"session": hit["session"], "messages": str(hit["message"])}
            shown = read(await client.call_tool("expand", around))
            pinned = read(await client.call_tool("pin", {"text": "Coins only."}))
            told = read(await client.call_tool("describe", {}))
            folded = read(await client.call_tool("compress", {}))
            counted = read(await client.call_tool("stats", {}))
        return tools, shown, pinned, told, folded, counted

    with subprocess.Popen(command, env={**os.environ, "MIDFOLD_HOME": str(home)}) as process:
        try:
            wait_for(url, process)
            tools, shown, pinned, told, folded, counted = asyncio.run(talk())
        finally:
            process.terminate()
    assert tools == ["search", "describe", "expand", "stats", "compress", "pin"]
    assert shown["messages"][0]["text"] == FACT
    assert pinned == {"pins": ["Coins only."]}
    assert told["pins"] == ["Coins only."]
    assert folded["changed"] is False
    assert counted["conversations"][0]["messages"] == 2
