"""A conversation is folded when it must be or when somebody asks, and goes on in a continuation."""

import socket
import subprocess
import threading

import pytest

from midfold.agent import (
    CompressionFinished,
    CompressionStarted,
    Continued,
    ContinuedElsewhere,
    Done,
    Notice,
    Pressure,
    Recovering,
    Topic,
    Why,
)
from midfold.agent.memory import Target
from midfold.errors import ContextOverflow, SessionBusy, StillTooLarge, StoreUnavailable
from midfold.store import SessionKind
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.store import SqliteStore
from midfold.summaries.prompts import SUMMARY_MARKER, SYSTEM_NOTE
from midfold.testing.upstream import HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.wire import parse

APIS = ("openai_chat", "openai_responses", "anthropic")
WINDOW = 12_000
RULE = "Never touch config/prod.yaml."
LONG = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 60


def talk(agent, play, turns, words=LONG):
    """Say something long a number of times, and return what happened."""
    return [event for turn in range(turns) for event in play(agent, f"Turn {turn}: {words}")]


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("api", APIS)
def test_a_fold_by_threshold_opens_a_continuation(api, make_agent, play, faults_in):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, api=api, context_length=WINDOW)
        first = agent.session_id
        events = play(agent, f"Look after the meters. {RULE}") + talk(agent, play, 8, LONG * 2)
        [started, *_] = of(events, CompressionStarted)
        [finished, *_] = of(events, CompressionFinished)
        [continued, *_] = of(events, Continued)
        assert started.why in (Why.PREFLIGHT, Why.THRESHOLD)
        assert finished.headline.startswith("Compressed: ")
        assert continued.old_id == first
        assert agent.store.get_compression_tip(first) == agent.session_id
        assert {session.kind for session in agent.store.chain(first)} == {
            SessionKind.ROOT,
            SessionKind.CONTINUATION,
        }
        assert parse(agent.store.messages(agent.session_id), api) == agent.messages
        assert RULE in up.requests[-1].body.decode()
        assert max(received.count_tokens() for received in up.requests) <= WINDOW
        assert faults_in(up) == []


def test_the_note_about_folds_is_added_to_the_system_prompt_once(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, context_length=WINDOW)
        before = agent.system
        talk(agent, play, 15, LONG * 2)
        assert agent.status().folds >= 2
        assert agent.system == f"{before}\n\n{SYSTEM_NOTE}"
        assert agent.store.system(agent.session_id) == agent.system


