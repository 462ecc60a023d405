"""Texts that are long enough to be read in a file of their own."""

import os
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"


@pytest.fixture
def check_snapshot():
    """Compare a text with the file of that name; with MIDFOLD_UPDATE_SNAPSHOTS set, write the file."""

    def check(name, text):
        path = SNAPSHOTS / name
        if os.environ.get("MIDFOLD_UPDATE_SNAPSHOTS"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n", "utf-8")
        assert path.read_text("utf-8") == f"{text}\n"

    return check
