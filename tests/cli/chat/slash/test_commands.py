"""What the commands of a chat do, with a real agent on a real store."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from midfold.agent import Agent
from midfold.cli.chat.approvals import Approvals
from midfold.cli.chat.editor import LineReader
from midfold.cli.chat.session import Chat
from midfold.cli.chat.slash import COMMANDS, complete, is_command, run_command
from midfold.cli.chat.slash.base import ChatContext, NextStep, UsageProblem
from midfold.cli.chat.slash.folds import CompressRequest, read_compress_request
from midfold.cli.chat.slash.model import ModelTarget, read_model_target
from midfold.cli.chat.slash.own_commands import run_own_command
from midfold.cli.chat.user_input import complete_file
from midfold.cli.chat.view.plain import PlainView
from midfold.config import load_settings
from midfold.engines import ContextEngine
from midfold.errors import ConfigError, EngineUnable, StillTooLarge
from midfold.providers import read_providers
from midfold.testing.upstream import Reply, Upstream

LONG = "The lamp was cleaned, oiled and lit again before the tide came in. " * 60
NAMES = [name for command in COMMANDS for name in (command.name, *command.aliases)]


@pytest.fixture
def upstream():
    with Upstream(lambda received: Reply(LONG if len(received.messages) < 20 else "short")) as up:
        yield up


@pytest.fixture
def desk(upstream, tmp_path):
    console = Console(file=io.StringIO(), width=90)
    with Agent(
        "scripted",
        base_url=upstream.url,
        context_length=30_000,
        workspace=tmp_path,
        home=tmp_path / "home",
        summarizer=None,
    ) as agent:
        agent.status()  # a chat begins with how things stand
        yield ChatContext(agent, console, PlainView(console.file, console), load_settings())


@pytest.fixture
def told(desk):
    """Run a command and return what it printed."""

    def runner(line):
        desk.console.file.seek(0)
        desk.console.file.truncate()
        assert run_command(desk, line) is NextStep.PROMPT
        return desk.console.file.getvalue()

    return runner


def talk(desk, turns=1):
    for number in range(turns):
        list(desk.agent.run(f"question {number}"))


def test_every_command_of_the_manual_is_there():
    wanted = (
        "compress undo pin unpin pins usage insights status context model new reset resume sessions search "
        "memory help quit"
    )
    assert set(wanted.split()) <= set(NAMES)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("/help", True),
        ("/compress the auth module", True),
        ("  /quit ", True),
        ("/nonsense", True),
        ("/etc/hosts is broken", False),
        ("/", False),
        ("what is /help", False),
        ("//", False),
    ],
)
def test_a_slash_and_a_name_is_a_command_and_a_path_is_not(line, answer):
    assert is_command(line) is answer


def test_unknown_command_suggests_the_nearest(desk):
    with pytest.raises(UsageProblem, match=r"no command /comprss; did you mean /compress\?"):
        run_command(desk, "/comprss")


@pytest.mark.parametrize(
    ("argument", "wanted"),
    [
        ("", CompressRequest(None, None, False)),
        ("database schema", CompressRequest("database schema", None, False)),
        ("here 3", CompressRequest(None, 3, False)),
        ("here 3 the schema", CompressRequest("the schema", 3, False)),
        ("here we go", CompressRequest("here we go", None, False)),
        ("--preview", CompressRequest(None, None, True)),
        ("--preview here 2", CompressRequest(None, 2, True)),
        ("--preview schema", CompressRequest("schema", None, True)),
    ],
)
def test_compress_reads_focus_exchanges_and_preview(argument, wanted):
    assert read_compress_request(argument) == wanted


def test_preview_shows_the_plan_and_changes_nothing(desk, told):
    talk(desk, 8)
    shown = told("/compress --preview")
    assert "Would compress: 16 → " in shown
    assert "fold" in shown
    assert "nothing: the built-in digest needs no model" in shown
    assert len(desk.agent.messages) == 16


def test_compress_folds_and_undo_takes_it_back(desk, told):
    talk(desk, 8)
    shown = told("/compress")
    assert "Compressed: 16 → " in shown
    assert "Request size: ~" in shown
    assert len(desk.agent.messages) < 16
    assert "Undone: the newest fold or correction: 16 messages" in told("/undo")
    assert "there is no fold to undo" in told("/undo")


def test_compress_keeps_the_exchanges_that_are_asked_for(desk, told):
    talk(desk, 8)
    told("/compress here 2")
    assert [message.text for message in desk.agent.messages if message.role == "user"][-2:] == [
        "question 6",
        "question 7",
    ]


def test_compress_says_why_nothing_is_folded(desk, told):
    talk(desk)
    shown = told("/compress")
    assert "No changes from compression: 2 messages" in shown
    assert "(unchanged)" in shown


def test_pins_are_listed_and_let_go_by_number(desk, told):
    assert "no pins" in told("/pins")
    assert "pinned: never lower the lamp" in told("/pin never lower the lamp")
    assert told("/pins") == "1  never lower the lamp\n"
    assert "no longer pinned: never lower the lamp" in told("/unpin 1")
    assert desk.agent.pins == ()


@pytest.mark.parametrize(
    "line", ["/pin", "/unpin", "/search", "/search a --since lately", "/insights many", "/model a b"]
)
def test_command_that_needs_more_says_what(desk, line):
    with pytest.raises(UsageProblem, match="/"):
        run_command(desk, line)


def test_usage_and_insights_tell_what_was_spent(desk, told):
    assert "there are no messages yet" in told("/usage")
    talk(desk, 2)
    assert "in 2 calls" in told("/usage")
    assert "in 2 calls" in told("/insights")
    assert "today" in told("/insights 1")


def test_status_tells_how_things_stand(desk, told):
    talk(desk)
    shown = told("/status")
    assert desk.agent.session_id in shown
    for words in ("scripted at http://127.0.0.1", "30,000 tokens (as set)", "at 25,500 tokens", "not yet"):
        assert words in shown


def test_context_is_a_bar_and_its_parts(desk, told):
    talk(desk, 6)
    bar, room, *_ = (shown := told("/context")).splitlines()
    assert bar.count("█") + bar.count("░") + bar.count("|") == 64
    assert room.endswith("next fold at 25,500")
    for part in ("tool schemas", "system prompt", "tail"):
        assert part in shown


@pytest.mark.parametrize(
    ("argument", "wanted"),
    [
        ("openai/gpt-5", ModelTarget("openai/gpt-5")),
        ("qwen3 --context-length 8192", ModelTarget("qwen3", None, 8192)),
        ("--base-url http://h/v1 a/b", ModelTarget("a/b", "http://h/v1")),
    ],
)
def test_model_reads_a_name_and_options(argument, wanted):
    assert read_model_target(argument) == wanted


@pytest.mark.parametrize("argument", ["", "a b", "a --context-length x", "a --what 1", "a --base-url", "'a"])
def test_model_refuses_what_it_does_not_understand(argument):
    with pytest.raises(UsageProblem, match="/model NAME"):
        read_model_target(argument)


def test_model_without_a_provider_stays_at_the_same_address(desk, told, upstream):
    talk(desk)
    assert "another  window 9,000 (as set)" in told("/model another --context-length 9000")
    talk(desk)
    assert upstream.requests[-1].model == "another"


@pytest.fixture
def at_claude(desk, upstream, tmp_path, monkeypatch):
    """A desk at a provider of one's own, which speaks as Anthropic does and wants a key."""
    monkeypatch.setenv("MINE_KEY", "k-1")
    providers = {"mine": {"base_url": upstream.url, "api": "anthropic", "key_env": "MINE_KEY"}}
    settings = replace(desk.settings, providers=providers)
    home = tmp_path / "other"
    with Agent("mine/claude-a", home=home, providers=read_providers(providers), summarizer=None) as agent:
        yield replace(desk, agent=agent, settings=settings)


