"""Made-up credentials as files of settings hold them: words with accents, several words, whole manifests.

The long form builds them from the parts that such files are made of.
"""

import random
from itertools import product

import pytest

from midfold.redact import redact
from support.secret_forms import read_form

FORMS = (
    "password: «Möwennest»",
    "password=«Ölkäfer»",
    "Das Kennwort für den Drucker lautet «Käsefuß».",
    "O mot de passe est «Hérisson».",
    "La password del router è «tartaruga»",
    "A senha do roteador é «tartaruga».",
    '[client]\nuser=root\npassword="«grauer Reiher»"\nport=3306',
    '"SigningKey": "«Der Reiher steht im Teich»",',
    "define('NONCE_SALT', '«x!9 d|0=Zq/ 4hB#u~ 7Vw(e»');",
    "restic --password-command 'echo «Reiher7»' snapshots",
    'PassCmd "echo «Reiher»"',
    '"password_command": ["echo", "«Reiher»"]',
    "user,password\njan,«Blaumeise»\nole,«Reiher»",
    "host;login;passwort\ndb1;app;«Blaumeise»\ndb2;app;«Reiher»",
    "passwd = «Blaumeise» ; the old one",
    'signing {\n  storePassword "«Blaumeise»"\n}',
    'expect "assword:"; send "«Reiher»\\r"; interact',
    "Lösenordet till porten är «havsörn».",
    "apiVersion: v1\nkind: Secret\ndata:\n  zone: «bm9ydGg=»\n  dsn: «{b24}»\nmetadata:\n  name: a",
    "kind: Secret\napiVersion: v1\nstringData:\n  dsn: «Reiher am Teich»\n  tls.crt: MIIB",
    "items:\n- apiVersion: v1\n  data:\n    who: «cmVpaGVy»\n  kind: Secret\n- apiVersion: v1\n  data: {}",
    '{\n    "apiVersion": "v1",\n    "data": {\n        "who": "«cmVpaGVy»"\n    },\n    "kind": "Secret"\n}',
    '{"out": "kind: Secret\\ndata:\\n  who: «cmVpaGVy»\\n  zone: «bm9ydGg=»\\ntype: Opaque\\n"}',
)
HARMLESS = (
    '  password="Enter your password"',
    'password = "Reiher am Teich" if x else None',
    '"secret_key": "Enter the secret"',
    "define('AUTH_KEY', 'put your unique phrase here');",
    "name,type,password\nuser,string,required",
    "user,password\njan,required",
    "kind: Secret\nstringData:\n  dsn: {{ .Values.dsn }}\n  other: $(dsn)\n  tls.crt: bm9ydGg=",
    "- apiVersion: v1\n  data:\n    zone: bm9ydGg=\n  kind: ConfigMap\n- apiVersion: v1\n  kind: Secret",
    "kind: SecretStore\ndata:\n  zone: bm9ydGg=",
    "Additional arguments to pass to `walker`, if any.",
    'authorization = self.headers.get("authorization")',
    "authorization = authorization.split(':')",
    'NAMES = ("authorization", "x-amz-content-sha256", "x-amz-date")',
    "private_key: x448.X448PrivateKey",
    "token: OAuth2Token | None",
    "is_password: FilterOrOff = False,",
    "WALKER_KEY = 'fs.s3.walker.enabled'",
    'TRACE_KEY = "_X_WALK_TRACE"',
    'WALK_KEY = "walker:stepId"',
    '"AWS::WalkManager::Secret": "c85175a4ebcce361",',
    '"Resource": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:walk/db-7Kq2xY"',
    '"encryptionKey": "arn:aws:kms:eu-west-1:123456789012:alias/walk-7Kq2xY",',
    "    'WALK_KEY', 'PKCS7_ISSUER_AND_SERIAL', 'X509_ATTRIBUTE',",
    'UNRESERVED_PAT = r"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"',
)
NAMES = ("password", "DB_PASSWORD", "smtp_passwd", "spring.datasource.password", "Kennwort", "密码", "пароль")
FRAMES = (
    "{name}: {value}\n",
    "{name}={value}\n",
    '"{name}": "{value}",\n',
    "export {name}='{value}'\n",
    "- {name}: '{value}'\n",
    "| user | {name} |\n|---|---|\n| jan | {value} |\n",
    "<{name}>{value}</{name}>",
    '{{"command": "set {name}=\\"{value}\\""}}',
)
SYLLABLES = ["kra", "mo", "ti", "fo", "nu", "sta", "gri", "pel", "wu", "dor", "hä", "zol"]


@pytest.mark.parametrize("form", FORMS)
def test_what_a_file_keeps_as_a_credential_is_found(form):
    text, secrets = read_form(form)
    redacted = redact(text)
    assert [secret for secret in secrets if secret in redacted] == []


def test_settings_and_code_that_hold_none_stay_as_they_are():
    assert [text for text in HARMLESS if redact(text) != text] == []


def test_a_word_that_is_called_a_password_is_found_in_every_frame(rounds):
    chance = random.Random(5)
    for name, frame in product(NAMES, FRAMES):
        is_plain = name.isascii() and "." not in name
        if (frame.startswith("<") and not name.isascii()) or (frame.startswith("|") and not is_plain):
            continue
        for _ in range(max(rounds // 6, 1)):
            known = [each for each in SYLLABLES if name.isascii() or each.isascii()]
            word = "".join(chance.choices(known, k=chance.randint(3, 5))).title()
            text = frame.format(name=name, value=word)
            assert word not in redact(text), text
