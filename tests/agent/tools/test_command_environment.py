"""Commands see the environment without credentials."""

import pytest

from midfold.agent.tools.command_environment import visible_environment


@pytest.mark.parametrize(
    "name",
    [
        *("DB_PASS", "DATABASE_URL", "NPM_AUTH", "GCP_CREDENTIALS", "SENTRY_DSN", "SLACK_WEBHOOK"),
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "MYSQL_PWD", "GH_PAT"),
        *("REDIS_URL", "MONGODB_URI", "SLACK_WEBHOOK_URL", "DOCKER_AUTH_CONFIG", "db_password"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "AZURE_STORAGE_CONNECTION_STRING"),
    ],
)
def test_names_of_credentials_are_hidden(name):
    assert visible_environment({name: "x"}) == {}


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "LANG", "TERM", "EDITOR", "PYTHONPATH", "VIRTUAL_ENV"),
        *("SSH_AUTH_SOCK", "HTTP_PROXY", "CARGO_HOME", "COMPASS", "KEYBOARD", "AUTHOR", "BASE_URL"),
        *("TOKENIZERS_PARALLELISM", "PIP_INDEX_URL", "XAUTHORITY"),
    ],
)
def test_other_names_stay(name):
    assert visible_environment({name: "x"}) == {name: "x"}


def test_a_value_that_is_a_credential_is_hidden_whatever_its_name():
    environment = {"WHERE": "postgres://app:hunter2secret@db.example/app", "PLACE": "https://example.org/a"}
    assert visible_environment(environment) == {"PLACE": "https://example.org/a"}


def test_what_is_shown_is_shown_and_what_is_hidden_is_hidden():
    environment = {"GITHUB_TOKEN": "x", "MINE": "y"}
    assert visible_environment(environment, hidden={"MINE"}, shown={"GITHUB_TOKEN"}) == {"GITHUB_TOKEN": "x"}
