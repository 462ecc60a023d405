"""Private keys are hidden whole, cut, escaped, indented and numbered."""

import json
import random
import string

import pytest

from midfold.redact import redact

TITLES = ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
BASE64 = string.ascii_letters + string.digits + "+/"


def first_line(title="RSA PRIVATE KEY"):
    return f"-----BEGIN {title}-----"


def last_line(title="RSA PRIVATE KEY"):
    return f"-----END {title}-----"


def body(lines=12, seed=1):
    source = random.Random(seed)
    return [*("".join(source.choices(BASE64, k=64)) for _ in range(lines)), "abcDEF12+/=="]


def block(title="RSA PRIVATE KEY", lines=12):
    return "\n".join((first_line(title), *body(lines), last_line(title)))


def assert_nothing_left(finder, text):
    redacted = redact(text, finder=finder)
    assert [line for line in body() if line in redacted or line[:24] in redacted] == []
    return redacted


@pytest.mark.parametrize("title", TITLES)
def test_a_whole_key_becomes_one_placeholder(finder, title):
    text = f"before\n{block(title)}\nafter"
    assert redact(text, finder=finder) == "before\n[REDACTED:private-key]\nafter"


def test_a_key_in_a_string_of_json_is_found_by_its_escaped_line_breaks(finder):
    text = json.dumps({"private_key": block() + "\n", "id": 7})
    assert redact(text, finder=finder) == '{"private_key": "[REDACTED:private-key]\\n", "id": 7}'
    assert_nothing_left(finder, json.dumps({"body": text}))


@pytest.mark.parametrize("kept_lines", [2, 5, 12])
def test_a_key_without_its_end_is_hidden_as_far_as_it_goes(finder, kept_lines):
    text = "\n".join((first_line(), *body()[:kept_lines], "", "And then: something else."))
    assert assert_nothing_left(finder, text).endswith("something else.")


def test_a_key_without_its_beginning_is_hidden(finder):
    text = "\n".join(("(cut here)", *body()[5:], last_line(), "after"))
    assert redact(text, finder=finder) == "(cut here)\n[REDACTED:private-key]\nafter"


def test_a_key_with_its_middle_cut_out_is_hidden_on_both_sides(finder):
    text = "\n".join(
        (first_line(), *body()[:4], "[... 400 characters left out ...]", *body()[8:], last_line())
    )
    assert "left out" in assert_nothing_left(finder, text)


@pytest.mark.parametrize("prefix", ["    ", "> ", "+", "  12\t", "12→", "# ", "| "])
def test_what_stands_before_each_line_does_not_hide_a_key_from_us(finder, prefix):
    assert_nothing_left(finder, "\n".join(prefix + line for line in block().splitlines()))


def test_a_key_written_as_adjacent_strings_is_hidden(finder):
    assert_nothing_left(finder, " +\n".join(f'    "{line}\\n"' for line in block().splitlines()))


def test_a_key_with_headers_is_hidden(finder):
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n"
    assert_nothing_left(finder, block().replace("-----\n", f"-----\n{headers}\n", 1))
    pgp = "\n".join((first_line("PGP PRIVATE KEY BLOCK"), "Version: Some 2", "", *body(), "=ab1C"))
    redacted = redact(f"{pgp}\n{last_line('PGP PRIVATE KEY BLOCK')}", finder=finder)
    assert redacted == "[REDACTED:private-key]"


def test_a_putty_key_is_hidden(finder):
    text = "\n".join(
        ("Public-Lines: 1", "AAAAB3NzaC1yc2EAAAABJQ==", "Private-Lines: 13", *body(), "Private-MAC: 0f")
    )
    assert "Private-MAC" in assert_nothing_left(finder, text)


def test_writing_about_keys_and_public_ones_is_left(finder):
    for text in (
        f"A file that starts with {first_line()} is a key; it ends with {last_line()}.",
        f"if text.startswith('{first_line()}'):\n    return parse_the_private_key(text)",
        block("PUBLIC KEY"),
        block("CERTIFICATE"),
    ):
        assert redact(text, finder=finder) is text
