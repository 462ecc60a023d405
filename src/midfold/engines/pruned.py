"""The content that pruning took out of a conversation, until a summary has seen it.

A pass that only prunes asks nobody. What it leaves are stubs, and a later fold would know no more than they
say; so the engine keeps the originals for that fold.
"""

from collections.abc import Mapping, Sequence

from midfold.folding import Compression
from midfold.messages import Message, MessageDigest, own_digest


class PrunedOriginals:
    """Messages as they were before they were shortened, by what they were shortened to."""

    def __init__(self) -> None:
        self._originals: dict[bytes, Message] = {}

    def find(self, digests: Sequence[MessageDigest]) -> Mapping[int, Message]:
        """Return the originals of the messages with these digests, by index; those of others are let go."""
        found = {
            index: self._originals[digest.own]
            for index, digest in enumerate(digests)
            if digest.own in self._originals
        }
        self._originals = {digests[index].own: message for index, message in found.items()}
        return found

    def remember(self, result: Compression[object]) -> None:
        """Keep what a compression shortened, as it was at first."""
        for edit in result.fold.edits if result.fold else ():
            before = result.before[edit.index]
            original = self._originals.get(own_digest(before), before)
            self._originals[own_digest(edit.apply(before))] = original

    def forget(self) -> None:
        """Let go of everything."""
        self._originals.clear()
