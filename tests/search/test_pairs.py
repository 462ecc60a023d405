"""How much a pair of characters says in scripts without spaces."""

import pytest

from midfold.search import Document, SearchIndex, read_query
from midfold.search.pairs import FAINT, weigh_pair


@pytest.mark.parametrize("pair", ["原因", "설정", "登录", "login", "ab", "한"])
def test_words_count_in_full(pair):
    assert weigh_pair(pair) == 1.0


@pytest.mark.parametrize("pair", ["的原", "因和", "のス", "ドを", "定カ"])
def test_a_pair_across_two_words_says_hardly_anything(pair):
    assert weigh_pair(pair) == FAINT


@pytest.mark.parametrize("pair", ["スク", "敗し", "した", "정을"])
def test_a_part_of_a_longer_word_counts_less_than_a_word(pair):
    assert FAINT < weigh_pair(pair) < 1.0


def test_a_query_of_faint_pairs_alone_still_finds():
    index = SearchIndex([Document(("前的后",), "user"), Document(("别的事情",), "user")])
    assert {key.weight for key in read_query("前的后").keys} == {FAINT}
    assert index.search("前的后")[0].number == 0


def test_an_accident_across_words_does_not_beat_a_word_of_the_question():
    said = ["服务器出错的真正原因是连接池", "默认的字体和改天再说", "今天先到这里", "测试都通过了"]
    index = SearchIndex(Document((text,), "assistant") for text in said)
    assert index.search("最后确认的原因和改动办法")[0].number == 0
