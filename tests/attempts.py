"""How tests look at a fetch that fails: by the code of the attempt at each source."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from resaudit.base.errors import ResauditError
from tests.refusals import refused


@contextmanager
def no_source(*mentioned: object, **codes: str) -> Iterator[pytest.ExceptionInfo[ResauditError]]:
    """Assert that a fetch fails with an error of this code at each source, in order, which mention names or values."""
    with refused("no-source") as caught:
        yield caught
    attempts = caught.value.fields["attempts"]
    assert isinstance(attempts, list)
    found = {attempt.split(":")[0]: attempt.rpartition("[")[2].rstrip("]") for attempt in attempts}
    assert list(found.items()) == list(codes.items()), attempts
    for each in mentioned:
        assert str(each) in str(caught.value)
