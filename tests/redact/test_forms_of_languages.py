"""Made-up keys and tokens in sentences of several languages, and in declarations with a type."""

from midfold.redact import redact
from support.secret_forms import read_form

FORMS = (
    "APIキー：«{A24}»",
    "APIキーは«{A24}»です",
    "APIキーは「«{A24}»」を使ってください。",
    "アクセスキーは「«{A24}»」です。",
    "シークレットキー: «{A32}»",
    "API 키는 «{A24}» 입니다",
    "API키: «{A24}»",
    "Der API-Schlüssel lautet «{A24}».",
    "Zugangsschlüssel: «{A24}»",
    "Clé API : «{A24}»",
    "jeton d'accès : «{A24}»",
    "La chiave API è «{A24}»",
    "A chave da API é «{A24}»",
    "Ключ API: «{A24}»",
    "API-ключ — «{A24}»",
    "Ключ доступа: «{A24}»",
    "Токен доступа — «{A24}»",
    "Parolanız: «{A14}»",
    'let token: &str = "«{A24}»";',
    'const API_TOKEN: &\'static str = "«{A24}»";',
)
HARMLESS = (
    "キー：Enterを押してください。保存キーはCtrl+Sです",
    "API 키는 환경 변수에서 읽습니다",
    "Der API-Schlüssel lautet anders als gestern.",
    "La clé d'API est « facultative » ici.",
    "Un jeton est un nombre : count_tokens(text)",
    "Ключ API: хранится в настройках",
    "Ключ доступа к базе: user_id",
    "let token: &str = input.trim();",
)


def test_a_credential_is_found_in_every_form():
    read = [read_form(form) for form in FORMS]
    shown = [text for text, secrets in read if any(secret in redact(text) for secret in secrets)]
    assert shown == []
    assert all(secrets for _, secrets in read)


def test_blanks_inside_of_french_quotes_are_no_part_of_a_value():
    for blank in (" ", "\u00a0", "\u202f"):
        key = f"La clé d'API est «{blank}qT7x0LmR2vNw9KpZ4cYb{blank}»."
        redacted = redact(f"{key} Mot de passe : «{blank}Tr0ub4dor{blank}»")
        assert "qT7x" not in redacted
        assert "Tr0ub" not in redacted


def test_sentences_about_keys_stay_as_they_are():
    assert [text for text in HARMLESS if redact(text) != text] == []
