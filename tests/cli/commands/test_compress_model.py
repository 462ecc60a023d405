"""`midfold compress --summary-model`, and what it shows before anything is sent."""

import json
import re

import pytest

from midfold.testing import transcript
from midfold.testing.upstream import HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.wire import DIALECTS
from midfold.wire.validate import validate

GOOD = Reply("## Goal\nThe new zones.", usage=CanonicalUsage(12_000, 400))


@pytest.fixture
def session(tmp_path):
    def write(dialect="openai_chat"):
        path = tmp_path / f"{dialect}.json"
        messages = transcript(dialect, turns=30, result_chars=1_200, last="Go on.")
        path.write_text(json.dumps(messages))
        return path

    return write


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_model_writes_the_summary_in_every_dialect(run, session, tmp_path, dialect):
    out = tmp_path / "out.json"
    with Upstream(GOOD) as up:
        status, printed, report = run(
            *("compress", session(dialect), "--max-tokens", 5_000, "-o", out),
            *("--summary-model", "openai/gpt-5-mini", "--base-url", up.url),
        )
    assert (status, printed) == (0, "")
    assert "The new zones." in out.read_text()
    assert validate(json.loads(out.read_text()), dialect=dialect) == []
    assert "folded by the model" in report
    assert "openai/gpt-5-mini: 12,000 tokens in, 400 out, $0.0038" in report
    assert "summarising" not in report


def test_report_lists_the_calls(run, session, tmp_path):
    with Upstream(GOOD) as up:
        _, printed, errors = run(
            *("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json", "--json"),
            *("--summary-model", "openai/gpt-5-mini", "--base-url", up.url),
        )
    report = json.loads(printed)
    assert errors == ""
    assert report["summarizer"] == "model"
    [call] = report["calls"]
    assert (call["model"], call["input_tokens"], call["output_tokens"]) == ("openai/gpt-5-mini", 12_000, 400)
    assert (call["dollars"], call["failure"]) == (0.0038, None)


