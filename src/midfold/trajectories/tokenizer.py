"""Counts the tokens of a turn: by a packaged vocabulary, a model's, or the user's own `tokenizer.json`."""

from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from midfold.config import Description
from midfold.errors import ConfigError
from midfold.files import refuse_store_file
from midfold.tokens import find_family, load_counter

if TYPE_CHECKING:
    from splintr import AnyTokenizer

KEY = "trajectories.tokenizer"
_HINT = (
    "a packaged vocabulary such as o200k_base, qwen3, llama3, kimi_k2 or deepseek_v3, the name of a known "
    "model, or the path of a tokenizer.json"
)
_FILE_NAME = "tokenizer.json"
_ID_BYTES = 4
_HASH_BYTES = 16
# The ids of a text are held in memory at once.
_SLICE_CHARS = 1_000_000
_OPENINGS = 32
_OPENING_CHARS = 200_000


@cache
def load_tokenizer(name: str) -> Callable[[str], int]:
    """Return what counts the tokens of a text; it is loaded once in a process.

    `name` is a packaged vocabulary, a model whose vocabulary is known, or a Hugging Face `tokenizer.json`, by
    itself or by its folder. Raises `ConfigError`.
    """
    path = _find_file(name)
    if path is not None:
        return _load_file(path)
    try:
        return load_counter(name)
    except ValueError:
        family = find_family(name)
    if not name or family.name == "unknown":
        raise ConfigError(KEY, name, hint=_HINT)
    count, factor = load_counter(family.vocabulary), family.factor
    return count if factor == 1.0 else lambda text: ceil(count(text) * factor)


@cache
def load_opening_counter(name: str) -> Callable[[str], int]:
    """Return what counts the first turn of a trajectory, and knows the few that it has seen last.

    The runs of one agent all begin with the same words, and those are often half of a run.
    """
    count = load_tokenizer(name)
    count_known = lru_cache(_OPENINGS)(count)
    return lambda text: count_known(text) if len(text) <= _OPENING_CHARS else count(text)


def fingerprint_tokenizer(name: str) -> str | None:
    """Return the fingerprint of a user's file; `None` for one of ours."""
    path = _find_file(name)
    return blake2b(path.read_bytes(), digest_size=_HASH_BYTES).hexdigest() if path else None


def _find_file(name: str) -> Path | None:
    path = Path(name).expanduser()
    if path.is_dir():
        return path / _FILE_NAME
    return path if path.suffix == ".json" else None


def _load_file(path: Path) -> Callable[[str], int]:
    from splintr import from_json

    refuse_store_file(path)
    if not path.is_file():
        raise ConfigError(KEY, str(path), hint="the path of a file that is there")
    try:
        return _counter(from_json(str(path)))
    except (ValueError, OSError) as error:
        raise ConfigError(KEY, Description(f"{path}, which cannot be read ({error})"), hint=_HINT) from None


def _counter(tokenizer: "AnyTokenizer") -> Callable[[str], int]:
    encode, encode_flat = tokenizer.encode_ordinary, tokenizer.encode_flat
    # The flat call takes half the time, but it takes words of the text for control tokens, and many files
    # have it add some of its own.
    specials = tuple(tokenizer.special_tokens())
    opening = {word[:1] for word in specials}
    adds_nothing = len(encode_flat("a")) == _ID_BYTES * len(encode("a"))

    def count(text: str) -> int:
        if len(text) > _SLICE_CHARS:
            return sum([count(text[at : at + _SLICE_CHARS]) for at in range(0, len(text), _SLICE_CHARS)])
        try:
            if adds_nothing and not any(character in text for character in opening):
                return len(encode_flat(text)) // _ID_BYTES
            return len(encode(text))
        except UnicodeEncodeError:  # lone surrogates, which real tool output has
            return count(text.encode("utf-8", "replace").decode())

    return count
