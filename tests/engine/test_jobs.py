"""Oracle: hand-made results on disk. Sees results of other settings taken, half files, the wrong rate or data."""

import dataclasses
import errno
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from resaudit.base.errors import ConfigError, MachineError, ResauditError, ResultsError
from resaudit.base.files import sha256_of, write_json, written_whole
from resaudit.data.whiten import Moments, Whitened, summary
from resaudit.jobs.checkpoints import Checkpoint, made_by
from resaudit.jobs.job import Execution, Work
from resaudit.jobs.plan_files import write_job
from resaudit.jobs.results import save_arrays
from resaudit.jobs.runner import device_of, run_job
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan, execution_of, make_plan
from resaudit.runtime import devices, machine
from resaudit.runtime.progress import Progress
from tests.conftest import CHECKOUT, first_of, run_command, run_planned
from tests.ran import RAN
from tests.refusals import refused


def plan(*overrides: str) -> Plan:
    return make_plan(load(overrides))


@dataclasses.dataclass
class State:
    """What a checkpoint keeps of a made-up job."""

    step: np.ndarray


def first_training(figure: str) -> Any:
    return first_of(plan(f"figures=[{figure}]", "scale=smoke"), "train")


def first_hessians() -> Any:
    return first_of(plan("figures=[demystifying_resnet/fig04]", "scale=smoke"), "hessians")


def record(folder: Path) -> None:
    """The provenance of what lies in a folder, as the runner writes it."""
    digests = {file.name: sha256_of(file) for file in folder.glob("*.npz")}
    write_json(folder / "provenance.json", RAN | {"sha256": digests})


def test_a_result_is_read_only_with_its_own_settings_beside_it(tmp_path: Path) -> None:
    hessians = first_hessians()
    folder, values = hessians.folder(tmp_path), np.ones((1, 2))
    save_arrays(folder / "spectra.npz", hessians.files["spectra.npz"](*[values] * 7, values > 0))
    with refused(ResultsError, folder / "settings.json"):
        hessians.read(tmp_path)
    write_json(folder / "settings.json", hessians.identity | {"seed": 2})
    with refused(ResultsError, folder / "settings.json"):
        hessians.read(tmp_path)
    write_json(folder / "settings.json", hessians.identity)
    with refused(ResultsError, folder / "provenance.json"):
        hessians.read(tmp_path)
    record(folder)
    assert hessians.read(tmp_path).lambda_max.shape == (1, 2)


@pytest.mark.parametrize(
    "edit", [lambda whole: whole[:-1], lambda whole: whole.replace(b"lambda", b"Lambda"), bytes.title]
)
def test_a_result_edited_behind_ones_back_is_never_used(edit: Callable[[bytes], bytes], tmp_path: Path) -> None:
    hessians = first_hessians()
    folder, values = hessians.folder(tmp_path), np.ones((1, 2))
    path = folder / "spectra.npz"
    save_arrays(path, hessians.files["spectra.npz"](*[values] * 7, values > 0))
    write_json(folder / "settings.json", hessians.identity)
    record(folder)
    path.write_bytes(edit(path.read_bytes()))
    with refused(ResultsError, path):
        hessians.read(tmp_path)
    for nonsense in ("", "[]", "{}", '{"sha256": 3}'):
        (folder / "provenance.json").write_text(nonsense)
        with refused(ResultsError, folder / "provenance.json"):
            hessians.read(tmp_path)


def test_samples_are_read_only_as_they_were_whitened(whitened: Whitened, tmp_path: Path) -> None:
    """What training with ReLUs and theorems read; no figure's own evidence."""
    data = first_of(plan("figures=[fig07]"), "whiten")
    folder = data.folder(tmp_path)
    few = dataclasses.replace(whitened, inputs=whitened.inputs[:, :9].copy(), labels=whitened.labels[:9].copy())
    save_arrays(folder / "samples.npz", few)
    record(folder)
    write_json(folder / "settings.json", data.identity | {"centered": False})
    with refused(ResultsError, folder / "settings.json"):
        data.samples(tmp_path)
    write_json(folder / "settings.json", data.identity)
    assert data.samples(tmp_path).labels.tolist() == few.labels.tolist()
    save_arrays(folder / "samples.npz", dataclasses.replace(few, labels=few.labels[::-1].copy()))
    with refused(ResultsError, folder / "samples.npz"):
        data.samples(tmp_path)


