"""Totals for reports, as a store of dictionaries has them."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from midfold.store import ActiveConversation, Call, CallSum, ConversationFigures, pack_value
from midfold.store.codec import read_value
from midfold.store.figures import SUMMED_SECONDS
from midfold.tokens import CanonicalUsage
from support.dict_store.base import Verbs


class FigureVerbs(Verbs):
    """`Figures` of `midfold.store.figures`."""

    def sum_calls(self, since: float, *, steps: Sequence[int] = ()) -> list[CallSum]:
        """Add up the calls since then, whatever sessions they are of."""
        with self._lock:
            key = _alike(steps)
            found = sorted(
                (call for call in self._tenant.calls.values() if (call.created_at or 0.0) >= since), key=key
            )
            return [_add_up(list(calls)) for _, calls in groupby(found, key)]

    def active_conversations(self, since: float) -> list[ActiveConversation]:
        """List the conversations that had calls since then, by their newest calls."""
        with self._lock:
            newest: dict[str, float] = {}
            for call in self._tenant.calls.values():
                conversation = self._find(call.session_id or "").conversation
                if (at := call.created_at or 0.0) >= since:
                    newest[conversation] = max(newest.get(conversation, at), at)
            return [
                self._describe_activity(name, at)
                for name, at in sorted(newest.items(), key=lambda each: -each[1])
            ]

    def keep_figures(self, figures: Sequence[ConversationFigures]) -> None:
        """Keep figures with their conversations."""
        with self._lock:
            for each in figures:
                if self._tenant.in_conversation(each.conversation_id):
                    self._tenant.figures[each.conversation_id] = (
                        each.mark,
                        pack_value(each.value, self._redactor.key("")),
                    )

    def _describe_activity(self, name: str, newest_call_at: float) -> ActiveConversation:
        entries = self._tenant.in_conversation(name)
        ids = {entry.id for entry in entries}
        chain = [entry.session for entry in entries if not entry.session.is_undone]
        reach = (
            sum(len(entry.written) for entry in entries),
            len(entries),
            len(chain),
            sum(call.session_id in ids for call in self._tenant.calls.values()),
        )
        model = next((each.model for each in reversed(chain) if each.model), None)
        dialect = next((each.dialect for each in chain if each.dialect), None)
        mark = f"{reach} {model} {dialect}"
        kept = self._tenant.figures.get(name, ("", ""))
        return ActiveConversation(
            name,
            mark,
            newest_call_at,
            len(chain),
            model,
            dialect,
            read_value(kept[1]) if kept[0] == mark else None,
        )


def _alike(steps: Sequence[int]) -> Callable[[Call], tuple[object, ...]]:
    def key(call: Call) -> tuple[object, ...]:
        usage = call.usage
        cache = (
            usage.cache_read_tokens > 0,
            usage.cache_write_tokens > usage.cache_write_1h_tokens,
            usage.cache_write_1h_tokens > 0,
        )
        reached = sum(usage.prompt_tokens > step for step in steps)
        return (_quarter(call), call.source or "", call.model, call.purpose, call.cost_kind, cache, reached)

    return key


def _add_up(calls: Sequence[Call]) -> CallSum:
    first, costs = calls[0], [call.cost for call in calls if call.cost is not None]
    return CallSum(
        at=_quarter(first),
        source=first.source or "",
        model=first.model,
        purpose=first.purpose,
        cost_kind=first.cost_kind,
        calls=len(calls),
        usage=_total(call.usage for call in calls),
        cost=sum(costs[1:], costs[0]) if costs else None,
        longest_prompt=max(call.usage.prompt_tokens for call in calls),
    )


def _total(usages: Iterable[CanonicalUsage]) -> CanonicalUsage:
    return sum(usages, CanonicalUsage())


def _quarter(call: Call) -> float:
    return (call.created_at or 0.0) // SUMMED_SECONDS * SUMMED_SECONDS
