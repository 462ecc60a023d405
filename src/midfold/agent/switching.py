"""Going on with another model: one with a smaller window gets a conversation that fits into it.

The fold is made before the switch, so that the model which has seen everything writes the summary.
"""

from midfold.agent.core import Core
from midfold.agent.events import Emit, Why
from midfold.agent.folding import fold, too_large
from midfold.agent.live import Live


async def switch(core: Core, live: Live, emit: Emit) -> None:
    """Let `live` take over.

    Raises `StillTooLarge` where the conversation does not fit even when it is folded, and `StoreError`; then
    the model stays as it is.
    """
    engine = core.make_engine(live)
    tokens = core.estimate(engine)
    if core.conversation.items and tokens >= engine.threshold_tokens:
        await fold(core, Why.MODEL, emit, most_tokens=engine.policy.target_tokens)
        tokens = core.estimate(engine)
    if tokens > engine.context_length:
        raise too_large(core, tokens, engine.context_length)
    core.switch_to(live, engine)
