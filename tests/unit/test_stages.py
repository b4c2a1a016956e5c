"""Oracle: hand-made results on disk. Sees results of other settings taken, half files, the wrong rate or data."""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from resaudit import stages
from resaudit.arrays import save_arrays
from resaudit.checkpoints import Checkpoint
from resaudit.config.composition import load
from resaudit.config.models import Config, Device
from resaudit.curvature.spectra import Spectra
from resaudit.datasets.moments import Moments
from resaudit.datasets.whitening import Whitened
from resaudit.errors import ResauditError
from resaudit.files import sha256_of, write_json, written_whole
from resaudit.layout import Layout
from resaudit.plan import Plan, make_plan
from resaudit.progress import with_progress
from resaudit.results import load_moments, load_spectra, load_whitened
from resaudit.training.ensemble import Descent
from resaudit.training.trajectory import Trajectory
from tests.conftest import CHECKOUT, run_command


def plan_in(folder: Path, *overrides: str) -> Plan:
    return make_plan(load([f"paths.results={folder}", *overrides]))


def record(folder: Path) -> None:
    """The provenance of what lies in a folder, as a stage writes it."""
    write_json(folder / "provenance.json", {"sha256": {file.name: sha256_of(file) for file in folder.glob("*.npz")}})


def test_a_result_is_read_only_with_its_own_settings_beside_it(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, "figures=[fig04]", "scale=smoke")
    hessians, layout = next(iter(plan.hessians.values())), Layout(plan.config.paths)
    folder, values = layout.curvature(hessians.id), np.ones((1, 2))
    save_arrays(folder / "spectra.npz", Spectra(*[values] * 7, values > 0))
    with pytest.raises(ResauditError, match=r"settings\.json does not exist; compute it first"):
        load_spectra(layout, hessians)
    write_json(folder / "settings.json", hessians.settings | {"seed": 2})
    with pytest.raises(ResauditError, match="is not what was asked for here"):
        load_spectra(layout, hessians)
    write_json(folder / "settings.json", hessians.settings)
    with pytest.raises(ResauditError, match=r"provenance\.json does not exist; remove .* and run again"):
        load_spectra(layout, hessians)
    record(folder)
    assert load_spectra(layout, hessians).lambda_max.shape == (1, 2)


@pytest.mark.parametrize(
    "edit", [lambda whole: whole[:-1], lambda whole: whole.replace(b"lambda", b"Lambda"), bytes.title]
)
def test_a_result_edited_behind_ones_back_is_never_used(edit: Callable[[bytes], bytes], tmp_path: Path) -> None:
    plan = plan_in(tmp_path, "figures=[fig04]", "scale=smoke")
    hessians, layout = next(iter(plan.hessians.values())), Layout(plan.config.paths)
    folder, values = layout.curvature(hessians.id), np.ones((1, 2))
    path = folder / "spectra.npz"
    save_arrays(path, Spectra(*[values] * 7, values > 0))
    write_json(folder / "settings.json", hessians.settings)
    record(folder)
    path.write_bytes(edit(path.read_bytes()))
    with pytest.raises(
        ResauditError, match=r"spectra\.npz is not what was computed: its SHA-256 .*; remove .* and run"
    ):
        load_spectra(layout, hessians)
    for nonsense in ("", "[]", '{"sha256": 3}'):
        (folder / "provenance.json").write_text(nonsense)
        with pytest.raises(ResauditError, match=r"provenance\.json or .* cannot be read .*; remove .* and run again"):
            load_spectra(layout, hessians)


def test_samples_are_read_only_as_they_were_whitened(whitened: Whitened, tmp_path: Path) -> None:
    """What training with ReLUs and theorems read; no figure's own evidence."""
    plan = plan_in(tmp_path)
    layout, folder = Layout(plan.config.paths), tmp_path / "whiten" / plan.data.id
    few = dataclasses.replace(whitened, inputs=whitened.inputs[:, :9].copy(), labels=whitened.labels[:9].copy())
    save_arrays(folder / "samples.npz", few)
    record(folder)
    write_json(folder / "settings.json", plan.data.settings | {"centered": False})
    with pytest.raises(ResauditError, match=r"settings\.json is not what was asked for here"):
        load_whitened(layout, plan.data)
    write_json(folder / "settings.json", plan.data.settings)
    assert load_whitened(layout, plan.data).labels.tolist() == few.labels.tolist()
    save_arrays(folder / "samples.npz", dataclasses.replace(few, labels=few.labels[::-1].copy()))
    with pytest.raises(ResauditError, match=r"samples\.npz is not what was computed"):
        load_whitened(layout, plan.data)