@pytest.mark.parametrize(
    "line", ["/model claude-b", "/model mine/claude-b", "/model claude-b --base-url URL/"]
)
def test_model_at_the_same_address_is_asked_in_the_same_way(at_claude, upstream, line):
    talk(at_claude)
    run_command(at_claude, line.replace("URL", upstream.url))
    talk(at_claude)
    before, after = upstream.requests[-2:]
    assert (before.model, after.model) == ("claude-a", "claude-b")
    assert after.path == before.path
    assert after.headers["x-api-key"] == before.headers["x-api-key"] == "k-1"


def test_model_stays_with_an_api_that_was_chosen(desk, upstream, tmp_path):
    with Agent(
        "a", base_url=upstream.url, api="anthropic", home=tmp_path / "other", summarizer=None
    ) as agent:
        other = replace(desk, agent=agent)
        run_command(other, "/model b")
        talk(other)
        assert agent.status().api == "anthropic"
    assert upstream.requests[-1].path.endswith("/messages")


def test_model_at_another_address_is_asked_as_is_usual_there(at_claude, upstream):
    with Upstream(Reply("here")) as elsewhere:
        run_command(at_claude, f"/model claude-b --base-url {elsewhere.url}")
        talk(at_claude)
        [received] = elsewhere.requests
    assert received.path.endswith("/chat/completions")
    assert "k-1" not in str(dict(received.headers))


