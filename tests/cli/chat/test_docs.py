"""What the page about the chat promises."""

import re
from pathlib import Path

import pytest

from midfold.agent import events
from midfold.cli.chat.slash import COMMANDS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "chat.md").read_text("utf-8")
IMAGES = sorted((DOCS / "images").glob("chat-*.svg"))


def test_every_command_is_on_the_page():
    for each in COMMANDS:
        for form in each.forms:
            assert f"`/{each.name} {form.usage}".rstrip() in PAGE


def test_every_event_is_on_the_page():
    names = [re.sub(r"(?<!^)([A-Z])", r"_\1", kind.__name__).lower() for kind in events.Event.__args__]
    written = [name.removesuffix("_delta") for name in names]
    assert [name for name in written if f"`{name}`" not in PAGE] == []


def test_there_are_images_and_the_page_shows_them():
    assert len(IMAGES) >= 3
    assert [image.name for image in IMAGES if f"images/{image.name}" not in PAGE] == []


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_images_load_nothing_from_elsewhere(image):
    text = image.read_text("utf-8")
    assert "font-face" not in text
    assert re.findall(r"(?:url\(|href=|src=)\s*[\"']?(?:https?:)?//", text) == []
