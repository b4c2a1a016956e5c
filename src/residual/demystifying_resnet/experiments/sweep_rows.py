"""The rows that a table of a sweep and of its fresh runs must have."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from resaudit.paper import (
    CONFIRMATION,
    SCREENING,
    STAGE,
    Coordinates,
    Job,
    Product,
    at,
    recorded_epochs,
    runs_of,
    snapshot_epochs,
    whole_sweep,
)
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.training.rates import followed_rates
from residual.demystifying_resnet.training.trajectory import Trajectory

if TYPE_CHECKING:
    from residual.demystifying_resnet.experiments.rate_sweep import RateSweep

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
    return sorted({*snapshot_epochs(last, CURVE_EPOCHS), *judged_epochs(last)})


def sweep_rows(
    protocol: "RateSweep", choice: str, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: pd.DataFrame
) -> dict[Coordinates, Sequence[Product]]:
    """As :meth:`resaudit.plan.experiment.Experiment.expected`: the stages of each network and depth.

    ``choice`` is one of :func:`~residual.demystifying_resnet.training.rates.followed_rates`.

    A table with losses has every run of the screening at every rate, and the fresh runs at the rates that it leaves;
    one without has both at the rates tied for the best. In a table with epochs every run has the last one, and of the
    stage that is measured also those judged at the tied rates, and a curve at the one shown.
    """
    column = next((name for name in ("excess_loss", "final_loss") if name in table), None)
    timed = "epoch" in keys
    ends = table[table["epoch"] == protocol.epochs] if timed else table
    along = curve_epochs(protocol.epochs) if column else range(protocol.epochs + 1)
    curve = list(recorded_epochs(along, set(table["epoch"]))) if timed else []
    places = dict[Coordinates, Sequence[Product]]()
    for name, depth in protocol.places():
        here = ends[(ends["network"] == name) & (ends["depth"] == depth)]
        stages = {stage: here[here[STAGE] == stage] for stage in (SCREENING, CONFIRMATION)}
        sweep, *blocks = [job for where, job in jobs.items() if {*at(network=name, depth=depth)} <= {*where}]
        assert isinstance(sweep, Train)
        left = followed_by(stages[SCREENING], column, choice) if column else _shown_first(here)
        rates = {SCREENING: sweep.learning_rates if column else left, CONFIRMATION: left}
        again = column and blocks and choice == "tied_for_best"
        tied = followed_by(stages[CONFIRMATION], column, choice) if column and again else left
        runs = {SCREENING: runs_of(sweep), CONFIRMATION: [run for block in blocks for run in runs_of(block)]}
        measured = CONFIRMATION if blocks else SCREENING
        for stage in (SCREENING, measured):
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
    if (found := whole_sweep(rows, column)) is None:
        return ()
    rates, losses = found
    empty = [np.empty(0)] * 4
    return followed_rates(Trajectory(rates.repeat(len(losses)), np.array(0.0), losses.T.ravel()[None], *empty), choice)


def _shown_first(rows: pd.DataFrame) -> tuple[float, ...]:
    """The rates of rows, those shown first."""
    return tuple(rows.sort_values("shown", ascending=False, kind="stable")["learning_rate"].unique())
