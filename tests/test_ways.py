"""The three ways that docs/architecture.md tells are the ways that the code goes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.tracing import WAYS, Call, module_of

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
HOP = re.compile(r"^\d+\. `([\w.]+)`", re.MULTILINE)
MOST_HOPS = {"One compress": 15, "One chat turn": 22, "One trajectory row": 22}
MOST_MODULES = 98
"""How many modules one `compress` may run through."""
STAND_INS = {"midfold.late_dataclasses", "midfold.late_patterns"}
"""They do what `dataclasses` and `re` do, which are no hop either."""


def hops_of(way: str) -> list[str]:
    """Return the hops of a way as the page lists them, as `module:function`."""
    section = PAGE.read_text("utf-8").partition(f"## {way}\n")[2].partition("\n## ")[0]
    return [to_function(f"midfold.{hop}") for hop in HOP.findall(section)]


def to_function(dotted: str) -> str:
    """Part a dotted name where its module ends."""
    parts = dotted.split(".")
    modules = (".".join(parts[:stop]) for stop in range(len(parts) - 1, 0, -1))
    root = PAGE.parents[1] / "src"
    for module in modules:
        path = root.joinpath(*module.split("."))
        if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
            return f"{module}:{dotted[len(module) + 1 :]}"
    raise AssertionError(f"{dotted} is in no module")


@pytest.fixture(scope="module", params=WAYS)
def way(request):
    return request.param


@pytest.fixture(scope="module")
def calls(way, tmp_path_factory):
    return trace(way, tmp_path_factory.mktemp("way"))


def trace(way: str, folder: Path) -> dict[str, Call]:
    command = [sys.executable, "-m", "support.tracing", way, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: Call(**call) for name, call in json.loads(done.stdout).items()}


def test_a_way_is_as_short_as_it_should_be(way):
    assert 5 <= len(hops_of(way)) <= MOST_HOPS[way]


def test_each_hop_is_taken_and_in_the_order_of_the_page(way, calls):
    hops = hops_of(way)
    assert [hop for hop in hops if hop not in calls] == []
    assert sorted(hops, key=lambda hop: calls[hop].number) == hops


def test_no_hop_is_left_out(way, calls):
    """Between a hop and the one that leads to it stands no function of a third module."""
    hops = hops_of(way)
    assert {hop: hidden for hop in hops[1:] if (hidden := hidden_before(hop, hops, calls))} == {}


def hidden_before(hop: str, hops: list[str], calls: dict[str, Call]) -> list[str]:
    """List the functions on the way to a hop that the page does not tell of."""
    callers = calls[hop].callers
    stop = next((index for index, name in enumerate(callers) if name in hops), None)
    known = {module_of(hop), "midfold.concurrency"}
    if stop is None:  # a task or a thread of its own
        known |= {module_of(each) for each in hops}
        return [name for name in callers if module_of(name) not in known]
    known.add(module_of(callers[stop]))
    return [name for name in callers[:stop] if module_of(name) not in known]


def test_one_compress_runs_through_few_modules(tmp_path):
    modules = {module_of(name) for name in trace("One compress", tmp_path)}
    assert len(modules - STAND_INS) <= MOST_MODULES
