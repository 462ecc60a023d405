"""How long to wait for what. There is no limit to a whole call: a long answer that keeps coming is fine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds."""

    connect: float = 5.0
    """For a connection: a free place in the pool, the address of the name, and the server's consent."""
    headers: float = 120.0
    """From the request to the first line of the answer; models that think first take their time."""
    idle: float = 90.0
    """Between one piece of the answer and the next."""
    error_body: float = 5.0
    """For the whole body of an error, whose status is known by then."""


DEFAULT_TIMEOUTS = Timeouts()
