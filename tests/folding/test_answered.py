"""Work that was done after the newest request is not folded in front of it."""

import midfold


def turn(number):
    call = {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": "bash", "arguments": f'{{"command": "make {number}"}}'},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"part {number} was built\n" * 60},
    ]


def fold(answer, ceiling=2_500):
    messages = [{"role": "user", "content": "Bauen Sie die Teile."}]
    messages += [message for number in range(30) for message in turn(number)]
    messages += [
        {"role": "assistant", "content": "Gebaut."},
        {"role": "user", "content": "Schreiben Sie das Handbuch."},
        {"role": "assistant", "content": answer},
    ]
    return midfold.compress(messages, max_tokens=ceiling)


def test_an_answer_that_has_to_be_cut_stays_behind_its_request():
    result = fold("Hier ist das Handbuch.\n\n" + "Ein Absatz über die Teile und ihre Pflege.\n" * 900)
    said = [str(message["content"]) for message in result.messages]
    at = said.index("Schreiben Sie das Handbuch.")
    assert said[at + 1].startswith("Hier ist das Handbuch.")
    assert "of message [63] cut" in said[at + 1]
    assert result.tokens_after <= 2_500
    assert "(Answered: the answer follows these notes.)" in result.summary


def test_a_short_answer_stays_whole():
    result = fold("Das Handbuch liegt in docs/handbuch.md.")
    assert result.messages[-1]["content"] == "Das Handbuch liegt in docs/handbuch.md."
