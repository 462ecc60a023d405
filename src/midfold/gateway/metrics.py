"""Figures for Prometheus, in its text format. Labels come from tables of ours, never from a client."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels: TypeAlias = tuple[tuple[str, str], ...]

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_HELP = {
    "midfold_requests_total": ("counter", "Requests by kind and status."),
    "midfold_open_requests": ("gauge", "Requests under way."),
    "midfold_request_seconds": ("histogram", "Time from a request of a client to the end of its answer."),
    "midfold_sent_tokens_total": ("counter", "Estimated prompt tokens that were sent upstream."),
    "midfold_saved_tokens_total": ("counter", "Estimated prompt tokens that folds left out."),
    "midfold_folded_requests_total": ("counter", "Requests that were sent folded."),
    "midfold_watchers": ("gauge", "Pages that watch live events."),
}


class GatewayMetrics:
    """Counts what a gateway does; from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, Labels]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds_sum = 0.0
        self._seconds_count = 0

    def count_request(self, kind: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._counts["midfold_requests_total", (("kind", kind), ("status", str(status)))] += 1
            self._seconds_sum += seconds
            self._seconds_count += 1
            for most in _SECONDS:
                self._buckets[most] += seconds <= most

    def count_tokens(self, sent: int, saved: int, *, is_folded: bool) -> None:
        """Count the tokens of a request that was sent upstream."""
        with self._lock:
            self._counts["midfold_sent_tokens_total", ()] += sent
            self._counts["midfold_saved_tokens_total", ()] += saved
            self._counts["midfold_folded_requests_total", ()] += is_folded

    def write(self, gauges: Mapping[str, int]) -> str:
        """Write all figures."""
        with self._lock:
            counts, buckets = dict(self._counts), dict(self._buckets)
            total, seconds = self._seconds_count, self._seconds_sum
        lines: list[str] = []
        for name, (kind, words) in _HELP.items():
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
            if kind == "histogram":
                lines += [
                    _line(f"{name}_bucket", (("le", f"{most:g}"),), buckets.get(most, 0)) for most in _SECONDS
                ]
                lines += [
                    _line(f"{name}_bucket", (("le", "+Inf"),), total),
                    _line(f"{name}_sum", (), round(seconds, 6)),
                    _line(f"{name}_count", (), total),
                ]
            elif name in gauges:
                lines.append(_line(name, (), gauges[name]))
            else:
                lines += _sorted_lines(name, counts)
        return "\n".join([*lines, ""])


def _sorted_lines(name: str, counts: Mapping[tuple[str, Labels], int]) -> Iterable[str]:
    own = sorted((labels, value) for (counted, labels), value in counts.items() if counted == name)
    return [_line(name, labels, value) for labels, value in own]


def _line(name: str, labels: Labels, value: float) -> str:
    named = ",".join(f'{label}="{_escape(text)}"' for label, text in labels)
    return f"{name}{{{named}}} {value}" if named else f"{name} {value}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
