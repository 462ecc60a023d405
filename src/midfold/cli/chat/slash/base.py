"""Slash commands, and the context that they work in."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from rich.console import Console
from rich.text import Text

from midfold.agent import Agent
from midfold.cli.chat.view.base import ChatView
from midfold.config import Settings
from midfold.late_dataclasses import dataclass
from midfold.providers import Provider, read_providers


class NextStep(Enum):
    """The step after a command."""

    PROMPT = "the next prompt"
    GO_ON = "the turn that was not finished"
    QUIT = "the end"


@dataclass(frozen=True, slots=True)
class ChatContext:
    """The objects that a command works with."""

    agent: Agent
    console: Console
    view: ChatView
    settings: Settings

    def say(self, *lines: Text) -> None:
        """Print the answer to a command."""
        for line in lines:
            self.console.print(line, soft_wrap=True)

    @property
    def providers(self) -> Mapping[str, Provider]:
        """The providers that a model may be named by."""
        return read_providers(self.settings.providers)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A completion of a line: `text` replaces the last `replaces` characters."""

    text: str
    meaning: str = ""
    replaces: int = 0


class UsageProblem(Exception):
    """A command was not given what it needs; the text says what that is."""


Run = Callable[[ChatContext, str], NextStep | None]
"""Runs a command with what was written after its name; `None` is the next prompt."""
Offer = Callable[[ChatContext], Sequence[Suggestion]]
"""Offers the words that may follow the name of a command."""


def no_choices(_chat: ChatContext) -> Sequence[Suggestion]:
    """Offer nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class CommandForm:
    """A way to write a command, after its name, and what it then does."""

    usage: str
    does: str


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command by its name, the forms that it has, and what may follow the name."""

    name: str
    forms: tuple[CommandForm, ...]
    run: Run
    aliases: tuple[str, ...] = ()
    choices: Offer = no_choices
