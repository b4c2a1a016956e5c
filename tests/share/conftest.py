"""One archive of the shared smoke run for all tests of this folder."""

from pathlib import Path

import pytest

from tests.share.archives import pack


@pytest.fixture(scope="session")
def archive(smoked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of one figure with Hessians of networks, on whitened data."""
    return pack(smoked, tmp_path_factory.mktemp("packed"))
