"""Credentials in forms that people paste: more tools, build files, keys in XML and JSON, sentences."""

import pytest

from midfold.redact import redact
from support.secret_forms import read_form

FORMS = (
    "az sql server create -n s -g g -u adm -p '«Winter-2026!»'",
    "openssl enc -aes-256-cbc -k «Mondlicht12» -in a -out b",
    "ssh-keygen -t ed25519 -N '«Birnbaum 12»' -f id",
    "ssh-keygen -p -P «Lindwurm» -N «Kastanienallee» -f id",
    "useradd -m -p «Kastanie9» joe",
    "mc alias set minio http://10.0.0.5:9000 minioadmin «Erdbeere77»",
    "ENV MYSQL_ROOT_PASSWORD «Schnecke12»",
    'setx API_TOKEN "«kleinerbaer»"',
    "set -gx DEPLOY_KEY «weissnichtmehr»",
    "ldap.bind.password: «cn-geheim-42»",
    "jdbc:oracle:thin:scott/«Tigerhai9»@//db:1521/orcl",
    "[INFO] Connecting with credentials joe / «Stachelbeere8» ...",
    "Your temporary password is: «Quarkstrudel»",
    "A temporary password is generated for root@localhost: «aB;dE1f)Gh2i»",
    "the password was changed to «flaschenzug9» yesterday",
    "a senha do banco é «Abacaxi2026»",
    "La password del server è «Girasole88».",
    "Пароль от базы: «Одуванчик15»",
    "密码：«牡丹花开123»",
    "密\u200b码: «Drossel99a»",
    "كلمة المرور هي «Yasmin2026»",
    "パスワードを «Fujisan55» に変更しました",
    "docker run -e MYSQL_PASSWORD='«Iltis 44»' x",
    "पासवर्ड है «Kamal2026»",
    "Hasło do serwera to «Konwalia7»",
    "set the password for root to «hunter2x9»",
    "Wachtwoord voor de database is «Tulpenbol9»",
    "Lösenordet är «Blåklocka5»",
    "log in with joe and «Zitronenfalter3» as the password",
    "use «hunter42x» as password for the admin account",
    "<RSAKeyValue><D>«q1w2e3r4t5y6u7i8o9p0asdfghjklzxcvbnmQWERTYUIOP==»</D></RSAKeyValue>",
    '{"kty":"EC","crv":"P-256","d":"«jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI»"}',
    "seed phrase: «legal winner thank year wave sausage worth useful legal winner thank yellow»",
    "chpasswd <<< 'root:«hunter2banana»'",
    "twine upload -u __token__ -p «not-a-pypi-shape9» dist/*",
    "vault login «s.aB3dE5fG7hJ9kL1mN3pQ5rS7»",
    "echo -n «hunter2banana» | cryptsetup open /dev/sdb x -",
    "https://api.telegram.org/«bot123456789:AAaB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xYa»/sendMessage",
    'password = """«hunter2banana»"""',
    "My password: «correcthorse»",
    '"userPassword": "«{SSHA}aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY»"',
)
HARMLESS = (
    "vault login failed",
    "vault login -method=oidc",
    "my password: incorrect",
    "the password: string",
    "Reset the password: click here",
    "set the password of the user to change.",
    "Where that password is found is completely up to the caller",
    '#define SSL_TXT_kPSK "kPSK"',
    'if key.lower() in ("authorization", "x-api-key"):',
    "the field is rendered as the password of the account",
    "ENV PATH_TO_KEY $HOME/key",
    "the seed: we draw it once and use it for every run of the whole table that follows",
    "recovery: the store reads its log and goes on",
    "密码：请联系管理员",
    "Пароль: не задан",
    '{"d": "M10 20 L30 40 Z"}',
    "credentials are checked / refreshed hourly",
    "password: step-by-step",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_credential_is_found_in_the_form(form):
    text, secrets = read_form(form)
    redacted = redact(text)
    assert not [secret for secret in secrets if secret in redacted], redacted


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_without_a_credential_is_left(line):
    assert redact(line) == line
