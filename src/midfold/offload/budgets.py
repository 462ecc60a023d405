"""Limits of tool output in the context."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from midfold.late_dataclasses import dataclass, field

READER = "read_persisted_output"
"""The tool that reads offloaded output back."""
MAX_READ_CHARS = 50_000
"""The most text that one call of the reader gives."""
FRAME_CHARS = 1_000
"""More than a block takes beside its preview, so that what is longer than both gets shorter for certain."""
_READER_CHARS = MAX_READ_CHARS + FRAME_CHARS
# The note in a cut alone takes some 200 characters; less than this around it would say nothing.
_LEAST_CUT_CHARS = 600


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits in characters: of a result, of all results of a turn, of a preview, of single tools' results.

    A tool with an infinite limit is exempt from the limit of a result, not from that of a turn. Without the
    exemption, reading an offloaded result would offload it again.
    """

    result_chars: float = 100_000
    turn_chars: float = 200_000
    preview_chars: int = 1_500
    per_tool: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({"read_file": math.inf}))

    def limit_of(self, tool: str) -> float:
        """Return the longest result of `tool`; the length that the reader promises is always allowed."""
        limit = self.per_tool.get(tool, self.result_chars)
        return max(limit, _READER_CHARS) if tool == READER else limit

    @property
    def smallest_limit(self) -> float:
        """No result up to this length is over the limit of its tool, whichever that is."""
        return min(self.result_chars, *self.per_tool.values()) if self.per_tool else self.result_chars

    @property
    def block_chars(self) -> int:
        """The most that a block takes; offloading a result that is no longer would not make it shorter."""
        return self.preview_chars + FRAME_CHARS

    def cut_chars(self, tool: str, results: int = 1) -> int:
        """Return what stays of a result that cannot be kept, in a turn of so many.

        It is all there will ever be of it, so it is as much as the limits allow: its share of the turn.
        """
        share = max(self.turn_chars / max(results, 1), 2 * self.preview_chars)
        return int(max(min(self.limit_of(tool), share), _LEAST_CUT_CHARS))
