"""Shared by several figures of the paper: making their tables."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np
import pandas as pd

from resaudit.paper import CONFIRMATION, STAGE, Key
from residual.demystifying_resnet.curvature.spectra import Spectra
from residual.demystifying_resnet.experiments.results import Block, TrainingResults
from residual.demystifying_resnet.training.trajectory import Trajectory

Derived = dict[str, Callable[[pd.DataFrame], Any]]
"""By column a function of the others (:func:`resaudit.figures.expected.unexpected`)."""
_INDEX = {"beyond_noise": "index", "every": "raw_index", "sizeable": "sizeable_index"}


def runs_of_rate(trajectory: Trajectory, rate: float) -> np.ndarray:
    """Positions of a learning rate's runs, in the order of their seeds."""
    return np.flatnonzero(trajectory.learning_rate == rate)


def runs_in_rates(rates: np.ndarray) -> np.ndarray:
    """The seed number of each run within its learning rate, from 0; rates of shape (r,)."""
    return pd.Series(rates).groupby(rates).cumcount().to_numpy()


def long_table(keys: Iterable[Key], rows_of: Callable[[Key], pd.DataFrame]) -> pd.DataFrame:
    """One table of all networks and depths, these two in front."""
    parts = []
    for network, depth in keys:
        part = rows_of((network, depth))
        part.insert(0, "network", network)
        part.insert(1, "depth", depth)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _floors(table: pd.DataFrame) -> "pd.Series[float]":
    """The noise floor eps * N * lambda_max, with the eps, single or double, of the table's."""
    each = table["eigenvalues"] * table["lambda_max"]
    single = table["noise_floor"] / each > np.sqrt(np.finfo(np.float32).eps * np.finfo(np.float64).eps)
    return each * np.where(single, np.finfo(np.float32).eps, np.finfo(np.float64).eps)


def above_optimum(column: str) -> Derived:
    """A loss, which is the optimal one and the excess, with the optimal loss, one for all."""
    return {
        column: lambda table: table["optimal_loss"] + table["excess_loss"],
        "optimal_loss": lambda table: table["optimal_loss"].mask(
            table["optimal_loss"].notna(), table["optimal_loss"].median()
        ),
    }


SPECTRAL: Derived = {
    "condition_number": lambda table: table["lambda_max"] / table["lambda_p10"],
    "resolved": lambda table: table["lambda_p10"] > table["noise_floor"],
}
"""Columns of spectra that follow from others."""
ALONG_TRAINING: Derived = SPECTRAL | {
    "noise_floor": _floors,
    "index": lambda table: (table["index"] * table["eigenvalues"]).round() / table["eigenvalues"],
    "loss": lambda table: (table["loss"] - table["excess_loss"]).median() + table["excess_loss"],
}


def spectra_along_training(results: TrainingResults) -> pd.DataFrame:
    """Loss, gradient norm and spectrum of every fresh run at every epoch that has its Hessian (Figures 5 and 6).

    Columns: network, learning_rate, shown, stage, run, epoch, loss, excess_loss, gradient_norm, lambda_max, lambda_p10,
    condition_number, index, eigenvalues, noise_floor, resolved. A network has rows for each rate that its fresh runs
    leave tied for its best; the drawn one has ``shown``. Some runs have only the last epoch. Epochs after a run
    diverged have an infinite loss and no spectrum.
    """
    counted = _INDEX[results.negative_eigenvalues]

    def rows_of_block(key: Key, block: Block) -> pd.DataFrame:
        trajectory, spectra, tied = block.trajectory, cast(Spectra, block.spectra), results.rates[key]
        epochs, rates = trajectory.snapshot_epochs, trajectory.learning_rate
        rate, epoch = np.meshgrid(rates, epochs)
        columns = {
            "learning_rate": rate,
            "shown": rate == tied[0],
            STAGE: np.full(rate.shape, CONFIRMATION),
            "run": np.tile(block.first + runs_in_rates(rates), (len(epochs), 1)),
            "epoch": epoch,
            "loss": trajectory.loss[epochs],
            "excess_loss": trajectory.excess_loss[epochs],
            "gradient_norm": trajectory.gradient_norm[epochs],
            "lambda_max": spectra.lambda_max,
            "lambda_p10": spectra.lambda_p10,
            "condition_number": np.full(rate.shape, np.nan),
            "index": getattr(spectra, counted),
            "eigenvalues": np.full(rate.shape, results.eigenvalues[key]),
            "noise_floor": spectra.noise_floor,
        }
        part = pd.DataFrame({name: values.ravel() for name, values in columns.items()}).assign(**SPECTRAL)
        return part[part["learning_rate"].isin(tied)]

    def rows(key: Key) -> pd.DataFrame:
        part = pd.concat([rows_of_block(key, block) for block in results.blocks[key]])
        return part.sort_values(["shown", "learning_rate", "run", "epoch"], ascending=[False, True, True, True])

    return long_table(results.blocks, rows).drop(columns="depth")
