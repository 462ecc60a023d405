"""Where a part of a long text ends makes no difference to what is found."""

import pytest

from midfold.redact import redact

LEAD = "token: ab1c2 "
"""A place of interest, at which a part begins."""
NEAR_THE_END = range(1_900, 2_600, 19)
WORD = "a1B2c3D4" * 5
SECRETS = {
    "token": "gh" + "p_" + WORD,
    "assignment": f'api_key = "{WORD}"',
    "header": f"Authorization: Bearer {WORD}",
    "address": f"https://bot:{WORD}@example.com",
    "a long address with a name in it": f"https://bot:{'x1' * 40}token={'y2' * 80}@example.com",
    "a sign in the middle": f"abc8Q~{WORD}",
    "much before the sign": "a1B2" * 19 + "AZ" + "DOabcd",
    "one after another": f"{WORD}.atlas" + f"v1.{WORD}" * 3,
    "a long run before it is sure": "ey" + "J" + "a1b2" * 1_500 + "." + WORD + "." + WORD,
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_credential_across_the_end_of_a_part_is_found_whole(finder, name):
    secret = SECRETS[name]
    alone = redact(f" {secret} ", finder=finder)
    for position in NEAR_THE_END:
        before = LEAD + "." * (position - len(LEAD))
        assert redact(f"{before} {secret} end", finder=finder) == f"{before}{alone}end", position


def test_parts_that_come_again_are_written_with_the_text_they_have(finder):
    """To the rules all other characters are the same, to the reader they are not."""
    secret = "gh" + "p_" + WORD
    lines = [f"{letter * 30} {secret} {letter * 30}\n" for letter in "密码在这里错误"]
    text = "".join(line * 40 for line in lines)
    assert redact(text, finder=finder) == text.replace(secret, "[REDACTED:github-token]")
    keyed = redact(f"password='{'密' * 5}'\n" * 60 + f"password='{'码' * 5}'\n" * 60, key=b"k", finder=finder)
    assert len(set(keyed.splitlines())) <= 2


def test_a_long_text_of_one_run_is_read_to_its_end(finder):
    text = "lsv2_sk_aaaaaaaaaaaaaaaa" * 1_000
    assert redact(f"{text}_gh" + f"p_{WORD}", finder=finder).endswith("_[REDACTED:github-token]")
