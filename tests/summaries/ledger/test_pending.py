"""Wishes that nobody took up, and those that were done, answered or withdrawn."""

import json
import sys

import pytest

import midfold
from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.pending import find_pending
from midfold.summaries.ledger.rules import is_rule


def user(words):
    return Message("user", (Text(words),))


def says(words):
    return Message("assistant", (Text(words),))


def runs(number, tool, output, **arguments):
    call = ToolCall(f"c{number}", tool, json.dumps(arguments, ensure_ascii=False))
    return [Message("assistant", (call,)), Message("tool", (ToolResult(call.id, output),))]


def pending(*messages):
    listed = [message for each in messages for message in (each if isinstance(each, list) else [each])]
    ledger = collect(listed, range(len(listed)), pair_calls(listed), redact=str)
    return find_pending(ledger.statements, ledger.actions)


CONVERSATIONS = {
    "en": (
        "Please rename the column berth to mooring. Also add a changelog entry for the harbour office.",
        "The column berth is called mooring in the schema and in both queries.",
        "Also add a changelog entry for the harbour office.",
        "Forget what I said about the changelog entry, the harbour office does not read it.",
        "The changelog has an entry for the harbour office.",
    ),
    "de": (
        "Bitte benenne die Spalte Liegeplatz um. "
        "Schreib außerdem eine Mail an die Hafenmeisterei wegen der Gebühren.",
        "Die Spalte Liegeplatz ist umbenannt, im Schema und in den Abfragen.",
        "Schreib außerdem eine Mail an die Hafenmeisterei wegen der Gebühren.",
        "Vergiss das mit der Mail an die Hafenmeisterei wegen der Gebühren.",
        "Die Mail an die Hafenmeisterei wegen der Gebühren ist geschrieben.",
    ),
    "fr": (
        "Corrige le calcul des marées, s'il te plaît. Ajoute aussi un test pour la balise du chenal.",
        "Le calcul des marées est corrigé : il comptait les heures en temps local.",
        "Ajoute aussi un test pour la balise du chenal.",
        "Laisse tomber le test pour la balise du chenal.",
        "Il y a un test pour la balise du chenal.",
    ),
    "es": (
        "Corrige el cálculo de mareas. Añade también una prueba para la baliza del canal.",
        "El cálculo de mareas está corregido: contaba las horas locales.",
        "Añade también una prueba para la baliza del canal.",
        "Olvida eso de la prueba para la baliza del canal.",
        "Hay una prueba nueva para la baliza del canal.",
    ),
    "ru": (
        "Исправь расчёт приливов. Также напиши письмо капитану порта о тарифах.",
        "Расчёт приливов исправлен: время было местным.",
        "Также напиши письмо капитану порта о тарифах.",
        "Забудь про письмо капитану порта о тарифах.",
        "Письмо капитану порта о тарифах готово.",
    ),
    "zh": (
        "请修改潮汐计算。另外请给港务局写一封关于费用的邮件。",
        "潮汐计算已经修改，原来用的是本地时间。",
        "另外请给港务局写一封关于费用的邮件。",
        "算了，港务局的费用邮件不用写了。",
        "给港务局的费用邮件已经写好。",
    ),
    "ja": (
        "潮汐計算を修正してください。それから港湾事務所に料金の案内を送信してください。",
        "潮汐計算を修正しました。時刻は協定世界時です。",
        "それから港湾事務所に料金の案内を送信してください。",
        "やっぱりやめます。港湾事務所への料金の案内は不要です。",
        "港湾事務所に料金の案内を送信しました。",
    ),
    "ko": (
        "조석 계산을 수정해 주세요. 그리고 항만 사무소에 요금 안내문을 보내 주세요.",
        "조석 계산을 수정했습니다. 시간대가 문제였습니다.",
        "그리고 항만 사무소에 요금 안내문을 보내 주세요.",
        "항만 사무소 요금 안내문은 취소합니다.",
        "항만 사무소에 요금 안내문을 보냈습니다.",
    ),
}


@pytest.mark.parametrize("language", CONVERSATIONS)
def test_of_two_wishes_the_one_that_nobody_took_up_is_pending(language):
    asked, done, left, _, _ = CONVERSATIONS[language]
    assert pending(user(asked), says(done), user("ok"), says(done)) == {0: (left,)}


@pytest.mark.parametrize("language", CONVERSATIONS)
def test_a_wish_that_was_withdrawn_is_not_pending(language):
    asked, done, _, withdrawn, _ = CONVERSATIONS[language]
    assert pending(user(asked), says(done), user(withdrawn), says(done), user("ok")) == {}


@pytest.mark.parametrize("language", CONVERSATIONS)
def test_a_wish_that_was_answered_later_is_not_pending(language):
    asked, done, _, _, later = CONVERSATIONS[language]
    assert pending(user(asked), says(done), user("ok"), says(later), user("ok")) == {}


def test_a_message_between_two_others_that_nobody_took_up_is_pending():
    asked = "How much does a berth at Oban cost in winter?"
    messages = [
        user("Print the tide table of Hallay."),
        user(asked),
        says("The tide table of Hallay is printed."),
        user("Thanks, now the ferries."),
        says("Four ferries sail."),
    ]
    assert pending(*messages) == {1: (asked,)}


def test_what_a_call_took_up_is_not_pending_though_no_words_tell_of_it():
    asked = "Print the tide table of Hallay. Please count the orders of customer Rannoch."
    query = runs(1, "query_db", "41", sql="SELECT count(*) FROM orders WHERE customer = 'Rannoch'")
    said = says("The tide table of Hallay is printed.")
    assert pending(user(asked), query, said, user("ok"), says("Fine."), user("go on")) == {}


def test_what_is_under_way_is_not_pending():
    asked = CONVERSATIONS["en"][0]
    assert pending(user("Go."), says("Going."), user(asked), user("Soon, please.")) == {}
    assert pending(user(asked), runs(1, "bash", "", command="rename berth mooring column")) == {}


def test_nothing_is_pending_where_person_and_model_speak_different_languages():
    asked, *_ = CONVERSATIONS["de"]
    done = CONVERSATIONS["en"][1]
    assert pending(user(asked), says(done), user("Danke, weiter."), says(done), user("ok")) == {}


def test_a_ceiling_that_is_filled_in_many_passes_has_a_long_paste_judged_once():
    paste = "The tide gauge of berth nine was read at noon, and the harbour office has the sheet. "
    messages = [{"role": "user", "content": "What does the gauge say?"}]
    messages += [{"role": "assistant", "content": "Nothing yet."}, {"role": "user", "content": paste * 200}]
    messages += [{"role": "assistant", "content": "All is well."}, {"role": "user", "content": "Go on."}]
    messages += [
        {"role": "assistant", "content": paste * 200},
        {"role": "user", "content": "Write the note."},
    ]
    judged = 0

    def count(frame, event, _argument):
        nonlocal judged
        judged += event == "call" and frame.f_code is is_rule.__code__

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        midfold.compress(messages, max_tokens=3_000, strategy="fold")
    finally:
        sys.setprofile(before)
    assert judged < 300
