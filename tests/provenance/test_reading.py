"""Every piece of a user-role message has its author: by shape, for clients of all kinds, in linear time."""

from itertools import pairwise

import pytest

from midfold.messages import Media, Message, Text, ToolCall, ToolResult
from midfold.provenance import (
    Author,
    asks,
    main_author,
    newest_asked,
    person_words,
    read_segments,
    segments_at,
    split_text,
)
from support.host_forms import HOST_FORMS, ORDER
from support.pace import is_linear

PERSONS = {
    "query element": (
        "<user_info>\nShell: zsh\n</user_info>\n<user_query>\nFix the tariff.\n</user_query>",
        "Fix the tariff.",
    ),
    "task element": (
        "<task>\nFix the tariff.\n</task>\n<environment_details>\n# Files\na.py\n</environment_details>",
        "Fix the tariff.",
    ),
    "request element": (
        "<context>\ndate: today\n</context>\n<userRequest>\nFix the tariff.\n</userRequest>",
        "Fix the tariff.",
    ),
    "arguments of a command": (
        "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n"
        "<command-args>Fix the tariff.</command-args>",
        "Fix the tariff.",
    ),
    "command of a person": ("<bash-input>make test</bash-input>", "make test"),
    "words after a reminder": (
        "<system-reminder>\nMind the list.\n</system-reminder>\nFix the tariff.",
        "Fix the tariff.",
    ),
    "words before a reminder": (
        "Fix the tariff.\n\n<system-reminder>\nMind the list.\n</system-reminder>",
        "Fix the tariff.",
    ),
    "uploads before words": ("<uploaded_files>\n- a.md\n</uploaded_files>\n\n请修复费率。", "请修复费率。"),
    "words after a mark": ("[Request interrupted by user]\nFix the tariff.", "Fix the tariff."),
    "plain": ("corrige la tarifa, por favor", "corrige la tarifa, por favor"),
    "markup in a sentence": (
        "Why does <div> break the <task> list?",
        "Why does <div> break the <task> list?",
    ),
    "words behind our summary": (
        "<<<MIDFOLD aa>>>\n## Goal\nOld.\n<<<END MIDFOLD aa>>>\n(The notes end here.)\n\nFix the tariff.",
        "Fix the tariff.",
    ),
}


def user(text):
    return Message("user", (Text(text),))


def said(text):
    message = user(text)
    return person_words(message, read_segments(message), with_quotes=False)


@pytest.mark.parametrize("form", HOST_FORMS)
def test_nothing_that_a_client_writes_is_a_persons(form):
    message = user(HOST_FORMS[form])
    assert main_author(read_segments(message)) is not Author.PERSON
    assert said(HOST_FORMS[form]) == ""
    assert not asks([message], 0)


@pytest.mark.parametrize("form", HOST_FORMS)
def test_a_persons_words_beside_a_clients_are_the_persons_alone(form):
    text = f"Fix the tariff.\n\n{HOST_FORMS[form]}" if HOST_FORMS[form][0] in "<[" else HOST_FORMS[form]
    assert ORDER not in said(text)


@pytest.mark.parametrize(("text", "words"), PERSONS.values(), ids=PERSONS)
def test_a_persons_words_are_found_in_their_wrapping(text, words):
    assert said(text) == words


@pytest.mark.parametrize("text", [*HOST_FORMS.values(), *(text for text, _ in PERSONS.values())])
def test_segments_cover_the_text_in_order_without_overlap(text):
    segments = split_text(text)
    assert all(one.stop == other.start for one, other in pairwise(segments))
    assert segments[0].start == 0
    assert segments[-1].stop == len(text)


def test_a_project_file_in_a_reminder_names_its_path():
    text = (
        "<system-reminder>\nUse this context:\n# rules\nContents of /srv/app/CLAUDE.md (checked in):\n\n"
        "- Always run make test.\n</system-reminder>\n\nFix it."
    )
    project = [each for each in split_text(text) if each.author is Author.PROJECT]
    assert [each.source for each in project] == ["/srv/app/CLAUDE.md"]
    assert "Always run make test." in project[0].cut(text)
    assert said(text) == "Fix it."


def test_a_project_file_with_a_heading_names_its_path():
    text = (
        "# AGENTS.md instructions for /srv/app\n\n<INSTRUCTIONS>\n- Run make test.\n</INSTRUCTIONS>\n"
        "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>"
    )
    project = [each for each in split_text(text) if each.author is Author.PROJECT]
    assert [each.source for each in project] == ["AGENTS.md"]


def test_what_is_pasted_is_shown_and_not_said():
    text = (
        "the build breaks:\n\nerror[E0425]: cannot find value\n"
        " --> src/a.rs:3:4\n  |\n3 | x\n  | ^ never use x\n"
        "\n"
        "what is wrong?"
    )
    segments = read_segments(user(text))
    shown = [each for each in segments if each.is_quoted]
    assert any("never use x" in each.cut(text) for each in shown)
    assert main_author(segments) is Author.PERSON
    assert "what is wrong?" in person_words(user(text), segments)


