"""Results of trained or initialized networks, by network name and depth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from resaudit.data.moments import Moments
from resaudit.figures.rates import BestRate
from resaudit.figures.sweeps import CONFIRMATION, SCREENING, STAGE
from resaudit.jobs.job import Job
from resaudit.plan.experiment import Coordinates
from resaudit.plan.fields import Key
from residual.demystifying_resnet.curvature.spectra import Spectra
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.training.rates import choice_of, followed_rates
from residual.demystifying_resnet.training.trajectory import Trajectory


@dataclass(frozen=True)
class TrainingResults:
    """Results of a figure's trainings and Hessians."""

    sweeps: Mapping[Key, Trajectory] = field(default_factory=dict)  # trainings at every learning rate
    confirmed: Mapping[Key, Trajectory] = field(default_factory=dict)  # fresh runs at the rates that these leave
    followed: Mapping[Key, Trajectory] = field(default_factory=dict)  # at one or some of these rates, with snapshots
    # At the snapshots of ``followed``, or at the initial point; shape (snapshots, runs).
    spectra: Mapping[Key, Spectra] = field(default_factory=dict)
    rates: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)  # those shown or tied, the shown one first
    best: Mapping[Key, BestRate] = field(default_factory=dict)  # of each sweep, judged again on fresh runs
    eigenvalues: Mapping[Key, int] = field(default_factory=dict)  # number of eigenvalues of each Hessian
    moments: Moments | None = None  # of the data, if Hessians were computed
    negative_eigenvalues: str = "beyond_noise"  # those that the index counts

    def stages(self, key: Key) -> list[tuple[str, int, Trajectory]]:
        """The screening and, if there is one, the confirmation, each with the number of its first run."""
        sweep = self.sweeps[key]
        screening = [(SCREENING, 0, sweep)]
        if key not in self.confirmed:
            return screening
        screened = len(sweep.learning_rate) // len(np.unique(sweep.learning_rate))
        return [*screening, (CONFIRMATION, screened, self.confirmed[key])]


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
    blocks: dict[Key, list[Trajectory]] = {}
    for (at, job), (key, _) in zip(by_coordinates, by_key, strict=True):
        if at.get(STAGE) == CONFIRMATION:
            blocks.setdefault(key, []).append(job.read(results))
    confirmed = {key: joined(of_key) for key, of_key in blocks.items()}
    best = {
        key: choice_of(confirmed[key], np.unique(sweep.learning_rate)) if key in confirmed else choice_of(sweep)
        for key, sweep in sweeps.items()
    }
    hessians = {key: job for key, job in by_key if isinstance(job, Hessians)}
    return TrainingResults(
        sweeps=sweeps,
        confirmed=confirmed,
        rates={
            key: best[key].order
            if key in confirmed and followed == "tied_for_best" and best[key].order
            else followed_rates(sweep, followed)
            for key, sweep in sweeps.items()
        },
        best=best,
        eigenvalues={key: job.ensemble.network.parameters for key, job in hessians.items()},
        followed={key: job.training.read(results) for key, job in hessians.items() if job.training},
        spectra={key: job.read(results) for key, job in hessians.items()},
        moments=next((job.data.moments(results) for job in hessians.values()), None),
        negative_eigenvalues=negative,
    )


def joined(blocks: Sequence[Trajectory]) -> Trajectory:
    """The runs of all blocks of one ensemble, in their order, without snapshots."""
    first = blocks[0]

    def runs(name: str) -> np.ndarray:
        return np.concatenate([getattr(block, name) for block in blocks], axis=-1)

    return replace(
        first,
        **{name: runs(name) for name in ("learning_rate", "excess_loss", "gradient_norm", "mean_frobenius_norm")},
    )
