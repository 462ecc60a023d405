"""Text in pieces is redacted like text in one piece, wherever it is cut."""

import json
import random
import string
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.redact import StreamRedactor, redact
from midfold.redact.stream import MAX_HELD_CHARS

ALPHABET = string.ascii_letters + string.digits
TOKEN = "gh" + "p_" + "a1B2" * 9
FIRST, LAST = "-----BEG" + "IN RSA PRIVATE KEY-----", "-----E" + "ND RSA PRIVATE KEY-----"
SOURCE = random.Random(5)
BODY = ["".join(SOURCE.choices(ALPHABET + "+/", k=64)) for _ in range(4)]
KEY = "\n".join((FIRST, *BODY, "QUJD=", LAST))

TEXTS = {
    "token": f"a line\nuse {TOKEN} here\nand another\n",
    "token without a line break": f"use {TOKEN}",
    "assignment": 'export DB_PASSWORD=swordfish\npassword = "hunter22"\n{"apiKey": "a1b2c3d4e5f6"}\n',
    "headers": "Authorization: Bearer a1B2c3D4e5F6g7H8i9\r\nCookie: sid=a1b2c3d4e5f6g7; x=1\r\n\r\nbody",
    "key": f"before\n{KEY}\nafter, more.\n",
    "indented key": "\n".join(f"    {line}" for line in KEY.splitlines()) + "\n\nafter",
    "key in json": json.dumps({"private_key": KEY, "n": 1}) + "\nnext",
    "key without its end": "\n".join((FIRST, *BODY, "", "and prose: it goes on. " * 20)),
    "key without its beginning": "\n".join(("(cut)", *BODY, "QUJD=", LAST, "after")),
    "two keys": f"{KEY}\n\n{KEY}\n",
    "a key only named": f"it begins with {FIRST}\nand that is all there is to say.\n",
    "languages": f"密码在这里\n{TOKEN}é\nfin\n",
}


def stream(text, cuts, **options):
    redactor = StreamRedactor(**options)
    ends = [*sorted(cuts), len(text)]
    starts = [0, *ends]
    parts = [redactor.feed(text[start:stop]) for start, stop in zip(starts, ends, strict=False)]
    return "".join((*parts, redactor.close()))


@pytest.mark.parametrize("name", TEXTS)
def test_every_split_into_two_gives_what_one_piece_gives(name):
    text = TEXTS[name]
    expected = redact(text, key=b"k")
    for cut in range(len(text) + 1):
        assert stream(text, [cut], key=b"k") == expected, cut


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_small_pieces_give_what_one_piece_gives(name, size):
    text = TEXTS[name]
    assert stream(text, range(size, len(text), size)) == redact(text)


@given(st.lists(st.sampled_from(sorted(TEXTS.values())), max_size=4).map("\n".join), st.data())
def test_any_split_gives_what_one_piece_gives(text, data):
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    assert stream(text, cuts) == redact(text)


def test_whole_lines_are_let_go_as_they_come():
    redactor = StreamRedactor()
    assert redactor.feed("one\ntw") == "one\n"
    assert redactor.feed("o\n") == "two\n"
    assert redactor.close() == ""


def test_a_redactor_may_be_used_again_after_closing():
    redactor = StreamRedactor()
    assert redactor.feed(f"{TOKEN[:20]}") + redactor.close() == TOKEN[:20]
    assert redactor.feed(f"{TOKEN[20:]}\n") + redactor.close() == f"{TOKEN[20:]}\n"


def long_line(count, seed=3):
    """A line of many words with a secret of several kinds between them now and then."""
    source = random.Random(seed)
    words, secrets = [], []
    for number in range(count):
        words.append("".join(source.choices(string.ascii_lowercase, k=source.randint(2, 9))))
        if number % 150 == 0:
            secret = "".join(source.choices(ALPHABET, k=36)) + "7"
            secrets.append(secret)
            words.append(
                source.choice(("gh" + "p_{}", "password: {}", "Bearer {}", 'token="{}"')).format(secret)
            )
    return " ".join(words), secrets


@pytest.mark.parametrize("size", [4_096, 10_007, 65_536, 200_000])
def test_a_line_without_end_is_let_go_in_parts_and_leaks_nothing(size):
    line, secrets = long_line(60_000)
    assert len(line) > 4 * MAX_HELD_CHARS
    streamed = stream(line, range(size, len(line), size))
    assert [secret for secret in secrets if secret in streamed] == []
    assert abs(len(streamed) - len(redact(line))) < len(line) // 100


def test_a_credential_longer_than_what_is_held_is_hidden_to_its_end():
    token = "gh" + "p_" + "".join(SOURCE.choices(ALPHABET, k=3 * MAX_HELD_CHARS))
    streamed = stream(f"before {token} after", range(1_000, len(token), 1_000))
    assert streamed == "before [REDACTED:github-token] after"


def test_a_private_key_longer_than_what_is_held_is_hidden_to_its_end():
    lines = ["".join(SOURCE.choices(ALPHABET, k=64)) for _ in range(3_000)]
    text = "\n".join(("before", FIRST, *lines, LAST, "(after)"))
    streamed = stream(text, range(5_000, len(text), 5_000))
    assert [line for line in lines if line[:32] in streamed] == []
    assert streamed.startswith("before\n[REDACTED:private-key]")
    assert streamed.endswith("(after)")


@pytest.mark.parametrize(
    "text", ["a" * 50, "-----BEGIN ", "QUJDREVGR0hJSktMTU5P\n", f"{FIRST}\n", "password="]
)
def test_no_text_makes_it_hold_more_than_its_limit(text):
    redactor = StreamRedactor()
    tracemalloc.start()
    for _ in range(2_000_000 // len(text) // 100):
        redactor.feed(text * 100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * MAX_HELD_CHARS
