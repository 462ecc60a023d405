"""Going on with another model: one with a smaller window gets a conversation that fits into it.

The fold is made before the switch, so that the model which has seen everything writes the summary.
"""

from midfold.agent.core import Core
from midfold.agent.events import Emit, Level, Notice, Topic, Why
from midfold.agent.folding import fold, take_back, too_large
from midfold.agent.live import Live
from midfold.concurrency import run_in_thread, shield_until_done
from midfold.tokens import TokenCounter

TAKEN_BACK = "The fold was taken back: the conversation does not fit into the other model even so."


async def switch(core: Core, live: Live, emit: Emit) -> None:
    """Let `live` take over.

    Raises `StillTooLarge` where the conversation does not fit even when it is folded, and `StoreError`; then
    model and conversation stay as they are. Where compression is off, nothing is folded.
    """
    policy, conversation = core.policy_for(live), core.conversation
    tokens, window = _count(core, live), policy.context_length
    least = tokens - _count_messages(core, live)
    is_due = core.engine.enabled and bool(conversation.items) and tokens >= policy.threshold_tokens
    if is_due and least <= window:
        result = await fold(core, Why.MODEL, emit, most_tokens=policy.target_tokens)
        tokens = _count(core, live)
        if result.changed and tokens > window:
            error = too_large(core, tokens, window)
            await shield_until_done(run_in_thread(take_back, core))
            emit(Notice(Level.INFO, Topic.STORE, TAKEN_BACK))
            raise error
    if max(tokens, least) > window:
        raise too_large(core, max(tokens, least), window)
    core.switch_to(live)


def _count(core: Core, live: Live) -> int:
    """Count the next request as another model does."""
    count, conversation = TokenCounter(live.ref.name), core.conversation
    beside = count.count_text(conversation.system) + count.count_tools(core.schemas)
    return beside + _count_messages(core, live)


def _count_messages(core: Core, live: Live) -> int:
    return sum(map(TokenCounter(live.ref.name), core.conversation.messages))