def test_a_paste_without_a_word_is_a_persons_and_says_nothing():
    text = "\n".join(
        f"2026-01-01T10:00:0{number} {line}"
        for number, line in enumerate(("ERROR always restart", "ERROR never retry", "INFO done"))
    )
    assert main_author(read_segments(user(text))) is Author.PERSON
    assert said(text) == ""


def test_the_body_of_a_skill_follows_the_call_for_it():
    messages = [
        user("release it"),
        Message("assistant", (ToolCall("1", "Skill", '{"skill": "release"}'),)),
        Message("tool", (ToolResult("1", "Launching"),)),
        user("Have three reviewers look at it.\n\n\nARGUMENTS: v2"),
    ]
    assert main_author(segments_at(messages, 3)) is Author.PROJECT
    assert newest_asked(messages) == 0


def test_the_body_of_a_command_follows_its_name_and_quotes_its_arguments():
    messages = [
        user("<command-name>/plan</command-name>\n<command-args>add a flag for telemetry</command-args>"),
        user("# Plan\n\n## Rules\n\nNEVER code.\n\n## Feature\n\nadd a flag for telemetry\n"),
    ]
    assert main_author(segments_at(messages, 1)) is Author.PROJECT
    assert newest_asked(messages) == 0


def test_a_picture_without_words_is_a_persons():
    assert asks([Message("user", (Media("image", "image/png", "aGk="),))], 0)


def test_a_summary_is_recognised_in_a_models_message():
    text = HOST_FORMS["summary"]
    assert main_author(read_segments(Message("assistant", (Text(text),)))) is Author.SUMMARY
    assert main_author(read_segments(Message("assistant", (Text("The summary is short."),)))) is Author.MODEL


OWN_WORK = """All tests pass. Here's the summary:

**`tides/session.py`**: keeps the session of each harbour, {pad}
**`tides/history.py`**: reads the history back
**`tides/context.py`**: knows the context of a sailing
""".format(pad="and its checkpoints " * 30)


def test_a_model_that_sums_up_its_own_work_speaks_for_itself():
    assert main_author(read_segments(Message("assistant", (Text(OWN_WORK),)))) is Author.MODEL


def test_a_model_between_its_calls_never_speaks_for_another_product():
    summary = Message("assistant", (Text(HOST_FORMS["summary"]),))
    call = Message("assistant", (ToolCall("c", "bash", "{}"),))
    result = Message("tool", (ToolResult("c", "ok"),))
    assert main_author(segments_at([call, result, summary], 2)) is Author.MODEL
    assert main_author(segments_at([user("Go on."), summary], 1)) is Author.SUMMARY


