"""Rules are found in many languages, in the user's own sentences only, and in linear time."""

import pytest

from midfold.summaries.ledger.rules import LONGEST_RULE_CHARS, find_rules
from support.pace import is_linear

RULES = {
    "English": [
        "Never push to the main branch.",
        "You must keep the public names.",
        "Use at most three retries.",
        "Don't touch the migrations.",
        "Only edit files under src.",
    ],
    "German": [
        "Ändere niemals die Datenbank.",
        "Der Test muss ohne Netz laufen.",
        "Benutze höchstens zwei Threads.",
        "Fasse die Konfiguration nicht an.",
        "Schreib immer auf Deutsch.",
    ],
    "French": [
        "Ne modifie jamais ce fichier.",
        "Le code doit rester compatible.",
        "Il faut garder les anciens noms.",
        "Réponds toujours en français.",
        "Évite les dépendances externes.",
    ],
    "Spanish": [
        "Nunca borres la tabla.",
        "Siempre responde en español.",
        "Usa como máximo dos hilos.",
        "Hay que mantener la compatibilidad.",
        "No toques la carpeta legacy.",
    ],
    "Portuguese": [
        "Nunca altere o esquema.",
        "Não use bibliotecas externas.",
        "O código deve ser compatível.",
        "Use apenas a biblioteca padrão.",
        "Escreva no máximo vinte linhas.",
    ],
    "Italian": [
        "Devi mantenere i nomi pubblici.",
        "Rispondi sempre in italiano.",
        "Usa soltanto la libreria standard.",
        "Lavora senza dipendenze esterne.",
        "Scrivi al massimo venti righe.",
    ],
    "Dutch": [
        "Verwijder nooit een tabel.",
        "De test moet zonder netwerk draaien.",
        "Gebruik alleen de standaardbibliotheek.",
        "Raak de migraties niet aan.",
        "Antwoord altijd in het Nederlands.",
    ],
    "Russian": [
        "Никогда не удаляй таблицу.",
        "Всегда отвечай по-русски.",
        "Используй только стандартную библиотеку.",
        "Тесты должны проходить.",
        "Нельзя менять публичные имена.",
    ],
    "Polish": [
        "Nigdy nie usuwaj tabeli.",
        "Zawsze odpowiadaj po polsku.",
        "Używaj tylko biblioteki standardowej.",
        "Kod musi być zgodny.",
        "Unikaj zewnętrznych zależności.",
    ],
    "Turkish": [
        "Tabloyu asla silme.",
        "Her zaman Türkçe yanıt ver.",
        "Sadece standart kütüphaneyi kullan.",
        "En fazla iki iş parçacığı kullan.",
        "Testler ağ olmadan çalışsın.",
    ],
    "Swedish": [
        "Ta aldrig bort tabellen.",
        "Svara alltid på svenska.",
        "Testet måste fungera.",
        "Använd endast standardbiblioteket.",
        "Rör inte migreringarna.",
    ],
    "Vietnamese": [
        "Đừng sửa tệp cấu hình.",
        "Luôn trả lời bằng tiếng Việt.",
        "Mã phải tương thích.",
        "Chỉ dùng thư viện chuẩn.",
        "Tránh phụ thuộc bên ngoài.",
    ],
    "Chinese": [
        "不要修改数据库结构。",
        "必须保留公共接口。",
        "最多使用两个线程。",
        "只能改 src 目录下的文件。",
        "禁止提交到主分支。",
    ],
    "Japanese": [
        "データベースは変更しないでください。",
        "必ず日本語で答えてください。",
        "標準ライブラリのみ使ってください。",
        "テストは一分以内に終わること。",
        "外部依存は避けてください。",
    ],
    "Korean": [
        "데이터베이스를 절대 바꾸지 마세요.",
        "항상 한국어로 답하세요.",
        "반드시 테스트를 돌리세요.",
        "스레드는 최대 두 개까지 쓰세요.",
        "외부 라이브러리 없이 작성하세요.",
    ],
    "Thai": [
        "ห้ามแก้ไขฐานข้อมูล",
        "ต้องตอบเป็นภาษาไทย",
        "ห้ามลบตารางนี้",
        "โค้ดต้องทำงานได้",
        "ต้องรันการทดสอบ",
    ],
}
NO_RULES = {
    "English": ["Fix the tariff.", "The build broke this morning.", "Read the log and tell me more."],
    "German": ["Repariere den Tarif.", "Der Build ist heute gebrochen.", "Lies das Protokoll."],
    "French": ["Corrige le tarif.", "La compilation a échoué ce matin.", "Lis le journal."],
    "Spanish": ["Arregla la tarifa.", "La compilación falló esta mañana.", "Lee el registro."],
    "Portuguese": ["Corrija a tarifa.", "A compilação falhou hoje.", "Leia o registro."],
    "Italian": ["Correggi la tariffa.", "La build si è rotta stamattina.", "Leggi il registro."],
    "Dutch": ["Herstel het tarief.", "De build brak vanochtend.", "Lees het logboek."],
    "Russian": ["Исправь тариф.", "Сборка сломалась утром.", "Прочитай журнал."],
    "Polish": ["Popraw taryfę.", "Budowanie padło dziś rano.", "Przeczytaj dziennik."],
    "Turkish": ["Tarifeyi düzelt.", "Derleme bu sabah bozuldu.", "Günlüğü oku."],
    "Swedish": ["Laga taxan.", "Bygget gick sönder i morse.", "Läs loggen."],
    "Vietnamese": ["Sửa biểu giá.", "Bản dựng hỏng sáng nay.", "Đọc nhật ký."],
    "Chinese": ["修复费率。", "今天早上构建失败了。", "看一下日志。"],
    "Japanese": ["料金を直して。", "今朝ビルドが壊れた。", "ログを読んで。"],
    "Korean": ["요금을 고쳐 주세요.", "오늘 아침 빌드가 깨졌어요.", "로그를 읽어 주세요."],
    "Thai": ["แก้ไขอัตรา", "การสร้างพังเมื่อเช้า", "อ่านบันทึก"],
}


