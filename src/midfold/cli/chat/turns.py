"""Work of an agent that a person watches and may stop."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from midfold.agent import Agent, ApprovalRequested, Continued, Done, Interrupted, ModelCalled
from midfold.cli.chat.signals import ended_after
from midfold.cli.chat.view.base import ChatView
from midfold.late_dataclasses import dataclass


def take_turn(
    agent: Agent, prompt: str | None, view: ChatView, answer: Callable[[ApprovalRequested], None]
) -> bool:
    """Say something to an agent and show what happens; false where it was stopped.

    Raises what `Agent.run` raises, but for `KeyboardInterrupt`.
    """
    is_done = False
    with view.working("waiting for the model"), stoppable(agent, view):
        for event in agent.run(prompt):
            view.show(event)
            is_done = isinstance(event, Done)
            if isinstance(event, ApprovalRequested):
                _ask(agent, event, answer)
            elif isinstance(event, ModelCalled | Continued):
                view.set_status(agent.status(), agent.usage())
    return is_done


@dataclass(slots=True)
class _Stopper:
    """Stops an agent at the first Ctrl-C, and does not wait until it has stopped at the second."""

    agent: Agent
    view: ChatView
    was_used: bool = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if self.was_used:
            raise KeyboardInterrupt
        self.was_used = True
        self.view.note_stopping()
        self.agent.interrupt()


@contextmanager
def stoppable(agent: Agent, view: ChatView) -> Iterator[None]:
    """Let Ctrl-C stop the agent; the block is left without an error, however often it is pressed."""
    previous = signal.signal(signal.SIGINT, _Stopper(agent, view))
    try:
        with ended_after(agent.interrupt):
            yield
    except KeyboardInterrupt:
        view.show(Interrupted(""))
    finally:
        signal.signal(signal.SIGINT, previous)


def _ask(agent: Agent, event: ApprovalRequested, answer: Callable[[ApprovalRequested], None]) -> None:
    try:
        answer(event)
    except KeyboardInterrupt:
        agent.interrupt()
