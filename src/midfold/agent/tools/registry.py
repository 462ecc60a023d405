"""Tools, and how a function becomes one: `@tool` reads its name, annotations and docstring."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from types import NoneType, UnionType
from typing import TypeAlias, Union, get_args, get_origin, get_type_hints, overload

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, field
from midfold.summaries.tool_calls import FAMILIES, family_of, first_of, format_argument, one_line

Arguments: TypeAlias = Mapping[str, object]

_TITLE_CHARS = 100
_TYPES: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class ToolFailed(Exception):
    """A tool cannot do what it was asked; the model reads the text."""


class Risk(StrEnum):
    """The kind of change that a person is asked about."""

    EDIT = "edit"
    """a file of the workspace"""
    GUARDED_EDIT = "guarded_edit"
    """a file that other programs run or agents obey"""
    MEMORY = "memory"
    """the notes that later sessions begin with"""
    COMMAND = "command"
    """a program runs, or a tool of the host's own"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that waits for a yes: `preview` shows all of it to a person, `run` makes exactly that."""

    risk: Risk
    preview: str
    run: Callable[[], str] = field(repr=False)


Answer: TypeAlias = str | Proposal | Awaitable[str]


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model may call. `parameters` is a JSON schema; `run` takes the arguments by name.

    One that only `reads` may run beside others. One that `asks` runs only when it is let, and `preview` says
    what it would do. One whose `run` returns a `Proposal` has looked, and changes things only when it is let.
    """

    name: str
    description: str
    parameters: Mapping[str, object] = field(repr=False)
    run: Callable[[Arguments], Answer] = field(repr=False)
    reads: bool = False
    asks: bool = False
    preview: Callable[[Arguments], str] = field(
        default=lambda arguments: format_arguments(arguments), repr=False
    )

    @property
    def schema(self) -> dict[str, object]:
        """Name, description and parameters, for `wire` to format_argument as an API wants it."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}

    def title(self, arguments: Arguments) -> str:
        """Say in one line what a call is about."""
        kind = family_of(self.name)
        subject = format_argument(first_of(arguments, FAMILIES[kind][1])) if kind else ""
        first = next((format_argument(value) for value in arguments.values()), "")
        return one_line(f"{self.name} {subject or first}", _TITLE_CHARS)


@overload
def tool(function: Callable[..., Answer], /) -> Tool: ...


@overload
def tool(
    *, name: str = "", reads: bool = False, asks: bool = False
) -> Callable[[Callable[..., Answer]], Tool]: ...


