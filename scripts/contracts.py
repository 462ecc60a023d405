"""The house rules that import-linter checks with `make check`, beside the layers in pyproject.toml.

Each rule is a function over a source tree, so that a test can show that it fails where it should.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

ROOT = Path(__file__).parents[1] / "src"
MOST_LAYERS = 8
"""How many modules of one package may import one another in a chain."""


class Tree:
    """The modules of a package tree, read without importing them."""

    def __init__(self, root: Path = ROOT) -> None:
        self.files = {_module_name(path, root): path for path in sorted(root.rglob("*.py"))}

    @cached_property
    def parsed(self) -> dict[str, ast.Module]:
        return {name: ast.parse(path.read_text("utf-8")) for name, path in self.files.items()}

    @cached_property
    def surfaces(self) -> dict[str, set[str] | None]:
        """The names that each package declares; `None` where it declares nothing."""
        packages = [name for name, path in self.files.items() if path.name == "__init__.py"]
        return {name: _declared(self.parsed[name]) for name in packages}

    def imports(self, module: str, *, at_run_time: bool = False) -> Iterator[str]:
        """Yield the modules of the tree that a module imports from, where needed only those of run time."""
        skipped = _type_checking(self.parsed[module]) if at_run_time else set()
        for node in ast.walk(self.parsed[module]):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.files)
            elif isinstance(node, ast.ImportFrom) and node.module in self.files:
                yield from {self._home(node.module, alias.name) for alias in node.names}

    def _home(self, source: str, name: str) -> str:
        """Return the module that `from source import name` reaches into."""
        inner = f"{source}.{name}"
        is_name = name in (self.surfaces.get(source) or ()) and inner not in self.surfaces
        return inner if inner in self.files and not is_name else source


def find_inner_imports(tree: Tree) -> list[str]:
    """List imports that pass by the door of another package."""
    return [
        f"{module} imports {imported}, an inner module of another package"
        for module in tree.files
        for imported in tree.imports(module)
        if _top(module) not in ("", "__main__", _top(imported)) and _is_inner(tree, imported)
    ]


def find_twins(tree: Tree) -> list[str]:
    """List public class names that stand for several things."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module, parsed in tree.parsed.items():
        for node in parsed.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module)
    return [
        f"{name} is a class in {' and in '.join(modules)}"
        for name, modules in homes.items()
        if len(modules) > 1
    ]


def find_undeclared(tree: Tree) -> list[str]:
    """List packages that do not declare their surface."""
    return [f"{name} has no __all__" for name, names in tree.surfaces.items() if names is None]


def find_deep_packages(tree: Tree) -> list[str]:
    """List packages whose modules import one another in chains that are too long to follow."""
    chains = (longest_chain(tree, package) for package in {_top(module) for module in tree.files} - {""})
    return [
        f"{len(chain)} layers, more than {MOST_LAYERS}: {' > '.join(chain)}"
        for chain in chains
        if len(chain) > MOST_LAYERS
    ]


def longest_chain(tree: Tree, package: str) -> list[str]:
    """Return the longest chain of imports inside a package; its own door is no layer."""
    door = next(name for name in tree.files if _top(name) == package)
    inside = {name for name in tree.files if _top(name) == package and name != door}
    edges = {name: {*tree.imports(name, at_run_time=True)} & inside - {name} for name in inside}
    chains: dict[str, list[str]] = {}

    def follow(name: str, above: frozenset[str]) -> list[str]:
        if name not in chains:
            below = (follow(each, above | {name}) for each in sorted(edges[name] - above))
            chains[name] = [name, *max(below, key=len, default=[])]
        return chains[name]

    return max((follow(name, frozenset()) for name in sorted(inside)), key=len, default=[])


def _is_inner(tree: Tree, module: str) -> bool:
    return module.count(".") > 1 and module not in tree.surfaces


def _top(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _declared(parsed: ast.Module) -> set[str] | None:
    for node in parsed.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return set(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return None


def _type_checking(parsed: ast.Module) -> set[int]:
    """Return the nodes that only type checkers read."""
    blocks = [node for node in ast.walk(parsed) if isinstance(node, ast.If) and _names(node.test)]
    return {id(inner) for block in blocks for node in block.body for inner in ast.walk(node)}


def _names(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


class _Rule(Contract):
    """A contract that is kept when its rule finds nothing."""

    find = staticmethod(find_twins)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        found = type(self).find(Tree())
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["found"]:
            output.print_error(line)
        output.new_line()


class Doors(_Rule):
    """Packages import one another through their doors."""

    find = staticmethod(find_inner_imports)


class Names(_Rule):
    """No public class name stands for two things."""

    find = staticmethod(find_twins)


class Surfaces(_Rule):
    """Every package declares its surface."""

    find = staticmethod(find_undeclared)


class Depth(_Rule):
    """Imports inside a package stay shallow."""

    find = staticmethod(find_deep_packages)
