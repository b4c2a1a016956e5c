"""Results of trained or initialized networks, by network name and depth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from resaudit.paper import (
    CONFIRMATION,
    SCREENING,
    BestRate,
    Coordinates,
    Job,
    Key,
    Moments,
    choose_rate,
    rates_to_confirm,
)
from residual.demystifying_resnet.curvature.spectra import Spectra
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.training.rates import choice_of, final_losses, followed_rates
from residual.demystifying_resnet.training.trajectory import Trajectory


@dataclass(frozen=True)
class Block:
    """Fresh runs at the learning rates that a screening leaves."""

    first: int  # number of the first run
    trajectory: Trajectory
    spectra: Spectra | None = None  # at its snapshots if there are Hessians; shape (snapshots, runs)


@dataclass(frozen=True)
class TrainingResults:
    """Results of a figure's trainings and Hessians."""

    sweeps: Mapping[Key, Trajectory] = field(default_factory=dict)  # trainings at every learning rate
    blocks: Mapping[Key, Sequence[Block]] = field(default_factory=dict)  # of the confirmation
    spectra: Mapping[Key, Spectra] = field(default_factory=dict)  # at the initial point, shape (1, runs)
    # Those tied for the best, or a tenth of it, the shown one first; judged on fresh runs if there are any.
    rates: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)
    best: Mapping[Key, BestRate] = field(default_factory=dict)  # of each sweep, or of its confirmation
    eigenvalues: Mapping[Key, int] = field(default_factory=dict)  # number of eigenvalues of each Hessian
    moments: Moments | None = None  # of the data, if Hessians were computed
    negative_eigenvalues: str = "beyond_noise"  # those that the index counts

    def stages(self, key: Key) -> list[tuple[str, int, Trajectory]]:
        """The screening and the blocks of the confirmation, each with the number of its first run."""
        blocks = self.blocks.get(key, ())
        return [(SCREENING, 0, self.sweeps[key]), *((CONFIRMATION, each.first, each.trajectory) for each in blocks)]


def read_training(
    jobs: Mapping[Coordinates, Job], results: Path, followed: str = "tied_for_best", negative: str = "beyond_noise"
) -> TrainingResults:
    """Read the results of trainings and Hessians.

    Args:
        jobs: trainings and Hessians, by coordinates with ``network`` and ``depth``.
        results: folder of all results.
        followed: a choice of :func:`residual.demystifying_resnet.training.rates.followed_rates`.
        negative: the eigenvalues that the index counts.
    """
    by_coordinates = [(dict(coordinates), job) for coordinates, job in jobs.items()]
    by_key = [((at["network"], at["depth"]), job) for at, job in by_coordinates]
    sweeps = {key: job.read(results) for key, job in by_key if isinstance(job, Train) and job.sweep is None}
    hessians = [(key, job) for key, job in by_key if isinstance(job, Hessians)]
    found = TrainingResults(
        sweeps=sweeps,
        rates={key: followed_rates(sweep, followed) for key, sweep in sweeps.items()},
        best={key: choice_of(sweep) for key, sweep in sweeps.items()},
        eigenvalues={key: job.ensemble.network.parameters for key, job in hessians},
        blocks=_blocks([(key, job) for key, job in by_key if isinstance(job, Train) and job.sweep], hessians, results),
        spectra={key: job.read(results) for key, job in hessians if job.training is None},
        moments=next((job.data.moments(results) for _, job in hessians), None),
        negative_eigenvalues=negative,
    )
    return judged_again(found) if followed == "tied_for_best" else found


def _blocks(
    trainings: Sequence[tuple[Key, Train]], hessians: Sequence[tuple[Key, Hessians]], results: Path
) -> dict[Key, list[Block]]:
    spectra = {job.training.id: job for _, job in hessians if job.training}
    blocks: dict[Key, list[Block]] = {}
    for key, job in trainings:
        found = spectra[job.id].read(results) if job.id in spectra else None
        blocks.setdefault(key, []).append(Block(job.ensemble.first, job.read(results), found))
    return blocks


def judged_again(found: TrainingResults) -> TrainingResults:
    """Ties that the screening leaves are judged again on the fresh runs."""
    losses = {key: final_losses(*(each.trajectory for each in blocks)) for key, blocks in found.blocks.items()}
    grids = {key: np.unique(found.sweeps[key].learning_rate) for key in losses}
    return replace(
        found,
        rates={**found.rates, **{key: rates_to_confirm(*fresh) for key, fresh in losses.items()}},
        best={**found.best, **{key: choose_rate(*fresh, grid=grids[key]) for key, fresh in losses.items()}},
    )
