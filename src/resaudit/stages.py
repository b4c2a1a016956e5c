"""The stages that Snakemake's rules call: each reads files, calls pure functions and writes files."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from resaudit.arrays import save_arrays
from resaudit.checkpoints import Checkpoint, heeded_signals
from resaudit.config import Config, Device
from resaudit.cost import settled, wants_gpu
from resaudit.curvature.counts import counted_by
from resaudit.curvature.spectrum import spectra_along
from resaudit.curvature.structured import structured_spectra_along
from resaudit.datasets.idx import parse_idx
from resaudit.datasets.moments import Moments, moments_of
from resaudit.datasets.sources import read_verified
from resaudit.datasets.whitening import Whitened, whiten
from resaudit.devices import claim_device
from resaudit.errors import ResauditError
from resaudit.files import Layout, sha256_of, write_json
from resaudit.machine import machine_class
from resaudit.networks.initialization import initial_weights
from resaudit.plan import Ensemble, Hessians, Plan, Verification
from resaudit.progress import with_progress
from resaudit.provenance import provenance, source_sha256
from resaudit.results import load_moments, load_trajectory, load_whitened
from resaudit.theory.checks import RealData, check_theorem_1, check_theorem_2, find_detour, zero_hessians
from resaudit.theory.records import Record
from resaudit.training.ensemble import AfterEpoch, Descent, Objective, descend, go_on
from resaudit.training.objectives import linear_objective, sampled_objective
from resaudit.training.rates import followed_rates
from resaudit.training.trajectory import Trajectory

LARGEST_WHITENING_ERROR = 1e-12


def run_whiten(plan: Plan) -> None:
    """Whiten the fetched images: ``samples.npz``, ``moments.npz`` and, in words, ``summary.json``.

    Raises:
        ResauditError: the fetched files are missing or damaged, or have too few directions to be whitened.
    """
    config, layout = plan.config, Layout(plan.config.paths)
    folder = layout.whitened(plan.data.id)
    with _recorded(folder, plan.data.settings, torch.device("cpu")):
        whitened = whiten(*read_training_set(config), config.whitening.components, config.whitening.centered)
        moments = moments_of(whitened.inputs, whitened.targets)
        write_json(folder / "summary.json", _summary(whitened, moments))
        save_arrays(folder / "samples.npz", whitened)
        save_arrays(folder / "moments.npz", moments)


def read_training_set(config: Config) -> tuple[np.ndarray, np.ndarray]:
    """All training images (samples, height, width) and labels (samples,), from the fetched files."""
    folder = Layout(config.paths).dataset(config.dataset.name)
    images, labels = (
        parse_idx(read_verified(folder, config.dataset.files[key]), key) for key in ("train_images", "train_labels")
    )
    return images, labels


def run_train(plan: Plan, ensemble: Ensemble) -> None:
    """Train an ensemble: ``trajectory.npz``.

    Raises:
        ResauditError: an input is missing, or is of other settings than this plan's; or no such kernel is to be had.
    """
    layout, device = Layout(plan.config.paths), pick_device(ensemble, plan.config.device)
    folder = layout.training(ensemble.id)
    with _recorded(folder, ensemble.settings, device) as ran, heeded_signals() as signalled:
        objective, ran["kernel"] = _objective(plan, ensemble, device)
        rates = _learning_rates(plan, ensemble)
        made_by = _made_by(ensemble, rates, ran)
        seconds = plan.config.checkpoint_seconds
        checkpoint = Checkpoint(layout.state(ensemble.id), Descent, made_by, seconds)
        start = checkpoint.read()
        if start is not None:
            ran["gone on from epoch"], ran["seconds before"] = int(start.epoch), checkpoint.seconds_before
        trajectory = train(ensemble, objective, rates, device, start, lambda state: checkpoint.keep(state, signalled()))
        save_arrays(folder / "trajectory.npz", trajectory)
    checkpoint.remove()


def _made_by(ensemble: Ensemble, learning_rates: Sequence[float], ran: Mapping[str, Any]) -> dict[str, Any]:
    """All that the bits of a descent depend on."""
    return {
        "settings": ensemble.settings,
        "learning rates": list(learning_rates),
        "kernel": ran["kernel"],
        "device": ran["device"],
        "torch version": torch.__version__,
        "code version": source_sha256("networks", "training"),
    }


def _objective(plan: Plan, ensemble: Ensemble, device: torch.device) -> tuple[Objective, str]:
    layout, network = Layout(plan.config.paths), ensemble.network
    if network.is_linear:
        return linear_objective(network, load_moments(layout, plan.data), device)
    return sampled_objective(network, load_whitened(layout, plan.data), device, plan.config.kernel.value)


def train(
    ensemble: Ensemble,
    objective: Objective,
    learning_rates: Sequence[float],
    device: torch.device,
    start: Descent | None = None,
    after_epoch: AfterEpoch = go_on,
) -> Trajectory:
    """Train every seed of the ensemble at every learning rate, rates outermost; :func:`descend` says the rest."""
    weights = _initial(ensemble).to(device).repeat(1, len(learning_rates), 1, 1)
    return descend(
        objective,
        weights,
        torch.tensor(learning_rates, dtype=weights.dtype).repeat_interleave(ensemble.runs).to(device),
        ensemble.epochs,
        ensemble.snapshot_epochs,
        lambda epochs: with_progress(epochs, f"{ensemble.id} epochs"),
        start,
        after_epoch,
    )


def run_curvature(plan: Plan, hessians: Hessians) -> None:
    """Spectra of Hessians: ``spectra.npz``.

    Raises:
        ResauditError: an input is missing, or is of other settings than this plan's.
    """
    layout, counts = Layout(plan.config.paths), hessians.method == "counts"
    device = pick_device(hessians, plan.config.device)
    folder, ensemble = layout.curvature(hessians.id), hessians.ensemble
    dtype = getattr(torch, hessians.precision)
    along = structured_spectra_along if counts else spectra_along
    with _recorded(folder, hessians.settings, device) as ran:
        ran["kernel"] = counted_by() if counts else "LAPACK"
        if ensemble.epochs:
            snapshots = torch.from_numpy(load_trajectory(layout, ensemble, with_snapshots=True).snapshots)
        else:
            snapshots = _initial(ensemble)[None]
        checkpoints = with_progress(snapshots, f"{hessians.id} Hessians")
        moments = load_moments(layout, plan.data)
        spectra = along((w.to(device, dtype) for w in checkpoints), ensemble.network, moments)
        save_arrays(folder / "spectra.npz", spectra)


def run_verify(plan: Plan, verification: Verification) -> None:
    """Check a theorem at every size and draw: ``measurements.npz``.

    Raises:
        ResauditError: the whitened data are missing, or samples as wanted are not to be had.
    """
    layout = Layout(plan.config.paths)
    folder = layout.theory(verification.id)
    with _recorded(folder, verification.settings, torch.device("cpu")):
        real = RealData(verification.dataset, load_whitened(layout, plan.data), load_moments(layout, plan.data))
        save_arrays(folder / "measurements.npz", verify(verification, real))


def verify(verification: Verification, real: RealData) -> Record:
    """What the check of a theorem measures, in double precision on the CPU."""
    cases = verification.cases
    if verification.experiment == "sphere_path":
        return find_detour(cases, real)
    if verification.experiment == "zero_hessians":
        return zero_hessians(cases, real.moments)
    check = {"theorem_1": check_theorem_1, "theorem_2": check_theorem_2}[verification.experiment]
    return check(cases, real, lambda draws: with_progress(draws, f"{verification.id} draws"))


def _summary(whitened: Whitened, moments: Moments) -> dict[str, Any]:
    not_white = float(np.abs(moments.xx - np.eye(len(moments.xx))).max())
    if not not_white < LARGEST_WHITENING_ERROR:
        raise ResauditError(
            f"whitening failed: the inputs' second moments are {not_white:.1e} from the identity, allowed is "
            f"{LARGEST_WHITENING_ERROR:.0e}; keep fewer components (whitening.components)"
        )
    return {
        "samples": len(whitened.labels),
        "largest difference of the second moments to the identity": not_white,
        "explained variance": whitened.explained_variance.tolist(),
        "optimal loss": moments.optimal_loss,
    }


def pick_device(job: Ensemble | Hessians, wanted: Device) -> torch.device:
    """The device that a job computes on; of several GPUs one that no other process has.

    Raises:
        ResauditError: the job wants a GPU, which the configuration asks for, and there is none.
    """
    if not wants_gpu(job) or settled(wanted) is Device.cpu:
        return torch.device("cpu")
    claim_device()
    if not torch.cuda.is_available():
        raise ResauditError("device is cuda, but torch sees no CUDA device here; allowed: auto, cpu")
    return torch.device("cuda")


def _initial(ensemble: Ensemble) -> torch.Tensor:
    return initial_weights(ensemble.network, ensemble.initialization, ensemble.scale, ensemble.seed, ensemble.runs)


def _learning_rates(plan: Plan, ensemble: Ensemble) -> Sequence[float]:
    if ensemble.rate_from is None or ensemble.rate is None:
        return ensemble.learning_rates
    sweep = load_trajectory(Layout(plan.config.paths), plan.trained[ensemble.rate_from])
    return followed_rates(sweep, ensemble.rate)


@contextmanager
def _recorded(folder: Path, settings: dict[str, Any], device: torch.device) -> Iterator[dict[str, Any]]:
    """Write the resolved settings before a stage's work and, if it succeeds, the provenance and checksums after it.

    Yields:
        The provenance, for what only the stage can say.
    """
    start = time.monotonic()
    write_json(folder / "settings.json", settings)
    ran: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
    }
    yield ran
    ran["seconds"] = round(time.monotonic() - start, 2)
    ran["machine class"] = machine_class(ran["device"])
    ran["sha256"] = {file.name: sha256_of(file) for file in sorted(folder.glob("*.npz"))}
    write_json(folder / "provenance.json", ran | provenance())
