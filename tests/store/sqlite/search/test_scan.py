"""Looking for a text letter by letter."""

from midfold.store.sqlite.search import find as finding
from midfold.store.sqlite.search.find import Coverage


def ids(found):
    return [row.id for row in found.rows]


def test_it_finds_what_is_no_word_whatever_its_case_newest_first(shelf):
    first = shelf.say("x = fooBARbaz(1)")
    shelf.say("foo bar baz")
    second = shelf.say("nothing", "OBARB here")
    assert ids(shelf.scan("oBarB")) == [second, first]
    assert ids(shelf.scan("oBarB", limit=1)) == [second]
    assert ids(shelf.scan("= fooBAR")) == [first]


def test_it_looks_into_one_session_only(shelf):
    shelf.say("needle", session="other")
    wanted = shelf.say("needle")
    assert ids(shelf.scan("eedl")) == [wanted]
    assert ids(shelf.scan("eedl", session="nobody's")) == []


def test_nothing_is_in_every_text_and_so_is_not_looked_for(shelf):
    shelf.say("anything")
    assert shelf.scan("").rows == ()
    assert shelf.scan("any", limit=0).rows == ()


def test_it_stops_after_so_many_characters_and_says_so(shelf, monkeypatch):
    monkeypatch.setattr(finding, "SCANNED_CHARS", 1_200)
    shelf.say("old needle")
    newest = [shelf.say("needle " + "x" * 300) for _ in range(5)]
    found = shelf.scan("needle")
    assert found.coverage is Coverage.CUT
    assert ids(found) == newest[:-4:-1]


def test_it_stops_when_time_is_over_and_says_so(shelf):
    shelf.say("needle")
    assert shelf.scan("needle", seconds=0).coverage is Coverage.CUT
    assert shelf.scan("needle").coverage is Coverage.WHOLE
