"""Waiting before a call that failed is made again, and saying so: a still screen tells nobody why."""

import asyncio

from midfold.agent.events import Emit, Level, Notice, Topic, ignore
from midfold.providers import Retries


class Patience:
    """How the calls of an agent are repeated; `emit` is whoever watches the turn that is under way."""

    def __init__(self) -> None:
        self.emit: Emit = ignore
        self.retries = Retries(sleep=self._wait)

    async def _wait(self, seconds: float) -> None:
        text = f"The model cannot be reached, or is busy; trying again in {seconds:.1f} s."
        self.emit(Notice(Level.INFO, Topic.RECOVERY, text))
        await asyncio.sleep(seconds)
