"""The store of dictionaries, put together from its groups of verbs."""

from typing import Self

from support.dict_store.chains import ChainVerbs
from support.dict_store.figures import FigureVerbs
from support.dict_store.finding import SearchVerbs
from support.dict_store.sessions import MessageVerbs, SessionVerbs
from support.dict_store.upkeep import StateVerbs, UpkeepVerbs, UsageVerbs


class DictStore(
    SessionVerbs, MessageVerbs, ChainVerbs, SearchVerbs, UsageVerbs, FigureVerbs, StateVerbs, UpkeepVerbs
):
    """Sessions in memory; see `Store` for the verbs. Stores with one `Shelf` are one store."""

    def for_tenant(self, tenant: str) -> "DictStore":
        """Return the same store as another tenant sees it."""
        return DictStore(
            self._shelf,
            tenant=tenant,
            redact=self._redactor.is_on,
            clock=self._clock,
            before_continue=self._hooks,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
