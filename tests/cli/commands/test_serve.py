"""`midfold serve` and `midfold wrap` as processes: what they say, what they pass on, how they end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from midfold.store import open_store
from midfold.testing import Reply, Upstream
from midfold.testing.upstream import DeliveryFault

pytestmark = pytest.mark.slow

MIDFOLD = [sys.executable, "-m", "midfold"]


@pytest.fixture
def environ(tmp_path):
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("MIDFOLD", "OPENAI", "ANTHROPIC"))
    }
    return {**kept, "MIDFOLD_HOME": str(tmp_path / "home")}


@pytest.fixture
def serve(environ):
    """Run the gateway as a process; returns it with the lines it begins with."""
    started = []

    def run(*arguments, **variables):
        process = subprocess.Popen(
            [*MIDFOLD, "serve", "--port", "0", *arguments],
            env={**environ, **variables},
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        lines = []
        while not lines or not lines[-1].startswith("clients"):
            line = process.stderr.readline()
            assert line, lines
            lines.append(line.rstrip())
        return process, lines

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def upstreams(up):
    return {
        "MIDFOLD_GATEWAY__UPSTREAMS": json.dumps(
            {"openai": {"base_url": up.url}, "anthropic": {"base_url": up.url}}
        )
    }


def url_of(lines):
    return re.search(r"http://\S+", lines[0])[0]


def ask(url, **fields):
    body = {"model": "any", "messages": [{"role": "user", "content": "hello"}], **fields}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode())  # noqa: S310
    until = time.monotonic() + 10
    while True:
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                return answer.read().decode()
        except ConnectionError:
            assert time.monotonic() < until


def test_it_says_what_it_does_serves_and_stops_in_order(serve, environ):
    with Upstream(Reply("It is 2.40 a day.")) as up:
        process, lines = serve(**upstreams(up))
        assert "2.40" in ask(url_of(lines))
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    said = "\n".join(lines)
    assert re.match(r"listening  http://127\.0\.0\.1:\d+\n", said)
    assert f"upstream   openai {up.url}/v1 (the client's key)" in said
    assert "engine     compressor, compression on; summaries by the built-in digest, without a model" in said
    assert "caching    Claude models, in conversations that were folded; 5m" in said
    assert "sessions.db, kept for 30 days; credentials replaced" in said
    with open_store(Path(environ["MIDFOLD_HOME"]) / "sessions.db") as store:
        assert [tip.source for tip in store.conversations()] == ["gateway"]
        assert len(store.calls()) == 1


def test_without_a_store_nothing_is_written(serve, tmp_path):
    with Upstream(Reply("ok")) as up:
        process, lines = serve("--no-store", **upstreams(up))
        assert "ok" in ask(url_of(lines))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert "stored     in memory only; nothing is written" in lines
    assert not (tmp_path / "home").exists()


def test_a_stop_lets_answers_under_way_end(serve):
    with Upstream(Reply("word " * 60, fault=DeliveryFault(chunk_seconds=0.02))) as up:
        process, lines = serve(**upstreams(up))
        url = url_of(lines)
        ask(url)
        client = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"""
import json, urllib.request
say = [{{"role": "user", "content": "x"}}]
body = json.dumps({{"model": "any", "messages": say, "stream": True}}).encode()
print(urllib.request.urlopen(urllib.request.Request("{url}/v1/chat/completions", body)).read().decode())
""",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        up.wait_until(lambda: len(up.requests) == 2)
        process.send_signal(signal.SIGTERM)
        assert "[DONE]" in client.communicate()[0]
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (
            ["--host", "0.0.0.0"],  # noqa: S104 - it is refused
            {},
            "gateway.host is '0.0.0.0'; expected 127.0.0.1, or a key",
        ),
        (
            [],
            {"MIDFOLD_GATEWAY__UPSTREAMS": "{azure: {}}"},
            "gateway.upstreams.azure.api is None; expected one of openai, anthropic",
        ),
        ([], {"MIDFOLD_CONTEXT__ENGINE": "nobody"}, "nobody"),
        (["--port", "1"], {}, "gateway.port is 1; expected a port that is free"),
    ],
)
def test_what_cannot_be_served_is_one_clear_line(environ, arguments, variables, words):
    if "--port" in arguments and os.geteuid() == 0:
        with Upstream() as up:  # root may take any port that is free, but not this one
            port = up.url.rpartition(":")[2]
            arguments, words = ["--port", port], f"gateway.port is {port}; expected a port that is free"
            done = run_serve(environ | variables, arguments)
    else:
        done = run_serve(environ | variables, arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def run_serve(environ, arguments):
    return subprocess.run(
        [*MIDFOLD, "serve", *arguments], env=environ, capture_output=True, text=True, timeout=60
    )


def wrap(environ, *command, **options):
    return subprocess.run(
        [*MIDFOLD, "wrap", "--no-store", "--", *command],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


CLIENT = """
import json, os, sys, urllib.request
body = json.dumps({"model": "any", "messages": [{"role": "user", "content": "hello"}]}).encode()
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
print(urllib.request.urlopen(urllib.request.Request(url, body)).read().decode())
print(sorted(set(os.environ) - set(sys.argv[1].split(","))))
sys.exit(3)
"""


def test_a_wrapped_client_talks_through_the_gateway_and_keeps_its_status(environ):
    with Upstream(Reply("It is 2.40 a day.")) as up:
        before = {**environ, "OPENAI_BASE_URL": f"{up.url}/v1"}
        done = wrap(before, sys.executable, "-c", CLIENT, ",".join(environ))
    assert done.returncode == 3, done.stderr
    assert "2.40" in done.stdout
    assert "['ANTHROPIC_BASE_URL', 'OPENAI_API_BASE', 'OPENAI_BASE_URL']" in done.stdout
    assert done.stderr == ""
    assert len(up.requests) == 1


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (["exec", "hi"], ["-c", 'openai_base_url="ADDRESS"', "exec", "hi"]),
        (["-c", "openai_base_url=http://own/v1", "exec"], ["-c", "openai_base_url=http://own/v1", "exec"]),
    ],
)
def test_codex_is_told_the_address_as_an_argument(environ, tmp_path, arguments, seen):
    program = tmp_path / "codex"
    script = "import json, os, sys; print(json.dumps([os.environ['OPENAI_BASE_URL'], *sys.argv[1:]]))"
    program.write_text(f"#!{sys.executable}\n{script}\n")
    program.chmod(0o755)
    done = wrap(environ, str(program), *arguments)
    address, *given = json.loads(done.stdout)
    assert given == [each.replace("ADDRESS", address) for each in seen]


def test_signals_reach_the_wrapped_client(environ):
    script = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9));"
        " print('ready', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [*MIDFOLD, "wrap", "--no-store", "--", sys.executable, "-c", script],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 9
    process.stdout.close()


def test_a_client_that_a_signal_ended_gives_its_status(environ):
    assert wrap(environ, "sh", "-c", "kill -9 $$").returncode == 137


def test_a_command_that_is_not_there_is_127(environ):
    done = wrap(environ, "no-such-command-here")
    assert (done.returncode, done.stderr) == (127, "midfold wrap: no such command: no-such-command-here\n")
