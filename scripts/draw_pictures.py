"""Draw the pictures of the README and the docs from the command's real output."""

import io
import re
from pathlib import Path

from rich.console import Console

from midfold.cli.inspect import inspect_transcript
from midfold.cli.render import print_inspection
from midfold.transcripts import load_transcript

ROOT = Path(__file__).parents[1]
# The renderer refers to a web font; a picture in a repository must not need the network.
_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    """Rewrite docs/images/inspect.svg."""
    console = Console(record=True, width=84, highlight=False, file=io.StringIO())
    transcript = load_transcript(ROOT / "examples" / "transcripts" / "parking-meter.json")
    console.print("$ midfold inspect parking-meter.json --context-length 64000\n", style="dim")
    print_inspection(inspect_transcript(transcript, context_length=64_000), console)
    picture = console.export_svg(title="midfold inspect", unique_id="inspect")
    (ROOT / "docs" / "images" / "inspect.svg").write_text(_WEB_FONTS.sub("", picture), "utf-8")


if __name__ == "__main__":
    main()
