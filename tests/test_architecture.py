"""What a linter cannot see: sizes, spellings, costs, and that what is public is written about."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import midfold

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "midfold").rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 45  # 40 for people; a command with a dozen options needs a few more
WIRE_WORDS = re.compile(r"""["'](tool_calls|tool_use|tool_result|function_call|function_call_output)["']""")
# Opening a package that costs more than it weighs must wait until it is needed.
HEAVY = (
    "click",
    "msgspec",
    "rich",
    "splintr",
    "openai",
    "anthropic",
    "asyncio",
    "http",
    "dataclasses",
    "json",
)
NOT_FOR_A_FOLD = (
    "aiohttp",
    "asyncio",
    "click",
    "importlib.resources",
    "logging",
    "msgspec",
    "rich",
    "tempfile",
    "yaml",
    "zipfile",
    "midfold.engines",
    "midfold.providers",
    "midfold.store",
)


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def modules():
    """Every module of ours: its name, its text and its tree, read once."""
    texts = {name_of(path): path.read_text("utf-8") for path in SOURCES}
    return [(name, text, ast.parse(text)) for name, text in texts.items()]


def test_a_file_has_one_subject_and_says_which(modules):
    assert [name for name, text, _ in modules if text.count("\n") > MAX_FILE_LINES] == []
    assert [name for name, _, tree in modules if not ast.get_docstring(tree)] == []


def test_a_function_fits_on_a_screen(modules):
    functions = [
        (name, node)
        for name, _, tree in modules
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    too_long = [
        (name, node.name)
        for name, node in functions
        if node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert too_long == []


def test_provider_spellings_live_in_wire_alone(modules):
    elsewhere = [
        (name, text)
        for name, text, _ in modules
        if Path(name).parts[2] not in ("wire", "testing", "integrations")
    ]
    assert len(elsewhere) < len(modules)
    assert [name for name, text in elsewhere if WIRE_WORDS.search(text)] == []


def test_importing_midfold_loads_nothing_heavy():
    code = f"import sys, midfold; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", _with_source(code)], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_the_first_compress_loads_what_a_fold_needs_and_no_more():
    code = (
        "import sys, midfold; midfold.compress([{'role': 'user', 'content': 'words '}] * 40, max_tokens=60);"
        f"print([name for name in {NOT_FOR_A_FOLD!r} if name in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", _with_source(code)], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_the_command_for_one_transcript_loads_no_engine_and_no_event_loop():
    unwanted = ("asyncio", "midfold.engines", "midfold.providers", "midfold.store", "difflib")
    code = f"import sys, midfold.cli.commands.compress; print([n for n in {unwanted!r} if n in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", _with_source(code)], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def _with_source(code):
    return f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {code}"


def imported_for_type_checkers():
    """Return the names that a type checker sees in midfold, each with the module it comes from."""
    tree = ast.parse((ROOT / "src" / "midfold" / "__init__.py").read_text("utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.name: statement.module for statement in block.body for alias in statement.names}


def test_all_is_exactly_what_is_public():
    assert sorted([*imported_for_type_checkers(), "__version__"]) == sorted(midfold.__all__)


def test_every_public_name_is_what_type_checkers_take_it_for():
    for name, module in imported_for_type_checkers().items():
        found = import_module(f"midfold.{name}" if module == "midfold" else module)
        assert getattr(midfold, name) is (found if module == "midfold" else getattr(found, name))


def test_nothing_else_is_public():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = midfold.nothing


def test_every_public_name_is_documented():
    docs = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert [name for name in midfold.__all__ if name not in docs and name != "__version__"] == []


def test_no_file_names_a_registry_or_a_path_of_some_machine():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    forbidden = re.compile(
        "|".join(
            ["pypi" + r"\.org", "pythonhosted" + r"\.org", "npmjs" + r"\.org", "/wo" + "rk/(main|shared)"]
        )
    )
    found = [name for name in listed if _holds(ROOT / name, forbidden)]
    assert found == []


def _holds(path, pattern):
    return path.is_file() and pattern.search(path.read_text("utf-8", "replace")) is not None
