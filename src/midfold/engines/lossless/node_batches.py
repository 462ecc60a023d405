"""Summaries in the store: those of one compression are one value, and so one transaction.

Batches are numbered from 0 and never changed. A crash leaves all summaries of a compression, or none.
"""

from collections.abc import Iterable, Iterator

from midfold.engines.base import EngineStore
from midfold.engines.lossless.nodes import SummaryNode
from midfold.folding import Span
from midfold.late_dataclasses import dataclass

_BATCH = "lcm.nodes."


@dataclass(frozen=True, slots=True)
class NodeBatches:
    """The batches of one conversation; every method raises `StoreError`."""

    store: EngineStore
    session_id: str

    def load(self, number: int) -> list[SummaryNode] | None:
        """Return the summaries of a batch, without those that cannot be read; `None` where there is none."""
        found = self.store.load_state(self.session_id, f"{_BATCH}{number}")
        if found is None:
            return None
        nodes = (_from_json(each) for each in (found if isinstance(found, list) else ()))
        return [node for node in nodes if node is not None]

    def load_from(self, number: int) -> Iterator[list[SummaryNode]]:
        """Yield the batches from a number on."""
        while (nodes := self.load(number)) is not None:
            yield nodes
            number += 1

    def add(self, number: int, nodes: Iterable[SummaryNode]) -> bool:
        """Write a batch unless another engine, here or in another process, has written that one."""
        return self.store.add_state(self.session_id, f"{_BATCH}{number}", [_to_json(node) for node in nodes])


def _to_json(node: SummaryNode) -> dict[str, object]:
    return {
        "id": node.id,
        "depth": node.depth,
        "spans": [[span.start, span.stop] for span in node.spans],
        "children": list(node.children),
        "body": node.body,
        "source_tokens": node.source_tokens,
        "tokens": node.tokens,
        "dropped": list(node.dropped),
    }


def _from_json(value: object) -> SummaryNode | None:
    """Read a node; `None` for a value that is none."""
    if not isinstance(value, dict):
        return None
    try:
        return SummaryNode(
            id=str(value["id"]),
            depth=int(value["depth"]),
            spans=tuple(Span(int(start), int(stop)) for start, stop in value["spans"]),
            children=tuple(map(str, value["children"])),
            body=str(value["body"]),
            source_tokens=int(value["source_tokens"]),
            tokens=int(value["tokens"]),
            dropped=tuple(map(str, value["dropped"])),
        )
    except (KeyError, TypeError, ValueError):
        return None