def test_model_of_another_provider_says_itself_what_is_spoken(at_claude, upstream):
    run_command(at_claude, f"/model openai/gpt-5-mini --base-url {upstream.url}")
    assert at_claude.agent.status().api == "openai_chat"


@pytest.mark.parametrize("name", ["nosuch/gpt-5", "opnai/gpt-5-mini"])
def test_model_of_a_provider_that_nobody_knows_is_refused(desk, name):
    with pytest.raises(ConfigError):
        run_command(desk, f"/model {name}")
    assert desk.agent.status().model == "scripted"


def test_model_with_a_slash_in_its_name_needs_its_address_once(desk, told, upstream):
    told(f"/model Qwen/Qwen3-8B --base-url {upstream.url}")
    assert "Qwen/Qwen3-4B  window" in told("/model Qwen/Qwen3-4B")


def test_model_that_is_too_small_says_what_to_do_where_compression_is_off(desk, told):
    talk(desk, 3)
    desk.agent._core.engine.enabled = False
    with pytest.raises(StillTooLarge):
        told("/model another --context-length 2000")
    assert "/compress makes room" in desk.console.file.getvalue()


@pytest.mark.parametrize("days", ["0", "-1", "99999999999999", "36501", "x"])
def test_insights_takes_days_that_a_calendar_has(desk, days):
    with pytest.raises(UsageProblem, match="up to 36,500"):
        run_command(desk, f"/insights {days}")


def test_model_alone_says_which_it_is(told):
    assert "scripted  window 30,000" in told("/model")


def test_new_begins_another_session_and_resume_goes_back(desk, told):
    talk(desk)
    first = desk.agent.session_id
    told("/reset")
    assert desk.agent.session_id != first
    assert desk.agent.messages == []
    shown = told(f"/resume {first[:8]}")
    assert "you said: question 0" in shown
    assert "answered: The lamp was cleaned" in shown
    assert len(desk.agent.messages) == 2


def test_resume_alone_lists_what_there_is(desk, told):
    talk(desk)
    shown = told("/resume")
    assert desk.agent.session_id[:8] in shown
    assert "/resume ID" in shown


def test_sessions_and_search_look_through_everything(desk, told):
    talk(desk, 2)
    told("/new")
    assert "question 0" in told("/sessions")
    assert "question 1" in told("/search question 1")
    assert "nothing found" in told("/search lighthouse")
    assert "question 1" in told("/search question 1 --since yesterday")
    assert "nothing found" in told("/search question 1 --since 2999-01-01")


def test_memory_is_shown_with_its_files(desk, told):
    assert "the memory is empty" in told("/memory")
    (desk.agent.memory.files[0]).parent.mkdir(exist_ok=True)
    desk.agent.memory.files[0].write_text("- the lamp is \x1b[31mgreen\n")
    shown = told("/memory")
    assert "the lamp is green" in shown
    assert "MEMORY.md" in shown


def test_help_lists_every_command_on_lines_that_fit(told):
    lines = told("/help").splitlines()
    assert all(any(line.startswith(f"/{command.name}") for line in lines) for command in COMMANDS)
    assert all(len(line) <= 80 for line in lines)


def test_quit_ends_and_continue_goes_on(desk):
    assert run_command(desk, "/quit") is NextStep.QUIT
    assert run_command(desk, "/exit") is NextStep.QUIT
    assert run_command(desk, "/continue") is NextStep.GO_ON


def completions(desk, line):
    return [line[: len(line) - choice.replaces] + choice.text for choice in complete(desk, line)]


def test_commands_sessions_pins_and_providers_are_completed(desk):
    talk(desk)
    session = desk.agent.session_id[:8]
    desk.agent.pin("never lower the lamp")
    assert completions(desk, "/com") == ["/compress"]
    assert completions(desk, f"/resume {session[:3]}") == [f"/resume {session}"]
    assert completions(desk, "/unpin ne") == ["/unpin never lower the lamp"]
    assert completions(desk, "/compress --p") == ["/compress --preview"]
    assert completions(desk, "/model anth") == ["/model anthropic/"]
    assert completions(desk, "hello") == completions(desk, "/nonsense x") == []


