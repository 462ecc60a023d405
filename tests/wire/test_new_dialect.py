"""A dialect is one value: these prove that one value is all that it takes."""

import ast
from itertools import chain
from pathlib import Path

import pytest

import midfold
from midfold.messages import Message, Text
from midfold.wire import DIALECTS, convert, detect, parse, read_request, render
from midfold.wire.apis import convert_tools
from midfold.wire.dialect import Dialect, Edits, Evidence, Features, Item, ToolOffer
from midfold.wire.validate import validate

SOURCES = Path(midfold.__file__).parent
# Routes and profiles of providers, one of which has the name of a dialect.
PROVIDER_NAMES = {"wire/cache_control.py", "cli/chat/first_model.py", "cli/render/context.py"}


def rewrite(item: Item, message: Message, _: Edits) -> Item:
    return {**item, "words": message.text}


def build(message: Message) -> list[object]:
    return [{"speaker": message.role, "words": message.text}]


def build_tool(tool: ToolOffer) -> Item:
    return {"gadget": tool.name}


PARROT = Dialect(
    name="parrot",
    label="Parrot",
    recognises=lambda item: Evidence.PROOF if "speaker" in item else Evidence.NONE,
    role_of=lambda item: str(item["speaker"]),
    walk=lambda item: [("words", [Text(str(item["words"]))])],
    rewrite=rewrite,
    build=build,
    features=Features(call_ids=False),
    message_fields=("squawks",),
    system_field="cage",
    build_tool=build_tool,
)
ITEMS = [{"speaker": "user", "words": "Polly?"}, {"speaker": "assistant", "words": "A cracker."}]


@pytest.fixture
def parrot(monkeypatch):
    monkeypatch.setitem(DIALECTS, PARROT.name, PARROT)


@pytest.mark.usefixtures("parrot")
def test_a_value_in_the_table_is_a_dialect_everywhere():
    assert detect(ITEMS) == "parrot"
    messages = parse(ITEMS)
    assert render(messages, "parrot") == ITEMS
    edited = messages[1].with_part(0, Text("No."))
    assert render([edited], "parrot") == [{"speaker": "assistant", "words": "No."}]
    assert convert(messages, "parrot").messages == ITEMS
    assert convert(messages, "openai_chat").messages[1] == {"role": "assistant", "content": "A cracker."}
    assert validate(ITEMS, dialect="parrot") == []
    assert convert_tools([{"name": "fly"}], "parrot") == [{"gadget": "fly"}]


@pytest.mark.usefixtures("parrot")
def test_a_request_body_in_it_is_read_by_its_fields():
    request = read_request({"squawks": ITEMS, "cage": "Be brief."})
    assert (request.dialect, request.system) == ("parrot", "Be brief.")


@pytest.mark.usefixtures("parrot")
def test_a_conversation_in_it_is_folded():
    items = [
        {"speaker": "user" if n % 2 == 0 else "assistant", "words": f"{n} squawk " * 40} for n in range(60)
    ]
    result = midfold.compress(items, max_tokens=1_500)
    assert result.changed
    assert all(set(item) == {"speaker", "words"} for item in result.messages)


def test_no_module_asks_for_the_name_of_a_dialect():
    asking = [
        f"{path.relative_to(SOURCES).as_posix()}:{line}"
        for path in sorted(SOURCES.rglob("*.py"))
        if "testing" not in path.relative_to(SOURCES).parts
        and path.relative_to(SOURCES).as_posix() not in PROVIDER_NAMES
        for line in lines_that_ask(ast.parse(path.read_text()))
    ]
    assert asking == []


def lines_that_ask(tree):
    """Yield the lines that compare with the name of a dialect, match it, or look it up in a table."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                asked = [node.left, *node.comparators]
            case ast.MatchValue():
                asked = [node.value]
            case ast.Dict():
                asked = [key for key in node.keys if key is not None]
            case _:
                continue
        members = [getattr(each, "elts", [each]) for each in asked]
        names = {each.value for each in chain(*members) if isinstance(each, ast.Constant)}
        if names & DIALECTS.keys():
            yield node.lineno
