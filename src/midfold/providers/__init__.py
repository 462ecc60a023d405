"""Models over HTTP: named `provider/model`, asked once or as a stream, by async and by blocking callers.

The shapes of requests and replies are in `wire`; here is the network, the keys, and the answer to a call that
failed. It needs the extra `models`.
"""

from typing import TYPE_CHECKING

from midfold.providers.catalog import PROVIDERS, Provider, read_providers, suggest_name
from midfold.providers.client import open_transport
from midfold.providers.connection import Timeouts
from midfold.providers.decoder import Decoder, Undecodable
from midfold.providers.endpoint import Endpoint, find_endpoint
from midfold.providers.keys import ApiKey, read_key_file
from midfold.providers.local_windows import UNSTATED_WINDOW, ask_window
from midfold.providers.model import BlockingModel, Model
from midfold.providers.observation import Observation, Observer
from midfold.providers.relay import KeySource, Relay, RelayAnswer, RelayBroken
from midfold.providers.relay_request import CREDENTIAL_HEADERS, RelayRequest, RequestRefused
from midfold.providers.retry import Retries
from midfold.providers.urls import check_address, check_base_url, tidy_base_url

if TYPE_CHECKING:
    from midfold.providers.http import Answer, Transport

__all__ = [
    "CREDENTIAL_HEADERS",
    "PROVIDERS",
    "UNSTATED_WINDOW",
    "Answer",
    "ApiKey",
    "BlockingModel",
    "Decoder",
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
    "Timeouts",
    "Transport",
    "Undecodable",
    "ask_window",
    "check_address",
    "check_base_url",
    "find_endpoint",
    "open_transport",
    "read_key_file",
    "read_providers",
    "suggest_name",
    "tidy_base_url",
]


def __getattr__(name: str) -> object:
    """Load the HTTP client when it is used: it is the costliest import of all."""
    if name in ("Answer", "Transport"):
        from midfold.providers import http

        return getattr(http, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
