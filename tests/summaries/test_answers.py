"""Good notes are taken as they are, and nothing else is taken for notes."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import midfold
from midfold.summaries import prompts
from midfold.summaries.answers import judge_answer
from midfold.summaries.sections import Template
from midfold.summaries.serialization import serialize
from midfold.tokens import TokenCounter
from support.pace import is_linear

ROOT = Path(__file__).parents[1]
COUNT = TokenCounter()
ENTRY = re.compile(r"^=== (.+?) \| (\w+)\n(.*?)\n---\n(.*?)(?=\n=== |\Z)", re.DOTALL | re.MULTILINE)
GOOD = ENTRY.findall((Path(__file__).parent / "good_notes.txt").read_text("utf-8"))
NAMES = [name for name, *_ in GOOD]


def judge(answer, *, turns="", template=Template.HANDOFF, budget_tokens=1_000, **facts):
    prompt = prompts.render_prompt(template=template, turns=turns, budget_tokens=budget_tokens)
    return judge_answer(
        answer,
        prompt=prompt,
        turns=turns,
        template=template,
        budget_tokens=budget_tokens,
        count_text=COUNT.count_text,
        **facts,
    )


def turns_for(words):
    return f"[0] USER: {words}\n[1] CALL read_file {{}}\n[2] RESULT of read_file (9 chars):\nimport os"


# What is good


@pytest.mark.parametrize(("template", "words", "notes"), [entry[1:] for entry in GOOD], ids=NAMES)
@pytest.mark.parametrize("budget_tokens", [1_000, None], ids=["with room", "near the cap"])
def test_good_notes_of_any_style_and_language_are_taken(template, words, notes, budget_tokens):
    budget = budget_tokens or COUNT.count_text(notes) * 11 // 10
    judged = judge(
        notes, turns=turns_for(words), template=Template(template), user_words=words, budget_tokens=budget
    )
    assert judged.problem is None
    assert judged.repairs == ()
    assert judged.text.startswith("## ")


def test_there_are_enough_good_notes_to_say_so():
    assert len(GOOD) >= 40
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(("name", "template", "words", "notes"), GOOD, ids=NAMES)
def test_good_notes_are_changed_only_where_headings_were_not_as_asked(name, template, words, notes):
    changed = judge(notes, template=Template(template)).text != notes
    assert changed == (not notes.startswith("## ") or name == "numbered headings")


def test_a_block_of_code_before_the_first_heading_takes_nothing_with_it():
    before = "What the loop did, as far as anybody could tell from reading it:\n" * 8
    notes = f"{before}```sh\nmake\n```\n## Goal\n```sh\nmake test\n```"
    assert judge(notes).text == notes.replace("```\n## Goal", "```\n\n## Goal")


@pytest.mark.parametrize("path", sorted((ROOT / "transcripts").glob("*.json*")), ids=lambda path: path.stem)
@pytest.mark.parametrize("template", list(Template))
def test_a_digest_which_is_all_quotation_is_no_echo(path, template):
    request = midfold.load_transcript(path).request
    parsed = midfold.wire.parse(request.messages, request.dialect)
    result = midfold.compress(request.messages, max_tokens=sum(map(COUNT, parsed)) // 10, template=template)
    folded = [result.before[index] for span in result.folded for index in span]
    notes = prompts.find_body(result.summary)
    judged = judge(
        notes,
        turns=serialize(folded, count=COUNT.count_text, budget_tokens=1_000_000)[0],
        template=template,
        budget_tokens=COUNT.count_text(notes),
        user_words="\n".join(message.text for message in folded if message.role == "user"),
    )
    assert (judged.problem, judged.repairs) == (None, ())


# What is mended


@pytest.mark.parametrize(
    "written",
    [
        "# Goal",
        "#### goal",
        "## **Goal**",
        "## Goal:",
        "##Goal",
        "## 2. Goal",
        "**Goal**",
        "**Goal:**",
        "Goal:",
    ],
)
def test_headings_are_spelt_as_they_were_asked_for(written):
    assert judge(f"{written}\nShip it.").text == "## Goal\nShip it."


def test_a_heading_with_an_and_is_known():
    text = judge("## Constraints and Preferences\nNo new index.").text
    assert text.startswith("## Constraints & Preferences\n")


@pytest.mark.parametrize(
    "before",
    [
        "Here is the summary:\n\n",
        "Sure! Below are the notes.\n",
        "```markdown\n",
        "<think>hm</think>",
        "hm</think>\n",
    ],
)
def test_what_comes_before_the_first_heading_is_left_out(before):
    assert judge(f"{before}## Goal\nShip it.").text == "## Goal\nShip it."


def test_a_long_beginning_is_something_the_model_had_to_say():
    before = "The session was about fees. " * 20
    assert judge(f"{before}\n\n## Goal\nShip it.").text.startswith("The session")


def test_a_tool_call_behind_the_notes_is_left_out_and_mentioned():
    notes = GOOD[0][3]
    judged = judge(f'{notes}\n\n<tool_call>\n{{"name": "read_file", "arguments": {{}}}}\n</tool_call>')
    assert judged.problem is None
    assert judged.text == notes
    assert judged.repairs == ("left out a tool call behind the notes",)


def test_notes_that_are_too_long_are_cut_behind_a_section():
    sections = [
        f"## {name}\n" + f"- {name} was looked at in full.\n" * 40
        for name in prompts.HEADINGS[Template.HANDOFF]
    ]
    numbered = "\n".join(
        f"{line} {place}" if line[:1] == "-" else line
        for place, line in enumerate("\n".join(sections).split("\n"))
    )
    judged = judge(numbered, budget_tokens=1_000)
    assert judged.problem is None
    assert COUNT.count_text(judged.text) <= 1_500
    [repair] = judged.repairs
    assert re.fullmatch(r"cut an answer of [\d,]+ tokens behind '[\w &]+'", repair)
    assert judged.text.rsplit("## ", 1)[1].split("\n")[0] in repair


def test_one_endless_section_is_refused():
    endless = "## Goal\n" + "\n".join(f"- step {number} was done" for number in range(2_000))
    assert "tokens long, of 500" in judge(endless, budget_tokens=500).problem


def test_half_characters_and_control_characters_are_cleaned_away():
    judged = judge("## Goal\r\nShip\x00 it \ud83d\ude00 \udc00 \x1b[31mred\x1b[0m\x07\ufeff.")
    assert judged.problem is None
    assert judged.text == "## Goal\nShip it 😀  red."


# What is refused, with a reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "was empty"),
        ("", "was empty"),
        (" \n\t\u2028 ", "was empty"),
        ("\x00\x00", "was empty"),
        ("<think>Let me see what happened in turn", "was empty"),
        (b"## Goal\nShip it.", "was not text"),
        ({"role": "assistant"}, "was not text"),
        ("## Goal\n\n## Blocked\nNone.\n\n## Key Decisions\n- N/A", "has headings and nothing under them"),
        ("Error 429: too many requests.", "was an error message"),
        ('{"name": "read_file", "arguments": {"path": "a"}}', "was a tool call"),
        ('```json\n[{"function": {"name": "run"}}]\n```', "was a tool call"),
        ("## Active Task\n<tool_call>run()</tool_call>", "was a tool call"),
        ("<invoke name='run'>ls</invoke>", "was a tool call"),
        ("Action: search\nAction Input: fees", "was a tool call"),
        ('{"Goal": "ship it", "Blocked": []}', "was JSON instead of notes"),
        ('{"summary": "## Goal\nShip', "was JSON instead of notes"),
        ("I'm sorry, but I can’t help with that.", "was a refusal"),
        ("## Active Task\nI cannot assist with this request.", "was a refusal"),
        ("Hello. As an AI, I have no access to this.", "was a refusal"),
        ("## Goal\nThe user wanted the\n\n## Crit", "was cut off"),
        ("## Goal\nThe fees are wrong.\n\n## Completed Actions\n", "was cut off"),
        ("## Critical Context\n```sh\nfor host in a b", "was cut off"),
        ("## Goal\nThe user wanted the fees and", "was cut off"),
        ("## Goal\nEdited `src/fee", "was cut off"),
        ("## Goal\nFixed the rounding (see", "was cut off"),
    ],
)
def test_what_is_wrong_is_said_in_a_few_words(answer, reason):
    assert judge(answer).problem == f"the summariser's answer {reason}"


def test_notes_that_the_provider_reports_as_cut_are_refused():
    assert judge(GOOD[0][3], is_cut=True).problem == "the summariser's answer was cut off"


def test_a_line_that_stops_where_all_others_are_sentences_was_cut_off():
    lines = [f"- Step number {number} was carried out." for number in range(8)]
    notes = "\n".join(["## Completed Actions", *lines, "- The last step was about to be carr"])
    assert judge(notes).problem == "the summariser's answer was cut off"


def test_a_word_that_only_begins_one_of_the_turns_was_cut_off():
    notes = "## Active Task\nmove\n## Goal\nmove\n## Completed Actions\n1. moved\n## In Progress\n- moving"
    notes += "\n## Blocked\n- the synchroniz"
    assert judge(notes, turns="[0] USER: the synchronization fails").problem is not None
    assert judge(notes, turns="[0] USER: the synchroniz fails").problem is None


def test_last_headings_that_are_missing_tell_only_when_the_room_is_used_up():
    notes = "\n".join(f"## {name}\n- looked at it" for name in prompts.HEADINGS[Template.HANDOFF][:9])
    assert judge(notes).problem is None
    assert (
        judge(notes, budget_tokens=COUNT.count_text(notes)).problem == "the summariser's answer was cut off"
    )


def test_the_same_line_again_and_again_is_refused():
    lines = ["- The tests were run and passed."] * 30
    assert judge("\n".join(["## Goal", *lines])).problem == "the summariser's answer repeats itself"


@pytest.mark.parametrize(
    ("wanted", "given_", "problem"),
    [
        ("German with sentences", "sentences in English", "is in English, and the user writes German"),
        ("sentences in English", "French", "is in French, and the user writes English"),
        ("Spanish", "sentences in English", "is in English, and the user writes Spanish"),
        ("Chinese with much code", "sentences in English", "is in English, and the user writes Chinese"),
        (
            "sentences in English",
            "Chinese with full stops",
            "is in Chinese, and the user writes English",
        ),
        ("Japanese", "Chinese with full stops", "is in Chinese, and the user writes Japanese"),
        (
            "Russian",
            "sentences in English",
            "is in English, and the user writes a language in Cyrillic letters",
        ),
    ],
)
def test_another_language_than_the_users_is_named(wanted, given_, problem):
    words = next(entry[2] for entry in GOOD if entry[0] == wanted)
    notes, template = next((entry[3], Template(entry[1])) for entry in GOOD if entry[0] == given_)
    assert judge(notes, template=template, user_words=words).problem == f"the summariser's answer {problem}"


def test_commands_and_names_are_in_no_language():
    words = next(entry[2] for entry in GOOD if entry[0] == "Chinese with much code")
    notes = "## Completed Actions\n" + "\n".join(
        f"- run: systemctl restart nginx && journalctl unit yuyue tail head grep zone {place}"
        for place in range(20)
    )
    assert judge(notes, user_words=words).problem is None


def test_a_user_who_wrote_little_has_no_language():
    assert judge(GOOD[1][3], user_words="继续").problem is None


def test_the_task_may_be_quoted_in_the_users_language_and_still_the_notes_are_not():
    words = "请把预约系统迁移到新服务器，切换时停机不要超过五分钟，旧服务器上的数据必须保留到月底。"
    notes = GOOD[1][3].replace("Find out why the nightly import is slow.", words)
    assert "user writes Chinese" in judge(notes, user_words=words).problem


# An update repeats the notes before it, and should


def test_an_update_that_keeps_the_earlier_notes_is_no_echo():
    notes = "\n".join(
        f"## {name}\n- {name} was looked at, and nothing was found."
        for name in prompts.HEADINGS[Template.HANDOFF]
    )
    prompt = prompts.render_prompt(
        template=Template.HANDOFF, turns="[9] USER: go on", budget_tokens=1_000, previous=notes
    )
    judged = judge_answer(
        notes,
        prompt=prompt,
        turns="[9] USER: go on",
        template=Template.HANDOFF,
        budget_tokens=1_000,
        count_text=COUNT.count_text,
    )
    assert judged.problem is None


# Whatever it is, quickly


@given(st.text(), st.text(), st.booleans())
def test_no_text_makes_it_fail(answer, turns, is_cut):
    judged = judge(answer, turns=turns, user_words=turns, is_cut=is_cut)
    judged.text.encode()
    assert judged.problem is None or judged.problem.startswith("the summariser's answer ")


PIECES = [
    "a ",
    "\n",
    "#",
    "## Goal\n",
    "```\n",
    "*",
    "字",
    "<tool",
    "(",
    "I'm sorry, ",
    "{",
    "x",
    " ",
    "\t",
    "- a.\n",
]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("## Goal", "x"), ("- Done.\n" * 9, "x")])
def test_time_grows_with_the_text_and_not_faster(piece, before, after):
    def read(size):
        text = f"{before}{piece * (size // len(piece))}{after}"
        judge(text, turns=text, user_words=text, budget_tokens=1_000_000)

    assert is_linear(read, 64_000)
