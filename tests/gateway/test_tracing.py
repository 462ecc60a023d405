"""Calls as spans of OpenTelemetry: the names of its conventions, and nothing that was said."""

import importlib.util

import pytest

from midfold.errors import ExtraMissing
from midfold.gateway import start_exporting
from midfold.testing import HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage

PATH = "/v1/chat/completions"
BODY = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "secret words"}], "max_tokens": 99}


def has_sdk():
    try:
        return importlib.util.find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.skipif(has_sdk(), reason="the extra otel is there")
def test_without_the_extra_tracing_says_what_to_install():
    with pytest.raises(ExtraMissing, match=r"midfold\[otel\]"):
        start_exporting()


@pytest.mark.skipif(not has_sdk(), reason="needs the extra otel")
def test_a_call_is_one_span_below_that_of_the_client(gateway):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with Upstream([Reply("more secret", usage=CanonicalUsage(120, 7)), HttpStatus(500, "no")]) as up:
        running = gateway(up, gateway__tracing=True)
        running.ask(PATH, BODY, traceparent=parent)
        running.settle()
        running.ask(PATH, BODY)
        running.settle()
    good, bad = kept.get_finished_spans()
    assert good.name == "chat gpt-5-mini"
    assert good.parent.span_id == 0xB7AD6B7169203331
    assert good.attributes["gen_ai.operation.name"] == "chat"
    assert good.attributes["gen_ai.provider.name"] == "openai"
    assert good.attributes["gen_ai.request.model"] == "gpt-5-mini"
    assert good.attributes["gen_ai.request.max_tokens"] == 99
    assert good.attributes["gen_ai.usage.input_tokens"] == 120
    assert good.attributes["gen_ai.usage.output_tokens"] == 7
    assert good.attributes["server.address"] == "127.0.0.1"
    assert good.end_time > good.start_time
    assert bad.status.status_code is trace.StatusCode.ERROR
    assert "secret" not in good.to_json() + bad.to_json()
