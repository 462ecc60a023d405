"""Draw the pictures of the README and the docs from the commands' real output."""

import io
import re
import time
from pathlib import Path

from rich.console import Console

from midfold.cli.commands.demo import fold_to_a_tenth, load_session, print_demo
from midfold.cli.commands.inspect import inspect_transcript
from midfold.cli.render.context import print_inspection
from midfold.transcripts import load_transcript

ROOT = Path(__file__).parents[1]
# The renderer refers to a web font; a picture in a repository must not need the network.
_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    """Rewrite docs/images/."""
    console = _console("midfold inspect parking-meter.json --context-length 64000")
    transcript = load_transcript(ROOT / "examples" / "transcripts" / "parking-meter.json")
    print_inspection(inspect_transcript(transcript, context_length=64_000), console)
    draw_svg(console, "inspect")

    console = _console("midfold demo")
    session = load_session()
    started = time.perf_counter()
    result = fold_to_a_tenth(session)
    print_demo(session, result, time.perf_counter() - started, console)
    draw_svg(console, "demo")


def _console(command: str) -> Console:
    console = Console(record=True, width=80, highlight=False, file=io.StringIO())
    console.print(f"$ {command}\n", style="dim")
    return console


def draw_svg(console: Console, name: str, *, title: str = "midfold") -> None:
    """Write what a recording console shows to docs/images/."""
    picture = console.export_svg(title=title, unique_id=name)
    (ROOT / "docs" / "images" / f"{name}.svg").write_text(_WEB_FONTS.sub("", picture), "utf-8")


if __name__ == "__main__":
    main()
