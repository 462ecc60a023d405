"""Calls as spans of OpenTelemetry, by the names that its conventions have for models; never what was said.

A span is made when its call is over, with the times of it, so that no request waits for anything here.
"""

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from midfold.errors import ExtraMissing
from midfold.gateway.settings import UpstreamSettings
from midfold.gateway.turns import ClientTurn, PreparedRequest
from midfold.providers import Observation

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_NANO = 1_000_000_000


class CallTracer:
    """Tells OpenTelemetry of calls; `provider` is the program's own where none is given."""

    def __init__(self, provider: "TracerProvider | None" = None) -> None:
        try:
            from opentelemetry import propagate, trace
        except ModuleNotFoundError as error:
            raise ExtraMissing("traces", "otel") from error
        self._trace, self._extract = trace, propagate.extract
        self._tracer = (provider or trace.get_tracer_provider()).get_tracer("midfold.gateway")

    def record(
        self,
        turn: ClientTurn,
        prepared: PreparedRequest,
        observation: Observation,
        upstream: UpstreamSettings,
        *,
        conversation: str,
        seconds: float,
        headers: Mapping[str, str],
    ) -> None:
        """Tell of a call that just ended; the client's own span is its parent, where it names one."""
        trace, end = self._trace, time.time_ns()
        span = self._tracer.start_span(
            f"chat {turn.model}" if turn.model else "chat",
            context=self._extract(headers),
            kind=trace.SpanKind.CLIENT,
            start_time=end - int(seconds * _NANO),
            attributes=_attributes(turn, prepared, observation, upstream, conversation),
        )
        if observation.failure is not None or not observation.complete:
            kind = observation.failure.kind if observation.failure is not None else "incomplete"
            span.set_attribute("error.type", kind)
            span.set_status(trace.StatusCode.ERROR)
        span.end(end)


def _attributes(
    turn: ClientTurn,
    prepared: PreparedRequest,
    observation: Observation,
    upstream: UpstreamSettings,
    conversation: str,
) -> dict[str, str | int | list[str]]:
    usage, completion = observation.usage, observation.completion
    place = urlsplit(upstream.base_url)
    finish = completion.finish_reason if completion is not None else None
    found: dict[str, str | int | list[str] | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": upstream.provider,
        "gen_ai.request.model": turn.model or None,
        "gen_ai.request.max_tokens": prepared.output_cap,
        "gen_ai.response.finish_reasons": [finish] if finish else None,
        "gen_ai.conversation.id": conversation,
        "gen_ai.usage.input_tokens": usage.prompt_tokens if usage else None,
        "gen_ai.usage.output_tokens": usage.output_tokens if usage else None,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens if usage else None,
        "server.address": place.hostname,
        "server.port": place.port,
        "midfold.folds": prepared.folds,
        "midfold.saved_tokens": prepared.saved_tokens,
        "midfold.recovered": prepared.recovered or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def start_exporting() -> None:
    """Send the spans of this program where `OTEL_EXPORTER_OTLP_ENDPOINT` says; raises `ExtraMissing`."""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise ExtraMissing("traces", "otel") from error
    name = os.environ.get("OTEL_SERVICE_NAME", "midfold")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
