"""How much of a topic survived."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.summaries.focus import check_focus
from support.pace import is_linear

SOURCE = """\
[0] USER: The database schema of the shop has to change before Friday, and the newsletter is late.
[1] CALL read_file {"path": "db/schema/orders.sql"}
[2] RESULT of read_file (88 chars):
create table orders_v2 (id bigint, paid_at timestamptz);  -- schema 14
[3] ASSISTANT: The schema lacks idx_orders_paid, so db/migrate.py scans the whole table.
[4] USER: And send the newsletter with template spring_sale.html to 4,100 people.
"""
FAITHFUL = """\
## Key Decisions
- The database schema changes: db/schema/orders.sql has table orders_v2 with paid_at.
- idx_orders_paid is missing, so db/migrate.py scans it.
"""
OFF_TOPIC = "## Goal\nThe newsletter goes out with spring_sale.html to 4,100 people."


def test_a_summary_that_keeps_the_topic_raises_no_warning():
    check = check_focus("database schema", [SOURCE], FAITHFUL)
    assert check.warning is None
    assert set(check.kept) >= {"database", "schema", "db/schema/orders.sql", "orders_v2", "idx_orders_paid"}


def test_only_what_stands_beside_the_topic_is_asked_for():
    asked = check_focus("database schema", [SOURCE], "").asked
    assert asked[:2] == ("database", "schema")
    assert "spring_sale.html" not in asked


def test_a_summary_that_lost_the_topic_raises_a_warning_that_names_both_causes():
    check = check_focus("database schema", [SOURCE], OFF_TOPIC, is_by_model=True)
    assert check.kept == ()
    assert f"0 of {len(check.asked)}" in check.warning
    assert "model may be too weak" in check.warning
    assert "topic may be too vague" in check.warning


def test_no_model_is_blamed_for_a_digest():
    check = check_focus("database schema", [SOURCE], OFF_TOPIC, is_by_model=False)
    assert "model" not in check.warning
    assert "topic may be too vague" in check.warning


@pytest.mark.parametrize(
    "topic", ["everything important", "the code, please", "", "  ", "alles", "内容", "kubernetes ingress"]
)
def test_a_topic_that_names_nothing_folded_is_called_vague(topic):
    check = check_focus(topic, [SOURCE], FAITHFUL)
    assert check.asked == ()
    assert "too vague" in check.warning


def test_plurals_and_case_do_not_matter():
    assert check_focus("SCHEMAS", [SOURCE], FAITHFUL).kept[0] == "SCHEMAS"


def test_short_words_are_looked_for_as_whole_words():
    assert check_focus("API", ["a rapid change"], "rapid").asked == ()
    assert check_focus("API", ["the api of the shop"], "the API").kept == ("API",)


def test_a_path_is_kept_when_its_file_is_named():
    check = check_focus("schema", [SOURCE], "The schema is in orders.sql.")
    assert "db/schema/orders.sql" in check.kept


@pytest.mark.parametrize(
    ("topic", "source", "summary", "words"),
    [
        (
            "数据库的连接池",
            "数据库连接池最多 20 个，配置在 pool_size",
            "连接池最多 20 个（pool_size），数据库只读",
            ("数据库", "连接池"),
        ),
        ("短信提醒时区", "短信提醒的时区是 Etc/UTC", "短信提醒晚八小时，时区改为上海", ("短信提醒", "时区")),
        (
            "データベースの設計",
            "データベース設計は schema.sql にある",
            "データベースの設計（schema.sql）",
            ("データベース", "設計"),
        ),
        (
            "데이터베이스를 최적화",
            "데이터베이스는 느리다. 최적화 필요",
            "데이터베이스 최적화를 미룸",
            ("데이터베이스", "최적화"),
        ),
        (
            "схема базы",
            "Новая схема базы лежит в schema_v3.sql",
            "схема базы: schema_v3.sql",
            ("схема", "базы"),
        ),
        ("税", "税は 10 % とする", "税は 10 %", ("税",)),
    ],
)
def test_topics_in_other_scripts_are_found(topic, source, summary, words):
    check = check_focus(topic, [source], summary)
    assert check.asked[: len(words)] == words
    assert check.warning is None
    assert "survived: 0 of" in check_focus(topic, [source], "nothing of it").warning


def test_many_names_are_asked_for_and_not_all_of_them():
    source = "\n".join(f"the cache holds entry_{number}" for number in range(500))
    assert len(check_focus("cache", [source], "").asked) == 25


@given(st.text(), st.text(), st.text())
def test_kept_is_part_of_asked_whatever_the_texts(topic, source, summary):
    check = check_focus(topic, [source], summary)
    assert set(check.kept) <= set(check.asked)


def test_a_long_conversation_is_checked_in_no_time():
    topic = "database schema 数据库的连接池和索引"
    assert is_linear(lambda size: check_focus(topic, [SOURCE * size], FAITHFUL), 4_000)


def test_a_vague_word_that_was_said_is_not_called_unmentioned():
    check = check_focus("session", ["The session store keeps every session."], "The session store is kept.")
    assert check.warning is None
    assert check_focus("session", ["Nothing here."], "None.").warning is not None