def test_bug_in_a_command_does_not_end_the_chat(desk, upstream, monkeypatch):
    broken = replace(desk, settings=None)  # which /context looks into

    def hold(lines):
        editor = LineReader(io.StringIO(lines))
        return Chat(broken, editor, Approvals(desk.view, editor, everything=False)).hold()

    assert hold("/context\nstill there?\n") == 0
    assert len(upstream.requests) == 1
    assert "internal error: AttributeError: 'NoneType'" in desk.console.file.getvalue()
    monkeypatch.setenv("MIDFOLD_TRACEBACK", "1")
    with pytest.raises(AttributeError):
        hold("/context\n")


class Plain(ContextEngine):
    """An engine with no more than the contract."""

    name = "plain"

    def update_from_response(self, usage):
        pass

    def should_compress(self, prompt_tokens=None):
        return False

    def compress(self, messages, current_tokens=None, focus_topic=None):
        return messages[-2:]


def test_a_plain_engine_compresses_and_says_what_it_cannot_do(upstream, tmp_path):
    console = Console(file=io.StringIO(), width=90)
    options = {"base_url": upstream.url, "workspace": tmp_path, "home": tmp_path / "home"}
    with Agent("scripted", **options, summarizer=None, engine=Plain()) as agent:
        desk = ChatContext(agent, console, PlainView(console.file, console), load_settings())
        talk(desk, 3)
        for line in ("/compress --preview", "/pin never lower the lamp", "/unpin never lower the lamp"):
            with pytest.raises(EngineUnable, match="the engine 'plain' cannot"):
                run_command(desk, line)
        for line in ("/compress here 1", "/compress", "/undo", "/undo", "/pins", "/status", "/context"):
            run_command(desk, line)
        shown = console.file.getvalue()
    assert "cannot keep a number of exchanges" in " ".join(shown.split())
    assert "Compressed: 6 → 2 messages" in shown
    assert "Undone: the newest fold or correction: 6 messages" in shown
    assert "there is no fold to undo" in shown


def test_export_writes_a_file_that_can_be_imported_and_replaces_none(desk, told, tmp_path):
    talk(desk)
    assert "2 messages to" in told("/export talk.json")
    assert "question 0" in (tmp_path / "talk.json").read_text()
    with pytest.raises(UsageProblem, match="there already"):
        run_command(desk, "/export talk.json")


def test_export_needs_something_that_was_said(desk):
    with pytest.raises(UsageProblem, match="there are no messages yet"):
        run_command(desk, "/export")


def test_clear_begins_another_session(desk, told):
    talk(desk)
    before = desk.agent.session_id
    assert "session" in told("/clear")
    assert desk.agent.session_id != before


def test_a_command_of_ones_own_is_shown_and_told_to_the_model(desk, upstream):
    assert run_own_command(desk, "echo lit") is NextStep.PROMPT
    assert "lit\n" in desk.console.file.getvalue()
    talk(desk)
    assert "lit" in upstream.requests[-1].body.decode()


def test_files_are_completed_after_an_at_sign(desk, tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("x")
    assert [each.text for each in complete_file(desk.agent, "look at @no")] == ["notes.txt"]
    assert [each.text for each in complete_file(desk.agent, "@sr")] == ["src/"]
    assert [each.text for each in complete_file(desk.agent, "@src/a")] == ["app.py"]
    assert list(complete_file(desk.agent, "a@b")) == []


def test_notes_are_shown_opened_and_corrected(desk, told):
    assert "nothing is folded yet" in told("/notes")
    talk(desk, 8)
    told("/compress")
    listed = told("/notes")
    assert "  1  " in listed
    assert "(you [" in listed or "(model [" in listed
    first = desk.agent.notes()[0]
    assert f"[{first.sources[0]}]" in told("/notes 1")
    assert f"struck: 1  {first.text[:40]}" in told("/notes strike 1")
    assert "added: The tide is late." in told("/notes add The tide is late.")
    assert "The tide is late. (you)" in told("/notes")
    told("/undo")
    assert "The tide is late." not in told("/notes")


@pytest.mark.parametrize(
    "line", ["/notes strike", "/notes strike x", "/notes edit 1", "/notes add", "/notes mend 1"]
)
def test_notes_say_how_they_are_corrected(desk, told, line):
    talk(desk, 8)
    told("/compress")
    with pytest.raises(UsageProblem, match="/notes strike N"):
        run_command(desk, line)


def test_pins_name_the_rules_that_were_found(desk, told):
    list(desk.agent.run("Please clean lamp 7. Never switch lamp 7 off while a ship is near."))
    told("/pin mind the tide")
    printed = told("/pins")
    assert "1  mind the tide" in printed
    assert "-  Never switch lamp 7 off while a ship is near. [0]" in printed
    told("/unpin Never switch lamp 7 off while a ship is near.")
    assert "lamp 7 off" not in told("/pins")
