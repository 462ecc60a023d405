"""Pruning: what is said more briefly, what is left alone, and that doing it twice does nothing."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.folding import Style
from midfold.folding.fold import Span
from midfold.folding.prune import PLACEHOLDER, PruneCounts, prune
from midfold.messages import Media, Message, Reasoning, Text, ToolCall, ToolResult, pair_calls
from midfold.redact import redact
from midfold.summaries.tool_calls import redact_arguments
from midfold.testing import conversation
from midfold.wire import DIALECTS, parse, render
from midfold.wire.validate import validate

PICTURE = Media("image", "image/png", "A" * 32_768)
LONG = "\n".join(f"{number:04} some line of a file" for number in range(200))


def asked(call_id="c", name="read", text=(), **arguments):
    return Message("assistant", (*text, ToolCall(call_id, name, json.dumps(arguments))))


def answered(call_id="c", text=LONG, **more):
    return Message("tool", (ToolResult(call_id, text, **more),))


def apply_edits(messages, pruned):
    edits = {edit.index: edit for edit in pruned.edits}
    return [edits[index].apply(m) if index in edits else m for index, m in enumerate(messages)]


def prune_all(messages, **options):
    return apply_edits(messages, prune(messages, Span(0, len(messages)), **options))


def result_texts(messages):
    return [result.text for message in messages for result in message.results]


def test_a_long_result_becomes_a_stub():
    messages = [asked(path="a.py"), answered()]
    pruned = prune(messages, Span(0, 2))
    assert result_texts(apply_edits(messages, pruned)) == ["[read] read a.py from line 1 (4,999 chars)"]
    assert pruned.counts == PruneCounts(results=1)


def test_a_result_of_200_characters_stays():
    messages = [asked(path="a.py"), answered(text="x" * 200)]
    assert prune(messages, Span(0, 2)).edits == ()


def test_a_result_that_is_shorter_than_its_stub_stays():
    messages = [asked(name="bash", command="y" * 300), answered(text="Error: " + "x" * 200)]
    assert result_texts(prune_all(messages)) == ["Error: " + "x" * 200]


def test_an_excerpt_keeps_the_ends_of_a_result_over_2000_characters():
    messages = [asked("a"), answered("a"), asked("b"), answered("b", "x" * 2000)]
    first, second = result_texts(prune_all(messages, style=Style.EXCERPT))
    assert first.startswith("0000 some line")
    assert first.endswith("0199 some line of a file")
    assert "characters cut …]" in first
    assert second == "x" * 2000


def test_a_placeholder_says_that_something_was_here():
    messages = [asked(), answered()]
    assert result_texts(prune_all(messages, style=Style.PLACEHOLDER)) == [
        "[Old tool output cleared to save context space]"
    ]


def test_what_an_earlier_pruning_left_stays_whatever_the_style():
    messages = [asked(path="a.py"), answered()]
    for earlier in Style:
        pruned = prune_all(messages, style=earlier)
        assert all(prune_all(pruned, style=later) == pruned for later in Style)


def test_only_messages_of_the_span_are_edited():
    messages = [asked("a"), answered("a", LONG + "1"), asked("b"), answered("b", LONG + "2")]
    assert [edit.index for edit in prune(messages, Span(2, 4)).edits] == [3]
    assert prune(messages, Span(2, 2)).edits == ()
    assert [edit.index for edit in prune(messages, Span(-3, 99)).edits] == [1, 3]


def test_older_copies_point_to_the_newest_one_that_stays():
    messages = [asked("a", path="a.py"), answered("a"), asked("b", path="a.py"), answered("b")]
    pruned = prune(messages, Span(0, 2))
    assert result_texts(apply_edits(messages, pruned)) == [
        "[read] same output as the later `read a.py` call (4,999 chars)",
        LONG,
    ]
    assert pruned.counts == PruneCounts(duplicates=1)


def test_nothing_points_to_a_copy_that_is_stubbed_too():
    messages = [asked("a", path="a.py"), answered("a"), asked("b", path="a.py"), answered("b")]
    pruned = prune(messages, Span(0, 4))
    assert pruned.counts == PruneCounts(results=2)


def test_a_copy_inside_the_span_that_stays_whole_is_pointed_to():
    text = "x" * 1500
    messages = [asked("a", path="a.py"), answered("a", text), asked("b", path="a.py"), answered("b", text)]
    assert result_texts(prune_all(messages, style=Style.EXCERPT)) == [
        "[read] same output as the later `read a.py` call (1,500 chars)",
        text,
    ]


def test_copies_of_short_results_stay():
    messages = [asked("a"), answered("a", "ok"), asked("b"), answered("b", "ok")]
    assert prune(messages, Span(0, 2)).edits == ()


def test_long_arguments_are_shortened_inside_their_json():
    messages = [asked(name="write_file", path="a.py", content=LONG), answered(text="ok")]
    pruned = prune(messages, Span(0, 2))
    (call,) = apply_edits(messages, pruned)[0].calls
    assert json.loads(call.arguments) == {
        "path": "a.py",
        "content": LONG[:200] + "… [4,799 more characters]",
    }
    assert pruned.counts.arguments == 1


def test_arguments_up_to_500_characters_stay():
    messages = [asked(name="write_file", content="x" * 480), answered(text="ok")]
    assert prune(messages, Span(0, 2)).edits == ()


def test_arguments_beside_signed_thinking_stay():
    signed = Reasoning("hm", signature="c2ln")
    messages = [asked(name="write_file", text=(signed,), path="a.py", content=LONG), answered()]
    assert [edit.index for edit in prune(messages, Span(0, 2)).edits] == [1]


def test_arguments_beside_thinking_that_nobody_signed_are_shortened():
    messages = [
        asked(name="write_file", text=(Reasoning("hm"),), path="a.py", content=LONG),
        answered(text="ok"),
    ]
    assert prune(messages, Span(0, 2)).counts.arguments == 1


def test_a_message_with_an_open_call_and_its_results_stay():
    calls = (ToolCall("a", "read", "{}"), ToolCall("b", "write_file", json.dumps({"content": LONG})))
    messages = [Message("assistant", calls), answered("a")]
    assert prune(messages, Span(0, 2)).edits == ()


def test_a_result_of_an_open_group_is_still_pointed_to():
    calls = (ToolCall("b", "read", '{"path": "a.py"}'), ToolCall("c", "read", "{}"))
    messages = [asked("a", path="a.py"), answered("a"), Message("assistant", calls), answered("b")]
    assert prune(messages, Span(0, 4)).counts.duplicates == 1


def test_a_picture_becomes_a_note():
    messages = [Message("user", (Text("look"), PICTURE))]
    pruned = prune(messages, Span(0, 1))
    assert apply_edits(messages, pruned)[0].parts == (
        Text("look"),
        Text("[image image/png, 24 KB, removed to save context]"),
    )
    assert pruned.counts.media == 1


def test_the_address_of_a_picture_stays():
    messages = [Message("user", (Media("image", "", "https://example.org/[a].png"),))]
    assert prune_all(messages)[0].text == "[image, https://example.org/(a).png, removed to save context]"


def test_pictures_in_a_result_are_noted_behind_its_text_however_short():
    messages = [asked("a", path="a.png"), answered("a", "done", media=(PICTURE,))]
    (result,) = prune_all(messages)[1].results
    assert result == ToolResult("a", "done [image image/png, 24 KB, removed to save context]")


def test_pictures_in_a_long_result_are_noted_behind_its_stub():
    messages = [asked("a", path="a.png"), answered("a", LONG, media=(PICTURE, PICTURE))]
    assert result_texts(prune_all(messages)) == [
        "[read] read a.png from line 1 (4,999 chars) [2 images, 48 KB, removed to save context]"
    ]


def test_a_result_without_a_call_is_stubbed_too():
    messages = [answered("lost", name="scan")]
    assert result_texts(prune_all(messages))[0].startswith("[scan] -> 4,999 chars, 200 lines")


def test_a_plug_in_writes_the_stubs_of_its_tool():
    messages = [asked(name="toll_gate"), answered()]
    stubs = result_texts(prune_all(messages, writers={"toll_gate": lambda _, __: "opened the gate"}))
    assert stubs == ["[toll_gate] opened the gate"]


def test_a_pairing_that_is_known_already_is_used():
    pairing = pair_calls([asked(path="a.py"), answered()])
    messages = [asked(path="a.py"), answered("another id")]
    assert result_texts(prune_all(messages, pairing=pairing)) == [
        "[read] read a.py from line 1 (4,999 chars)"
    ]


# Generated conversations: names, arguments and texts of any kind, groups that are open, lost or repeated.

anything = st.one_of(
    st.text(max_size=60),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=40), st.integers(5, 120)),
    st.sampled_from([LONG, LONG[:1500], "Traceback (most recent call last):\n  x\nKeyError: 'a'\n" * 9]),
)
keys = st.sampled_from(
    ["command", "path", "pattern", "content", "old_string", "new_string", "query", "input"]
)
call_arguments = st.one_of(
    anything,
    st.builds(
        json.dumps, st.dictionaries(keys, st.one_of(anything, st.lists(anything, max_size=3)), max_size=4)
    ),
)
names = st.sampled_from(
    ["bash", "Read", "write_file", "Edit", "Grep", "ls", "fetch", "toll_gate", "", "a]\nb"]
)
ids = st.sampled_from(["a", "b", "c", ""])
media = st.lists(
    st.builds(Media, st.sampled_from(["image", "audio"]), st.sampled_from(["", "image/png"]), anything),
    max_size=2,
)
parts = st.one_of(
    st.builds(ToolCall, ids, names, call_arguments),
    st.builds(ToolCall, ids, names, call_arguments),
    st.builds(Text, anything),
    st.builds(Reasoning, anything, st.sampled_from(["", "", "signed"])),
)
messages_of_any_kind = st.lists(
    st.one_of(
        st.builds(Message, st.just("assistant"), st.lists(parts, max_size=3).map(tuple)),
        st.builds(
            Message,
            st.just("tool"),
            st.lists(
                st.builds(ToolResult, ids, anything, st.booleans(), media.map(tuple)), min_size=1, max_size=2
            ).map(tuple),
        ),
        st.builds(
            Message,
            st.just("user"),
            st.one_of(media, st.builds(Text, anything).map(lambda t: [t])).map(tuple),
        ),
    ),
    max_size=10,
)
spans = st.builds(Span, st.integers(0, 4), st.integers(0, 11))
styles = st.sampled_from(list(Style))


@given(messages_of_any_kind, spans, styles)
def test_pruning_twice_changes_nothing(messages, span, style):
    once = apply_edits(messages, prune(messages, span, style=style))
    again = prune(once, span, style=style)
    assert again.edits == ()
    assert again.counts == PruneCounts()


@given(messages_of_any_kind, spans, styles)
def test_only_the_span_changes_and_never_to_something_longer(messages, span, style):
    before = list(messages)
    pruned = prune(messages, span, style=style)
    assert all(kept is old for kept, old in zip(messages, before, strict=True))
    assert all(edit.index in span for edit in pruned.edits)
    for edit in pruned.edits:
        for position, new in edit.parts:
            old = messages[edit.index].parts[position]
            if isinstance(old, ToolResult) and not old.media:
                assert len(new.text) < len(old.text)
            if isinstance(old, ToolCall):
                assert len(new.arguments) < len(old.arguments)


@given(messages_of_any_kind, spans, styles)
def test_shortened_arguments_are_json_with_the_same_keys(messages, span, style):
    for edit in prune(messages, span, style=style).edits:
        for position, new in edit.parts:
            if isinstance(new, ToolCall):
                old = messages[edit.index].parts[position]
                assert list(json.loads(new.arguments)) == list(json.loads(old.arguments))
                assert (new.id, new.name) == (old.id, old.name)


@given(messages_of_any_kind, spans, styles)
def test_open_calls_and_signed_messages_keep_their_words(messages, span, style):
    pairing = pair_calls(messages)
    waiting = {call.message for call in pairing.open_calls}
    for edit in prune(messages, span, style=style, pairing=pairing).edits:
        changed = [messages[edit.index].parts[position] for position, _ in edit.parts]
        is_signed = any(isinstance(p, Reasoning) and p.signature for p in messages[edit.index].parts)
        if is_signed or edit.index in waiting:
            assert not any(isinstance(part, ToolCall) for part in changed)
        if edit.index in waiting:
            assert not any(isinstance(part, ToolResult) for part in changed)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("style", list(Style))
def test_a_pruned_conversation_is_as_legal_as_it_was(dialect, style):
    messages = conversation(dialect, seed=3, turns=12, result_chars=3000, thinking=True, images=True)
    pruned = prune_all(messages, style=style)
    before = validate(render(messages, dialect), dialect=dialect)
    assert validate(render(pruned, dialect), dialect=dialect) == before


@pytest.fixture(scope="module")
def corpus(data_dir):
    return {
        path.name.removesuffix(".json.gz"): parse(json.loads(gzip.decompress(path.read_bytes()))["messages"])
        for path in sorted((data_dir / "corpus").glob("*.json.gz"))
    }


def test_real_conversations_shrink_stay_legal_and_are_pruned_once(corpus):
    size_before = size_after = 0
    for name, messages in corpus.items():
        pruned = prune_all(messages)
        size_before += sum(map(len, result_texts(messages)))
        size_after += sum(map(len, result_texts(pruned)))
        assert prune(pruned, Span(0, len(pruned))).edits == (), name
        faults = validate(render(messages, "openai_chat"), dialect="openai_chat")
        assert validate(render(pruned, "openai_chat"), dialect="openai_chat") == faults, name
    assert size_after < size_before / 10


def test_the_stubs_of_real_conversations_are_short_lines(corpus):
    for name, messages in corpus.items():
        before, after = result_texts(messages), result_texts(prune_all(messages))
        stubs = [new for old, new in zip(before, after, strict=True) if new != old]
        assert all("\n" not in stub and len(stub) <= 400 for stub in stubs), name
        assert PLACEHOLDER not in stubs


def test_what_stays_of_long_arguments_hides_secrets_and_stays_json():
    secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    messages = [asked(content=f"{secret} " * 40, token=secret), answered(text="ok")]
    [call] = prune_all(messages, redact=redact)[0].calls
    assert secret not in call.arguments
    assert set(json.loads(call.arguments)) == {"content", "token"}


def test_redacting_never_breaks_arguments():
    arguments = json.dumps({"a": "x", "b": "y"})
    assert redact_arguments(arguments, lambda text: text.replace('", "b', "")) == '{"a":"x","b":"y"}'
    assert redact_arguments("not JSON x", lambda text: text.replace("x", "y")) == "not JSON y"
