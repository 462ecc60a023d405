"""The window of a model on a server of one's own, which the server knows and nobody else.

llama.cpp, vLLM, SGLang, Ollama and LM Studio are asked, each in its own way; a server that says nothing is
taken for a small one. What counts is the window that was loaded, not the largest that the model could have.
"""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from midfold.late_patterns import compile_late
from midfold.providers.endpoint import Endpoint

UNSTATED_WINDOW = 8_192
"""The window of a local server that says nothing: what most are started with, and none refuses."""
_OLLAMA_WINDOW = 4_096
"""The default window with which Ollama loads a model."""
_TIMEOUT_SECONDS = 2.0
_MOST_BYTES = 2_000_000
_LEAST, _MOST = 256, 100_000_000
_NUM_CTX = compile_late(r"^\s*num_ctx\s+(\d{1,9})", re.MULTILINE)


def ask_window(endpoint: Endpoint) -> int | None:
    """Ask a server how large the window of its model is; `None` where it does not say.

    It blocks for some seconds at most.
    """
    return next((found for found in _ask(endpoint) if found is not None and _LEAST <= found <= _MOST), None)


def _ask(endpoint: Endpoint) -> Iterator[int | None]:
    """Yield the answers of the servers that it may be, the surest first."""
    root = endpoint.base_url.removesuffix("/v1")
    model = endpoint.model
    props = _get(f"{root}/props")  # llama.cpp
    yield _number(_field(props, "default_generation_settings"), "n_ctx") or _number(props, "n_ctx")
    listed = _field(_get(f"{endpoint.base_url}/models"), "data")  # vLLM, SGLang
    yield _number(_pick(listed, "id", model), "max_model_len")
    about = _get(f"{root}/api/v0/models/{quote(model, safe='')}")  # LM Studio
    yield _number(about, "loaded_context_length")
    loaded = _field(_get(f"{root}/api/ps"), "models")  # Ollama, of a model that is in memory
    yield _number(_pick(loaded, "model", model), "context_length")
    yield _read_ollama(_get(f"{root}/api/show", {"model": model}))
    yield _number(about, "max_context_length")


def _read_ollama(shown: object) -> int | None:
    """Read what Ollama will load a model with: the model's own parameter, or its default."""
    info, parameters = _field(shown, "model_info"), _field(shown, "parameters")
    if not isinstance(info, Mapping):
        return None
    found = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    if found:
        return int(found[1])
    most = next((info[key] for key in info if str(key).endswith(".context_length")), None)
    return min(most, _OLLAMA_WINDOW) if isinstance(most, int) else None


def _get(url: str, body: object = None) -> object:
    """Return what a server answers, read as JSON; `None` where it does not answer so."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json", "User-Agent": "midfold"})  # noqa: S310 - checked by `tidy_base_url`
    try:
        # A proxy is for the world outside; this server is on the machine or beside it.
        with build_opener(ProxyHandler({})).open(request, timeout=_TIMEOUT_SECONDS) as answer:
            found: object = json.loads(answer.read(_MOST_BYTES))
            return found
    except (URLError, OSError, ValueError, RecursionError):
        return None


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def _pick(values: object, key: str, name: str) -> object:
    """Return the entry with a name, or the only one."""
    entries = [each for each in values if isinstance(each, Mapping)] if isinstance(values, list) else []
    named = [each for each in entries if each.get(key) == name or each.get("name") == name]
    return named[0] if named else entries[0] if len(entries) == 1 else None


def _number(value: object, name: str) -> int | None:
    found = _field(value, name)
    return found if type(found) is int and found > 0 else None
