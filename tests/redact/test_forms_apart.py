"""Credentials that stand apart from their names: in the next line, in a table, in another field of a record.

A form marks its credential with « and », as in `test_forms`.
"""

import pytest

from midfold.redact import redact
from support.secret_forms import read_form

NEXT_LINE = (
    "password: |\n    «swordfish»\n",
    "db:\n  password: >-\n    «quietriver7»\n  host: x",
    "client_secret: |-\n  «{A32}»",
    "api_key=\n    '«k9x2m4p7q1»'",
    '"password":\n  "«quietriver»"',
    "export DB_PASSWORD=\\\n  «quiet7river»",
    "Benutzer: bob\nPasswort:\n«quiet7river»\n",
    "const token =\n  '«{A32}';".replace("}'", "}»'"),
)
TABLES = (
    "| user | password |\n|---|---|\n| bob | «swordfish» |\n| eve | «quiet7river» |",
    "| Host | Passwort | Port |\n| :-- | :--: | --: |\n| db | `«quiet7river»` | 5432 |",
    "+------+-----------+\n| user | password  |\n+------+-----------+\n| bob  | «quiet7river» |\n+----+----+",
    " name | passwd \n------+--------\n bob  | «quiet7river»\n(1 row)",
    "Password\n--------\n«quiet7river»\n",
    "user,password\nbob,«quiet7river»\neve,«S3cond!one»\n",
    'id;login;"Kennwort"\n1;bob;"«quiet7river»"\n',
    "id\tuser\tpwd\n1\tbob\t«quiet7river»\n",
)
FIELDS = (
    '{"name":"DB_PASSWORD","value":"«swordfish»"}',
    '[{"key": "SMTP_PASSWORD", "value": "«quiet7river»"}]',
    '{"Name":"/prod/db/password","Type":"SecureString","Value":"«quiet7river»"}',
    'variable "db_password" {\n  type      = string\n  sensitive = true\n  default   = "«swordfish»"\n}',
)
SET = (
    "process.env.SESSION_SECRET ||= '«k9x2m4p7q1»'",
    "config.api_key ??= '«k9x2m4p7q1»'",
    "SECRET_TOKEN ?= «k9x2m4p7q1zz»",
    "ENV SECRET_KEY_BASE «swordfishxyz»",
    "tool -username admin -password «quiet7river»",
    "java -jar x.jar -user bob -passwd «swordfish»",
    "npm config set //npm.example/:_authToken «{A36}»",
    "rclone config create r s3 secret_access_key «{A40}»",
    "pulumi config set --secret dbPassword «quiet7river»",
    "the seed phrase is: «"
    + " ".join(
        [
            "abandon",
            "ability",
            "about",
            "above",
            "absent",
            "absorb",
            "abstract",
            "absurd",
            "abuse",
            "access",
            "across",
            "actor",
        ]
    )
    + "»",
    "Veritabanı şifresi «quiet7river» olarak ayarlandı",
)
SHELL = (
    "vercel env add DB_PASSWORD <<< «quiet7river»",
    "pass insert -e mail/bob <<< '«Gr4nite!pine»'",
    "printf «quiet7river» | docker secret create db_password -",
    "nmap --script-args 'smbuser=bob,smbpass=«quiet7river»' host",
    "aws ssm put-parameter --name /db/password --type SecureString --value «quiet7river»",
    "security add-generic-password -a bob -s svc -w «quiet7river»",
    "doveadm pw -p «quiet7river»",
)
PAGES = (
    '<setting name="SmtpPassword"><value>«quiet7river»</value></setting>',
    '<input type="password" name="pw" value="«quiet7river»">',
    "<password><![CDATA[«quiet7river»]]></password>",
    "driver.find_element('id', 'password').send_keys('«quiet7river»')",
    "await page.getByLabel('Password').fill('«quiet7river»')",
    "cy.get('input[name=password]').type('«quiet7river»')",
    'final String PASSWORD = new String("«quiet7river»");',
    "| **Password** | `«quiet7river»` |",
    "| name | value |\n|---|---|\n| DB_PASSWORD | «quiet7river» |",
    '"{\\"\\\\u5bc6\\\\u7801\\": \\"«quiet7river»\\"}"',
    "\x1b]8;;x\x07password\x1b]8;;\x07=«quiet7river»",
)
SENTENCES = (
    '.withPassword("«quiet7river»")',
    "client.setPassword('«quiet7river»');",
    'bob : PSK "«quiet7river»"',
    "passwd -> «quiet7river»",
    "password....: «quiet7river»",
    "Κωδικός: «quiet7river»",
    "ton mot de passe c’est «quiet7river»",
    "you can log in as bob with password «quiet7river»",
    "I changed the root password to «quiet7river» yesterday",
    "パスワード「«quiet7river»」でログインしてください",
    "adgangskoden er «quiet7river»",
    "heslo je «quiet7river»",
)
FORMS = (*SHELL, *PAGES, *SENTENCES, *NEXT_LINE, *TABLES, *FIELDS, *SET)
HARMLESS = (
    "password:\n  required: true\n  min7length: 8\n",
    "Password:\nLast login: Tue Nov 18 2025 on tty1\n",
    "token:\n  name: session2\n",
    "if not token:\n    self._check_v1_enabled()\n",
    "for token:\n    credentials['token2']\n",
    "| name | type | what |\n|---|---|---|\n| password | string | the password |\n| token2 | string2 | x |",
    "| password | description |\n|---|---|\n| required | yes |",
    "def login(\n    user,\n    password,\n    server7port,\n):",
    "user, password\nare needed by v2login, too",
    "name,password,role\n",
    "keys: password, token\nnames: bob2, eve3\n",
    "cat <<< hello",
    "<<<<<<< HEAD2",
    "echo step2 | tee login.log",
    "密码错误",
    "the password to enter here",
    "come with password protection",
    "| password | string | required |",
    "set the password policy2 first",
    'tokens = (\n  "id7token",\n  "name8",\n)',
)


@pytest.mark.parametrize("form", FORMS)
def test_a_credential_apart_from_its_name_is_found(form):
    text, credentials = read_form(form)
    shown = redact(text)
    assert not [credential for credential in credentials if credential in shown], shown
    assert redact(shown) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_a_line_below_a_name_is_left(text):
    assert redact(text) == text
