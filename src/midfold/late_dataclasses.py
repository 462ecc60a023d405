"""Dataclasses whose methods are written when they are first needed.

`dataclasses.dataclass` compiles six methods for every class as it is made: half a millisecond each, for
hundreds of classes of which most programs use a few. Here a class compiles one method, `__init__`, for its
first object; the other methods need no compiling. What the standard library offers for
dataclasses (`fields`, `asdict`, `replace`, `match`, `pickle`) takes these classes as its own.
"""

import operator
from collections.abc import Callable, Mapping
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_origin

if TYPE_CHECKING:  # the same names mean the same, and checkers know those of the standard library
    from dataclasses import dataclass, field, fields, is_dataclass, replace

__all__ = ["dataclass", "field", "fields", "is_dataclass", "replace"]

T = TypeVar("T")

_OWN, _ALL, _FLAGS = "__late_own_fields__", "__late_fields__", "__late_flags__"
# These belong to the class before it was made again.
_OF_ONE_CLASS = ("__dict__", "__weakref__")


class _Missing:
    """Stands for a value that nobody gave."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Missing()


class _Field:
    """One field of a class, in the words of `dataclasses.field`."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "name", "repr", "type")

    def __init__(
        self,
        *,
        default: object = _MISSING,
        default_factory: object = _MISSING,
        init: bool = True,
        repr: bool = True,  # noqa: A002 - the name of the standard library
        compare: bool = True,
        kw_only: bool = False,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.kw_only = kw_only
        self.name = ""
        self.type: object = None

    def standard(self) -> Any:
        """Return what `dataclasses.field` returns for the same words."""
        import dataclasses

        names = ("default", "default_factory", "init", "repr", "compare", "kw_only")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not _MISSING}
        return dataclasses.field(**given)


_Fields = dict[str, _Field]


def _dataclass(
    *,
    frozen: bool = False,
    eq: bool = True,
    order: bool = False,
    repr: bool = True,  # noqa: A002 - the name of the standard library
    kw_only: bool = False,
    slots: bool = False,
) -> Callable[[type], type]:
    """Do what `dataclasses.dataclass` does; it has to be called, with or without options."""
    flags = {"frozen": frozen, "eq": eq, "order": order, "repr": repr, "slots": slots}

    def decorate(cls: type) -> type:
        return _remake(cls, _read_fields(cls, kw_only=kw_only), flags)

    return decorate


def _replace(value: T, /, **changes: object) -> T:
    """Do what `dataclasses.replace` does."""
    fields: _Fields | None = getattr(type(value), _ALL, None)
    if fields is None:
        import dataclasses

        return dataclasses.replace(value, **changes)  # type: ignore[type-var]
    for name, each in fields.items():
        if each.init:
            if name not in changes:
                changes[name] = getattr(value, name)
        elif name in changes:
            raise ValueError(f"{name} is no argument of {type(value).__name__}")
    return type(value)(**changes)


def _fields(value: object) -> tuple["_Field", ...]:
    """Return the name, type and options of each field, as `dataclasses.fields` does."""
    cls = value if isinstance(value, type) else type(value)
    found: _Fields | None = getattr(cls, _ALL, None)
    if found is None:
        raise TypeError(f"{cls.__name__} is no late dataclass")
    return tuple(found.values())


def _is_dataclass(value: object) -> bool:
    """Whether this is a late dataclass, or an object of one."""
    return hasattr(value if isinstance(value, type) else type(value), _ALL)


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _Field, _replace
    fields, is_dataclass = _fields, _is_dataclass


def _read_fields(cls: type, *, kw_only: bool) -> _Fields:
    found = {}
    for name, annotation in cls.__annotations__.items():
        if ClassVar in (annotation, get_origin(annotation)):
            continue
        given = cls.__dict__.get(name, _MISSING)
        each = given if isinstance(given, _Field) else _Field(default=given)
        if type(each.default).__hash__ is None:
            raise ValueError(f"the default of {cls.__name__}.{name} can change; give a default_factory")
        each.kw_only |= kw_only
        each.name, each.type = name, annotation
        found[name] = each
    return found


def _remake(cls: type, own: _Fields, flags: Mapping[str, bool]) -> type:
    """Make the class again: slots are given to a class as it is made, or never."""
    inherited: _Fields = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= base.__dict__.get(_OWN, {})
    fields = inherited | own
    given = {name: value for name, value in cls.__dict__.items() if name not in (*own, *_OF_ONE_CLASS)}
    if given.get("__hash__", _MISSING) is None:  # what a class has that defines `__eq__` alone
        del given["__hash__"]

    def __init__(self: object, *values: object, **named: object) -> None:  # noqa: N807
        made.__init__ = _write_init(made)
        made.__init__(self, *values, **named)

    late: dict[str, object] = {
        "__qualname__": cls.__qualname__,
        "__match_args__": tuple([name for name, each in fields.items() if each.init and not each.kw_only]),
        "__dataclass_fields__": _StandardFact(),
        "__dataclass_params__": _StandardFact(),
        _OWN: own,
        _ALL: fields,
        _FLAGS: flags,
    }
    if flags["slots"]:
        late["__slots__"] = tuple([name for name in own if name not in inherited])
    else:
        late |= {name: each.default for name, each in own.items() if each.default is not _MISSING}
    if "__init__" not in given:
        late |= {"__init__": __init__, "__signature__": _Signature()}
    made: Any = type(cls)(cls.__name__, cls.__bases__, {**_methods(fields, flags), **given, **late})
    return made  # type: ignore[no-any-return]