@pytest.mark.parametrize("rule", [rule for rules in RULES.values() for rule in rules])
def test_a_rule_is_found_word_for_word_in_every_language(rule):
    assert find_rules(rule) == [rule]


@pytest.mark.parametrize("sentence", [sentence for group in NO_RULES.values() for sentence in group])
def test_a_plain_request_is_no_rule_in_any_language(sentence):
    assert find_rules(sentence) == []


def test_only_the_ruling_sentences_of_a_message_are_taken_in_their_order_and_once():
    text = (
        "Fix the tariff. Never use eval. It broke today! Keep it under ten lines, at most.\nNever use eval."
    )
    assert find_rules(text) == ["Never use eval.", "Keep it under ten lines, at most."]


def test_bullets_numbers_and_checkboxes_are_not_part_of_a_rule():
    text = "- Never push.\n* always test\n2) only src\n- [ ] must pass lint"
    assert find_rules(text) == ["Never push.", "always test", "only src", "must pass lint"]


def test_a_word_inside_another_word_rules_nothing():
    assert find_rules("The commonly mustered nevermore of alwaysdata.") == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nnever do this\n```",
        "```python\n# must stay\nonly = 1\n```",
        "```\nnever closed, must be code",
        "<pre>you must obey</pre>",
        "<code>\nnever\nonly\n</code>",
        "> you must never reply",
        "  > always quoted",
        "| must | only |",
    ],
)
def test_code_and_quoted_lines_set_no_rules(text):
    assert find_rules(f"Look at this:\n{text}") == []


@pytest.mark.parametrize(
    "text",
    [
        'The log says "password must not be null".',
        "The page is called “Never again”.",
        "The flag is spelled `only-main` there.",
        "~~~\nnever do this\n~~~",
    ],
)
def test_words_in_inline_quotes_and_code_set_no_rules(text):
    assert find_rules(text) == []


@pytest.mark.parametrize("text", ["What should I do next?", "Must this take so long?"])
def test_a_question_sets_no_rule(text):
    assert find_rules(text) == []


def test_a_sentence_of_300_characters_is_a_rule_and_a_longer_one_is_not():
    sentence = "Never " + "x" * (LONGEST_RULE_CHARS - 7) + "."
    assert find_rules(sentence) == [sentence]
    assert find_rules(f"Never x{sentence[6:]}") == []
    assert LONGEST_RULE_CHARS == 300


def test_both_ends_of_a_long_message_are_read():
    pasted = "pasted line of a log\n" * 5_000
    text = f"Never use eval.\n{pasted}Always answer in French."
    assert find_rules(text) == ["Never use eval.", "Always answer in French."]


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00", "\ud800 must", "。。。", "- \n- "])
def test_odd_text_raises_nothing(text):
    assert all(len(rule) <= LONGEST_RULE_CHARS for rule in find_rules(text))


@pytest.mark.parametrize(
    "piece", ["a", "never ", "ne a ", "```", "<pre>", "> ", ". ", "必须", "don't", "\n", "1. ", '."']
)
def test_hostile_text_of_a_megabyte_is_read_in_no_time(piece):
    assert is_linear(lambda size: find_rules(piece * (size // len(piece))), 1_000_000)


@pytest.mark.parametrize(
    "sentence",
    [
        "The current behavior overwrites the first tide, which may not match what was meant.",
        "Consider whether the tide should be taken from the first gauge only.",
        "The next problem is that we currently have logic that would only store the new lines.",
        "The crew has always done it that way.",
    ],
)
def test_what_describes_or_weighs_sets_no_rule(sentence):
    assert find_rules(sentence) == []


def test_what_may_not_be_done_is_a_rule():
    assert find_rules("You may not push to main.") == ["You may not push to main."]
