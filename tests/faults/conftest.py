"""What tests of faults share: filled stores, and scripts in processes of their own."""

import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.store import open_store

Script = Callable[..., list[str]]
Fill = Callable[[Path, int], str]


@pytest.fixture
def fill() -> Fill:
    """Write a session of so many messages into a new store, and return its id."""

    def filling(path: Path, count: int) -> str:
        with open_store(path, synchronous="NORMAL") as store:
            session = store.create_session(session_id="filled", dialect="openai_chat").id
            for number in range(count):
                store.append(session, message(number))
        return session

    return filling


def message(number: int) -> dict[str, object]:
    return {"role": "user", "content": f"{number} " + "about the harbour office " * 20}


@pytest.fixture
def run_script(tmp_path: Path) -> Script:
    """Run Python in a process of its own and return the lines it prints; `mounts` lets it mount things."""

    def running(code: str, *, mounts: bool = False) -> list[str]:
        prefix = ["unshare", "-rm"] if mounts else []
        if mounts and (
            not shutil.which("unshare") or subprocess.run([*prefix, "true"], check=False).returncode
        ):
            pytest.skip("nothing can be mounted here")
        done = subprocess.run(
            [*prefix, sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if "mount:" in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return running
