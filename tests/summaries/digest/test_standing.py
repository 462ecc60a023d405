"""Notes say how things stand at the end, in conversations of other languages and hosts."""

import json

import pytest

import midfold
from midfold.summaries.sections import split_sections

FILLER = "Die Tabelle der Gezeiten steht im Anhang und ändert an alledem nichts. "


def said(role, text):
    return {"role": role, "content": text}


def ran(number, command, output):
    call = {"id": f"c{number}", "type": "function"}
    call["function"] = {"name": "bash", "arguments": json.dumps({"command": command})}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def note(messages, most=1_400):
    """Fold everything but the first request and the newest, and return the sections of the notes."""
    filled = [
        said("user", "Guten Tag."),
        said("assistant", "Guten Tag."),
        *messages,
        said("user", FILLER * 60),
        said("assistant", FILLER * 60),
        said("user", "Weiter."),
    ]
    return split_sections(midfold.compress(filled, max_tokens=most).summary or "")


def decisions(sections):
    return sections.get("Key Decisions", "")


TALKS = {
    "French support": (
        "Ma commande 48213 n'est pas arrivée, pouvez-vous vérifier ?",
        "Je vérifie auprès du transporteur. Votre dossier est en attente de sa réponse. "
        "Souhaitez-vous un remboursement ?",
        "Oui, un remboursement.",
        "Le remboursement de 84,90 € est validé parce que le colis 6A-771 est perdu.",
        ("en attente", "Souhaitez-vous"),
        "84,90",
    ),
    "German pair work": (
        "Warum schlägt der Import der Kontoauszüge fehl?",
        "Vielleicht liegt es an der Kodierung. Ich warte auf deine Testdatei. Schickst du sie mir?",
        "Hier ist sie: auszug.xml",
        "Die Ursache ist das fehlende Feld Ntry/NtryRef in auszug.xml, deshalb bricht import_camt.py ab.",
        ("warte auf", "Schickst du"),
        "Ntry/NtryRef",
    ),
    "Russian operations": (
        "Почему упал ночной бэкап?",
        "Возможно, кончилось место. Проверка выполняется. Удалить старые копии?",
        "Да, удаляй.",
        "Причина найдена: на /srv/backup занято 100 %, поэтому pg_dump завершился с кодом 1.",
        ("выполняется", "Удалить старые"),
        "/srv/backup",
    ),
    "Portuguese planning": (
        "Que fornecedor escolhemos para o evento?",
        "Estou aguardando dois orçamentos. Talvez a Norte Eventos seja melhor. Posso decidir?",
        "Pode.",
        "Decidi pela Sul Palco porque o orçamento SP-2209 inclui o som por 4.300 euros.",
        ("aguardando", "Posso decidir"),
        "SP-2209",
    ),
}


@pytest.mark.parametrize("talk", TALKS)
def test_what_waited_or_asked_before_the_answer_came_is_no_decision(talk):
    first, waiting, reply, outcome, over, needed = TALKS[talk]
    found = decisions(
        note(
            [said("user", first), said("assistant", waiting), said("user", reply), said("assistant", outcome)]
        )
    )
    assert needed in found
    telling = found.replace(outcome, "")
    assert not [words for words in over if words in telling], found


def test_a_command_that_a_list_or_a_program_wraps_is_named_by_itself():
    code = 'const r = await tools.exec_command({cmd:"git push origin main", yield_time_ms:1000}); text(r)'
    for name, arguments in [
        ("shell", {"command": ["bash", "-lc", "git push origin main"]}),
        ("exec", {"code": code}),
    ]:
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        talk = [
            said("user", "Push."),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "main -> main"},
            said("assistant", "Pushed."),
        ]
        assert f"{name}: git push origin main" in note(talk)["Completed Actions"]


def test_a_reply_inside_an_object_is_a_reply():
    reply = json.dumps({"message": "Order W5362037 is refunded to gift card 2582853."})
    sections = note([said("user", "Refund it."), said("assistant", reply)])
    assert "told: Order W5362037 is refunded to gift card 2582853." in decisions(sections)


def test_a_rule_that_only_put_something_off_ends_when_it_is_taken_up():
    rule = "Leave the changelog alone, I want to talk about the release note first."
    before = [said("user", rule), said("assistant", "Understood.")]
    assert rule in note(before)["Constraints & Preferences"]
    taken_up = [
        *before,
        said("user", "Write the release note into the changelog now."),
        said("assistant", "Done."),
    ]
    assert rule not in note(taken_up).get("Constraints & Preferences", "")


def test_rules_of_one_message_stand_in_its_order():
    sections = note(
        [said("user", "Never push. Always run the linter before a commit."), said("assistant", "Fine.")]
    )
    rules = sections["Constraints & Preferences"]
    assert rules.index("Never push.") < rules.index("Always run the linter")
