"""The rules of the house hold, and each of them can fail: doors, names, surfaces, depth."""

import re
from pathlib import Path

import pytest
from scripts.contracts import (
    MOST_LAYERS,
    Tree,
    find_deep_packages,
    find_inner_imports,
    find_twins,
    find_undeclared,
)

ROOT = Path(__file__).parents[1]
INNER = re.compile(r"(?:from|import) (midfold(?:\.\w+){2,})")


@pytest.fixture(scope="module")
def house():
    return Tree()


@pytest.fixture
def build(tmp_path):
    """Write modules of a small package tree, and read it."""

    def build(modules):
        for name, text in modules.items():
            path = tmp_path / "midfold" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for folder in (path.parent, tmp_path / "midfold"):
                (folder / "__init__.py").touch()
        return Tree(tmp_path)

    return build


def test_no_public_class_name_stands_for_two_things(house):
    assert find_twins(house) == []


def test_every_package_declares_its_surface(house):
    assert find_undeclared(house) == []


def test_packages_import_one_another_through_their_doors(house):
    assert find_inner_imports(house) == []


def test_no_chain_of_imports_inside_a_package_is_too_long(house):
    assert find_deep_packages(house) == []


def test_docs_and_examples_import_packages(house):
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py")]
    found = {(page.name, name) for page in pages for name in INNER.findall(page.read_text("utf-8"))}
    files = {name for name in house.files if name not in house.surfaces}
    assert sorted((page, name) for page, name in found if name in files) == []


def test_two_classes_of_one_name_are_found(build):
    tree = build({"store/rows": "class Row: ...", "tokens/models": "class Row: ...\nclass _Row: ..."})
    assert find_twins(tree) == ["Row is a class in midfold.store.rows and in midfold.tokens.models"]


def test_a_package_without_a_surface_is_found(build):
    tree = build({"store/rows": "", "store/__init__": "__all__ = []"})
    assert find_undeclared(tree) == ["midfold has no __all__"]


@pytest.mark.parametrize(
    "statement",
    ["from midfold.store.rows import Row", "from midfold.store import rows", "import midfold.store.rows"],
)
def test_an_import_past_a_door_is_found(build, statement):
    tree = build({"store/rows": "class Row: ...", "agent/loop": f"def later():\n    {statement}"})
    assert find_inner_imports(tree) == [
        "midfold.agent.loop imports midfold.store.rows, an inner module of another package"
    ]


def test_an_import_through_a_door_is_fine(build):
    tree = build(
        {
            "store/rows": "class Row: ...",
            "store/__init__": "from midfold.store.rows import Row\n__all__ = ['Row']",
            "agent/loop": "from midfold.store import Row\nfrom midfold.errors import Oops",
            "errors": "class Oops(Exception): ...",
        }
    )
    assert find_inner_imports(tree) == []


def test_a_long_chain_is_found_and_one_for_type_checkers_is_none(build):
    chain = {f"deep/m{n}": f"from midfold.deep import m{n + 1}" for n in range(MOST_LAYERS)}
    assert find_deep_packages(build(chain)) == []
    longer = {**chain, f"deep/m{MOST_LAYERS}": f"from midfold.deep import m{MOST_LAYERS + 1}"}
    [found] = find_deep_packages(build({**longer, f"deep/m{MOST_LAYERS + 1}": ""}))
    assert found.startswith(f"{MOST_LAYERS + 2} layers, more than {MOST_LAYERS}: midfold.deep.m0 > ")
