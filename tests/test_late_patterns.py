"""Patterns that are compiled on their first use behave as those that `re.compile` returns."""

import copy
import importlib
import pickle
import pkgutil
import re

import pytest

import midfold
from midfold.late_patterns import AnyPattern, _CompiledPattern, compile_late


def test_nothing_is_compiled_before_the_first_use():
    pattern = compile_late("(unclosed")
    with pytest.raises(re.error):
        pattern.search("text")


@pytest.mark.parametrize("use", ["search", "match", "fullmatch", "findall", "split"])
def test_a_late_pattern_finds_what_a_compiled_one_finds(use):
    late, early = compile_late(r"(a+)(b)?", re.IGNORECASE), re.compile(r"(a+)(b)?", re.IGNORECASE)
    for text in ("AAb", "xaa", "", "bab"):
        found, expected = getattr(late, use)(text), getattr(early, use)(text)
        assert str(found) == str(expected)
    assert (late.pattern, late.flags, late.groups) == (early.pattern, early.flags, early.groups)


def test_a_late_pattern_replaces_in_bytes_and_counts():
    assert compile_late(rb"\d").subn(b"#", b"a1b2") == (b"a#b#", 2)


def test_a_late_pattern_is_copied_and_pickled_before_and_after_its_first_use():
    pattern = compile_late("a+", re.IGNORECASE)
    for copied in (copy.deepcopy(pattern), pickle.loads(pickle.dumps(pattern))):  # noqa: S301
        assert copied.fullmatch("AA")
    assert pattern.search("a")
    assert pickle.loads(pickle.dumps(pattern)).fullmatch("AA")  # noqa: S301


def test_what_a_pattern_has_not_is_an_attribute_error():
    with pytest.raises(AttributeError):
        compile_late("a").nothing  # noqa: B018


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bone\b|^two|three$|\bfour",
        r"a(?:b|\bc)|\b[|)]x|[^]|]y|\|z",
        r"\b(?:we|you) (?:keep|put \w+ off)\b|好的|^(?:so|and,? )*stop",
    ],
)
def test_any_of_many_is_found_where_one_pattern_of_all_finds_it(pattern):
    texts = ("one", "atone", "so stop", "to two", "two", "ac", "a c", "|x", " )x", "|z", "yy", "]y", "three ")
    texts += ("forfour", "and we put it off", "说好的", "they keep", "and, stop", "", "ab|", "in three")
    for text in texts:
        assert AnyPattern(pattern).is_in(text) == (re.search(pattern, text) is not None), text


def test_what_is_found_anywhere_is_compiled_at_its_first_use():
    pattern = AnyPattern("(unclosed")
    with pytest.raises(re.error):
        pattern.is_in("text")


def test_every_late_pattern_of_the_package_compiles():
    """A mistake would show only when somebody meets the text that it is for."""
    names = [each.name for each in pkgutil.walk_packages(midfold.__path__, "midfold.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    late = [
        each for module in modules for each in vars(module).values() if isinstance(each, _CompiledPattern)
    ]
    assert len(late) > 300
    for pattern in late:
        re.compile(pattern.pattern, pattern._given_flags)
    for each in (each for module in modules for each in vars(module).values()):
        assert not isinstance(each, AnyPattern) or not each.is_in("")
