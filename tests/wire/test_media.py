"""Media: data, URLs, file ids and texts, read as one and never mistaken for one another."""

import pytest

from midfold.messages import Media, Opaque, Text, digest
from midfold.wire import parse, render
from midfold.wire.media import is_file_id, is_text, is_url, media_from_url, stub, url_of


@pytest.mark.parametrize(
    ("media", "question"),
    [
        (Media("image", "", "https://example.org/a.png"), is_url),
        (Media("image", "image/png", "https://example.org/a.png"), is_url),
        (Media("image", "", "file_1"), is_file_id),
        (Media("document", "text/plain", "plain words"), is_text),
        (Media("image", "image/png", "AA=="), lambda media: url_of(media) == "data:image/png;base64,AA=="),
    ],
)
def test_each_way_to_carry_media_is_told_from_the_others(media, question):
    assert question(media)
    assert sum([is_url(media), is_file_id(media), is_text(media)]) <= 1


def test_a_text_goes_into_a_data_url_and_comes_back():
    words = Media("document", "text/plain", "Zoë 😀")
    assert media_from_url("document", url_of(words)) == words


def test_a_data_url_without_a_type_is_data_all_the_same():
    assert not is_file_id(media_from_url("image", "data:;base64,AA=="))
    assert media_from_url("document", "data:text/plain;base64,//8=").mime == "application/octet-stream"


def test_a_stub_says_what_stood_there():
    assert stub(Media("image", "image/png", "AAAA")) == "[image image/png, 3 bytes]"
    assert stub(Media("document", "text/plain", "four")) == "[document text/plain, 4 bytes]"
    assert stub(Media("image", "", "file_1")) == "[image by reference]"


def test_images_beside_the_content_are_read_as_ollama_sends_them():
    item = {"role": "user", "content": "What is on it?", "images": ["iVBORw0KGgoAAAA", "/9j/4AAQ"]}
    [message] = parse([item], "openai_chat")
    png, jpeg = Media("image", "image/png", "iVBORw0KGgoAAAA"), Media("image", "image/jpeg", "/9j/4AAQ")
    assert message.parts == (Text("What is on it?"), png, jpeg)
    [edited] = render([message.with_part(1, Text("[image]")).without_part(2)], "openai_chat")
    assert edited == {"role": "user", "content": "What is on it?\n\n[image]"}


def test_a_document_made_of_blocks_is_read_with_its_words():
    def document(words):
        source = {"type": "content", "content": [{"type": "text", "text": words}]}
        return [{"role": "user", "content": [{"type": "document", "source": source}]}]

    [one], [other] = (parse(document(words), "anthropic") for words in ("A", "B"))
    assert isinstance(one.parts[0], Opaque)
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("dialect", "block"),
    [
        ("openai_chat", {"type": "image_url", "image_url": {"url": "", "x": 1}}),
        ("openai_chat", {"type": "file", "file": {"filename": "a.pdf"}}),
        ("openai_responses", {"type": "input_image", "detail": "auto"}),
        ("openai_responses", {"type": "input_file", "filename": "a.pdf"}),
        ("anthropic", {"type": "image", "source": {"type": "odd"}}),
    ],
)
def test_media_without_a_place_is_opaque(dialect, block):
    [message] = parse([{"role": "user", "content": [block]}], dialect)
    assert isinstance(message.parts[0], Opaque)


def test_a_text_file_is_read_as_its_words_however_it_is_carried():
    chat = {"type": "file", "file": {"file_data": "data:text/plain;base64,cGxhaW4gd29yZHM="}}
    claude = {"type": "document", "source": {"type": "text", "data": "plain words"}}
    words = Media("document", "text/plain", "plain words")
    assert parse([{"role": "user", "content": [chat]}], "openai_chat")[0].parts == (words,)
    assert parse([{"role": "user", "content": [claude]}], "anthropic")[0].parts == (words,)