def test_from_the_second_fold_on_the_user_is_told(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        events = talk(make_agent(up, context_length=WINDOW), play, 15, LONG * 2)
    often = [event for event in of(events, Notice) if event.topic is Topic.FOLDED_OFTEN]
    assert "2 times" in often[0].text


def test_the_approach_of_the_threshold_is_told_once(make_agent, play):
    with Upstream(Reply("Noted.", usage=CanonicalUsage(9_000, 10))) as up:
        events = talk(make_agent(up, context_length=WINDOW, enabled=True), play, 3, "short")
    [warning] = [event for event in of(events, Notice) if event.topic is Topic.APPROACH]
    assert "9,000 of 10,200" in warning.text


def test_pressure_is_told_when_a_tier_is_reached(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        tiers = [event.tier for event in of(talk(make_agent(up, context_length=WINDOW), play, 14), Pressure)]
    assert tiers[:2] == sorted(set(tiers[:2]))


def test_a_fold_by_command_keeps_to_its_focus_and_says_what_it_did(make_agent, play, faults_in):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 12)
        play(agent, "The tariff at the station is 3.20 an hour.")
        heard = []
        result = agent.compress("tariff", on_event=heard.append)
        assert result.changed
        assert result.headline.startswith("Compressed: 26 → ")
        assert [type(event) for event in heard][:3] == [CompressionStarted, CompressionFinished, Continued]
        play(agent, "Go on.")
        assert SUMMARY_MARKER in up.requests[-1].body.decode()
        assert faults_in(up) == []


def test_a_fold_by_command_can_leave_the_last_exchanges_alone(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 10)
        last = [message.text for message in agent.messages[-6:]]
        assert agent.compress(keep_last=3).changed
        assert [message.text for message in agent.messages[-6:]] == last


def test_nothing_to_fold_is_said_and_changes_nothing(make_agent, play):
    with Upstream(Reply("Hi.")) as up:
        agent = make_agent(up)
        play(agent, "hello")
        session = agent.session_id
        result = agent.compress()
    assert not result.changed
    assert result.headline.startswith("No changes from compression")
    assert agent.session_id == session


def test_a_preview_asks_nobody_and_changes_nothing(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, summarizer="main")
        talk(agent, play, 12)
        before, requests = agent.messages, len(up.requests)
        preview = agent.preview()
        assert preview.changed
        assert preview.tokens_after < preview.tokens_before
        assert preview.forecast.calls >= 1
        assert agent.messages == before
        assert len(up.requests) == requests


@pytest.mark.parametrize("api", APIS)
def test_an_overflow_is_learnt_folded_and_answered(api, make_agent, play, faults_in):
    with Upstream(Reply("Noted."), window_tokens=9_000) as up:
        agent = make_agent(up, api=api, context_length=20_000, max_output=200)
        events = talk(agent, play, 12)
        assert of(events, Recovering)
        assert Why.OVERFLOW in [event.why for event in of(events, CompressionStarted)]
        assert isinstance(events[-1], Done)
        # One of the three refuses without saying how much would fit.
        assert agent.status().window_tokens == (20_000 if api == "openai_responses" else 9_000)
        assert faults_in(up) == []


def test_a_guessed_window_steps_down_when_a_request_is_refused(make_agent, play):
    refusal = {"error": {"message": "Your input exceeds the context window of this model.", "type": "x"}}
    with Upstream([*[Reply("Noted.")] * 12, HttpStatus(400, refusal)], then=Reply("Noted.")) as up:
        agent = make_agent(up)
        assert agent.status().window_tokens == 256_000
        talk(agent, play, 13)
        assert agent.status().window_tokens == 8_000


def test_an_output_cap_that_is_too_large_is_lowered_for_this_call(make_agent, play):
    with Upstream(Reply("Noted."), window_tokens=9_000) as up:
        agent = make_agent(up, context_length=9_000, max_output=8_000)
        events = play(agent, "hello")
        assert [type(event.step).__name__ for event in of(events, Recovering)] == ["LowerOutputCap"]
        assert not of(events, CompressionStarted)
        assert agent.status().window_tokens == 9_000


def test_with_compression_off_an_overflow_is_reported_and_not_repaired(make_agent, play):
    heard = []

    def listen(agent):
        for _ in range(20):
            heard.extend(agent.run(LONG))

    def note(agent):
        for event in agent.run():
            heard.append(event)  # noqa: PERF402 - what came before the error counts

    with Upstream(Reply("Noted."), window_tokens=12_000) as up:
        agent = make_agent(up, enabled=False, context_length=30_000)
        with pytest.raises(ContextOverflow):
            listen(agent)
        with pytest.raises(ContextOverflow):
            note(agent)
        assert not of(heard, CompressionStarted)
        assert "compression is off" in of(heard, Notice)[-1].text
        assert agent.compress().changed


def test_a_history_that_the_provider_refuses_is_mended_once(make_agent, play):
    refusal = {
        "error": {
            "message": "messages with role 'tool' must be a response to a preceding message with"
            " 'tool_calls'",
            "type": "invalid_request_error",
        }
    }
    with Upstream([HttpStatus(400, refusal), Reply("Now it works.")]) as up:
        events = play(make_agent(up), "hello")
    assert [type(event.step).__name__ for event in of(events, Recovering)] == ["Repair"]
    assert events[-1] == Done("Now it works.", 1)


def test_a_prompt_that_fills_the_window_is_cut_and_asked(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, context_length=4_000)
        assert isinstance(play(agent, LONG * 5)[-1], Done)
        sent = up.requests[0].body.decode()
        assert "characters of message [" in sent
        assert isinstance(play(agent, "And now?")[-1], Done)


def test_a_window_that_cannot_take_any_prompt_is_refused_with_what_takes_the_room(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, context_length=600)
        with pytest.raises(StillTooLarge) as caught:
            play(agent, LONG * 5)
        assert up.requests == []
    assert caught.value.breakdown["user"] > 100


def test_undo_brings_everything_back(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 12)
        before = agent.messages
        assert not agent.undo()
        assert agent.compress().changed
        play(agent, "And then?")
        assert agent.undo()
        assert agent.messages[: len(before)] == before
        assert agent.messages[-1].text == "Noted."
        assert agent.status().folds == 0
        assert not agent.undo()


def test_undo_works_after_a_restart(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 12)
        before = agent.messages
        agent.compress()
        agent.close()
        again = make_agent(up, session=agent.session_id)
        assert again.status().folds == 1
        assert again.undo()
        assert again.messages == before
        assert isinstance(play(again, "Go on.")[-1], Done)


def test_undo_brings_the_very_system_prompt_back(make_agent, play, workspace):
    (workspace / "AGENTS.md").write_text(
        "Use token ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA1bC2 for the forge.\n"
    )
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 12)
        before = agent.system
        for _ in range(2):
            agent.compress()
            assert agent.system != before
            assert agent.undo()
            assert agent.system == before


