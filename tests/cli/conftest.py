"""How the tests of the command line run it."""

import sys

import pytest

from midfold.cli.main import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; returns its status, output and errors."""

    def runner(*arguments, columns=120):
        monkeypatch.setattr(sys, "argv", ["midfold", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return left.value.code, captured.out, captured.err

    return runner