def tool(
    function: Callable[..., Answer] | None = None,
    /,
    *,
    name: str = "",
    reads: bool = False,
    asks: bool = False,
) -> Tool | Callable[[Callable[..., Answer]], Tool]:
    """Make a function a tool: `@tool`, or `@tool(reads=True)`.

    Parameters are annotated with `str`, `int`, `float`, `bool` or lists of these, `| None` where they may be
    left out. In the docstring, a line such as `path: the file to read` describes a parameter; all that comes
    before the first such line describes the tool. The function may be async.
    """

    def make(made: Callable[..., Answer]) -> Tool:
        parameters = _read_parameters(made)
        text, about = _read_docstring(inspect.getdoc(made) or "", parameters)
        return Tool(
            name=name or made.__name__,
            description=text,
            parameters=_write_schema(parameters, about),
            run=lambda arguments: made(**fit_arguments(arguments, parameters)),
            reads=reads,
            asks=asks,
        )

    return make if function is None else make(function)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool: its type, what a list holds, and whether it must be given."""

    name: str
    kind: str
    of: str = ""
    is_required: bool = True
    may_be_null: bool = False


def fit_arguments(arguments: Arguments, parameters: Sequence[Parameter]) -> dict[str, object]:
    """Return the arguments as the function wants them; models write "20" for 20 and null for nothing.

    Raises `ToolFailed` with what is wrong.
    """
    known = {parameter.name: parameter for parameter in parameters}
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise ToolFailed(f"there is no argument {unknown[0]!r}; there are {', '.join(known) or 'none'}")
    given = {key: value for key, value in arguments.items() if value is not None or known[key].may_be_null}
    missing = [
        parameter.name for parameter in parameters if parameter.is_required and parameter.name not in given
    ]
    if missing:
        raise ToolFailed(f"the argument {missing[0]!r} is missing")
    return {key: _convert_argument(known[key], value) for key, value in given.items()}


def format_arguments(arguments: Arguments) -> str:
    """Format all arguments for a person, one a line."""
    return "\n".join(f"{name}: {value}" for name, value in arguments.items())


def _convert_argument(parameter: Parameter, value: object) -> object:
    if value is None:
        return None
    if parameter.kind == "array":
        items = value if isinstance(value, list) else [value]
        return [_convert(parameter.name, parameter.of, item) for item in items]
    return _convert(parameter.name, parameter.kind, value)


def _convert(name: str, kind: str, value: object) -> object:
    match kind, value:
        case "string", str():
            return value
        case "boolean", bool():
            return value
        case "boolean", "true" | "True" | "false" | "False":
            return str(value).lower() == "true"
        case "integer" | "number", int() | float() | str() if not isinstance(value, bool):
            return _number(name, kind, value)
    raise ToolFailed(f"the argument {name!r} must be a {kind}")


def _number(name: str, kind: str, value: float | str) -> float:
    try:
        number = float(value)
        whole = int(number)
    except (ValueError, OverflowError):
        raise ToolFailed(f"the argument {name!r} must be a {kind}") from None
    if kind == "number":
        return number
    if whole != number:
        raise ToolFailed(f"the argument {name!r} must be a whole number")
    return whole


def _read_parameters(function: Callable[..., Answer]) -> tuple[Parameter, ...]:
    hints = get_type_hints(function)
    return tuple(
        _read_parameter(
            each.name, hints.get(each.name, str), is_required=each.default is inspect.Parameter.empty
        )
        for each in inspect.signature(function).parameters.values()
    )


def _read_parameter(name: str, hint: object, *, is_required: bool) -> Parameter:
    choices = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    types = [choice for choice in choices if choice is not NoneType]
    kind, of = _read_type(types[0]) if len(types) == 1 else ("", "")
    if not kind:
        raise ConfigError(
            f"tool.{name}", hint, hint="str, int, float, bool, a list of these, or one of them | None"
        )
    return Parameter(name, kind, of, is_required, may_be_null=len(types) < len(choices))


def _read_type(hint: object) -> tuple[str, str]:
    """Return the JSON type, and that of a list's elements; nothing for what JSON has no word for."""
    if get_origin(hint) in (list, Sequence):
        return ("array", _TYPES[get_args(hint)[0]]) if get_args(hint)[0] in _TYPES else ("", "")
    return _TYPES.get(hint, ""), ""


def _read_docstring(doc: str, parameters: Sequence[Parameter]) -> tuple[str, dict[str, str]]:
    """Take the lines that describe parameters out of a docstring."""
    names = {parameter.name for parameter in parameters}
    about: dict[str, str] = {}
    text: list[str] = []
    for line in doc.splitlines():
        name, colon, words = line.strip().partition(":")
        if colon and name in names:
            about[name] = words.strip()
        elif about and line.strip():
            last = next(reversed(about))
            about[last] = f"{about[last]} {line.strip()}"
        else:
            text.append(line)
    return "\n".join(text).strip(), about


def _write_schema(parameters: Sequence[Parameter], about: Mapping[str, str]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {each.name: _write_parameter(each, about.get(each.name, "")) for each in parameters},
        "required": [each.name for each in parameters if each.is_required],
        "additionalProperties": False,
    }


def _write_parameter(parameter: Parameter, words: str) -> dict[str, object]:
    written: dict[str, object] = {"type": parameter.kind}
    if parameter.of:
        written["items"] = {"type": parameter.of}
    return {**written, "description": words} if words else written
