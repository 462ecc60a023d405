"""The known providers: which one `provider/model` means, and how it is called.

The addresses were last compared with the providers' documentation on 2026-11-15. Any other server is reached
by a base URL, or is given a name in the settings.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, fields, replace
from midfold.providers.keys import MASK
from midfold.tokens import find_model
from midfold.wire import DEFAULT_DIALECT
from midfold.wire.apis import Quirks, get_api
from midfold.wire.validate import get_profile


@dataclass(frozen=True, slots=True)
class Provider:
    """A server of models. Without `key_env` and `key_file` it is called without a key."""

    name: str
    base_url: str = ""
    """empty where every caller has their own"""
    api: str = DEFAULT_DIALECT
    key_env: str = ""
    """the environment variable that holds the key"""
    key_file: str = ""
    profile: str = ""
    """the rules its chat template keeps, such as `strict_alternation`"""
    output_cap_field: str = "max_tokens"
    asks_for_stream_usage: bool = True

    @property
    def quirks(self) -> Quirks:
        """Where its API differs from the others of its kind."""
        alternates = bool(self.profile) and get_profile(self.profile).alternates
        return Quirks(self.output_cap_field, self.asks_for_stream_usage, alternates)


_KNOWN = (
    Provider(
        "openai",
        "https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        output_cap_field="max_completion_tokens",
    ),
    Provider("anthropic", "https://api.anthropic.com/v1", "anthropic", "ANTHROPIC_API_KEY"),
    Provider("openrouter", "https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY"),
    Provider("deepseek", "https://api.deepseek.com/v1", key_env="DEEPSEEK_API_KEY"),
    Provider("groq", "https://api.groq.com/openai/v1", key_env="GROQ_API_KEY"),
    Provider("mistral", "https://api.mistral.ai/v1", key_env="MISTRAL_API_KEY", asks_for_stream_usage=False),
    Provider("together", "https://api.together.xyz/v1", key_env="TOGETHER_API_KEY"),
    Provider("fireworks", "https://api.fireworks.ai/inference/v1", key_env="FIREWORKS_API_KEY"),
    Provider("xai", "https://api.x.ai/v1", key_env="XAI_API_KEY"),
    Provider("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", key_env="GEMINI_API_KEY"),
    Provider("moonshot", "https://api.moonshot.ai/v1", key_env="MOONSHOT_API_KEY"),
    Provider("zai", "https://api.z.ai/api/paas/v4", key_env="ZAI_API_KEY"),
    Provider("minimax", "https://api.minimax.io/v1", key_env="MINIMAX_API_KEY"),
    Provider(
        "dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", key_env="DASHSCOPE_API_KEY"
    ),
    Provider("llamacpp", "http://127.0.0.1:8080/v1"),
    Provider("lmstudio", "http://127.0.0.1:1234/v1"),
    Provider("ollama", "http://127.0.0.1:11434/v1"),
    Provider("sglang", "http://127.0.0.1:30000/v1"),
    Provider("vllm", "http://127.0.0.1:8000/v1"),
    Provider("local"),
)

PROVIDERS: Mapping[str, Provider] = MappingProxyType({provider.name: provider for provider in _KNOWN})

_SETTINGS = {
    each.name: bool if isinstance(each.default, bool) else str
    for each in fields(Provider)
    if each.name != "name"
}


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model, and the provider that serves it."""

    provider: Provider
    model: str


def parse_name(name: str, providers: Mapping[str, Provider], *, has_base_url: bool) -> ModelName:
    """Read `provider/model`; raises `ConfigError`.

    With a base URL at hand the name may be the model's alone, slashes included, as local servers use the
    names of model files and repositories.
    """
    prefix, slash, model = name.partition("/")
    if slash and model and prefix in providers:
        return ModelName(providers[prefix], model)
    if has_base_url and name.strip():
        return ModelName(PROVIDERS["local"], name)
    near = suggest_name(name, providers)
    advice = f"did you mean {near}?" if near else "any name will do with a base URL"
    raise ConfigError(
        "model", name, hint=f"provider/model such as openai/gpt-5-mini or ollama/qwen3:8b; {advice}"
    )


def suggest_name(name: str, providers: Mapping[str, Provider]) -> str | None:
    """Return the name that was probably meant by one without a known provider."""
    prefix, slash, model = name.partition("/")
    if slash and model:
        near = get_close_matches(prefix.lower(), providers, n=1)
        return f"{near[0]}/{model}" if near else None
    facts = find_model(name) if name.strip() else None
    return f"{facts.provider}/{name}" if facts and facts.provider in providers else None


def read_providers(settings: Mapping[str, object]) -> dict[str, Provider]:
    """Return the known providers with those of the settings: new ones, and changes to known ones.

    Raises `ConfigError` with the dotted name of the setting at fault.
    """
    custom = {name: _read_provider(name, given) for name, given in settings.items()}
    return {**PROVIDERS, **custom}


def _read_provider(name: str, given: object) -> Provider:
    key = f"providers.{name}"
    if not isinstance(given, Mapping):
        raise ConfigError(key, MASK, hint=f"a mapping with {', '.join(_SETTINGS)}")
    known = PROVIDERS.get(name, Provider(name))
    if "base_url" in given and "key_env" not in given:
        known = replace(known, key_env="")  # the known key is for the known address
    for field, value in given.items():
        if field not in _SETTINGS:
            raise ConfigError(f"{key}.{field}", MASK, hint=f"one of {', '.join(_SETTINGS)}")
        if type(value) is not _SETTINGS[field]:
            raise ConfigError(f"{key}.{field}", value, hint=f"a value of type {_SETTINGS[field].__name__}")
    change: Callable[..., Provider] = replace
    provider = change(known, **given)
    get_api(provider.api)
    if provider.profile:
        get_profile(provider.profile)
    return provider