def test_what_an_undone_fold_took_out_is_not_booked_as_saved(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 12)
        assert agent.compress().saved_tokens > 0
        agent.undo()
        play(agent, "Go on.")
        assert "removed_tokens" not in agent.store.calls(agent.session_id)[-1].facts


class FullAfterFolds(SqliteStore):
    """A store whose disk is full as soon as a fold is in place."""

    def mark_announced(self, child_id):
        raise StoreUnavailable("the disk is full")


def test_a_fold_that_is_in_place_but_cannot_be_noted_as_told_is_a_fold(make_agent, play, tmp_path):
    with FullAfterFolds(Database(tmp_path / "full.db")) as store, Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, store=store)
        talk(agent, play, 12)
        heard = []
        assert agent.compress(on_event=heard.append).changed
        assert "the disk is full" in of(heard, Notice)[0].text
        assert agent.status().compressions == 1
        assert parse(store.messages(agent.session_id), "openai_chat") == agent.messages
        assert isinstance(play(agent, "Go on.")[-1], Done)
        agent.close()


def test_pins_survive_folds_and_restarts(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 12)
        agent.pin("The harbour closes at nine.")
        agent.close()
        again = make_agent(up, session=agent.session_id)
        assert again.pins == ("The harbour closes at nine.",)
        again.compress()
        assert any("The harbour closes at nine." in message.text for message in again.messages)
        assert again.unpin("The harbour closes at nine.")
        assert not again.unpin("The harbour closes at nine.")
        assert again.pins == ()


def test_a_session_that_somebody_else_folds_is_left_alone(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, context_length=WINDOW)
        talk(agent, play, 6)
        agent.store.acquire_lease(agent.session_id, "somebody else")
        with pytest.raises(SessionBusy):
            agent.compress()
        assert agent.status().folds == 0
        assert isinstance(play(agent, "Go on.")[-1], Done)


def test_a_lease_that_a_dead_process_left_is_taken_over(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 12)
        dead = subprocess.Popen(["true"])
        dead.wait()
        agent.store.acquire_lease(agent.session_id, f"{socket.gethostname()}/{dead.pid}/1/1")
        assert agent.compress().changed


def test_a_fold_that_the_store_does_not_take_is_taken_back(make_agent, play):
    def summarize(request):
        agent.store.append(agent.session_id, {"role": "user", "content": "And the tariff?"})
        return "## Goal\nThe meters."

    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, summarizer=summarize)
        talk(agent, play, 12)
        before = agent.messages
        with pytest.raises(ContinuedElsewhere):
            agent.compress()
        assert agent.messages == before
        assert agent.status().folds == 0
        assert not any(thread.name == "midfold-lease" for thread in threading.enumerate())


def test_memory_is_written_before_a_fold_and_hooks_are_asked(make_agent, play, tmp_path):
    seen = []

    def hook(session, messages):
        seen.append((session, len(messages)))
        raise RuntimeError("no disk")

    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, before_fold=[hook])
        talk(agent, play, 12)
        (tmp_path / "home" / "USER.md").symlink_to(tmp_path / "elsewhere" / "USER.md")
        agent.memory.add(Target.USER, "likes tea")
        (tmp_path / "elsewhere").mkdir()
        session = agent.session_id
        heard = []
        agent.compress(on_event=heard.append)
    assert seen == [(session, 24)]
    assert (tmp_path / "home" / "USER.md").read_text() == "- likes tea\n"
    assert any("no disk" in event.text for event in of(heard, Notice))


def test_a_summary_by_the_main_model_is_paid_for_in_the_books(make_agent, play):
    def answer(received):
        return Reply("## Goal\nThe meters.") if len(received.messages) == 1 else Reply("Noted.")

    with Upstream(answer) as up:
        agent = make_agent(up, summarizer="main")
        play(agent, "hello")
        talk(agent, play, 12)
        result = agent.compress()
        assert result.changed
        assert agent.usage().summaries >= 1
        assert agent.usage().calls == len(up.requests)


def test_a_fold_is_prepared_while_the_conversation_goes_on(make_agent, play):
    def answer(received):
        is_summary = len(received.messages) == 1 and len(up.requests) > 2
        return Reply("## Goal\nThe meters take coins and cards.") if is_summary else Reply("Noted.")

    with Upstream(answer) as up:
        agent = make_agent(up, summarizer="main", context_length=WINDOW)
        events = talk(agent, play, 14)
    assert any(event.was_prepared for event in of(events, CompressionFinished))
