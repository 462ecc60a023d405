"""Every code block in the documentation runs, every link leads somewhere, every command has its heading."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from midfold import errors
from midfold.cli.main import cli

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def blocks(page, *languages):
    return [body for language, body in BLOCK.findall(page.read_text("utf-8")) if language in languages]


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_python_blocks_run_one_after_another(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    code = "\n".join(blocks(page, "python"))
    exec(compile(code, name_of(page), "exec"), {"__name__": "__page__"})  # noqa: S102 - our own pages


@pytest.fixture(scope="module")
def run_command(tmp_path_factory):
    """Runs a command of midfold in a process of its own: run_command(arguments) -> status, output, errors."""
    with subprocess.Popen(
        [sys.executable, ROOT / "tests" / "command_worker.py"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "120", "MIDFOLD_HOME": str(tmp_path_factory.mktemp("home"))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:

        def run(arguments):
            worker.stdin.write(json.dumps(arguments) + "\n")
            worker.stdin.flush()
            return json.loads(worker.stdout.readline())

        yield run
        worker.stdin.close()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=name_of)
def test_console_blocks_run_and_succeed(page, run_command):
    for line in "".join(blocks(page, "console")).splitlines():
        command = line.removeprefix("$ ").replace(".venv/bin/midfold", "midfold")
        assert line.startswith("$ ")
        assert command.startswith("midfold "), f"only midfold itself is run: {line}"
        status, output, errors = run_command(shlex.split(command)[1:])
        assert status == 0, errors
        assert output


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=name_of)
def test_make_targets_in_shell_blocks_exist(page):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in "".join(blocks(page, "sh")).splitlines():
        assert line.split()[0] == "make", f"not a make target: {line}"
        assert line.split()[1] in targets


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "json")], ids=name_of)
def test_json_blocks_are_json(page):
    for body in blocks(page, "json"):
        assert json.loads(body) is not None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_page_begins_with_a_heading(page):
    assert page.read_text("utf-8").startswith("# ")


STRANGE = re.compile(r"\b(put aside|mended|mends|spelled|spelling)\b", re.IGNORECASE)
"""Words for which the field has others: offloaded, repaired, written."""


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "decisions"], ids=name_of)
def test_pages_use_the_words_of_the_field(page):
    """The history of changes keeps its words."""
    text = page.read_text("utf-8")
    assert page.name == "CHANGELOG.md" or STRANGE.findall(text) == []


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "src").rglob("texts/*")) + sorted((ROOT / "src").rglob("prompts/*.md")),
    ids=name_of,
)
def test_texts_for_models_use_the_words_of_the_field(path):
    assert STRANGE.findall(path.read_text("utf-8")) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=name_of)
def test_every_page_says_first_what_it_is_for(page):
    _, _, rest = page.read_text("utf-8").partition("\n\n")
    assert not rest.startswith(("```", "!", "#", "|", "<", "-")), rest[:60]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is_and_every_link_leads_somewhere(page):
    known = {"python", "console", "sh", "json", "text", "yaml", "toml"}
    assert {language for language, _ in BLOCK.findall(page.read_text("utf-8"))} <= known
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_heading_finds_it(page):
    missing = []
    for target, anchor in ANCHOR.findall(BLOCK.sub("", page.read_text("utf-8"))):
        text = ((page.parent / target) if target else page).read_text("utf-8")
        headings = {
            re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in HEADING.findall(BLOCK.sub("", text))
        }
        missing += [f"{target}#{anchor}"] * (anchor not in headings)
    assert missing == []


def test_every_command_has_a_heading():
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for name in cli.list_commands(None):
        assert f"## midfold {name}" in page


def test_api_page_is_what_the_docstrings_say():
    """`make fmt` writes it anew."""
    writer = runpy.run_path(str(ROOT / "scripts" / "write_api.py"))
    assert writer["write_page"]() == writer["PAGE"].read_text("utf-8")


def test_reference_parts_are_what_the_code_says():
    """`make fmt` writes them anew."""
    pages = runpy.run_path(str(ROOT / "scripts" / "write_reference.py"))["write_pages"]()
    assert {page: page.read_text("utf-8") for page in pages} == pages


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert sorted(page for page in pages if f"({page})" not in index) == []


def test_every_error_is_described():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    names = [name for name, value in vars(errors).items() if str(value).startswith("<class 'midfold")]
    assert [name for name in names if name not in page] == []
