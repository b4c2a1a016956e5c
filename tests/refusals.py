"""How tests look at errors: by class, and by the facts that make their line useful."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from resaudit.base.errors import ResauditError, listed

if TYPE_CHECKING:  # the machine with a GPU that runs the oracles may lack what conftest imports
    from tests.conftest import Completed


@contextmanager
def refused(kind: type[ResauditError], *facts: object) -> Iterator[pytest.ExceptionInfo[ResauditError]]:
    """Assert that the block raises an error of this class, whose one line has these facts; lists as they are listed."""
    with pytest.raises(ResauditError) as caught:
        yield caught
    assert isinstance(caught.value, kind), caught.value
    tells(caught.value, *facts)


def tells(error: ResauditError, *facts: object) -> None:
    """Assert that an error is one line with these facts."""
    line = str(error)
    assert len(line.splitlines()) == 1
    for fact in facts:
        assert (listed(fact) if isinstance(fact, list | tuple) else str(fact)) in line


def assert_exits(completed: "Completed", *facts: object) -> None:
    """Assert that a command failed, and that its last line has these facts: names, paths or values."""
    assert completed.returncode != 0
    line = completed.stderr.strip().splitlines()[-1]
    for fact in facts:
        assert str(fact) in line, completed.stderr
