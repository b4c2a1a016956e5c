"""How tests look at a fetch that fails: by the sources that it tried."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from resaudit.base.errors import DataError, ResauditError
from tests.refusals import refused


@contextmanager
def no_source(*facts: object, tried: Sequence[str] = ("folder",)) -> Iterator[pytest.ExceptionInfo[ResauditError]]:
    """Assert that a fetch fails at each of these sources, in order, in one line with names or values."""
    with refused(DataError, "no source has", *facts) as caught:
        yield caught
    attempts = str(caught.value).partition("; tried ")[2].rpartition("; by hand: ")[0]
    places = [attempts.find(f"{source}: ") for source in tried]
    assert places == sorted(places)
    assert places[0] == 0
