"""Credentials stay where they are: not in a listing, not in an error, not in a `repr`."""

import pytest

from midfold.config import check_settings
from midfold.config.masking import HIDDEN, is_secret, masked

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "API_KEY",
        "x-api-key",
        "key",
        "keys",
        "token",
        "tokens",
        "accessToken",
        "auth_token",
        "secret",
        "client_secret",
        "password",
        "db_password",
        "Authorization",
        "credentials",
    ],
)
def test_names_of_credentials_are_known(name):
    assert is_secret(("providers", "openai", name))
    assert is_secret(("gateway", name, "alice"))


@pytest.mark.parametrize(
    "name", ["max_tokens", "head_tokens", "name", "base_url", "api_key_env", "token_file", "keyboard", ""]
)
def test_other_names_are_not_credentials(name):
    assert not is_secret(("providers", "openai", name))


def test_a_credential_that_is_not_set_shows_that():
    assert masked(("api_key",), None) is None
    assert masked(("api_key",), "") == HIDDEN


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"postgresql://me:{SECRET}@host/db", "postgresql://***@host/db"),
        (f"postgresql://me:a/{SECRET}@host/db", "postgresql://***@host/db"),
        (
            f"postgresql://host/db?user=me&password={SECRET}&x=1",
            "postgresql://host/db?user=me&password=***&x=1",
        ),
        ("https://host/v1", "https://host/v1"),
    ],
)
def test_a_login_in_a_url_is_hidden(url, shown):
    assert masked(("store", "url"), url) == shown


def test_credentials_inside_lists_are_hidden():
    value = [{"name": "alice", "token": SECRET}, (f"x://u:{SECRET}@h",)]
    assert masked(("gateway", "users"), value) == [{"name": "alice", "token": HIDDEN}, ["x://***@h"]]


@pytest.mark.parametrize(
    "written",
    [
        f"providers: {{openai: {{api_key: {SECRET}}}}}",
        f"store: {{url: 'postgresql://me:{SECRET}@host/db'}}",
        f"store: {{url: ['postgresql://me:{SECRET}@host/db']}}",
        f"model: {{api_key: {SECRET}}}",
        f"api_key: {SECRET}",
        f"compression: {{password: {SECRET}}}",
        f"compression: {{threshold: {{password: {SECRET}}}}}",
        f"compression: [{{password: {SECRET}}}]",
        f"providers: {{openai: {{api_key: *{SECRET}}}}}",
        f"providers: {{openai: {{api_key: !{SECRET} x}}}}",
        f"providers: {{openai: {{api_key: !!int {SECRET}}}}}",
        f"providers: {{openai: {{api_key: '{SECRET}",
    ],
)
def test_no_credential_is_listed_or_told(written, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(written)
    checked = check_settings(path=file, environment={})
    told = [checked.settings, checked.settings.entries(), checked.problems]
    told += [(str(problem), vars(problem)) for problem in checked.problems]
    assert SECRET not in repr(told)
