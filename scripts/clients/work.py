"""What the clients of `scripts/run_clients.py` are asked, and the tool that they have for it."""

import os
import sys

TURNS = int(os.environ.get("TURNS", "10"))
PROMPTS = [f"Read src/zone_{number}.py and tell me its tariff." for number in range(TURNS)]
_CHARS = 6_000


def read_file(path: str) -> str:
    """Return the content of a file."""
    number = int("".join(filter(str.isdigit, path)) or 0)
    lines = (f"{path}:{line}: rate = {line * 37 % 101}.{number % 10}  # checked" for line in range(400))
    return "\n".join(lines)[:_CHARS]


def tell(reply: str) -> None:
    """Show what the model said in the end of a turn."""
    print(reply, file=sys.stdout, flush=True)
