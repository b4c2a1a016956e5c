"""How tests look at errors: by code and fields. Their sentences are in tests/frozen/sentences.txt alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from resaudit.base.errors import ResauditError

if TYPE_CHECKING:  # the machine with a GPU that runs the oracles may lack what conftest imports
    from tests.conftest import Completed


@contextmanager
def refused(code: str, **fields: object) -> Iterator[pytest.ExceptionInfo[ResauditError]]:
    """Assert that the block raises a ``ResauditError`` of this code, with these fields among its own."""
    with pytest.raises(ResauditError) as caught:
        yield caught
    error = caught.value
    assert error.code == code, error.line
    assert error.fields | fields == error.fields
    assert len(error.line.splitlines()) == 1


def assert_exits(completed: "Completed", code: str, *mentioned: Any) -> None:
    """Assert that a command failed with one line of this code that mentions names, paths or values."""
    assert completed.returncode != 0
    line = completed.stderr.strip().splitlines()[-1]
    assert line.endswith(f"[{code}]"), completed.stderr
    for each in mentioned:
        assert str(each) in line
