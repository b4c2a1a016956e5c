"""Oracle: the operating system's locks, held by real processes; the devices are made up.

Sees two jobs on one GPU beside a free one, a claim that outlives its process, a scheduler's assignment that is
overruled.
"""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from resaudit.base.errors import MachineError
from resaudit.runtime import devices
from resaudit.runtime.devices import VISIBLE, claim_device, cuda_is_usable, visible_devices
from tests.refusals import refused

CLAIM = """
import sys
from pathlib import Path
from resaudit.runtime import devices
from resaudit.runtime.devices import VISIBLE, claim_device
environment = dict(item.split("=", 1) for item in sys.argv[3:])
claimed = claim_device(environment, folder=Path(sys.argv[1]), nodes=Path(sys.argv[2]))
print(claimed, environment.get(VISIBLE), flush=True)
sys.stdin.read()
"""

TORCH = """
import os
class cuda:
    is_available = lambda: os.environ["CUDA_VISIBLE_DEVICES"] == "0"
def ones(count, device):
    assert device == "cuda"
    return Numbers()
class Numbers:
    def tolist(self):
        {ones}
"""
"""A torch that sees device 0 alone."""


class Job:
    """A process that claims a device and holds it until it is ended."""

    def __init__(self, tmp_path: Path, *environment: str, devices: int = 3) -> None:
        nodes = tmp_path / "dev"
        nodes.mkdir(exist_ok=True)
        for name in ("nvidiactl", "nvidia-uvm", *(f"nvidia{number}" for number in range(devices))):
            (nodes / name).touch()
        (tmp_path / "locks").mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(tmp_path / "locks"), str(nodes), *environment],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def claimed(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def test_processes_spread_over_the_devices_and_a_killed_one_gives_its_own_back(tmp_path: Path) -> None:
    jobs = [Job(tmp_path) for _ in range(6)]
    claims = [job.claimed() for job in jobs]
    assert sorted(claims) == [[device, device] for device in "001122"]
    jobs[4].kill()
    late = Job(tmp_path)
    assert late.claimed() == claims[4]
    for job in (*jobs[:4], *jobs[5:], late):
        job.kill()


def test_only_what_is_visible_is_claimed(tmp_path: Path) -> None:
    jobs = [Job(tmp_path, f"{VISIBLE}=2,GPU-5ebe9f43") for _ in range(2)]
    assert sorted(job.claimed() for job in jobs) == [["2", "2"], ["GPU-5ebe9f43", "GPU-5ebe9f43"]]
    for job in jobs:
        job.kill()


@pytest.mark.parametrize(("environment", "devices"), [((), 0), ((f"{VISIBLE}=",), 3), ((f"{VISIBLE}=-1",), 3)])
def test_without_a_device_nothing_is_claimed(environment: tuple[str, ...], devices: int, tmp_path: Path) -> None:
    job = Job(tmp_path, *environment, devices=devices)
    assert job.claimed()[0] == "None"
    assert not list((tmp_path / "locks").iterdir())
    job.kill()


def test_jobs_of_slurm_that_both_see_device_0_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """With its devices constrained, Slurm numbers those of every job from 0."""
    script = (
        "import sys; from resaudit.runtime.devices import claim_device; "
        "print(claim_device(), flush=True); sys.stdin.read()"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(tmp_path), VISIBLE: "0", "SLURM_JOB_ID": str(job)},
        )
        for job in (7, 8)
    ]  # fmt: skip
    try:
        for process in started:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 60)[0]  # else it waits for the other's device
            assert process.stdout.readline().strip() == "0"
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_a_folder_of_locks_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / f"resaudit-devices-{os.getuid()}").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with refused(MachineError, tmp_path / f"resaudit-devices-{os.getuid()}"):
        claim_device({VISIBLE: "0"})


def test_asking_twice_claims_once(tmp_path: Path) -> None:
    script = (
        "from resaudit.runtime.devices import claim_device; from pathlib import Path; import sys;"
        "environment = {'CUDA_VISIBLE_DEVICES': '1,2'}; folder = Path(sys.argv[1]);"
        "print(claim_device(environment, folder), claim_device(environment, folder))"
    )
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "1"]
    assert [file.name for file in tmp_path.iterdir()] == ["1.0.lock"]


@pytest.mark.parametrize(("said", "usable"), [("", False), ("0", True), ("1", False), ("-1", False)])
def test_a_device_is_of_use_only_if_torch_says_so(
    said: str, usable: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Asked in a process that sees what this one would see: a torch that can use device 0 alone."""
    (tmp_path / "torch.py").write_text(TORCH.format(ones="return 1.0, 1.0"))
    environment = {**os.environ, VISIBLE: said, "PYTHONPATH": str(tmp_path)}
    assert cuda_is_usable(environment) is usable
    assert not capfd.readouterr().err


def test_a_device_that_torch_has_no_kernels_for_is_not_used_and_a_warning_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fails = "raise RuntimeError('CUDA error: no kernel image is available\\nCompile with more')"
    (tmp_path / "torch.py").write_text(TORCH.format(ones=fails))
    assert not cuda_is_usable({**os.environ, VISIBLE: "0", "PYTHONPATH": str(tmp_path)})
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("resaudit: warning: ")
    assert "(CUDA error: no kernel image is available)" in line


def test_a_driver_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("import time\ntime.sleep(600)")
    monkeypatch.setattr(devices, "SECONDS_TO_ANSWER", 0.5)
    start = time.monotonic()
    assert not cuda_is_usable({**os.environ, VISIBLE: "0", "PYTHONPATH": str(tmp_path)})
    assert time.monotonic() - start < 60
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("resaudit: warning: ")


def test_without_a_list_all_devices_are_visible(tmp_path: Path) -> None:
    for name in ("nvidiactl", "nvidia0", "nvidia5", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert visible_devices({}, tmp_path) == ["0", "1"]
