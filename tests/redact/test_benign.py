"""What only looks random is left: hashes, identifiers, blobs, lock files, minified code."""

import base64
import gzip
import random
import string
import uuid

from midfold.redact import find_secrets

STRINGS = 1_000
WORDS = """
account address agent array build cache client commit config count cursor data default digest entry error
fetch field file handler index input key layer limit list load message model module name number object option
page parse path pool query queue read record render request result route scope secret session size state
status store stream string style table task test text token tree type update user value version view
""".split()  # noqa: SIM905 - a column of ninety words would hide the file


def hexes(source, count):
    return "".join(source.choices("0123456789abcdef", k=count))


def blob(source, count):
    return base64.b64encode(source.randbytes(count)).decode()


def name(source, joint="_"):
    return joint.join(source.choices(WORDS, k=source.randint(2, 4)))


def camel(source):
    return "".join(word.title() for word in source.choices(WORDS, k=3))


def minified(source):
    letters = "".join(source.choices(string.ascii_lowercase, k=6))
    a, b, c, d, e, f = letters
    return (
        f"function {a}({b},{c}){{var {d}={b}.{name(source, '.')}||{c}[{source.randint(0, 99)}];"
        f"return {e}({d},!0,{{key:{f},token:{a}.{camel(source)},secret:void 0,password:{c}?{d}:null}})}}"
    )


KINDS = [
    lambda r: f"commit {hexes(r, 40)}",
    lambda r: hexes(r, 64),
    lambda r: f"{hexes(r, 32)}  {name(r)}.tar.gz",
    lambda r: str(uuid.UUID(int=r.getrandbits(128))),
    lambda r: f"session_id={uuid.UUID(int=r.getrandbits(128))} request_id={hexes(r, 32)}",
    lambda r: blob(r, r.randint(24, 400)),
    lambda r: base64.urlsafe_b64encode(r.randbytes(r.randint(24, 400))).decode(),
    lambda r: f'"integrity": "sha512-{blob(r, 64)}",',
    lambda r: f'{{ url = "https://files.example/{name(r)}-1.2.whl", hash = "sha256:{hexes(r, 64)}" }}',
    lambda r: (
        f'{name(r, "-")}@^1.{r.randint(0, 20)}.0:\n  resolved "https://reg.example/x.tgz#{hexes(r, 40)}"'
    ),
    lambda r: f"data:image/png;base64,{blob(r, 300)}",
    lambda r: f"background:url(data:font/woff2;base64,{blob(r, 120)}) format('woff2')",
    lambda r: f"{name(r)} = {name(r, '.')}({name(r)}, key={name(r)}, token={name(r)})",
    lambda r: f"self.{name(r)}_token = {camel(r)}(secret={name(r)}, password={name(r)})",
    lambda r: f"export const {camel(r)}Token = {name(r, '.')}.{camel(r)};",
    lambda r: f"{name(r, '.')}.{camel(r)}: {name(r, '.')}",
    minified,
    lambda r: f"index {hexes(r, 7)}..{hexes(r, 7)} 100644",
    lambda r: f'ETag: W/"{hexes(r, 32)}"',
    lambda r: (
        f"total_tokens={r.randint(1, 10**7)} max_tokens: {r.randint(1, 9999)}, token_id={r.randint(1, 9999)}"
    ),
    lambda r: f"{r.randint(10**9, 2 * 10**9)}:{r.randint(0, 59):02}:{name(r, '-')} {hexes(r, 16)}",
    lambda r: f"ssh-ed25519 {blob(r, 51)} user@{name(r, '-')}",
    lambda r: f"https://{name(r, '-')}.example.com/{name(r, '/')}?page={r.randint(1, 99)}&sort={name(r)}",
    lambda r: f"user.{name(r)}@{name(r, '-')}.example.com:{r.randint(1000, 9999)}/{name(r)}",
    lambda r: f"0x{hexes(r, 40)} 0x{hexes(r, 64)}",
]


def benign(count):
    source = random.Random(20)
    return [KINDS[number % len(KINDS)](source) for number in range(count)]


def test_at_most_one_benign_string_in_a_hundred_is_taken_for_a_credential():
    wrong = [text for text in benign(STRINGS) if find_secrets(text)]
    assert len(wrong) <= STRINGS // 100, wrong


def test_conversations_without_credentials_are_left(data_dir):
    """The corpus was scrubbed by those who published it: what is still found must be next to nothing."""
    paths = sorted((data_dir / "corpus").glob("*.json.gz"))[::10]
    texts = [gzip.decompress(path.read_bytes()).decode() for path in paths]
    chars = sum(map(len, texts))
    assert sum(len(find_secrets(text)) for text in texts) <= 1 + chars // 100_000
