"""Late dataclasses behave as those of the standard library do."""

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pytest

from midfold import late_dataclasses

STANDARD, LATE = dataclasses, late_dataclasses


def make(module):
    """Return the same classes, made by either."""
    dataclass, field = module.dataclass, module.field

    @dataclass(frozen=True, slots=True)
    class Base:
        """Has a default of each kind."""

        kind: ClassVar[str] = "base"

        name: str
        count: int = 3
        tags: list[str] = field(default_factory=list, repr=False)
        note: str | None = field(default=None, compare=False)

        @property
        def shout(self):
            return self.name.upper()

    @dataclass(frozen=True, slots=True)
    class Child(Base):
        """Adds one to those of its base, and changes the default of another."""

        count: int = 5
        extra: float = field(default=0.5, kw_only=True)

    @dataclass(slots=True)
    class Box:
        """Can change, and has a field that no argument sets."""

        value: int
        twice: int = field(init=False)
        seen: list[int] = field(default_factory=list, init=False)

        def __post_init__(self):
            self.twice = self.value * 2

    @dataclass(frozen=True, slots=True, order=True)
    class Rank:
        """Has an order."""

        first: int
        second: int = 0

    @dataclass(frozen=True, slots=True, repr=False, eq=False)
    class Plain:
        """Is equal to itself alone."""

        value: int

    @dataclass(slots=True, kw_only=True)
    class Own:
        """Has methods of its own."""

        value: int = 1

        def __eq__(self, other):
            return True

        def __repr__(self):
            return "mine"

    @dataclass(frozen=True, slots=True)
    class Empty:
        """Has no field."""

    return Base, Child, Box, Rank, Plain, Own, Empty


@late_dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """A value that can be pickled, since it has a place in a module."""

    x: int
    y: int = 0


@pytest.fixture(params=[STANDARD, LATE], ids=["standard", "late"])
def classes(request):
    return make(request.param)


def test_defaults_keywords_and_factories_are_taken(classes):
    base, child, *_ = classes
    value = base("a", tags=["x"])
    assert (value.name, value.count, value.tags, value.note, value.kind) == ("a", 3, ["x"], None, "base")
    assert base("a").tags is not base("a").tags
    assert (child("a").count, child("a", extra=2.0).extra, child("a").shout) == (5, 2.0, "A")
    with pytest.raises(TypeError):
        child("a", 1, [], None, 2.0)
    with pytest.raises(TypeError):
        base()


def test_values_are_equal_by_their_compared_fields_and_class(classes):
    base, child, *_, empty = classes
    assert base("a", note="x") == base("a", note="y") != base("b")
    assert base("a", 5) != child("a", 5)
    assert empty() == empty()
    assert base("a") != "a"


def test_only_frozen_values_have_a_hash(classes):
    base, _, box, rank, plain, own, _ = classes
    assert hash(rank(1)) == hash(rank(1))
    assert len({plain(1), plain(1)}) == 2
    for unhashable in (box(1), own(), base("a")):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)


