"""Notices from code that cannot emit events: hooks of engines, and calls that wait to be repeated."""

import asyncio

from midfold.agent.events import Emit, Level, Notice, Topic, ignore
from midfold.errors import EngineContractError
from midfold.providers import Retries


class Notices:
    """Notices that wait for a turn to emit them; each is emitted once."""

    def __init__(self) -> None:
        self._waiting: list[Notice] = []
        self._known: set[str] = set()

    def add(self, topic: Topic, text: str) -> None:
        """Keep a warning until the next turn takes it."""
        self._keep(Notice(Level.WARNING, topic, text))

    def tell(self, topic: Topic, text: str) -> None:
        """Keep something worth knowing until the next turn takes it."""
        self._keep(Notice(Level.INFO, topic, text))

    def _keep(self, notice: Notice) -> None:
        if notice.text not in self._known:
            self._known.add(notice.text)
            self._waiting.append(notice)

    def report(self, error: EngineContractError) -> None:
        """Say that an engine broke a promise."""
        self.add(Topic.ENGINE, describe_fault(error))

    def take(self) -> list[Notice]:
        """Return the notices that wait, and forget them."""
        waiting, self._waiting = self._waiting, []
        return waiting


def describe_fault(error: EngineContractError) -> str:
    """Say that an engine broke a promise, and that the conversation goes on."""
    text = str(error)
    return f"{text[0].upper()}{text[1:]}. The conversation goes on as it is."


class RetryNotices:
    """Repeats calls that failed, with a notice, as a still screen explains nothing; `emit` is the turn's."""

    def __init__(self) -> None:
        self.emit: Emit = ignore
        self.retries = Retries(sleep=self._wait)

    async def _wait(self, seconds: float) -> None:
        text = f"The model cannot be reached, or is busy; trying again in {seconds:.1f} s."
        self.emit(Notice(Level.INFO, Topic.RECOVERY, text))
        await asyncio.sleep(seconds)
