"""Results of trained or initialized networks, by network name and depth, and the rows that their tables must have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from resaudit.paper import BestRate, Coordinates, Job, Moments, Product, Stage, at, curves, sweeps
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train, final_losses, followed_rates
from residual.demystifying_resnet.networks.spectra import Spectra
from residual.demystifying_resnet.networks.trajectory import Trajectory

if TYPE_CHECKING:
    from residual.demystifying_resnet.experiments.training import RateSweep


@dataclass(frozen=True)
class Block:
    """Fresh runs at the learning rates that a screening leaves."""

    first: int  # number of the first run
    trajectory: Trajectory
    spectra: Spectra | None = None  # at its snapshots if there are Hessians; shape (snapshots, runs)


@dataclass(frozen=True)
class TrainingResults:
    """Results of a figure's trainings and Hessians."""

    sweeps: Mapping[tuple[str, int], Trajectory] = field(default_factory=dict)  # trainings at every learning rate
    blocks: Mapping[tuple[str, int], Sequence[Block]] = field(default_factory=dict)  # of the confirmation
    spectra: Mapping[tuple[str, int], Spectra] = field(default_factory=dict)  # at the initial point, shape (1, runs)
    # Those tied for the best, or a tenth of it, the shown one first; judged on fresh runs if there are any.
    rates: Mapping[tuple[str, int], tuple[float, ...]] = field(default_factory=dict)
    best: Mapping[tuple[str, int], BestRate] = field(default_factory=dict)  # of each sweep, or of its confirmation
    eigenvalues: Mapping[tuple[str, int], int] = field(default_factory=dict)  # number of eigenvalues of each Hessian
    moments: Moments | None = None  # of the data, if Hessians were computed
    negative_eigenvalues: str = "beyond_noise"  # those that the index counts

    def stages(self, key: tuple[str, int]) -> list[tuple[str, int, Trajectory]]:
        """The screening and the blocks of the confirmation, each with the number of its first run."""
        blocks = self.blocks.get(key, ())
        return [
            (Stage.SCREENING, 0, self.sweeps[key]),
            *((Stage.CONFIRMATION, each.first, each.trajectory) for each in blocks),
        ]


def read_training(
    jobs: Mapping[Coordinates, Job], results: Path, followed: str = "tied_for_best", negative: str = "beyond_noise"
) -> TrainingResults:
    """Read the results of trainings and Hessians.

    Args:
        jobs: trainings and Hessians, by coordinates with ``network`` and ``depth``.
        results: folder of all results.
        followed: a choice of :func:`residual.demystifying_resnet.jobs.train.followed_rates`.
        negative: the eigenvalues that the index counts.
    """
    by_coordinates = [(dict(coordinates), job) for coordinates, job in jobs.items()]
    by_key = [((at["network"], at["depth"]), job) for at, job in by_coordinates]
    swept = {key: job.read(results) for key, job in by_key if isinstance(job, Train) and job.sweep is None}
    hessians = [(key, job) for key, job in by_key if isinstance(job, Hessians)]
    found = TrainingResults(
        sweeps=swept,
        rates={key: followed_rates(sweep, followed) for key, sweep in swept.items()},
        best={key: BestRate.choose(*final_losses(sweep)) for key, sweep in swept.items()},
        eigenvalues={key: job.ensemble.network.parameters for key, job in hessians},
        blocks=_blocks([(key, job) for key, job in by_key if isinstance(job, Train) and job.sweep], hessians, results),
        spectra={key: job.read(results) for key, job in hessians if job.training is None},
        moments=next((job.data.moments(results) for _, job in hessians), None),
        negative_eigenvalues=negative,
    )
    return judged_again(found) if followed == "tied_for_best" else found


def _blocks(
    trainings: Sequence[tuple[tuple[str, int], Train]],
    hessians: Sequence[tuple[tuple[str, int], Hessians]],
    results: Path,
) -> dict[tuple[str, int], list[Block]]:
    spectra = {job.training.id: job for _, job in hessians if job.training}
    blocks: dict[tuple[str, int], list[Block]] = {}
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
        rates={**found.rates, **{key: BestRate.to_confirm(*fresh) for key, fresh in losses.items()}},
        best={**found.best, **{key: BestRate.choose(*fresh, grid=grids[key]) for key, fresh in losses.items()}},
    )


