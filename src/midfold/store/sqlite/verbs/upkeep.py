"""Deleting, checking and closing a store in SQLite."""

from midfold.store.base import Deleted, Problem, StoreStatus
from midfold.store.sqlite import deleting, pruning, searching
from midfold.store.sqlite.search import maintain
from midfold.store.sqlite.verbs.base import Verbs


class UpkeepVerbs(Verbs):
    """See `midfold.store.base`."""

    @property
    def status(self) -> StoreStatus:
        """Say how the store is doing."""
        return self._database.status

    def delete(self, session_id: str, *, branches: bool = False) -> Deleted:
        """Delete a conversation: every session of its chain, their index and their sub-agents."""
        self._recalled.clear()
        return deleting.delete(self._database, self._tenant, session_id, branches=branches)

    def prune(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, dry_run: bool = False
    ) -> Deleted:
        """Delete conversations untouched since `older_than`, then the oldest down to `keep_bytes`."""
        self._recalled.clear()
        return pruning.prune(
            self._database, self._tenant, older_than=older_than, keep_bytes=keep_bytes, dry_run=dry_run
        )

    def check(self, *, deep: bool = True) -> list[Problem]:
        """Look for damage, in the file of all tenants. Damage that writing could spread ends all writing."""
        return self._database.check(deep=deep)

    def rebuild_index(self) -> int:
        """Make the search index anew from the messages; return how many there are."""
        return self._database.write(lambda connection: maintain.rebuild(connection, searching.read_texts))

    def forget_loss(self) -> None:
        """Put away the warning that commits are missing from the log."""
        self._database.forget_loss()

    def close(self) -> None:
        """Finish what is waiting and let go of the file; for every tenant."""
        self._database.close()
