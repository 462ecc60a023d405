"""Reads forms of made-up credentials: « and » mark one, `{A36}` draws letters and digits, `|` is nothing."""

import random
import re
import string

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALPHABETS = {
    "A": UPPER + LOWER + DIGITS,
    "L": UPPER + LOWER,
    "U": UPPER + DIGITS,
    "l": LOWER + DIGITS,
    "h": DIGITS + "abcdef",
    "w": UPPER + LOWER + DIGITS + "-_",
    "b": UPPER + LOWER + DIGITS + "+/",
    "d": DIGITS,
}
_DRAWN = re.compile(r"\{([ALUlhwbd])(\d{1,3})\}")
_MARKED = re.compile(r"«([^»]+)»")


def read_form(form: str) -> tuple[str, list[str]]:
    """Return a form's text, and the credentials in it."""
    chance = random.Random(form)
    drawn = _DRAWN.sub(lambda hole: "".join(chance.choices(ALPHABETS[hole[1]], k=int(hole[2]))), form)
    # A bar inside of a word splits a prefix; one between spaces, or at the end, is the form's own.
    text = re.sub(r"(?<=[\w.-])\|(?=[\w.~-])", "", drawn)
    secrets = _MARKED.findall(text)
    return text.replace("«", "").replace("»", ""), secrets
