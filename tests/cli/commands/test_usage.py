"""`midfold usage` and `midfold insights`: what people and scripts read."""

import json
import time
from xml.etree import ElementTree

import pytest

from midfold.config import find_home
from midfold.store import open_store
from midfold.usage import make_call

SONNET = "claude-sonnet-4-5"


@pytest.fixture
def store():
    with open_store(find_home() / "sessions.db", synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def session(store):
    """A session with two calls, one of a model that has no price, and one tool."""
    made = store.create_session(
        session_id="5e55104abc",
        source="chat",
        model=SONNET,
        title="Fix the login test",
        dialect="openai_chat",
    )
    function = {"name": "read_file", "arguments": '{"path":"login.py"}'}
    store.append(
        made.id,
        [
            {"role": "user", "content": "fix it"},
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c", "content": "def login(): ... " * 50},
        ],
    )
    report = {
        "input_tokens": 1_000,
        "cache_read_input_tokens": 8_000,
        "cache_creation": {"ephemeral_1h_input_tokens": 1_000},
        "output_tokens": 200,
    }
    store.record_call(made.id, make_call(report, SONNET, facts={"cache_bust": "expired"}))
    store.record_call(made.id, make_call({"prompt_tokens": 500, "completion_tokens": 50}, "my-own"))
    return made.id


def test_usage_shows_tokens_cost_cache_models_and_tools(run, session):
    status, out, _ = run("usage")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("Fix the login test  session 5e55104a · chat · my-own · started just")
    assert lines[1] == "10,750 tokens reported in 2 calls, at least $0.0144 (calls: 1 of unknown cost)"
    assert "76% of the input from the cache, saved $0.0186" in lines[2]
    table = {line.split("  ")[0]: line.split() for line in lines}
    assert table["■ from the cache"][-2:] == ["8,000", "74.4%"]
    assert table["■ into the cache"][-5:] == ["of", "it", "for", "an", "hour"]
    assert table["my-own"][1:4] == ["550", "unknown", "0%"]
    assert table["read_file"][2] == "1"
    assert lines[-1] == "the cache went cold: expired 1"


def test_usage_takes_the_beginning_of_an_id(run, session):
    assert run("usage", session[:5])[1] == run("usage", session)[1] == run("usage", "latest")[1]


def test_usage_of_no_such_session_is_one_line_and_status_two(run, session):
    status, out, err = run("usage", "nothere")
    assert (status, out) == (2, "")
    assert "nothere" in err


def test_usage_as_json_is_one_object(run, session):
    report = json.loads(run("usage", "--json", "--chain")[1])
    assert report["session"] == session
    assert report["tokens"]["total_tokens"] == 10_750
    assert report["cost"]["calls_unknown"] == 1
    assert report["cache_busts"] == {"expired": 1}


def test_a_session_without_calls_says_so(run, store):
    store.create_session(session_id="quiet", source="chat")
    assert "no call is recorded for it" in run("usage", "quiet")[1]


def test_without_a_session_there_are_clear_words(run):
    status, out, _ = run("usage")
    assert (status, out.startswith("no session is stored yet")) == (0, True)
    assert json.loads(run("usage", "--json")[1]) is None


def test_insights_show_the_days_and_their_bars(run, session):
    status, out, _ = run("insights", "--days", 7)
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("the last 7 days  ")
    assert lines[0].endswith(" · 1 conversation")
    [today] = [line for line in lines if line.startswith(time.strftime("%Y-%m-%d"))]
    assert today.split()[1:5] == ["10,750", "from", "$0.0144", "76%"]
    assert "████" in today
    assert "■ from the cache  ■ into the cache  ■ fresh input  ■ output" in lines


@pytest.mark.parametrize(("by", "name"), [("model", SONNET), ("source", "chat")])
def test_insights_go_by_model_and_source_too(run, session, by, name):
    out = run("insights", "--by", by)[1]
    assert any(line.startswith(name) for line in out.splitlines())


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_narrow_terminal_gets_whole_figures(run, session, columns):
    for line in run("insights", columns=columns)[1].splitlines():
        if line.startswith("20"):
            assert len(line) <= columns
            assert line.split()[1] == "10,750"


def test_insights_as_json_are_one_object(run, session):
    report = json.loads(run("insights", "--json", "--days", 3)[1])
    assert report["calls"] == 2
    assert [day["calls"] for day in report["by_day"]] == [0, 0, 2]
    assert [group["name"] for group in report["by_source"]] == ["chat"]


def test_insights_write_a_chart(run, session, tmp_path):
    path = tmp_path / "usage.svg"
    assert run("insights", "--svg", path)[0] == 0
    assert ElementTree.fromstring(path.read_text("utf-8")).tag.endswith("svg")  # noqa: S314 - our own


def test_a_period_without_calls_has_clear_words(run):
    assert run("insights")[1] == "no call is recorded for the last 30 days; --days looks further back\n"
    assert run("insights", "--days", 1)[1].startswith("no call is recorded for today")


@pytest.mark.parametrize("options", [(), ("--json",), ("--chain",)])
def test_what_is_printed_has_no_credential_whatever_the_store_keeps(run, options):
    secret = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"
    with open_store(find_home() / "sessions.db", redact=False, synchronous="NORMAL") as store:
        session = store.create_session(source=secret, title=f"with {secret}", model=f"m {secret}").id
        for model in (f"m {secret}", "another"):
            store.record_call(session, make_call({"input_tokens": 5}, model))
    status, out, err = run("usage", *options)
    assert (status, err) == (0, "")
    assert secret not in out


def test_names_from_outside_do_not_steer_the_terminal(run, store):
    session = store.create_session(source="chat\x1b[31m", title="a\x1b]0;x\x07b").id
    store.record_call(session, make_call({"input_tokens": 5}, "model\x1b[2J"))
    for command in ("usage", "insights"):
        assert "\x1b" not in run(command)[1]
