"""What the tests of models share: retries that note their waits instead of waiting."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from midfold.providers import Retries

APIS = ("openai_chat", "openai_responses", "anthropic")


@dataclass
class Waits:
    """Retries that wait for nothing, and what they would have waited."""

    seconds: list[float] = field(default_factory=list)
    max_calls: int = 4

    @property
    def retries(self) -> Retries:
        return Retries(max_calls=self.max_calls, sleep=self._note)

    async def _note(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def every_text() -> Callable[[BaseException], str]:
    """Spell an error in every way in which it may reach a log, with all that it came from."""

    def spell(error: BaseException | None) -> str:
        if error is None:
            return ""
        own = [repr(error), str(error), repr(error.args), repr(vars(error))]
        return "\n".join([*own, spell(error.__cause__), spell(error.__context__)])

    return spell


@pytest.fixture
def every_local() -> Callable[[BaseException], str]:
    """Spell what a report with locals shows of an error: the variables of every frame but those of tests."""

    def spell(error: BaseException | None) -> str:
        if error is None:
            return ""
        frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
        ours = (frame for frame in frames if not frame.f_code.co_filename.endswith("test_leaks.py"))
        shown = [repr(value) for frame in ours for value in frame.f_locals.values()]
        return "\n".join([*shown, spell(error.__cause__), spell(error.__context__)])

    return spell