def test_key_that_is_missing_is_one_line_and_status_two(run, session, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    out = tmp_path / "out.json"
    status, _, errors = run(
        "compress", session(), "--max-tokens", 5_000, "-o", out, "--summary-model", "openai/gpt-5-mini"
    )
    assert (status, errors.count("\n")) == (2, 1)
    assert "OPENAI_API_KEY" in errors
    assert not out.exists()


def test_digest_stands_in_and_the_report_says_for_what_and_why(run, session, tmp_path):
    with Upstream(HttpStatus(404)) as up:
        status, _, report = run(
            *("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json"),
            *("--summary-model", "local/gone", "--base-url", up.url),
        )
    assert status == 0
    assert "local/gone answered 404" in report
    assert "the built-in digest stands in for" in report
    assert "local/gone: no usage reported, cost unknown" in report


def test_somebody_at_a_terminal_sees_what_is_waited_for(run, session, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Upstream(GOOD) as up:
        _, _, report = run(
            *("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json"),
            *("--summary-model", "local/small", "--base-url", up.url),
        )
    assert "summarising the middle of" in report
    assert "messages with local/small…" in report


@pytest.mark.parametrize(
    ("api", "path"),
    [
        ("openai_chat", "/v1/chat/completions"),
        ("openai_responses", "/v1/responses"),
        ("anthropic", "/v1/messages"),
    ],
)
def test_own_providers_of_the_settings_may_be_named_whatever_their_api(
    run, session, tmp_path, monkeypatch, api, path
):
    config = tmp_path / "config.yaml"
    monkeypatch.setenv("MIDFOLD_CONFIG", str(config))
    with Upstream(GOOD) as up:
        config.write_text(
            f"providers: {{house: {{base_url: {up.url}, api: {api}}}}}\n"
            "auxiliary: {compression: {context_length: 8000}}\n"
        )
        status, _, _ = run(
            *("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "o.json"),
            *("--summary-model", "house/large"),
        )
    assert status == 0
    assert {received.path for received in up.requests} == {path}
    assert len(up.requests) > 1


def test_preview_shows_plan_price_and_time_and_sends_nothing(run, session, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    out = tmp_path / "out.json"
    status, printed, _ = run(
        *("compress", session(), "--max-tokens", 5_000, "-o", out),
        *("--summary-model", "openai/gpt-5-mini", "--preview"),
    )
    assert status == 0
    assert "+ summary" in printed
    assert "1 call to openai/gpt-5-mini: " in printed
    assert "about $0.0" in printed
    assert "s (by a table; nothing was measured yet)" in printed
    assert "messages as they are" in printed
    assert re.search(r"; up to (\d+) of \1 facts that must survive", printed)
    assert not out.exists()


def test_preview_says_where_a_price_is_not_known(run, session):
    _, printed, _ = run(
        *("compress", session(), "--max-tokens", 5_000, "--preview"),
        *("--summary-model", "local/small", "--base-url", "http://127.0.0.1:9"),
    )
    assert "unknown" in printed


def test_preview_without_a_model_is_free_and_takes_milliseconds(run, session):
    status, printed, _ = run("compress", session(), "--max-tokens", 5_000, "--preview")
    assert status == 0
    assert "the built-in digest needs no model" in printed
    assert " ms" in printed
    assert "facts that must survive" in printed
    assert "up to" not in printed


def test_preview_of_what_needs_no_summary_sends_nothing(run, session):
    _, printed, _ = run(
        "compress", session(), "--max-tokens", 900_000, "--preview", "--summary-model", "ollama/small"
    )
    assert "no summary is needed of ollama/small" in printed


def test_preview_can_be_read_by_scripts(run, session):
    _, printed, _ = run(
        *("compress", session(), "--max-tokens", 5_000, "--preview", "--json"),
        *("--summary-model", "openai/gpt-5-mini", "--summarizer-window", 8_000),
    )
    preview = json.loads(printed)["preview"]
    assert (preview["model"], preview["calls"] > 1) == ("openai/gpt-5-mini", True)
    assert preview["input_tokens"] > 8_000
    assert 0 < preview["dollars"] < 0.1
    assert preview["seconds"] > 1
    _, printed, _ = run("compress", session(), "--max-tokens", 5_000, "--preview", "--json")
    assert json.loads(printed)["preview"]["calls"] == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--base-url", "http://127.0.0.1:9"],
        ["--summary-model", "small"],
        ["--summary-model", "small", "--preview"],
    ],
)
def test_bad_names_and_lonely_addresses_are_status_two(run, session, options):
    status, _, errors = run("compress", session(), "--max-tokens", 5_000, *options)
    assert (status, errors.count("\n")) == (2, 1)


def recorded(store):
    return [(call.purpose, call.model, call.usage.prompt_tokens, call.source) for call in store.calls()]


def test_what_a_summary_cost_is_recorded(run, session, tmp_path, store):
    with Upstream(GOOD) as up:
        run(
            *("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json"),
            *("--summary-model", "openai/gpt-5-mini", "--base-url", up.url),
        )
    assert recorded(store) == [("summary", "openai/gpt-5-mini", 12_000, "compress")]
    _, printed, _ = run("insights")
    assert "$0.0038" in printed


def test_nothing_is_recorded_without_a_model(run, session, tmp_path, store):
    run("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json")
    assert (recorded(store), store.sessions()) == ([], [])


def test_settings_choose_the_model_that_writes_and_the_fold(run, session, tmp_path, monkeypatch):
    config = tmp_path / "config.yaml"
    monkeypatch.setenv("MIDFOLD_CONFIG", str(config))
    ask = ("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json", "--json")
    with Upstream(GOOD) as up:
        config.write_text(
            f"providers: {{house: {{base_url: {up.url}}}}}\n"
            "compression: {summary_model: house/large, strategy: fold}\n"
        )
        _, printed, _ = run(*ask)
        assert json.loads(printed)["summarizer"] == "model"
        assert len(up.requests) == 1
        _, printed, _ = run(*ask, "--summary-model", "digest")
        assert json.loads(printed)["summarizer"] == "digest"
        assert len(up.requests) == 1
        _, printed, _ = run(*ask, "--summary-model", "digest", "--strategy", "prune")
        assert json.loads(printed)["summarizer"] is None
        config.write_text("compression: {strategy: prune}\n")
        _, printed, _ = run(*ask)
        assert json.loads(printed)["summarizer"] is None


def test_the_person_is_told_once_that_another_model_steps_in(run, session, tmp_path, monkeypatch, store):
    config = tmp_path / "config.yaml"
    monkeypatch.setenv("MIDFOLD_CONFIG", str(config))
    with Upstream(HttpStatus(401)) as gone, Upstream(GOOD) as up:
        config.write_text(
            f"providers: {{small: {{base_url: {gone.url}}}, house: {{base_url: {up.url}}}}}\n"
            "compression: {summary_model: small/one}\nmodel: {name: house/large}\n"
            "auxiliary: {compression: {context_length: 8000}}\n"
        )
        _, _, errors = run("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json")
    assert len(up.requests) > 1
    assert errors.count("house/large writes summaries in place of small/one, which failed: ") == 1
    assert "digest stands in" not in errors
    assert {model for _, model, _, _ in recorded(store)} == {"small/one", "house/large"}


def test_model_is_the_one_that_is_counted_for(run, session, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    sizes = {}
    for model in ("gpt-5", "claude-sonnet-4-5"):
        _, printed, _ = run(
            *("compress", session(), "--max-tokens", 5_000, "-o", tmp_path / "out.json", "--json"),
            *("--model", model),
        )
        sizes[model] = json.loads(printed)["tokens_before"]
    assert sizes["claude-sonnet-4-5"] > 1.15 * sizes["gpt-5"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-sent")
    _, _, errors = run("compress", session(), "--max-tokens", 5_000, "--plan", "--model", "openai/gpt-5-mini")
    assert (
        errors == "note: --model counts; --summary-model openai/gpt-5-mini would let it write the summary\n"
    )


@pytest.mark.parametrize("command", ["compact", "trajectories"])
def test_old_name_of_the_option_says_the_new_one(run, command):
    status, _, errors = run(command, "in.jsonl", "--model", "openai/gpt-5-mini")
    assert status == 2
    assert "write --summary-model openai/gpt-5-mini" in errors
