"""Both engines, so that every finding is asked of each."""

import pytest

from midfold.redact.patterns import choose_engine, compile_bounded
from midfold.redact.redaction import Finder


@pytest.fixture(scope="session")
def fast():
    """The finder as it is where re2 is installed."""
    return Finder(choose_engine())


@pytest.fixture(scope="session")
def fallback():
    """The finder as it is where re2 is missing."""
    return Finder(compile_bounded)


@pytest.fixture(params=["fast", "fallback"])
def finder(request):
    return request.getfixturevalue(request.param)
