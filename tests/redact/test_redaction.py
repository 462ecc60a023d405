"""The door itself: clean text passes untouched, secrets get stable names, and nothing is redacted twice."""

import re
import sys
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.redact import Secret, ascii_text, find_secrets, redact
from midfold.redact.patterns import choose_engine, compile_bounded
from midfold.redact.placeholders import KINDS, lines_around
from midfold.redact.redaction import Finder

TOKEN = "gh" + "p_" + "a1B2" * 9
OTHER_TOKEN = "gh" + "p_" + "c3D4" * 9
PIECES = [
    *(TOKEN, "AI" + "za" + "Xy9-" * 9, "AK" + "IA" + "Q2W3" * 4),
    "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.c2ln_-",
    *(
        "password",
        "token",
        "API_KEY",
        "secret_key",
        "hunter22",
        "a1b2c3d4e5f6",
        "swordfish",
        "密码",
        "é",
        "x",
    ),
    *(
        "=",
        ": ",
        '"',
        "'",
        "\\n",
        "\n",
        " ",
        "://",
        "@",
        ":",
        "/",
        "; ",
        "&",
        "?",
        "-",
        "_",
        ".",
        "%3D",
        "\t",
    ),
    *(
        "Authorization: Bearer ",
        "Cookie: a=",
        "--password ",
        "curl -u bob:",
        "login bob password ",
        "https://",
    ),
    *("-----BEG" + "IN PRIVATE KEY-----", "-----E" + "ND PRIVATE KEY-----", "QUJDREVGR0hJSktMTU5PUFFSU1Q="),
    *(
        "[REDACTED:token]",
        "[REDACTED:github-token:3fa9]",
        "[REDACTED:",
        "]",
        "\ud83d",
        "sk-",
        "：",
        "\v",
        "\f",
    ),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=14).map("".join)
FAST, FALLBACK = Finder(choose_engine()), Finder(compile_bounded)


def test_text_without_secrets_comes_back_as_the_same_object():
    for text in ("", "Nothing here.", "请修复登录页面的错误", "x" * 100_000):
        assert redact(text) is text


def test_a_secret_becomes_a_typed_placeholder():
    assert redact(f"use {TOKEN}.") == "use [REDACTED:github-token]."


def test_with_a_key_the_same_secret_has_the_same_id_and_another_has_another():
    redacted = redact(f"{TOKEN} {OTHER_TOKEN} {TOKEN}", key=b"session")
    first, second, third = redacted.split()
    assert re.fullmatch(r"\[REDACTED:github-token:[0-9a-f]{4}\]", first)
    assert first == third != second
    assert (
        first
        == f"[REDACTED:github-token:{blake2b(TOKEN.encode(), key=b'session', digest_size=2).hexdigest()}]"
    )


def test_the_id_depends_on_the_key():
    assert redact(TOKEN, key=b"one") != redact(TOKEN, key=b"two")


def test_placeholders_are_never_redacted_again():
    for text in (
        "password=[REDACTED:password]",
        "token: [REDACTED:token:3fa9]",
        "Bearer [REDACTED:jwt:0000]",
    ):
        assert redact(text, key=b"another") is text


def test_brackets_around_a_secret_do_not_save_it():
    assert "hunter22" not in redact("password = '[REDACTED:hunter22]'") or "hunter22" not in KINDS
    assert TOKEN not in redact(f"[REDACTED:{TOKEN}]")


def test_positions_are_those_of_the_text_whatever_its_language():
    text = f"密钥🔑é {TOKEN} fin"
    start = text.index(TOKEN)
    assert find_secrets(text) == [Secret("github-token", start, start + len(TOKEN))]


def test_lone_surrogates_do_no_harm():
    assert redact(f"\ud83d {TOKEN} \udc00", key=b"k").startswith("\ud83d [REDACTED:github-token:")
    assert redact("password='\ud83dsesame1'", key=b"k").startswith("password='[REDACTED:password:")


def test_overlapping_findings_become_one():
    text = f"password={TOKEN}!more"
    assert redact(text) == "password=[REDACTED:github-token]"


@given(texts)
def test_redacting_twice_changes_nothing(text):
    once = redact(text, key=b"k")
    assert redact(once, key=b"k") == once


@given(texts)
def test_both_engines_find_the_same(text):
    assert FAST.find(text) == FALLBACK.find(text)


@given(texts)
def test_findings_are_in_order_apart_and_inside_the_text(text):
    position = 0
    for secret in find_secrets(text):
        assert position <= secret.start < secret.stop <= len(text)
        assert secret.kind in KINDS
        position = secret.stop


@pytest.mark.skipif("re2" not in sys.modules, reason="re2 is not installed")
def test_the_engine_of_choice_is_re2():
    assert type(choose_engine()(b"x")).__module__ == "re2"


def test_every_character_that_matters_has_a_byte_of_its_own():
    assert ascii_text.FREE_BYTES >= 0


def test_a_text_is_read_again_only_around_what_was_written():
    far = "The harbour meter takes coins.\n" * 3_000
    text = f"{far}[REDACTED:token]\n{far}[REDACTED:token]\n[REDACTED:token]\n{far}"
    written = [slice(*found.span()) for found in re.finditer(r"\[REDACTED:token\]", text)]
    stretches = list(lines_around(text, written))
    assert [text[stretch].count("[REDACTED:") for stretch in stretches] == [1, 2]
    assert sum(stretch.stop - stretch.start for stretch in stretches) < len(text) / 2
    assert list(lines_around(text, [])) == []
    assert [text[stretch].count("[REDACTED:") for stretch in lines_around(text, written[1:2])] == [2]


def test_secrets_far_apart_in_a_long_text_leave_nothing_to_find_again():
    far = "The harbour meter takes coins.\n" * 3_000
    text = f"{far}password=hunter2x9\n{far}token=aB3dE6gH9jK2\n" * 3
    once = redact(text)
    assert once.count("[REDACTED:") == 6
    assert redact(once) == once
