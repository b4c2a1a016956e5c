"""The workflow at scale smoke, run once for all tests that look at what it leaves."""

from pathlib import Path

import pytest

from resaudit.config import Config
from tests.conftest import CHECKOUT, Completed, run_command, snakemake_command


def smoke_command(*arguments: str, config: tuple[str, ...] = (), cores: str = "all") -> list[str]:
    data = f"overrides=[paths.data={CHECKOUT / 'data'}]"
    return snakemake_command(*arguments, "--config", "scale=smoke", data, *config, cores=cores)


def smoke(folder: Path, *arguments: str, config: tuple[str, ...] = (), cores: str = "all") -> Completed:
    return run_command(*smoke_command(*arguments, config=config, cores=cores), cwd=folder, timeout=900)


@pytest.fixture(scope="session")
def smoked(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every figure has been drawn at scale smoke, without interruption."""
    assert mnist_config
    folder = tmp_path_factory.mktemp("smoke")
    run = smoke(folder)
    assert run.returncode == 0, run.stderr[-3000:]
    return folder
