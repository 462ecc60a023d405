"""Write docs/api.md from the docstrings of the public names: `python scripts/write_api.py`.

Signatures are read from the source, so the page is the same under every version of Python.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from types import ModuleType

import midfold
from midfold import errors

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
_INTRODUCTION = """# Python API

`python scripts/write_api.py` writes this page from the docstrings. It lists every name in `midfold.__all__`;
[library](library.md) shows how to use them.
"""
_ERRORS = """Every error that midfold raises on purpose is a `MidfoldError`, from `midfold.errors`. It prints
as one line that says what to do, and has its facts as attributes. `ProviderFacts` is the type of those that
every `ProviderError` takes by keyword."""
_SIGNATURE_WIDTH = 100
_OPTION = re.compile(r" {4}(\w+): (.+)")


def write_page() -> str:
    """Return the whole page."""
    values = [(name, getattr(midfold, name)) for name in midfold.__all__ if not name.startswith("__")]
    groups: dict[str, list[tuple[str, object]]] = {
        "Functions": [(name, value) for name, value in values if inspect.isfunction(value)],
        "Classes": [(name, value) for name, value in values if inspect.isclass(value)],
        "Modules": [(name, value) for name, value in values if isinstance(value, ModuleType)],
        "Constants": [(name, value) for name, value in values if isinstance(value, str)],
    }
    sections = [_INTRODUCTION]
    for title, members in groups.items():
        lines = [
            line for name, value in sorted(members, key=itemgetter(0)) for line in _describe(name, value)
        ]
        sections.append("\n".join([f"## {title}", "", *lines]).rstrip() + "\n")
    sections.append("\n".join(["## Errors", "", _ERRORS, "", *_list_errors(errors.MidfoldError, 0)]) + "\n")
    return "\n".join(sections)


def _list_errors(error: type[Exception], depth: int) -> Iterator[str]:
    """List an error, with its attributes and what it means, and those that derive from it."""
    initializer = vars(error).get("__init__")
    given = [name for name in _attributes(initializer) if initializer]
    facts = f" ({', '.join(f'`{name}`' for name in given)})" if given else ""
    yield f"{'  ' * depth}- `{error.__name__}`{facts}: {_first_paragraph(error)}"
    for each in error.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from _list_errors(each, depth + 1)


def _attributes(initializer: object) -> Iterator[str]:
    """Yield the attributes that an initializer sets."""
    if initializer is None:
        return
    for node in ast.walk(_definition(initializer)):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                yield name


def _describe(name: str, value: object) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"- `midfold.{name}`: {_first_paragraph(value)}"
    elif isinstance(value, str):
        yield f"- `midfold.{name}`: a string"
    else:
        yield from [f"### {name}", ""]
        yield from _describe_class(value) if inspect.isclass(value) else _describe_function(value)
        yield ""


def _describe_function(value: object) -> Iterator[str]:
    match _definition(value):
        case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
            yield from ["```text", _signature(node), "```", "", *_body(value)]


def _describe_class(value: type) -> Iterator[str]:
    yield from _body(value)
    members = [(member, _first_paragraph_of(text)) for member, text in _members(_definition(value))]
    if members:
        yield from ["", "| member | |", "|---|---|"]
        yield from (f"| `{member}` | {text} |".replace("|  |", "| |") for member, text in members)


def _members(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Public fields and methods in the order of the source, each with its docstring."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    for index, item in enumerate(body):
        match item:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                following = body[index + 1] if index + 1 < len(body) else None
                yield f"{name}: {ast.unparse(item.annotation)}".replace("|", "\\|"), _string(following)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not item.name.startswith("_"):
                is_property = any("property" in ast.unparse(each) for each in item.decorator_list)
                yield item.name if is_property else f"{item.name}()", ast.get_docstring(item) or ""


def _string(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return text
    return ""


def _definition(value: object) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(value)))).body[0]  # type: ignore[arg-type]


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{kind} {node.name}({ast.unparse(node.args)}){returns}"
    if len(line) <= _SIGNATURE_WIDTH:
        return line
    wrapped = textwrap.wrap(
        ast.unparse(node.args), _SIGNATURE_WIDTH - 4, initial_indent="    ", subsequent_indent="    "
    )
    return "\n".join([f"{kind} {node.name}(", *wrapped, f"){returns}"])


def _body(value: object) -> list[str]:
    """The docstring; lines such as `    name: meaning` become a list, other indented ones a block."""
    lines: list[str] = []
    for paragraph in (inspect.getdoc(value) or "").split("\n\n"):
        options = [_OPTION.fullmatch(line) for line in paragraph.splitlines()]
        if paragraph.startswith("    "):
            lines += ["```text", *textwrap.dedent(paragraph).splitlines(), "```", ""]
        elif any(options):
            lines += [line for line in paragraph.splitlines() if not _OPTION.fullmatch(line)]
            lines += ["", *(f"- `{option[1]}`: {option[2]}" for option in options if option), ""]
        else:
            lines += [*paragraph.splitlines(), ""]
    return lines[:-1]


def _first_paragraph(value: object) -> str:
    return _first_paragraph_of(inspect.getdoc(value) or "")


def _first_paragraph_of(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(write_page(), "utf-8")
    sys.stdout.write(f"written: {PAGE}\n")
