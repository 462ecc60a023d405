"""Models over HTTP: named `provider/model`, asked once or as a stream, by async and by blocking callers.

What a provider wants to be sent, and how its replies read, is in `wire`; here is the network, the keys, and
what to do when a call fails. It needs the extra `models`.
"""

from typing import TYPE_CHECKING

from midfold.providers.blocking import BlockingModel
from midfold.providers.endpoint import Endpoint, find_endpoint
from midfold.providers.forwarding import RelayRequest
from midfold.providers.keys import Secret, read_key_file
from midfold.providers.model import Model, open_transport
from midfold.providers.names import PROVIDERS, Provider, read_providers
from midfold.providers.observation import Observation, Observer
from midfold.providers.relay import KeySource, Relay, RelayAnswer, RelayBroken
from midfold.providers.retry import Retries
from midfold.providers.timeouts import Timeouts
from midfold.providers.upload import RequestRefused
from midfold.providers.urls import check_address, check_base_url, tidy_base_url

if TYPE_CHECKING:
    from midfold.providers.http import Answer, Transport

__all__ = [
    "PROVIDERS",
    "Answer",
    "BlockingModel",
    "Endpoint",
    "KeySource",
    "Model",
    "Observation",
    "Observer",
    "Provider",
    "Relay",
    "RelayAnswer",
    "RelayBroken",
    "RelayRequest",
    "RequestRefused",
    "Retries",
    "Secret",
    "Timeouts",
    "Transport",
    "check_address",
    "check_base_url",
    "find_endpoint",
    "open_transport",
    "read_key_file",
    "read_providers",
    "tidy_base_url",
]


def __getattr__(name: str) -> object:
    """Load the HTTP client when it is used: it is the costliest import of all."""
    if name in ("Answer", "Transport"):
        from midfold.providers import http

        return getattr(http, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
