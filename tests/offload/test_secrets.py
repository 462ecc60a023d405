"""No credential leaves the conversation: not into files, previews, the index, nor what is read back."""

import errno
import os

import pytest

from midfold.offload import (
    Budgets,
    FileSink,
    MemorySink,
    OutputReader,
    enforce,
    literal,
    offload_result,
    search_outputs,
)
from midfold.redact import redact

FILLER = "nothing to see in this line\n" * 5_000
CONTEXTS = ("alone", "prose", "json", "shell", "log")


class Full(MemorySink):
    """A sink without room."""

    def write(self, key, text, *, tool=""):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(scope="module")
def planted(shapes):
    """Texts with a credential of every shape, by context, and what must not be found of them."""
    templates = [template for _, template in shapes.rows(shapes.BY_SHAPE) + shapes.rows(shapes.BY_PLACE)]
    drawn = [shapes.draw(template, seed) for template in templates for seed in range(2)]
    texts = {
        name: "\n".join(shapes.CONTEXTS[name](secret) for secret, _ in drawn) + "\n" for name in CONTEXTS
    }
    return texts, [max(parts, key=len) for _, parts in drawn]


def found_in(text, canaries):
    return [canary for canary in canaries if canary in text]


@pytest.mark.parametrize("context", CONTEXTS)
def test_nothing_of_any_shape_is_found_anywhere(root, turn, planted, context):
    texts, canaries = planted
    assert len(canaries) > 120
    session = FileSink(root).session("s")
    offloaded = enforce(turn(texts[context] + FILLER), session, Budgets(preview_chars=100_000))
    [kept] = offloaded.offloaded.values()
    reader = OutputReader(session)
    shown = [
        *(path.read_text("utf-8") for path in root.rglob("*") if path.is_file()),
        *(result.text for message in offloaded.messages for result in message.results),
        session.read(kept.reference),
        str(session.outputs()),
        reader.handle({}),
        reader.handle({"reference": kept.reference, "limit": 50_000}),
        *(reader.handle({"pattern": canary}) for canary in canaries[:10]),
    ]
    assert [found_in(text, canaries) for text in shown] == [[]] * len(shown)


def test_a_cut_result_has_none_either(planted):
    texts, canaries = planted
    cut = offload_result(texts["prose"] + FILLER + texts["log"], Full()).text
    assert found_in(cut, canaries) == []
    assert "REDACTED" in cut


def test_names_of_tools_and_calls_are_no_way_round(root, planted):
    _, canaries = planted
    secret = "ghp" + "_" + canaries[0][:36].replace("-", "a").replace("_", "b")
    session = FileSink(root).session("s")
    session.write(secret, f"{secret}\n{FILLER}", tool=f"tool {secret}")
    shown = [str(path) + path.read_text("utf-8") for path in root.rglob("*") if path.is_file()]
    assert secret not in "".join([*shown, str(session.outputs())])
    assert search_outputs(session, literal(secret)).matches == ()


def test_writing_past_the_plan_is_no_way_round(root):
    session = FileSink(root).session("s")
    assert (
        session.read(session.write("call", "password=" + "hunter2hunter2")) == "password=[REDACTED:password]"
    )


def test_a_key_makes_the_placeholder_of_a_credential_the_same_everywhere(root):
    def with_key(text):
        return redact(text, key=b"one session's key")

    session = FileSink(root, redact=with_key).session("s")
    line = "export API_TOKEN=" + "a1B2" * 9
    assert session.read(session.write("call", line)) == with_key(line)


def test_a_block_says_that_credentials_were_replaced():
    sink = MemorySink()
    text = "export API_TOKEN=" + "a1B2" * 9 + "\n" + FILLER
    shortened = offload_result(text, sink)
    kept = len(sink.read(shortened.outcome.reference))
    assert (shortened.outcome.chars, shortened.outcome.kept_chars) == (len(text), kept)
    assert f"Credentials in it were replaced; {kept:,} characters are kept." in shortened.text