def test_a_message_is_read_once():
    message = user("Fix the tariff.")
    assert read_segments(message) is read_segments(message)
    assert read_segments(message.with_raw({"role": "user"})) is read_segments(message)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "<task>",
            "<system-reminder>",
            "</task>",
            "<a-b>x</a-b>",
            "<<<MIDFOLD a>>>\n",
            "<<<END MIDFOLD a>>>\n",
        ),
        *(
            "```\n",
            "~~~\n",
            "> a\n",
            "error: \n",
            "a" * 80 + ":\n",
            "{\n",
            "[a] ",
            "# \n",
            " ",
            "\n",
            "\t",
            "(A: b)\n",
        ),
        *(
            "x.md:\n",
            "AGENTS.md:\n",
            "/a/b/c\n",
            "your last output ",
            "date: \n",
            "要約",
            "- **a**\n",
            "ARGUMENTS: a\n",
            "a:1 ",
            "commit abcdef0\n",
            "commit abcdef0\n\n    a\n",
            '{"a": ',
            "From: a@b\n",
            "the contents of a.",
            "Tool `a` ",
        ),
    ],
)
def test_reading_is_linear(piece):
    def read(size):
        text = piece * (size // len(piece))
        split_text(text)
        split_text(f"see this\n{text}")

    assert is_linear(read, 400_000)


PASTES = {
    "diff": f"diff --git a/n.md b/n.md\n--- a/n.md\n+++ b/n.md\n@@ -1 +1,2 @@\n x\n+{ORDER}\n+y",
    "page": f"<!DOCTYPE html><html><body><p>{ORDER}</p></body></html>",
    "ruled block": f"--- Content from referenced files ---\nFrom @notes.md:\n{ORDER}\n--- End of content ---",
    "step in labels": f"Thought: look it up\nAction: search\nAction Input: x\nObservation: {ORDER}",
    "log of commits": f"$ git log\ncommit 1a2b3c4d5e\nAuthor: A <a@b>\nDate: Mon\n\n    {ORDER}\n\n    x\n",
    "object": f'{{"functionResponse": {{"output": "{ORDER}"}}}}',
    "object of a result": f'{{"type": "tool_result", "content": "{ORDER}"}}',
    "quoted name of a tool": f"Tool `search` returned:\n{ORDER}",
    "quoted name of an agent": f"[Subagent 'explore' reported]\n{ORDER}",
    "state of an editor": f"# Context from my IDE setup:\n\n## Active selection of the file:\n{ORDER}\n",
}


@pytest.mark.parametrize("name", PASTES)
def test_what_is_pasted_is_nobodys_order(name):
    said = [each.cut(PASTES[name]) for each in split_text(PASTES[name]) if each.author is Author.PERSON]
    assert not any(ORDER in words for words in said)


REPORTS = {
    "mail": f"From: A B <a@b.example>\nSubject: policy\n\n{ORDER}",
    "German mail": f"Von: a@b.example\nBetreff: Regeln\n\n{ORDER}",
    "output of a command": f"Here is the result of running `cat -n` on a.md:\n     1\t{ORDER}",
    "contents of a file": f"Contents of README.md:\n\n{ORDER}\n\n(End of file)",
}


@pytest.mark.parametrize("name", REPORTS)
def test_what_a_person_reports_is_quoted(name):
    said = [each.cut(REPORTS[name]) for each in split_text(REPORTS[name]) if not each.is_quoted]
    assert not any(ORDER in words for words in said)


@pytest.mark.parametrize(
    "text",
    [f"Date: Friday\n{ORDER}", f"From now on: {ORDER}", f'Use {{"a": 1}} here. {ORDER}', f"Text: {ORDER}"],
)
def test_a_persons_own_labels_are_the_persons(text):
    assert any(
        each.author is Author.PERSON and not each.is_quoted and ORDER in each.cut(text)
        for each in split_text(text)
    )


def test_a_person_goes_on_behind_what_they_paste():
    for name in ("ruled block", "diff"):
        text = f"{PASTES[name]}\n\nFix the tariff."
        segments = split_text(text)
        assert [each.cut(text) for each in segments if each.author is Author.PERSON] == ["Fix the tariff."]
    text = f"{PASTES['state of an editor']}\n## My request for Codex:\nFix the tariff.\n"
    assert [each.cut(text) for each in split_text(text) if each.author is Author.PERSON] == [
        "Fix the tariff."
    ]


def test_a_title_between_rules_that_nothing_ends_is_a_persons():
    text = "--- Rules of the house ---\nNever touch the tariff.\n"
    assert any(each.author is Author.PERSON and "Never touch" in each.cut(text) for each in split_text(text))


@pytest.mark.parametrize(
    "token", ["###STOP###", "<|endoftext|>", "[DONE]", "###TRANSFER###\n", "###OUT-OF-SCOPE###"]
)
def test_a_control_token_is_the_clients_and_asks_for_nothing(token: str) -> None:
    said, ended = Message("user", (Text("That is all, thanks."),)), Message("user", (Text(token),))
    assert main_author(read_segments(ended)) is Author.HOST
    assert newest_asked([said, ended]) == 0


@pytest.mark.parametrize("words", ["STOP", "**stop**", "Stop!", "<b>no</b>", "[1]"])
def test_a_word_of_a_person_is_no_control_token(words: str) -> None:
    assert newest_asked([Message("user", (Text(words),))]) == 0


@pytest.mark.parametrize(
    ("lead", "label", "tail"),
    [
        ("Use these pieces of context to answer the question.", "Question:", "\nHelpful Answer:"),
        ("Answer the question from the passages below only.", "## User question:", ""),
        ("Beantworte die Frage anhand des Kontexts.", "Frage:", "\nAntwort:"),
        ("Réponds à partir du contexte suivant.", "Question :", "\nRéponse :"),
        ("根据以下资料回答问题。", "问题：", "\n回答："),
    ],
)
def test_passages_that_a_program_puts_before_a_question_are_nobodys_words(lead, label, tail):
    passages = "[1] Always close the cellar door.\n\n[2] Please sell the boat."
    text = f"{lead}\n\n{passages}\n\n{label} How deep is it?{tail}"
    message = Message("user", (Text(text),))
    assert person_words(message, split_text(text)).strip() == "How deep is it?"


def test_a_persons_own_question_about_a_context_stays_theirs():
    text = "Answer me this: what does the context manager close?\n\nAlways close the cellar door."
    assert person_words(Message("user", (Text(text),)), split_text(text)).strip() == text


def test_passages_before_a_question_are_read_in_linear_time():
    assert is_linear(
        lambda size: split_text("Answer from this context.\n\n" + "Question: a\n" * size), 16_000
    )


@pytest.mark.parametrize(
    ("asks", "answers"), [("User", "Assistant"), ("**Human**", "**AI**"), ("Nutzer", "Bot"), ("用户", "助手")]
)
def test_a_talk_that_somebody_pasted_sets_no_rules(asks, answers):
    said = (
        f"{asks}: Always close the cellar door.\n\n{answers}: I will.\n\n{asks}: Sell it.\n\n{answers}: Done."
    )
    text = f"What went wrong here?\n\n{said}\n\nNever touch the boat."
    message = Message("user", (Text(text),))
    own = person_words(message, split_text(text), with_quotes=False)
    assert "What went wrong here?" in own
    assert "Never touch the boat." in own
    assert "cellar" not in own
    assert "Sell" not in own


def test_a_label_without_an_answer_is_no_talk():
    text = "User: always close the cellar door."
    assert person_words(Message("user", (Text(text),)), split_text(text)) == text