JUDGED = (0.01, 0.1, 1.0)
"""Shares of the training after which figures along it compare networks."""
CURVE_EPOCHS = 20
"""Epochs of a curve of losses that are kept beside those judged, evenly on a logarithmic scale."""


def judged_epochs(last: int) -> list[int]:
    """The epochs of a training of so many that are judged, ascending.

    >>> judged_epochs(1000)
    [10, 100, 1000]
    """
    return sorted({int(share * last) for share in JUDGED})


def curve_epochs(last: int) -> list[int]:
    """Those, and the epochs of a curve of losses."""
    return sorted({*curves.snapshot_epochs(last, CURVE_EPOCHS), *judged_epochs(last)})


def sweep_rows(
    protocol: "RateSweep", choice: str, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: pd.DataFrame
) -> dict[Coordinates, Sequence[Product]]:
    """As :meth:`resaudit.plan.experiment.Experiment.expected`: the stages of each network and depth.

    ``choice`` is one of :func:`~residual.demystifying_resnet.jobs.train.followed_rates`.

    A table with losses has every run of the screening at every rate, and the fresh runs at the rates that it leaves;
    one without has both at the rates tied for the best. In a table with epochs every run has the last one, and of the
    stage that is measured also those judged at the tied rates, and a curve at the one shown.
    """
    column = next((name for name in ("excess_loss", "final_loss") if name in table), None)
    timed = "epoch" in keys
    ends = table[table["epoch"] == protocol.epochs] if timed else table
    along = curve_epochs(protocol.epochs) if column else range(protocol.epochs + 1)
    curve = list(curves.recorded_epochs(along, set(table["epoch"]))) if timed else []
    places = dict[Coordinates, Sequence[Product]]()
    for name, depth in protocol.places():
        here = ends[(ends["network"] == name) & (ends["depth"] == depth)]
        stages = {stage: here[here[Stage.COLUMN] == stage] for stage in (Stage.SCREENING, Stage.CONFIRMATION)}
        sweep, *blocks = [job for where, job in jobs.items() if {*at(network=name, depth=depth)} <= {*where}]
        assert isinstance(sweep, Train)
        left = followed_by(stages[Stage.SCREENING], column, choice) if column else _shown_first(here)
        rates = {Stage.SCREENING: sweep.learning_rates if column else left, Stage.CONFIRMATION: left}
        again = column and blocks and choice == "tied_for_best"
        tied = followed_by(stages[Stage.CONFIRMATION], column, choice) if column and again else left
        runs = {
            Stage.SCREENING: sweep.run_numbers,
            Stage.CONFIRMATION: [run for block in blocks for run in block.run_numbers],
        }
        measured = Stage.CONFIRMATION if blocks else Stage.SCREENING
        for stage in (Stage.SCREENING, measured):
            judged = [epoch for epoch in judged_epochs(protocol.epochs) if epoch in curve]
            epochs = dict.fromkeys(tied, judged) | dict.fromkeys(tied[:1], curve) if stage == measured else {}
            places[at(network=name, depth=depth, stage=stage)] = [
                {"learning_rate": [rate], "run": runs[stage]}
                | ({"epoch": epochs.get(rate, [protocol.epochs])} if timed else {})
                for rate in rates[stage]
            ]
    return places


def followed_by(rows: pd.DataFrame, column: str, choice: str) -> tuple[float, ...]:
    """The rates that a stage's final losses leave, the one shown first; none unless every run has one at each rate."""
    if (found := sweeps.whole(rows, column)) is None:
        return ()
    rates, losses = found
    empty = [np.empty(0)] * 4
    return followed_rates(Trajectory(rates.repeat(len(losses)), np.array(0.0), losses.T.ravel()[None], *empty), choice)


def _shown_first(rows: pd.DataFrame) -> tuple[float, ...]:
    """The rates of rows, those shown first."""
    return tuple(rows.sort_values("shown", ascending=False, kind="stable")["learning_rate"].unique())
