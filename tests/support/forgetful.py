"""A store that keeps no figures, and adds nothing up: what reports are compared with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from midfold.store import ActiveConversation, CallSum, ConversationFigures, Store


class Forgetful:
    """Answers as the store does, but each call is a sum of its own, and every report a full scan."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def sum_calls(self, since: float, *, steps: Sequence[int] = ()) -> list[CallSum]:
        return [
            CallSum(
                at=call.created_at or 0.0,
                source=call.source or "",
                model=call.model,
                purpose=call.purpose,
                cost_kind=call.cost_kind,
                calls=1,
                usage=call.usage,
                cost=call.cost,
                longest_prompt=call.usage.prompt_tokens,
            )
            for call in self._store.calls(since=since)
        ]

    def active_conversations(self, since: float) -> list[ActiveConversation]:
        return [replace(each, figures=None) for each in self._store.active_conversations(since)]

    def keep_figures(self, figures: Sequence[ConversationFigures]) -> None:
        pass
