"""Notices from places that cannot emit events: hooks of engines, and calls that wait to be repeated."""

import asyncio

from midfold.agent.events import Emit, Level, Notice, Topic, ignore
from midfold.errors import EngineContractError
from midfold.providers import Retries


class Notices:
    """Notices that wait to be told; each is told once."""

    def __init__(self) -> None:
        self._waiting: list[Notice] = []
        self._told: set[str] = set()

    def add(self, topic: Topic, text: str) -> None:
        """Say something when somebody listens again."""
        if text not in self._told:
            self._told.add(text)
            self._waiting.append(Notice(Level.WARNING, topic, text))

    def report(self, error: EngineContractError) -> None:
        """Say that an engine broke a promise."""
        self.add(Topic.ENGINE, describe_fault(error))

    def take(self) -> list[Notice]:
        """Return what waits; it is told now."""
        waiting, self._waiting = self._waiting, []
        return waiting


def describe_fault(error: EngineContractError) -> str:
    """Say that an engine broke a promise, and that the conversation goes on."""
    text = str(error)
    return f"{text[0].upper()}{text[1:]}. The conversation goes on as it is."


class RetryNotices:
    """Repeats calls that failed and says so, as a still screen tells nobody why; `emit` is the turn's."""

    def __init__(self) -> None:
        self.emit: Emit = ignore
        self.retries = Retries(sleep=self._wait)

    async def _wait(self, seconds: float) -> None:
        text = f"The model cannot be reached, or is busy; trying again in {seconds:.1f} s."
        self.emit(Notice(Level.INFO, Topic.RECOVERY, text))
        await asyncio.sleep(seconds)
