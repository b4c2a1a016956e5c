"""The workflow where there is no network at all. Sees a stage other than fetch that would reach for one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from resaudit.config import Config
from tests.conftest import CHECKOUT, OF_EACH_KIND, Completed, run_command, smoke_command

REACH = (
    "import socket\n"
    "assert [name for _, name in socket.if_nameindex()] == ['lo']\n"
    "try: socket.create_connection(('192.0.2.1', 80), timeout=5)\n"
    "except OSError as error: assert error.errno == 101, error\n"
    "else: raise SystemExit('there is a network')\n"
)


def without_network(*command: str, cwd: Path) -> Completed:
    """A command in a network namespace of its own, whose only interface is the loopback, and that is down."""
    return run_command("unshare", "--net", "--map-root-user", *command, cwd=cwd, timeout=900)


@pytest.fixture(autouse=True)
def _namespaces_are_allowed() -> None:
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare (util-linux) here")
    tried = subprocess.run(["unshare", "--net", "--map-root-user", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"this machine allows no network namespaces: {tried.stderr.strip()}")


def test_there_is_no_network_in_the_namespace(tmp_path: Path) -> None:
    run = without_network(sys.executable, "-c", REACH, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_fetched_data_are_all_that_a_run_needs(mnist_config: Config, tmp_path: Path) -> None:
    assert mnist_config
    few = ("fig05.protocol.networks=[2-shortcut]", "fig08.protocol.networks=[2-shortcut-relu]")
    given = ",".join([f"paths.data={CHECKOUT / 'data'}", *(f"figure.demystifying_resnet.{each}" for each in few)])
    command = smoke_command(config=(OF_EACH_KIND, f"overrides=[{given}]"))
    run = without_network(*command, cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    drawn = {path.name for path in tmp_path.glob("figures/demystifying_resnet/*")}
    assert {"fig05.csv", "fig05.pdf", "fig08.csv", "fig08.pdf", "theorem1.csv", "theorem1.pdf"} <= drawn
    assert (tmp_path / "figures" / "audit.html").is_file()


def test_fetch_alone_says_that_it_needs_one(tmp_path: Path) -> None:
    """The counterpart: where data are not there yet, that stage is what fails, in one line."""
    run = without_network(
        sys.executable, "-m", "resaudit", "fetch", "mnist", "dataset.sources=[torchvision]", cwd=tmp_path
    )
    assert run.returncode == 1
    assert run.stderr.startswith("resaudit: error: no source has MNIST; tried torchvision: download failed")
    assert run.stderr.count("\n") == 1