def test_a_training_goes_on_only_from_its_own_rates_kernel_and_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ensemble, empty = next(iter(plan_in(tmp_path, "figures=[fig07]", "scale=smoke").trained.values())), np.empty(0)
    ran = {"kernel": "fused, 8 lanes", "device": "cpu", "threads": 1}
    written = Checkpoint(tmp_path, Descent, stages._made_by(ensemble, [0.1], ran), 0.0)
    written.write(Descent(np.asarray(3), *[empty] * 6))
    assert Checkpoint(tmp_path, Descent, stages._made_by(ensemble, [0.1], ran | {"threads": 2}), 0.0).read() is not None
    for made_by, said in [
        (stages._made_by(ensemble, [0.2], ran), "learning rates"),
        (stages._made_by(ensemble, [0.1], ran | {"kernel": "torch"}), "kernel"),
        (stages._made_by(ensemble, [0.1], ran | {"device": "NVIDIA H200"}), "device"),
        (stages._made_by(dataclasses.replace(ensemble, runs=ensemble.runs + 1), [0.1], ran), "settings"),
    ]:
        assert Checkpoint(tmp_path, Descent, made_by, 0.0).read() is None
        assert f"it is of another {said}; starting afresh" in capsys.readouterr().err


def test_a_checkpoint_stays_until_the_result_is_on_the_disk(
    mnist_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What memory alone holds goes with the power: both files are synced while the checkpoint is there."""
    plan = plan_in(
        tmp_path, "figures=[fig07]", "scale=smoke", "checkpoint_seconds=0", f"paths.data={mnist_config.paths.data}"
    )
    stages.run_whiten(plan)
    ensemble = next(iter(plan.trained.values()))
    checkpoint = Layout(plan.config.paths).state(ensemble.id) / "checkpoint"
    synced: dict[str, bool] = {}
    really = os.fsync

    def noted(file: int) -> None:
        synced[Path(f"/proc/self/fd/{file}").readlink().name.split(".")[1]] = checkpoint.exists()
        really(file)

    monkeypatch.setattr(os, "fsync", noted)
    stages.run_train(plan, ensemble)
    assert synced["trajectory"]
    assert synced["provenance"]
    assert not checkpoint.exists()


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
    with pytest.raises(ResauditError, match=r"cannot write .*: No space left on device"), written_whole(tmp_path / "x"):
        Path("/dev/full").write_text("more than it holds")


def test_the_best_rate_of_the_own_sweep_is_followed(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, "figures=[fig05]", "scale=smoke")
    part, empty = plan.figures["demystifying_resnet/fig05"], np.empty(0)
    for best, sweep in enumerate(part.sweeps.values()):
        losses = np.where(np.arange(3) == best, 1.0, 2.0)[None]
        write_json(tmp_path / "train" / sweep.id / "settings.json", sweep.settings)
        made = Trajectory(np.array([0.1, 0.2, 0.3]), np.array(0.0), losses, empty, empty, empty, empty)
        save_arrays(tmp_path / "train" / sweep.id / "trajectory.npz", made)
        record(tmp_path / "train" / sweep.id)
    followed = [stages._learning_rates(plan, hessians.ensemble) for hessians in part.hessians.values()]
    assert [rates[0] for rates in followed] == [0.1, 0.2, 0.3]
    assert {frozenset(rates) for rates in followed} == {frozenset((0.1, 0.2, 0.3))}, "one run cannot tell them apart"


def test_uncentred_data_is_not_centred(mnist_config: Config, tmp_path: Path) -> None:
    plan = plan_in(tmp_path, "whitening.centered=false", f"paths.data={mnist_config.paths.data}")
    stages.run_whiten(plan)
    yx = load_moments(Layout(plan.config.paths), plan.data).yx
    assert np.linalg.matrix_rank(yx, tol=1e-10) == 10


def test_what_is_not_white_is_refused(whitened: Whitened) -> None:
    nearly = Moments(np.eye(10) * (1 + 1e-9), np.eye(10), np.array(1.0))
    with pytest.raises(ResauditError, match=r"whitening failed: .* 1\.0e-09 from the identity"):
        stages._summary(whitened, nearly)


PICKING = """
import sys, torch
from resaudit import cost, stages
from resaudit.config.composition import load
from resaudit.config.models import Device
from resaudit.plan import make_plan
figure, device, usable = sys.argv[1:]
cost.cuda_is_usable = lambda: usable == "usable"
torch.cuda.is_available = lambda: usable == "usable"
job = next(iter(make_plan(load([f"figures=[{figure}]", "scale=smoke"])).trained.values()))
print(stages.pick_device(job, Device(device)))
"""
needs_no_card = pytest.mark.skipif(stages.torch.cuda.is_available(), reason="torch can use a GPU here")


@pytest.mark.parametrize(
    ("figure", "device", "usable", "picked", "locks"),
    [
        ("fig08", "auto", "usable", "cuda", ["4.lock"]),
        ("fig08", "cuda", "usable", "cuda", ["4.lock"]),
        ("fig08", "auto", "useless", "cpu", []),
        ("fig08", "cpu", "usable", "cpu", []),
        ("fig07", "auto", "usable", "cpu", []),
        ("fig07", "cuda", "usable", "cpu", []),
        ("fig07", "cuda", "useless", "cpu", []),
    ],
)
def test_a_stage_claims_the_gpu_that_it_uses_and_no_other(
    figure: str, device: str, usable: str, picked: str, locks: list[str], tmp_path: Path
) -> None:
    """With networks with ReLUs (fig08) and linear ones. Of several GPUs jobs at once would else all use the first."""
    environment = {"CUDA_VISIBLE_DEVICES": "4,5", "TMPDIR": str(tmp_path), "SLURM_JOB_ID": "7"}
    run = run_command(sys.executable, "-c", PICKING, figure, device, usable, cwd=CHECKOUT, environment=environment)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [picked]
    assert [path.name for path in tmp_path.glob("resaudit-devices-*/*")] == locks


@needs_no_card
def test_cuda_where_there_is_none_is_refused_to_what_wants_it(tmp_path: Path) -> None:
    relu, linear = (
        next(iter(plan_in(tmp_path, f"figures=[{figure}]", "scale=smoke").trained.values()))
        for figure in ("fig08", "fig07")
    )
    assert stages.pick_device(relu, Device.auto).type == "cpu"
    assert stages.pick_device(linear, Device.cuda).type == "cpu"
    with pytest.raises(ResauditError, match="torch sees no CUDA device here; allowed: auto, cpu"):
        stages.pick_device(relu, Device.cuda)


@needs_no_card
def test_under_auto_nobody_waits_for_a_gpu_that_torch_cannot_use(tmp_path: Path) -> None:
    """Another process holds the only device that is named, for good."""
    environment = {"CUDA_VISIBLE_DEVICES": "4", "TMPDIR": str(tmp_path), "SLURM_JOB_ID": "7"}
    path = {**os.environ, **environment}
    holding = (
        "import sys; from resaudit.devices import claim_device; print(claim_device(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding], env=path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "4"
        script = PICKING.replace('cost.cuda_is_usable = lambda: usable == "usable"', "")
        run = run_command(
            sys.executable, "-c", script, "fig08", "auto", "", cwd=CHECKOUT, environment=environment, timeout=100
        )
        other.communicate("")
    assert (run.returncode, run.stdout.split()) == (0, ["cpu"]), run.stderr


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_goes_through_everything(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert list(with_progress(range(5), "steps")) == list(range(5))
    assert terminal or "steps: 5 of 5" in capsys.readouterr().err
