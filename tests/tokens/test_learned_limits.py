"""Limits that providers stated, remembered."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from midfold.tokens import LearnedLimits, Lesson

HOUSE, MODEL = "https://llm.example.com", "house-model"
DAY_SECONDS = 24 * 3600


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "limits.json"


def learn(path, stated, configured=200_000):
    return LearnedLimits(path).learn(HOUSE, MODEL, stated, configured_tokens=configured)


def test_a_stated_limit_is_remembered_by_the_next_process(path):
    assert learn(path, 131_072) is Lesson.LEARNED
    assert LearnedLimits(path).get(HOUSE, MODEL) == 131_072


def test_limits_only_ever_fall(path):
    learn(path, 131_072)
    assert learn(path, 150_000) is Lesson.REFUSED
    assert learn(path, 400_000) is Lesson.REFUSED
    assert learn(path, 100_000) is Lesson.LEARNED
    assert LearnedLimits(path).get(HOUSE, MODEL) == 100_000


@pytest.mark.parametrize("stated", [-1, 0, 10, 2013, 4_095])
def test_a_figure_in_which_no_conversation_fits_is_never_believed(path, stated):
    assert [learn(path, stated) for _ in range(3)] == [Lesson.REFUSED] * 3
    assert not path.exists()


def test_a_surprisingly_small_limit_is_believed_when_it_is_seen_again(path):
    assert learn(path, 32_768) is Lesson.SEEN_ONCE
    assert LearnedLimits(path).get(HOUSE, MODEL) is None
    assert learn(path, 32_768) is Lesson.LEARNED
    assert LearnedLimits(path).get(HOUSE, MODEL) == 32_768


def test_two_different_surprises_are_not_one_seen_twice(path):
    assert learn(path, 32_768) is Lesson.SEEN_ONCE
    assert learn(path, 16_384) is Lesson.SEEN_ONCE


def test_a_surprise_does_not_unlearn_what_was_believed(path):
    learn(path, 131_072)
    learn(path, 8_192)
    assert LearnedLimits(path).get(HOUSE, MODEL) == 131_072


def test_a_limit_is_forgotten_after_a_month_so_that_a_raised_one_is_found(path):
    LearnedLimits(path, clock=lambda: 0).learn(HOUSE, MODEL, 131_072, configured_tokens=200_000)
    assert LearnedLimits(path, clock=lambda: 29 * DAY_SECONDS).get(HOUSE, MODEL) == 131_072
    assert LearnedLimits(path, clock=lambda: 31 * DAY_SECONDS).get(HOUSE, MODEL) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[1, 2]",
        b'"limits"',
        b"[" * 100_000,
        b'{"limits": {"a": 1}}',
        b'{"limits": [null, 3, {"endpoint": 5}, {"limit_tokens": 9}]}',
        json.dumps(
            {"limits": [{"endpoint": HOUSE, "model": MODEL, "at_seconds": 1, "limit_tokens": "many"}]}
        ).encode(),
        json.dumps(
            {"limits": [{"endpoint": HOUSE, "model": MODEL, "at_seconds": 1, "limit_tokens": 10}]}
        ).encode(),
    ],
)
def test_a_broken_or_foreign_file_holds_nothing_and_is_replaced(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    assert LearnedLimits(path, clock=lambda: 2).get(HOUSE, MODEL) is None
    assert learn(path, 131_072) is Lesson.LEARNED
    assert LearnedLimits(path).get(HOUSE, MODEL) == 131_072


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary())
def test_any_content_can_be_read(tmp_path, content):
    (tmp_path / "limits.json").write_bytes(content)
    assert LearnedLimits(tmp_path / "limits.json").get(HOUSE, MODEL) is None


def test_the_file_is_its_owners_alone_and_nothing_else_is_left(path):
    learn(path, 131_072)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_where_the_file_cannot_be_written_the_process_remembers(tmp_path):
    (tmp_path / "home").write_text("a file where the folder should be")
    limits = LearnedLimits(tmp_path / "home" / "limits.json")
    assert limits.learn(HOUSE, MODEL, 131_072, configured_tokens=200_000) is Lesson.LEARNED_UNSAVED
    assert limits.get(HOUSE, MODEL) == 131_072


def test_writers_at_the_same_time_leave_a_whole_file(path):
    def write(number):
        return LearnedLimits(path).learn(HOUSE, f"model-{number}", 131_072, configured_tokens=200_000)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write, range(80))) == {Lesson.LEARNED}
    assert json.loads(path.read_text())["limits"]
    assert list(path.parent.iterdir()) == [path]


def test_names_from_requests_cannot_grow_the_file_for_ever(path):
    path.parent.mkdir()
    entry = {"endpoint": HOUSE, "at_seconds": 1, "limit_tokens": 100_000, "claim_tokens": 0}
    path.write_text(json.dumps({"limits": [entry | {"model": f"m{number}"} for number in range(2_000)]}))
    LearnedLimits(path, clock=lambda: 2).learn(HOUSE, MODEL, 131_072, configured_tokens=200_000)
    assert len(json.loads(path.read_text())["limits"]) == 500
    assert LearnedLimits(path, clock=lambda: 3).get(HOUSE, MODEL) == 131_072


def test_a_learnt_window_gives_way_to_a_setting_that_is_newer(path):
    learn(path, 131_072)
    limits = LearnedLimits(path)
    assert limits.get(HOUSE, MODEL, explicit=200_000) == 131_072
    assert limits.get(HOUSE, MODEL, explicit=180_000) is None
    learn(path, 100_000, configured=131_072)
    assert limits.get(HOUSE, MODEL, explicit=200_000) == 100_000


def test_a_learnt_window_gives_way_to_a_larger_prompt_that_succeeds(path):
    learn(path, 131_072)
    limits = LearnedLimits(path)
    assert not limits.note_success(HOUSE, MODEL, 131_072)
    assert limits.get(HOUSE, MODEL) == 131_072
    assert limits.note_success(HOUSE, MODEL, 131_073)
    assert LearnedLimits(path).get(HOUSE, MODEL) is None


def test_a_stated_limit_of_an_unknown_model_is_used_whatever_its_size(path):
    limits = LearnedLimits(path)
    lesson = limits.learn(HOUSE, MODEL, 2_048, configured_tokens=256_000, is_guess=True)
    assert lesson is Lesson.LEARNED
    assert LearnedLimits(path).get(HOUSE, MODEL) == 2_048


def test_one_model_or_all_are_forgotten(path):
    limits = LearnedLimits(path)
    for model in ("one", "two", "three"):
        limits.learn(HOUSE, model, 100_000, configured_tokens=200_000)
    assert [limit.model for limit in limits.forget("two")] == ["two"]
    assert [limit.model for limit in limits.list_all()] == ["one", "three"]
    assert limits.forget("two") == []
    assert len(limits.forget()) == 2
    assert LearnedLimits(path).list_all() == []
