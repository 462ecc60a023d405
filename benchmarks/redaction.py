"""What redaction costs: ordinary and hostile text, how it grows, many small calls, with and without re2."""

import random
import string
from pathlib import Path

from benchmarks.timing import best_cpu, report
from midfold.redact import choose_engine, compile_bounded, redact
from midfold.redact.redaction import Finder

ROOT = Path(__file__).parents[1]
SIZE = 1_000_000
FALLBACK_SIZE = 64_000
CALLS = 1_000
CALL_CHARS = 1_500
MIX_CHARS = 2_000
REPEATS = (
    *("a.b.c.", "://a", "://a:b", "a", "key=", "api_key=", 'password="', "token: "),
    *("Authorization: ", "Bearer ", "eyJ", "eyJ-", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n"),
    *("\"'", "sk-", "@", "_", "%41", "\\n"),
)
BEGINNINGS = (
    *("sk-", "sk-ant-", "gh" + "p_", "eyJ", "AK" + "IA", "xoxb-", "SG.", "key-", "-----BEGIN "),
    *("password=", "token: ", "Bearer ", "Cookie: ", "://", ":", "@", ".", "-", "_", "a1", '"', " ", "\n"),
)


def main() -> None:
    """Print the cost of every text on both engines; the fallback is given less of each."""
    fast, fallback = Finder(choose_engine()), Finder(compile_bounded)
    texts = {**_ordinary(), **_hostile()}
    for name, text in texts.items():
        _report(f"redact {name}", text, fast, "60 ms/MB, 5 x")
    _report("redact half a secret every 60 characters", _half_secrets(), fast, "-")
    for name, text in texts.items():
        _report(f"redact without re2: {name}", text[:FALLBACK_SIZE], fallback, "5 x")
    _report_calls(fast)


def _report(name: str, text: str, finder: Finder, goal: str) -> None:
    quarter = text[: len(text) // 4]
    seconds = best_cpu(lambda: redact(text, finder=finder), runs=3)
    growth = seconds / best_cpu(lambda: redact(quarter, finder=finder), runs=5)
    report(name, f"{seconds * 1e9 / len(text):.1f} ms/MB {growth:.1f} x", goal)


def _report_calls(finder: Finder) -> None:
    text = _ordinary()["prose, code, JSON and logs"]
    texts = [text[start : start + CALL_CHARS] for start in range(0, CALLS * CALL_CHARS, CALL_CHARS)]
    seconds = best_cpu(lambda: [redact(text, finder=finder) for text in texts])
    report(f"redact {CALL_CHARS:,} characters, per call", f"{seconds / len(texts) * 1e6:.1f} us", "40 us")


def _ordinary() -> dict[str, str]:
    """Return our own pages, code and transcripts, logs between them."""
    log = "2026-03-04T05:06:07Z INFO worker[12]: GET /v1/items?page=3 200 in 14 ms, tokens=1834\n"
    files = [
        path
        for pattern in ("docs/*.md", "src/midfold/wire/**/*.py", "tests/**/*.json")
        for path in ROOT.glob(pattern)
    ]
    whole = "".join(path.read_text("utf-8") for path in sorted(files))
    starts = random.Random(4).sample(range(0, len(whole), MIX_CHARS), len(whole) // MIX_CHARS)
    mixed = log.join(whole[start : start + MIX_CHARS] for start in starts)
    return {
        "prose, code, JSON and logs": _fill(mixed),
        "Chinese": _fill("请修复登录页面的错误，然后运行测试。日志在 /var/log/app.log 里，密码不变。\n"),
        f"a secret every {MIX_CHARS:,} characters": _fill(
            f"{mixed[:MIX_CHARS]}\nexport API_TOKEN={'a1B2' * 9}\n"
        ),
    }


def _hostile() -> dict[str, str]:
    source = random.Random(5)
    letters = string.ascii_letters + string.digits
    return {
        "base64": "".join(source.choices(letters + "+/", k=SIZE)),
        "base64 of addresses": "".join(source.choices(letters + "-_", k=SIZE)),
        "hex": "".join(source.choices("0123456789abcdef", k=SIZE)),
        "line breaks": "\n" * SIZE,
        **{f"{text!r} repeated": _fill(text) for text in REPEATS},
    }


def _half_secrets() -> str:
    """Return text made to be read in vain: what it costs is paid by the finding, not by the length."""
    return "".join(random.Random(6).choices(BEGINNINGS, k=SIZE // 3))[:SIZE]


def _fill(text: str) -> str:
    return (text * (SIZE // len(text) + 1))[:SIZE]


if __name__ == "__main__":
    main()
