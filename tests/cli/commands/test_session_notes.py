"""`midfold sessions notes`, as a person runs it."""

import json


def test_notes_are_listed_opened_corrected_and_taken_back(run, folded):
    _, tip = folded
    status, out, err = run("sessions", "notes", "latest")
    assert (status, err) == (0, "")
    before = out
    told = json.loads(run("sessions", "notes", tip, "--json")[1])
    first = told[0]
    assert f"  {first['number']}  " in out
    status, out, _ = run("sessions", "notes", "latest", first["number"])
    assert f"[{first['sources'][0]}]" in out
    status, out, _ = run("sessions", "notes", "latest", "strike", first["number"])
    assert (status, "struck: 1" in out) == (0, True)
    status, out, _ = run("sessions", "notes", "latest", "edit", 2, "--port", "4040", "is", "right")
    assert "note 2 now says: --port 4040 is right" in out
    assert "corrected: --port 4040 is right (you)" in run("sessions", "notes", "latest")[1]
    for _ in range(2):
        run("sessions", "undo", "latest")
    assert run("sessions", "notes", "latest")[1] == before


def test_notes_of_a_closed_conversation_can_be_corrected_and_it_stays_closed(run, folded, store):
    _, tip = folded
    store.end_session(tip)
    assert run("sessions", "notes", "latest", "add", "The", "host", "is", "b2.")[0] == 0
    assert store.session(store.get_compression_tip(tip)).end_reason == "closed"


def test_notes_that_are_not_there_are_one_clear_line(run, put, folded):
    other = put("hello")
    for arguments, words in (
        ((folded[0], 999), "there is no note 999"),
        ((folded[0], "strike", 999), "there is no note 999"),
        ((folded[0], "mend", 1), "strike N..., edit N TEXT, add TEXT"),
        ((other, "add", "x"), "nothing is folded yet"),
        ((other, 1), "nothing is folded yet"),
    ):
        status, out, err = run("sessions", "notes", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert words in err
