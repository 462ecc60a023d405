"""Which model a name means, where it is served, and which key goes there."""

import pytest

from midfold.errors import ConfigError
from midfold.providers import PROVIDERS, ApiKey, find_endpoint, read_providers
from midfold.providers.endpoint import has_own_key

KEY = "sk-secret-0123456789abcdef"
ENVIRON = {provider.key_env: KEY for provider in PROVIDERS.values() if provider.key_env}


def find(name, environ=ENVIRON, **options):
    return find_endpoint(name, environ=environ, **options)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("openai/gpt-5-mini", "https://api.openai.com/v1/chat/completions"),
        ("anthropic/claude-sonnet-4-5", "https://api.anthropic.com/v1/messages"),
        ("openrouter/anthropic/claude-sonnet-4.5", "https://openrouter.ai/api/v1/chat/completions"),
        ("ollama/qwen3:8b", "http://127.0.0.1:11434/v1/chat/completions"),
        ("llamacpp/model.gguf", "http://127.0.0.1:8080/v1/chat/completions"),
    ],
)
def test_known_provider_has_its_address(name, url):
    endpoint = find(name)
    assert endpoint.url == url
    assert f"{endpoint.provider}/{endpoint.model}" == name


@pytest.mark.parametrize("name", [name for name in PROVIDERS if name != "local"])
def test_every_known_provider_can_be_opened(name):
    assert find(f"{name}/some-model").model == "some-model"


@pytest.mark.parametrize("name", ["", "gpt-5-mini", "unheard-of/model", "openai/", "/model"])
def test_name_without_a_known_provider_is_refused_with_examples(name):
    with pytest.raises(ConfigError, match=r"provider/model such as openai/gpt-5-mini or ollama/"):
        find(name)


def test_base_url_makes_any_name_a_model():
    endpoint = find("Qwen/Qwen2.5-7B-Instruct", base_url="http://127.0.0.1:8000/v1")
    assert (endpoint.provider, endpoint.model) == ("local", "Qwen/Qwen2.5-7B-Instruct")


def test_local_needs_an_address():
    with pytest.raises(ConfigError, match="the address of 'local'"):
        find("local/model")


@pytest.mark.parametrize("api", ["openai_responses", "anthropic", "openai_chat"])
def test_api_can_be_chosen(api):
    assert find("openai/gpt-5-mini", api=api).api.name == api


@pytest.mark.parametrize(
    ("given", "base_url"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        ("https://gateway.example/openai", "https://gateway.example/openai"),
    ],
)
def test_base_url_is_tidied(given, base_url):
    assert find("m", base_url=given).base_url == base_url


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "host:8080",
        "http://",
        "https://user:pw@host/v1",
        "https://host/v1?key=x",
        "http://a b",
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ConfigError, match="base_url"):
        find("m", base_url=url)


def test_refused_address_shows_no_login():
    with pytest.raises(ConfigError) as caught:
        find("m", base_url=f"https://me:{KEY}@host/v1?token={KEY}")
    assert KEY not in str(caught.value)


def test_key_is_found_in_the_environment():
    assert find("openai/gpt-5-mini").key == ApiKey(KEY)


def test_missing_key_is_an_error_that_names_the_variable():
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set; expected the key of openai"):
        find("openai/gpt-5-mini", environ={})


def test_local_server_needs_no_key():
    assert find("vllm/m", environ={}).key is None


def test_given_key_comes_first():
    assert find("openai/gpt-5-mini", key="other-key").key == ApiKey("other-key")


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:9/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://evil.example/v1",
    ],
)
def test_key_of_a_provider_is_not_sent_to_another_address(base_url):
    assert find("openai/gpt-5-mini", base_url=base_url).key is None


def test_key_of_a_provider_is_sent_to_another_path_of_its_address():
    assert find("openai/gpt-5-mini", base_url="https://api.openai.com:443/v2").key == ApiKey(KEY)


def test_custom_provider_comes_from_the_settings(tmp_path):
    (tmp_path / "key").write_text(f"  {KEY}\n")
    providers = read_providers(
        {
            "house": {
                "base_url": "https://models.example/v1",
                "api": "anthropic",
                "key_file": str(tmp_path / "key"),
                "profile": "strict_alternation",
            }
        }
    )
    endpoint = find("house/m", providers=providers)
    assert (endpoint.url, endpoint.key) == ("https://models.example/v1/messages", ApiKey(KEY))
    assert endpoint.quirks.alternates


def test_known_provider_at_another_address_loses_its_key():
    moved = read_providers({"openai": {"base_url": "https://proxy.example/v1"}})
    assert find("openai/gpt-5-mini", providers=moved).key is None
    kept = read_providers({"openai": {"base_url": "https://proxy.example/v1", "key_env": "OPENAI_API_KEY"}})
    assert find("openai/gpt-5-mini", providers=kept).key == ApiKey(KEY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"house": "https://x"}, r"providers\.house .* expected a mapping"),
        ({"house": {"url": "https://x"}}, r"providers\.house\.url .* one of base_url, api"),
        ({"house": {"base_url": 1}}, r"providers\.house\.base_url .* type str"),
        ({"house": {"api": "soap"}}, "api is 'soap'"),
        ({"house": {"profile": "odd"}}, "profile is 'odd'"),
        ({"house": {"asks_for_stream_usage": "no"}}, "type bool"),
    ],
)
def test_wrong_setting_is_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        read_providers(settings)


def test_key_in_the_settings_is_refused_and_not_shown():
    with pytest.raises(ConfigError, match="key_env, key_file") as caught:
        read_providers({"house": {"key": KEY}})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["Authorization", "x-api-key", "Cookie", "Host", "X-Forwarded-For", "api-key"]
)
def test_headers_beyond_the_allowed_ones_are_refused(name):
    with pytest.raises(ConfigError, match="headers"):
        find("vllm/m", headers={name: "x"})


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\0", "é"])
def test_header_that_would_start_another_is_refused(value):
    with pytest.raises(ConfigError, match=r"headers\.X-Title"):
        find("vllm/m", headers={"X-Title": value})


def test_allowed_headers_are_sent():
    assert find("vllm/m", headers={"X-Title": "midfold"}).headers["X-Title"] == "midfold"


def test_header_of_our_own_is_replaced_however_it_is_spelled():
    headers = find("vllm/m", headers={"user-agent": "house/1", "anthropic-beta": "x"}).headers
    assert [name for name in headers if name.lower() == "user-agent"] == ["User-Agent"]
    assert (headers["User-Agent"], headers["Anthropic-Beta"]) == ("house/1", "x")


@pytest.mark.parametrize(
    ("name", "base_url", "is_own"),
    [
        ("openai", None, True),
        ("openai", "https://api.openai.com:443/v2", True),
        ("openai", "http://127.0.0.1:8080", False),
        ("openai", "http://api.openai.com/v1", False),
        ("vllm", None, False),
    ],
)
def test_own_key_is_for_the_own_address(name, base_url, is_own):
    assert has_own_key(PROVIDERS[name], base_url) is is_own
