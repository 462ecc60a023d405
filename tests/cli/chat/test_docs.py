"""What the page about the chat promises."""

import re
from pathlib import Path

import pytest

from midfold.agent import events
from midfold.cli.chat.slash import COMMANDS
from midfold.cli.commands.chat import command

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "chat.md").read_text("utf-8")
IMAGES = sorted((DOCS / "images").glob("chat-*.svg"))


def test_every_command_is_on_the_page():
    for each in COMMANDS:
        for form in each.forms:
            assert f"`/{each.name} {form.usage}".rstrip() in PAGE


def test_every_option_is_on_the_page():
    options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
    assert [option for option in options if f"`{option}" not in PAGE] == []


def test_every_event_is_on_the_page():
    names = [re.sub(r"(?<!^)([A-Z])", r"_\1", kind.__name__).lower() for kind in events.Event.__args__]
    spelled = [name.removesuffix("_delta") for name in names]
    assert [name for name in spelled if f"`{name}`" not in PAGE] == []


def test_there_are_images_and_the_page_shows_them():
    assert len(IMAGES) >= 3
    assert [image.name for image in IMAGES if f"images/{image.name}" not in PAGE] == []


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_images_load_nothing_from_elsewhere(image):
    text = image.read_text("utf-8")
    assert "font-face" not in text
    assert re.findall(r"(?:url\(|href=|src=)\s*[\"']?(?:https?:)?//", text) == []
