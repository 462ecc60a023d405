"""Runs commands of midfold, each in a process of its own that has everything loaded already.

Each line of the input is a JSON list of arguments; the answer is a JSON list: status, output, errors. Loading
takes longer than most commands, so it is done once and the rest by forking.
"""

import json
import os
import sys
import tempfile
from importlib import import_module

import midfold
from midfold.cli import main


def run(arguments: list[str]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sys.argv = ["midfold", *arguments]
            main.main()
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), _text(output), _text(errors)


def _text(file) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    for name in main.COMMANDS:
        import_module(f"midfold.cli.commands.{name}")
    midfold.compress([{"role": "user", "content": "Good morning"}], max_tokens=1_000)
    answers = os.dup(1)
    for line in sys.stdin:
        os.write(answers, (json.dumps(run(json.loads(line))) + "\n").encode())
