"""What is called a password or a key is hidden when it can be one, and left when it is code or a stand-in."""

import pytest

from midfold.redact import redact

HIDDEN = [
    ('password = "hunter2!', 'password = "[REDACTED:password]'),
    ('password = "swordfish"', 'password = "[REDACTED:password]"'),
    ("password: hunter22", "password: [REDACTED:password]"),
    ("PASSWORD=swordfish", "PASSWORD=[REDACTED:password]"),
    ("export DB_PASS=correct-horse-7", "export DB_PASS=[REDACTED:password]"),
    ("SMTP_PW=pa55word", "SMTP_PW=[REDACTED:password]"),
    ('"apiKey": "a1b2c3d4e5f6g7"', '"apiKey": "[REDACTED:api-key]"'),
    ('{\\"token\\": \\"a1b2c3d4e5f6g7\\"}', '{\\"token\\": \\"[REDACTED:token]\\"}'),
    ("client_secret: a1b2c3d4e5f6g7", "client_secret: [REDACTED:secret]"),
    ('self.api_key: str = "a1b2c3d4e5f6g7"', 'self.api_key: str = "[REDACTED:api-key]"'),
    ("os.environ['API_TOKEN'] = 'a1b2c3d4e5f6g7'", "os.environ['API_TOKEN'] = '[REDACTED:token]'"),
    ('setenv("API_TOKEN", "a1b2c3d4e5f6g7")', 'setenv("API_TOKEN", "[REDACTED:token]")'),
    ("<password>hunter22</password>", "<password>[REDACTED:password]</password>"),
    ("**Password:** `hunter22`", "**Password:** `[REDACTED:password]`"),
    ("the password is hunter22.", "the password is [REDACTED:password]."),
    ("deploy --password hunter22 --now", "deploy --password [REDACTED:password] --now"),
    ("deploy --db-pass=hunter22 --now", "deploy --db-pass=[REDACTED:password] --now"),
    ("Server=x;Password=hun;ter22;User=y", "Server=x;Password=[REDACTED:password];User=y"),
    ("?token=a1b2c3d4e5&password=hunter22", "?token=[REDACTED:token]&password=[REDACTED:password]"),
    ("password%3Dhunter22", "password%3D[REDACTED:password]"),
    ('passphrase: "my dog has 4legs"', 'passphrase: "[REDACTED:password]"'),
    ("数据库密码：hunter22。", "数据库密码：[REDACTED:password]。"),
    ("パスワード: hunter22", "パスワード: [REDACTED:password]"),
    ("API密钥: a1b2c3d4e5f6g7", "API密钥: [REDACTED:api-key]"),
    ("?a=1\\u0026sig=a1b2c3d4e5f6g7", "?a=1\\u0026sig=[REDACTED:api-key]"),
    ("contraseña: caballo22", "contraseña: [REDACTED:password]"),
    ('password = "geheim-Füße1"', 'password = "[REDACTED:password]"'),
    ("password: pa,ss;wo&rd1", "password: [REDACTED:password]"),
]

LEFT = """
password = os.environ["PASSWORD"]
password = os.environ["X1"]
token: str
token: str = ""
token: Optional[str] = None
api_key=None
api_key=api_key,
PASSWORD=${DB_PASSWORD}
TOKEN=$TOKEN1
TOKEN=$(cat /run/secrets/token1)
api_key: <your-key-1>
api_key = "<your-api-key>"
api_key = "YOUR_API_KEY_1"
api_key = "your-api-key-here1"
password: string
password: string;
max_tokens=100
token_count = 5
input_tokens: 12345678
"next_page_token": null
"next_page_token": "abcDEF123456"
"nextPageToken": "abcDEF123456"
const token = process.env.API_TOKEN1
const secret = config.auth.secret2
password = getpass()
password=getpass.getpass("Password: ")
token = get_token2(user)
secret = load_secret1["x"]
self.token = token1
secrets: inherit
secret: my-app-tls-2
secretName: my-app-tls-2
PWD=/home/bob/src/app1
token: ${{ secrets.GITHUB_TOKEN }}
password: {{ vault.password1 }}
password: "********"
password: xxxxxxxx
password="%s"
f"Bearer {token}"
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
-H "Authorization: Bearer ${API_KEY1}"
eos_token = "<|endoftext|>"
bos_token: "token_bos_1x2y3z"
tokenizer: "cl100k_base_v2"
public_key = "a1b2c3d4e5f6g7h8"
cache_key: "a1b2c3d4e5f6g7h8"
password_hash_rounds=12
{"type": "password", "name": "password1"}
["username", "password", "email"]
"password", "syslog"
--token
docker run -u 1000:1000 image
see https://example.com/docs:8080/@scope/name
postgres://user:${PASSWORD}@host/db
https://user:password@example.com
basic authentication is required here
the bearer of this letter arrives today
Cookie: theme=dark; lang=en
token_file = "/run/secrets/token1.json"
""".strip().splitlines()


@pytest.mark.parametrize(("text", "expected"), HIDDEN)
def test_a_named_credential_is_hidden_and_nothing_else(finder, text, expected):
    assert redact(text, finder=finder) == expected


@pytest.mark.parametrize("text", LEFT)
def test_code_types_and_stand_ins_are_left(finder, text):
    assert redact(text, finder=finder) is text


def test_every_assignment_of_a_line_is_read(finder):
    line = "db(user='bob', password='hunter22', token='a1b2c3d4e5f6') # pwd=swordfish7"
    assert redact(line, finder=finder) == (
        "db(user='bob', password='[REDACTED:password]', token='[REDACTED:token]') # pwd=[REDACTED:password]"
    )


def test_a_known_shape_names_the_credential_wherever_it_is_assigned(finder):
    secret = "gh" + "p_" + "a1B2" * 9
    for text in (
        "API_TOKEN={}",
        '"password": "{}"',
        "https://bot:{}@example.com",
        "Authorization: Bearer {}",
    ):
        assert redact(text.format(secret), finder=finder) == text.format("[REDACTED:github-token]")


def test_cookies_lose_their_values_but_not_their_attributes(finder):
    line = "Set-Cookie: sid=a1b2c3d4e5f6g7; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; SameSite=Lax"
    assert redact(line, finder=finder) == line.replace("a1b2c3d4e5f6g7", "[REDACTED:cookie]")
    line = "cookie: a=a1b2c3d4e5f6g7; theme=dark; b=z9y8x7w6v5u4t3"
    assert redact(line, finder=finder) == "cookie: a=[REDACTED:cookie]; theme=dark; b=[REDACTED:cookie]"


def test_the_auth_of_a_container_registry_is_a_pair_in_base64(finder):
    assert "Ym90" not in redact('{"auths": {"h": {"auth": "Ym90OnBhc3N3b3Jk"}}}', finder=finder)
    assert redact('{"auth": "authenticated"}', finder=finder) == '{"auth": "authenticated"}'