def test_frozen_values_refuse_to_change(classes):
    base, _, box, *_ = classes
    value = base("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
        value.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del value.name
    changed = box(2)
    changed.value = 3
    assert (changed.value, changed.twice, changed.seen) == (3, 4, [])
    with pytest.raises(AttributeError):
        changed.other = 1


def test_representation_has_the_shown_fields(classes):
    base, _, _, rank, plain, own, empty = classes
    assert repr(base("a")).endswith("Base(name='a', count=3, note=None)")
    assert repr(rank(1)).endswith("Rank(first=1, second=0)")
    assert repr(plain(1)).startswith("<")
    assert repr(own()) == "mine"
    assert repr(empty()).endswith("Empty()")
    assert own(value=1) == own(value=2)


def test_a_value_that_holds_itself_is_represented(classes):
    base, *_ = classes
    value = base("a", note=[])
    value.note.append(value)
    assert repr(value).endswith("note=[...])")


def test_ordered_values_are_compared(classes):
    rank = classes[3]
    assert rank(1, 2) < rank(2) > rank(1) <= rank(1)
    assert sorted([rank(2), rank(1)]) == [rank(1), rank(2)]
    with pytest.raises(TypeError):
        assert rank(1) < 2


def test_the_standard_functions_take_them(classes):
    base, child, box, *_ = classes
    value = child("a", extra=1.5)
    assert dataclasses.is_dataclass(value)
    assert [each.name for each in dataclasses.fields(child)] == ["name", "count", "tags", "note", "extra"]
    assert dataclasses.asdict(value) == {"name": "a", "count": 5, "tags": [], "note": None, "extra": 1.5}
    assert dataclasses.replace(value, name="b") == child("b", extra=1.5)
    assert dataclasses.fields(base)[0].type is str
    assert base.__dataclass_params__.frozen
    with pytest.raises((ValueError, TypeError)):
        dataclasses.replace(box(1), twice=3)


def test_fields_are_told_without_the_standard_library():
    base, child, *_ = make(LATE)
    assert [(each.name, each.type) for each in LATE.fields(base)][:2] == [("name", str), ("count", int)]
    assert [each.name for each in LATE.fields(child("a"))][-1] == "extra"
    assert LATE.is_dataclass(base)
    assert LATE.is_dataclass(base("a"))
    assert not LATE.is_dataclass("a")
    with pytest.raises(TypeError):
        LATE.fields("a")


@pytest.mark.parametrize("module", [STANDARD, LATE], ids=["standard", "late"])
def test_replace_changes_a_copy(module, classes):
    _, child, box, *_ = classes
    value = child("a")
    assert module.replace(value, count=1) == child("a", 1)
    assert value.count == 5
    with pytest.raises((ValueError, TypeError)):
        module.replace(box(1), twice=3)
    with pytest.raises(TypeError):
        module.replace(value, other=1)


def test_a_copy_with_changes_is_made_as_python_3_13_asks_for_it():
    value = make(LATE)[0]("a")
    assert value.__replace__(count=1) == type(value)("a", 1)


def test_a_standard_dataclass_may_extend_one(classes):
    base = classes[0]

    @dataclasses.dataclass(frozen=True)
    class Wider(base):
        """Adds a field."""

        width: int = 1

    assert dataclasses.asdict(Wider("a", width=2))["width"] == 2
    assert Wider("a") == Wider("a") != Wider("b")


def test_a_plain_subclass_has_attributes_of_its_own():
    class Free(make(LATE)[0]):
        """Is no dataclass."""

    value = Free("a")
    value.other = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.name = "b"
    assert (value.other, value.name) == (1, "a")


def test_patterns_match_by_place(classes):
    rank = classes[3]
    match rank(1, 7):
        case rank(first, 7):
            assert first == 1
        case _:
            pytest.fail("no match")


def test_arguments_are_told_before_and_after_the_first_object(classes):
    base, child, *_ = classes
    for each in (base, child):
        before = list(inspect.signature(each).parameters)
        each("a")
        assert list(inspect.signature(each).parameters) == before
    assert before == ["name", "count", "tags", "note", "extra"]
    assert inspect.signature(base).parameters["count"].default == 3

    class Other(base):
        """Takes other arguments."""

        def __init__(self, width: int) -> None:
            super().__init__(str(width))

    assert list(inspect.signature(Other).parameters) == ["width"]
    assert Other(3).name == "3"


def test_values_are_copied_and_pickled():
    value = Point(1, 2)
    for copied in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301
        assert copied == value
        assert type(copied) is Point


def test_a_default_that_can_change_is_refused():
    with pytest.raises(ValueError, match="default_factory"):

        @late_dataclasses.dataclass(slots=True)
        class _Wrong:
            items: list[int] = []  # noqa: RUF012


@pytest.mark.parametrize("module", [STANDARD, LATE], ids=["standard", "late"])
def test_one_without_slots_keeps_what_it_worked_out(module):
    @module.dataclass(frozen=True)
    class Texts:
        """Has a value that is worked out once."""

        words: tuple[str, ...] = ()

        @cached_property
        def joined(self):
            return " ".join(self.words)

    value = Texts(("a", "b"))
    assert (value.joined, vars(value), Texts.words) == ("a b", {"words": ("a", "b"), "joined": "a b"}, ())
    assert copy.copy(value) == value == module.replace(value)
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.words = ()


def test_no_method_is_compiled_before_the_first_object():
    code = (
        "import sys; from midfold.late_dataclasses import dataclass\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class A:\n"
        "    x: int = 1\n"
        "before = A.__init__\n"
        "assert A() == A(1) and A.__init__ is not before\n"
        "assert 'dataclasses' not in sys.modules and 'inspect' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def test_a_field_of_functions_is_called_as_a_function():
    @late_dataclasses.dataclass(frozen=True, slots=True)
    class Holder:
        """Has a function for a value."""

        call: Callable[[int], int] = abs

    assert Holder().call(-1) == 1


def test_no_module_makes_a_dataclass_as_it_is_imported():
    source = Path(late_dataclasses.__file__).parent
    making = re.compile(
        r"^ *from dataclasses import .*\b(dataclass|fields?|is_dataclass|replace)\b", re.MULTILINE
    )
    modules = [path for path in source.rglob("*.py") if path != Path(late_dataclasses.__file__)]
    assert [path.name for path in modules if making.search(path.read_text("utf-8"))] == []
