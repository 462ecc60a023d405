"""The model that takes over where the one that is asked cannot be reached, or turns the call away."""

from midfold.agent.active_model import ActiveModel
from midfold.agent.core import Core
from midfold.agent.events import Emit, Level, Notice, Topic
from midfold.agent.fold import switch_model
from midfold.errors import ProviderAuthError, ProviderError, ProviderUnavailable, RateLimited
from midfold.providers.summarizers import ModelRef

_GONE = 404
_FAILURES = (ProviderUnavailable, ProviderAuthError, RateLimited)


async def take_over(core: Core, error: ProviderError, emit: Emit) -> bool:
    """Go on with the fallback where another model may answer; false where there is none, or it failed itself.

    The engine stays and gets a call of `update_model`. Raises `ConfigError`, `StillTooLarge`, `StoreError`.
    """
    name, failed = core.fallback, core.model
    may_help = isinstance(error, _FAILURES) or error.status == _GONE
    if name is None or name == failed.ref.name or not may_help:
        return False
    model = ActiveModel.open(
        ModelRef(name),
        providers=failed.providers,
        limits=failed.limits,
        transport=core.transport,
        retries=core.retry_notices.retries,
        cache_ttl=failed.cache_ttl,
    )
    emit(Notice(Level.WARNING, Topic.RECOVERY, f"{failed.ref.name} failed: {error}; {name} goes on."))
    await switch_model(core, model, emit)
    return True
