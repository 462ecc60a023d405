"""Both engines, so that every finding is asked of each."""

import pytest

from midfold.redact.engine import bounded, re2_or_bounded
from midfold.redact.find import Finder


@pytest.fixture(scope="session")
def fast():
    """The finder as it is where re2 is installed."""
    return Finder(re2_or_bounded())


@pytest.fixture(scope="session")
def fallback():
    """The finder as it is where re2 is missing."""
    return Finder(bounded)


@pytest.fixture(params=["fast", "fallback"])
def finder(request):
    return request.getfixturevalue(request.param)
