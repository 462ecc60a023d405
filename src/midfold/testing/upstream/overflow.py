"""Real providers' refusals of a request that does not fit: their words, their numbers, their envelopes.

Recovery reads these texts, so a test of it needs them as they are: some give both numbers, some one, some
none, and several use the same words for a prompt that is too long and for an output cap that is.
"""

from collections.abc import Callable

from midfold.late_dataclasses import dataclass
from midfold.testing.upstream.grammar import Json
from midfold.testing.upstream.script import HttpStatus


@dataclass(frozen=True, slots=True)
class _Size:
    window: int
    used: int
    cap: int


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words for a prompt that alone is too long, and for one that only the cap on the output makes so.

    Without `cap` the provider starts anyway and stops when the window is full.
    """

    envelope: Callable[[str, _Size], Json]
    prompt: str
    cap: str = ""


def overflow(
    provider: str, *, window_tokens: int, input_tokens: int, output_tokens: int = 0
) -> HttpStatus | None:
    """Return the error that `provider` gives for a request of this size; `None` where it would answer.

    `output_tokens` is the cap that the request sets on its output, 0 for none.
    """
    wording = _WORDINGS[provider]
    size = _Size(window_tokens, input_tokens, output_tokens)
    if input_tokens > window_tokens:
        template = wording.prompt
    elif input_tokens + output_tokens > window_tokens and wording.cap:
        template = wording.cap
    else:
        return None
    message = template.format(
        window=window_tokens,
        used=input_tokens,
        cap=output_tokens,
        total=input_tokens + output_tokens,
        over=input_tokens - window_tokens,
    )
    return HttpStatus(400, wording.envelope(message, size))


def _openai(message: str, _: _Size) -> Json:
    return _error(message, type="invalid_request_error", param="messages", code="context_length_exceeded")


def _responses(message: str, _: _Size) -> Json:
    return _error(message, type="invalid_request_error", param="input", code="context_length_exceeded")


def _anthropic(message: str, _: _Size) -> Json:
    return {"type": "error", **_error(message, type="invalid_request_error"), "request_id": "req_1"}


def _vllm(message: str, _: _Size) -> Json:
    return _error(message, type="BadRequestError", param=None, code=400)


def _llama_cpp(message: str, size: _Size) -> Json:
    numbers = {"n_prompt_tokens": size.used, "n_ctx": size.window}
    return _error(message, type="exceed_context_size_error", code=400, **numbers)


def _google(message: str, _: _Size) -> Json:
    return _error(message, code=400, status="INVALID_ARGUMENT")


def _openrouter(message: str, _: _Size) -> Json:
    return _error(message, code=400, metadata={"provider_name": None})


def _mistral(message: str, _: _Size) -> Json:
    return {"object": "error", "message": message, "type": "invalid_request_error", "code": 3051}


def _ollama(message: str, _: _Size) -> Json:
    return {"error": message}


def _error(message: str, **fields: object) -> Json:
    return {"error": {"message": message, **fields}}


_WORDINGS = {
    "openai": _Wording(
        _openai,
        "This model's maximum context length is {window} tokens. However, your messages resulted in {used} "
        "tokens. Please reduce the length of the messages.",
        "This model's maximum context length is {window} tokens. However, you requested {total} tokens "
        "({used} in the messages, {cap} in the completion). Please reduce the length of the messages or "
        "completion.",
    ),
    "openai_responses": _Wording(
        _responses,
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    "anthropic": _Wording(
        _anthropic,
        "prompt is too long: {used} tokens > {window} maximum",
        "input length and `max_tokens` exceed context limit: {used} + {cap} > {window}, decrease input "
        "length or `max_tokens` and try again",
    ),
    "vllm": _Wording(
        _vllm,
        "The decoder prompt (length {used}) is longer than the maximum model length of {window}.",
        "'max_tokens' or 'max_completion_tokens' is too large: {cap}. This model's maximum context length "
        "is {window} tokens and your request has {used} input tokens ({cap} > {window} - {used}). None",
    ),
    "llama.cpp": _Wording(
        _llama_cpp,
        "request ({used} tokens) exceeds the available context size ({window} tokens), try increasing it",
    ),
    "google": _Wording(
        _google,
        "The input token count ({used}) exceeds the maximum number of tokens allowed ({window}).",
    ),
    "openrouter": _Wording(
        _openrouter,
        "This endpoint's maximum context length is {window} tokens. However, you requested about {used} "
        'tokens ({used} of text input). Please reduce the length of either one, or use the "middle-out" '
        "transform to compress your prompt automatically.",
        "This endpoint's maximum context length is {window} tokens. However, you requested about {total} "
        "tokens ({used} of text input, {cap} in the output). Please reduce the length of either one, or use "
        'the "middle-out" transform to compress your prompt automatically.',
    ),
    "mistral": _Wording(
        _mistral,
        "Prompt contains {used} tokens, too large for model with {window} maximum context length",
    ),
    "ollama": _Wording(
        _ollama,
        "prompt too long; exceeded max context length by {over} tokens",
    ),
}

PROVIDERS = tuple(_WORDINGS)
"""The providers whose words `overflow` knows."""
