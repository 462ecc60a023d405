"""Stored conversations as tools: found, read, counted, folded and pinned, within the tokens of a call."""

import json

import pytest

from midfold.errors import MidfoldError, SessionBusy
from midfold.folding import CompressionPolicy
from midfold.mcp import SessionTools
from midfold.store import HeldLease, open_store
from midfold.testing import transcript
from midfold.tokens import TokenCounter

FACT = "The spare key of meter 4711 hangs behind the blue door."
ITEMS = [{"role": "user", "content": FACT}, *transcript("openai_chat", turns=30, result_chars=2_000)]


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "s.db") as opened:
        yield opened


@pytest.fixture
def session(store):
    opened = store.create_session(dialect="openai_chat", title="Meters", model="gpt-5-mini")
    store.append(opened.id, ITEMS)
    return opened.id


@pytest.fixture
def tools(store, session):
    return SessionTools(store, CompressionPolicy(context_length=24_000))


def test_a_question_finds_its_message(tools, session):
    hit = tools.search("behind which door hangs the spare key")["hits"][0]
    assert (hit["session"], hit["message"]) == (session, 0)
    assert "blue door" in hit["text"]


def test_a_session_is_found_by_the_beginning_of_its_id(tools, session):
    assert tools.describe(session[:8])["session"] == session


def test_pages_hold_everything_and_no_more_than_they_may(tools):
    count, texts, page = TokenCounter().count_text, {}, 1
    while True:
        answer = tools.expand(messages="0-40", page=page, max_tokens=500)
        assert sum(count(str(each["text"])) for each in answer["messages"]) <= 500
        for each in answer["messages"]:
            texts[each["number"]] = texts.get(each["number"], "") + str(each["text"])
        if page == answer["pages"]:
            break
        page += 1
    assert sorted(texts) == list(range(41))
    assert texts[0] == FACT


def test_a_fold_opens_a_continuation_and_loses_nothing(tools, store, session):
    folded = tools.compress(focus="the spare key")
    assert folded["changed"]
    assert folded["tokens_after"] < folded["tokens_before"]
    assert store.get_compression_tip(session) == folded["session"]
    described = tools.describe(session)
    assert (described["session"], described["messages"]) == (folded["session"], len(ITEMS))
    assert described["notes"]
    assert tools.expand(session, "0")["messages"][0]["text"] == FACT
    store.undo_continuation(session)
    assert len(store.messages(store.get_compression_tip(session))) == len(ITEMS)


def test_an_ended_session_is_ended_again_after_its_fold(tools, store, session):
    store.end_session(session)
    folded = tools.compress(session)
    assert store.session(folded["session"]).ended_at is not None


def test_a_session_that_somebody_works_on_is_left_alone(tools, store, session):
    with HeldLease(store, session, holder="somebody"), pytest.raises(SessionBusy):
        tools.compress(session)
    assert store.folds(session) == []


def test_a_pinned_sentence_is_in_the_next_fold(tools, store):
    assert tools.pin("The harbour closes at nine.") == {"pins": ["The harbour closes at nine."]}
    folded = tools.compress()
    assert "The harbour closes at nine." in json.dumps(store.messages(folded["session"]))
    assert tools.pin("The harbour closes at nine.", remove=True) == {"pins": []}


def test_the_lossless_engine_folds_too(store, session):
    tools = SessionTools(store, CompressionPolicy(context_length=24_000), "lcm")
    assert tools.compress()["changed"]
    assert tools.expand(session, "0")["messages"][0]["text"] == FACT


def test_a_hit_is_expanded_by_its_number_after_folds(tools, store, session):
    tip = tools.compress()["session"]
    said = [{"role": "user", "content": "The red lantern stands in locker 20."}, *ITEMS[1:]]
    store.append(tip, said)
    tools.compress()
    for query, words in (("where is the red lantern?", "locker 20"), ("the spare key", "blue door")):
        hit = next(hit for hit in tools.search(query)["hits"] if "message" in hit and words in hit["text"])
        [shown] = tools.expand(hit["session"], str(hit["message"]))["messages"]
        assert words in shown["text"]


def size(answer):
    return TokenCounter().count_text(json.dumps(answer, ensure_ascii=False, indent=2))


@pytest.mark.parametrize("most", [300, 500, 2_000])
def test_no_answer_takes_more_than_it_may(store, session, most):
    hostile = ['\n\t"\\{' * 900, "𒀀𒁀𓂀" * 700, "meter " * 2_000]
    store.append(session, [{"role": "user", "content": text} for text in hostile])
    store.set_title(session, "a long title " * 90)
    tools = SessionTools(store, CompressionPolicy(context_length=24_000))
    for number in range(30):
        tools.pin(f"Rule {number}: the harbour closes at nine.")
    tools.compress()
    told = tools.describe(max_tokens=most)
    assert told["left_out"]
    last = len(ITEMS) + len(hostile) - 1
    pages = tools.expand(messages=f"{last - 2}-{last}", max_tokens=most)["pages"]
    shown = [
        tools.expand(messages=f"{last - 2}-{last}", page=each + 1, max_tokens=most) for each in range(pages)
    ]
    found = tools.search("meter", limit=50, max_tokens=most)
    assert found["hits"]
    assert max(map(size, [told, found, *shown])) <= most
    texts = [
        "".join(row["text"] for each in shown for row in each["messages"] if row["number"] == number)
        for number in range(last - 2, last + 1)
    ]
    assert texts == hostile


def test_stats_list_conversations_and_count_one(tools, session):
    [listed] = tools.stats()["conversations"]
    assert (listed["session"], listed["messages"]) == (session, len(ITEMS))
    assert tools.stats(session)["session"] == session


@pytest.mark.parametrize(
    "ask",
    [
        lambda tools: tools.search(" "),
        lambda tools: tools.describe("no-such-session"),
        lambda tools: tools.expand(messages="all"),
        lambda tools: tools.expand(messages="999999"),
        lambda tools: tools.expand(messages="5-3"),
        lambda tools: tools.expand(page=-1),
        lambda tools: tools.expand(messages="0", page=2),
        lambda tools: tools.search("meter", role="moon"),
        lambda tools: tools.pin("  "),
    ],
)
def test_a_senseless_request_is_one_clear_line(tools, ask):
    with pytest.raises(MidfoldError) as error:
        ask(tools)
    assert "\n" not in str(error.value)


def test_a_reading_server_changes_nothing(store, session):
    tools = SessionTools(store, changes=False)
    for change in (tools.compress, lambda: tools.pin("x")):
        with pytest.raises(MidfoldError, match="only reads"):
            change()