def _methods(fields: _Fields, flags: Mapping[str, bool]) -> dict[str, object]:
    """Return the methods that need no compiling."""
    methods: dict[str, object] = {"__replace__": _replace}  # for `copy.replace` of Python 3.13
    values_of = _getter([name for name, each in fields.items() if each.compare])
    if flags["repr"]:
        methods["__repr__"] = _represent
    if flags["eq"]:
        methods["__eq__"] = _compare_with(operator.eq, values_of)
        methods["__hash__"] = (lambda self: hash(values_of(self))) if flags["frozen"] else None
    if flags["order"]:
        for name in ("lt", "le", "gt", "ge"):
            methods[f"__{name}__"] = _compare_with(getattr(operator, name), values_of)
    if flags["frozen"]:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if flags["frozen"] and flags["slots"]:  # what a copy would set is refused otherwise
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    return methods


def _getter(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    get = operator.attrgetter(*names) if names else None
    return lambda self: (get(self),) if get else ()


def _compare_with(
    compare: Callable[[object, object], object], values_of: Callable[[Any], tuple[object, ...]]
) -> Callable[[object, object], object]:
    def method(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(values_of(self), values_of(other))

    return method


@recursive_repr()
def _represent(self: object) -> str:
    fields: _Fields = getattr(self, _ALL)
    shown = [f"{name}={getattr(self, name)!r}" for name, each in fields.items() if each.repr]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    _refuse("assign to", self, name)
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: object, name: str) -> None:
    _refuse("delete", self, name)
    object.__delattr__(self, name)


def _refuse(what: str, self: object, name: str) -> None:
    """Raise unless this is a further attribute of a subclass that is no dataclass itself."""
    if _OWN in type(self).__dict__ or name in getattr(self, _ALL):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot {what} field {name!r}")


def _get_state(self: object) -> list[object]:
    return [getattr(self, name) for name in getattr(self, _ALL)]


def _set_state(self: object, state: list[object]) -> None:
    for name, value in zip(getattr(self, _ALL), state, strict=True):
        object.__setattr__(self, name, value)


def _write_init(cls: type) -> Any:
    """Compile `__init__`, with the fields as arguments."""
    fields: _Fields = getattr(cls, _ALL)
    flags: Mapping[str, bool] = getattr(cls, _FLAGS)
    names: dict[str, object] = {"__name__": cls.__module__, "_missing": _MISSING, "_set": object.__setattr__}
    positional: list[str] = ["self"]
    named: list[str] = []
    body: list[str] = []
    for name, each in fields.items():
        argument, value = _argument(name, each, names)
        if not value:
            continue
        if each.init:
            (named if each.kw_only else positional).append(argument)
        if not flags["frozen"]:
            body.append(f"self.{name} = {value}")
        elif flags["slots"]:  # the slot itself takes what `__setattr__` refuses, and is the fastest way
            names[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ", ".join([*positional, *(["*", *named] if named else [])])
    lines = "".join(f"\n    {line}" for line in body or ["pass"])
    exec(f"def __init__({arguments}):{lines}", names)  # noqa: S102 - as the standard library does
    made: Any = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {name: each.type for name, each in fields.items() if each.init} | {"return": None}
    return made


def _argument(name: str, each: _Field, names: dict[str, object]) -> tuple[str, str]:
    """Return the argument for a field, and its value in the body: none for one that nobody sets."""
    if each.default is not _MISSING:
        names[f"_default_{name}"] = each.default
        return f"{name}=_default_{name}", name if each.init else f"_default_{name}"
    if each.default_factory is not _MISSING:
        names[f"_make_{name}"] = each.default_factory
        made = f"_make_{name}()"
        return f"{name}=_missing", f"{made} if {name} is _missing else {name}" if each.init else made
    return name, name if each.init else ""


class _StandardFact:
    """What `dataclasses` knows of a class, worked out when it is first asked for."""

    __slots__ = ("cls", "name")

    cls: type
    name: str

    def __set_name__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, _self: object, _cls: type) -> object:
        import dataclasses  # it loads more than a compress needs

        fields: _Fields = getattr(self.cls, _ALL)
        flags: Mapping[str, bool] = getattr(self.cls, _FLAGS)
        if self.name == "__dataclass_fields__":  # which are the same whatever else the class can do
            flags = {"init": False, "repr": False, "eq": False}
        listed = [(name, each.type, each.standard()) for name, each in fields.items()]
        make: Any = dataclasses.make_dataclass
        twin = make(self.cls.__name__, listed, namespace={"__doc__": self.cls.__doc__ or "-"}, **flags)
        fact: object = getattr(twin, self.name)
        setattr(self.cls, self.name, fact)
        return fact


class _Signature:
    """The arguments of a class, for `inspect.signature` and `help`, before its `__init__` is written, too."""

    __slots__ = ("cls",)

    cls: type

    def __set_name__(self, cls: type, _name: str) -> None:
        self.cls = cls

    def __get__(self, value: object, cls: type) -> object:
        if value is not None or cls is not self.cls:
            raise AttributeError("__signature__")
        import inspect  # for people only

        written = inspect.signature(_write_init(cls))
        return written.replace(parameters=list(written.parameters.values())[1:])