def test_a_training_goes_on_only_from_its_own_rates_kernel_platform_and_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = first_training("fig07")
    more = dataclasses.replace(job, ensemble=dataclasses.replace(job.ensemble, runs=job.ensemble.runs + 1))
    own = {"learning rates": [0.1], "kernel": "fused, 8 lanes"}
    work = Work(tmp_path, Execution(), "cpu", tmp_path, {"device": "cpu", "threads": 1}, "1f")
    on_gpu = dataclasses.replace(work, device="cuda", record={"device": "NVIDIA H200"})
    written = Checkpoint(tmp_path, State, made_by(job, work, own), 0.0)
    written.write(State(np.asarray(3)))
    with_threads = dataclasses.replace(work, record=work.record | {"threads": 2})
    assert Checkpoint(tmp_path, State, made_by(job, with_threads, own), 0.0).read() is not None
    with monkeypatch.context() as on_another:
        on_another.setattr(machine, "processor", lambda: "another one")
        elsewhere = made_by(job, work, own)
    for made, said in [
        (elsewhere, "processor"),
        (made_by(job, work, own | {"learning rates": [0.2]}), "learning rates"),
        (made_by(job, work, own | {"kernel": "torch"}), "kernel"),
        (made_by(job, on_gpu, own), "device"),
        (made_by(job, dataclasses.replace(work, code="2f"), own), "code version"),
        (made_by(more, work, own), "settings"),
    ]:
        assert Checkpoint(tmp_path, State, made, 0.0).read() is None
        assert f"another {said};" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("copies", "checkpoints"), [(Path(), Path("results/checkpoints")), (Path("copies"), Path("volume"))]
)
def test_a_checkpoint_stays_until_the_result_is_on_the_disk(
    copies: Path, checkpoints: Path, mnist_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What memory alone holds goes with the power: both files are synced while the checkpoint is there.

    Also where results are copies of what a storage holds, and checkpoints are on a volume.
    """
    monkeypatch.chdir(tmp_path)
    planned = plan("figures=[fig07]", "scale=smoke", f"paths.data={mnist_config.paths.data}")
    job = first_of(planned, "train")
    run_planned(job.data, copies / "results")
    checkpoint = tmp_path / checkpoints / job.key / "checkpoint"
    synced: dict[str, bool] = {}
    really = os.fsync

    def noted(file: int) -> None:
        synced[Path(f"/proc/self/fd/{file}").readlink().name.split(".")[1]] = checkpoint.exists()
        really(file)

    monkeypatch.setattr(os, "fsync", noted)
    write_job(job, Execution(checkpoint_seconds=0), Path("results"))
    elsewhere = (checkpoints, copies) if copies.name else ()
    run_job(job.key, Path("results"), None, *elsewhere)
    assert synced["trajectory"]
    assert synced["provenance"]
    assert not checkpoint.exists()
    assert all(file.is_file() for file in job.written(tmp_path / copies / "results"))


def test_a_name_never_stands_for_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "result"
    path.write_text("old")

    def break_off() -> None:
        with written_whole(path) as temporary:
            temporary.write_text("ha")
            assert path.read_text() == "old"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with refused(MachineError, os.strerror(errno.ENOSPC)), written_whole(tmp_path / "x"):
        Path("/dev/full").write_text("more than it holds")


def test_the_best_rate_of_the_own_sweep_is_followed(tmp_path: Path) -> None:
    planned, empty = plan("figures=[demystifying_resnet/fig05]", "scale=smoke"), np.empty(0)
    sweeps = [job for job in planned.jobs_of("train").values() if job.sweep is None]
    trajectory = sweeps[0].files["trajectory.npz"]
    for best, sweep in enumerate(sweeps):
        losses = np.where(np.arange(3) == best, 1.0, 2.0)[None]
        write_json(sweep.folder(tmp_path) / "settings.json", sweep.identity)
        made = trajectory(np.array([0.1, 0.2, 0.3]), np.array(0.0), losses, empty, empty, empty, empty)
        save_arrays(sweep.folder(tmp_path) / "trajectory.npz", made)
        record(sweep.folder(tmp_path))
    followed = [job.training.rates(tmp_path) for job in planned.jobs_of("hessians").values() if job.training]
    # Each network has a block along the training and one at its end.
    assert [rates[0] for rates in followed] == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]
    # One run cannot tell them apart.
    assert {frozenset(rates) for rates in followed} == {frozenset((0.1, 0.2, 0.3))}


def test_uncentred_data_is_not_centred(mnist_config: Config, tmp_path: Path) -> None:
    asked = plan("figures=[fig07]", "whitening.centered=false", f"paths.data={mnist_config.paths.data}")
    data = first_of(asked, "whiten")
    run_planned(data, tmp_path)
    assert np.linalg.matrix_rank(data.moments(tmp_path).yx, tol=1e-10) == 10


def test_what_is_not_white_is_refused(whitened: Whitened) -> None:
    nearly = Moments(np.eye(10) * (1 + 1e-9), np.eye(10), np.array(1.0))
    with pytest.raises(ResauditError, match=r" 1\.0e-09 "):
        summary(whitened, nearly)


CLAIMING = """
from resaudit.plan.composition import load
from resaudit.jobs.runner import device_of
from resaudit.plan.plan import execution_of, make_plan
plan = make_plan(load(["scale=smoke", "device=auto"], only=["demystifying_resnet/fig08"]))
job = next(iter(plan.jobs_of("train").values()))
print(device_of(job, execution_of(plan.config)))
"""


def claimed_in_a_fork(figure: str, device: str, usable: bool, environment: dict[str, str], said: Path) -> str:
    """The device that a figure's job takes, in a process that has imported everything."""
    child = os.fork()
    if child == 0:
        try:
            os.environ.update(environment)
            tempfile.tempdir = None
            devices.settled.cache_clear()
            devices.cuda_is_usable = torch.cuda.is_available = lambda: usable  # type: ignore[assignment]
            config = load(["scale=smoke", f"device={device}"], only=[f"demystifying_resnet/{figure}"])
            said.write_text(device_of(first_of(make_plan(config), "train"), execution_of(config)))
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    return said.read_text()


needs_no_card = pytest.mark.skipif(torch.cuda.is_available(), reason="torch can use a GPU here")


@pytest.mark.parametrize(
    ("figure", "device", "usable", "taken", "locks"),
    [
        ("fig08", "auto", True, "cuda", ["4.0.lock"]),
        ("fig08", "cuda", True, "cuda", ["4.0.lock"]),
        ("fig08", "auto", False, "cpu", []),
        ("fig08", "cpu", True, "cpu", []),
        ("fig07", "auto", True, "cpu", []),
        ("fig07", "cuda", True, "cpu", []),
        ("fig07", "cuda", False, "cpu", []),
    ],
)
def test_a_job_claims_the_gpu_that_it_uses_and_no_other(
    figure: str, device: str, usable: bool, taken: str, locks: list[str], tmp_path: Path
) -> None:
    """With networks with ReLUs (fig08) and linear ones. Of several GPUs jobs at once would else all use the first."""
    environment = {"CUDA_VISIBLE_DEVICES": "4,5", "TMPDIR": str(tmp_path), "SLURM_JOB_ID": "7"}
    assert claimed_in_a_fork(figure, device, usable, environment, tmp_path / "said") == taken
    assert [path.name for path in tmp_path.glob("resaudit-devices-*/*")] == locks


@needs_no_card
def test_cuda_where_there_is_none_is_refused_to_what_wants_it() -> None:
    relu, linear = first_training("fig08"), first_training("fig07")
    assert device_of(linear, Execution(device="cuda")) == "cpu"
    with refused(ConfigError, "device is cuda, but torch sees"):
        device_of(relu, Execution(device="cuda"))


@needs_no_card
def test_under_auto_nobody_waits_for_a_gpu_that_torch_cannot_use(tmp_path: Path) -> None:
    """Another process holds the only device that is named, for good."""
    environment = {"CUDA_VISIBLE_DEVICES": "4", "TMPDIR": str(tmp_path), "SLURM_JOB_ID": "7"}
    path = {**os.environ, **environment}
    holding = (
        "import sys; from resaudit.runtime.devices import claim_device; "
        "print(claim_device(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding], env=path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "4"
        run = run_command(sys.executable, "-c", CLAIMING, cwd=CHECKOUT, environment=environment, timeout=100)
        other.communicate("")
    assert (run.returncode, run.stdout.split()) == (0, ["cpu"]), run.stderr


def test_progress_goes_through_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Progress.over(range(5), "job steps")) == list(range(5))
    assert "job: 5 of 5 steps" in capsys.readouterr().err
