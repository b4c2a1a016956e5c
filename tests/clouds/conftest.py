"""An S3 server for the tests of a file."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clouds.bucket import S3, why_not


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="resaudit-s3-"))
    server = S3(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
