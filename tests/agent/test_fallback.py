"""A model that takes over where the one that is asked fails."""

import pytest

from midfold.agent import Agent, Done, Notice
from midfold.engines import ContextCompressor
from midfold.errors import ProviderError
from midfold.providers import PROVIDERS, read_providers
from midfold.testing.upstream import HttpStatus, Reply, Upstream


class Watched(ContextCompressor):
    """Notes which models it is told of."""

    def __init__(self, *args, **options):
        self.models = []
        super().__init__(*args, **options)

    def update_model(self, model, context_length, base_url="", api_key="", provider=""):
        self.models.append((model, context_length))
        super().update_model(model, context_length, base_url, api_key, provider)


def open_agent(up, spare, tmp_path, **options):
    house = read_providers({"spare": {"base_url": spare.url}})
    return Agent("local/first", base_url=up.url, home=tmp_path, providers={**PROVIDERS, **house}, **options)


@pytest.mark.parametrize("status", [401, 404])
def test_fallback_goes_on_and_the_engine_is_told(tmp_path, status):
    engine = Watched(200_000)
    with (
        Upstream(HttpStatus(status)) as up,
        Upstream(Reply("Here I am.")) as spare,
        open_agent(up, spare, tmp_path, fallback="spare/second", engine=engine) as agent,
    ):
        events = list(agent.run("Is anybody there?"))
        list(agent.run("And now?"))
        assert (len(up.requests), len(spare.requests)) == (1, 2)
        assert agent.status().model == "spare/second"
        assert agent.store.session(agent.session_id).model == "spare/second"
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert [text for text in notices if text.endswith("spare/second goes on.")] == notices[:1]
    assert isinstance(events[-1], Done)
    assert events[-1].text == "Here I am."
    assert [name for name, _ in engine.models] == ["local/first", "spare/second"]


def test_error_is_raised_where_the_fallback_fails_too_or_cannot_help(tmp_path):
    with (
        Upstream([HttpStatus(401), HttpStatus(400)]) as up,
        Upstream(HttpStatus(403)) as spare,
        open_agent(up, spare, tmp_path, fallback="spare/second") as agent,
    ):
        with pytest.raises(ProviderError, match="403"):
            list(agent.run("Is anybody there?"))
        assert len(spare.requests) == 1
    with (
        Upstream(HttpStatus(400)) as up,
        Upstream(Reply("Never.")) as spare,
        open_agent(up, spare, tmp_path / "other", fallback="spare/second") as agent,
    ):
        with pytest.raises(ProviderError):
            list(agent.run("Is anybody there?"))
        assert spare.requests == []
