"""The timeouts and errors of a connection; without the HTTP client, which is slow to import."""

from midfold.late_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds. There is no limit to a whole call: a long answer that keeps coming is fine."""

    connect: float = 5.0
    """For a connection: a free slot in the pool, the address of the name, and the server's consent."""
    headers: float = 120.0
    """From the request to the first line of the answer; models that think first take their time."""
    idle: float = 90.0
    """Between one piece of the answer and the next."""
    error_body: float = 5.0
    """For the whole body of an error, whose status is known by then."""


DEFAULT_TIMEOUTS = Timeouts()


class ConnectionBroken(Exception):
    """No answer came, or not all of it."""

    def __init__(self, reason: str, *, may_pass: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.may_pass = may_pass
