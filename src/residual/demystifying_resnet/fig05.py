"""Figure 5: largest and 10th percentile of the absolute eigenvalues against loss."""

from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.paper import Panel, Stage, curves, panels
from residual.demystifying_resnet.experiments.results import Block, TrainingResults
from residual.demystifying_resnet.figures import SPECTRAL, Derived, line_look, long_table, network_legend
from residual.demystifying_resnet.networks.spectra import Spectra

POINTS = 200
LEAST_EXCESS = 1e-8
"""Distances to the optimum that the axis begins at; few runs come nearer."""
_INDEX = {"beyond_noise": "index", "every": "raw_index", "sizeable": "sizeable_index"}


def _floors(table: pd.DataFrame) -> "pd.Series[float]":
    """The noise floor eps * N * lambda_max, with the eps, single or double, of the table's."""
    each = table["eigenvalues"] * table["lambda_max"]
    single = table["noise_floor"] / each > np.sqrt(np.finfo(np.float32).eps * np.finfo(np.float64).eps)
    return each * np.where(single, np.finfo(np.float32).eps, np.finfo(np.float64).eps)


DERIVED: Derived = SPECTRAL | {
    "noise_floor": _floors,
    "index": lambda table: (table["index"] * table["eigenvalues"]).round() / table["eigenvalues"],
    "loss": lambda table: (table["loss"] - table["excess_loss"]).median() + table["excess_loss"],
}


def table(results: TrainingResults) -> pd.DataFrame:
    """Loss, gradient norm and spectrum of every fresh run at every epoch that has its Hessian.

    Columns: network, learning_rate, shown, stage, run, epoch, loss, excess_loss, gradient_norm, lambda_max, lambda_p10,
    condition_number, index, eigenvalues, noise_floor, resolved. A network has rows for each rate that its fresh runs
    leave tied for its best; the drawn one has ``shown``. Some runs have only the last epoch. Epochs after a run
    diverged have an infinite loss and no spectrum.
    """
    counted = _INDEX[results.negative_eigenvalues]

    def rows_of_block(key: tuple[str, int], block: Block) -> pd.DataFrame:
        trajectory, spectra, tied = block.trajectory, cast(Spectra, block.spectra), results.rates[key]
        epochs, rates = trajectory.snapshot_epochs, trajectory.learning_rate
        rate, epoch = np.meshgrid(rates, epochs)
        columns = {
            "learning_rate": rate,
            "shown": rate == tied[0],
            Stage.COLUMN: np.full(rate.shape, Stage.CONFIRMATION),
            "run": np.tile(block.first + pd.Series(rates).groupby(rates).cumcount().to_numpy(), (len(epochs), 1)),
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

    def rows(key: tuple[str, int]) -> pd.DataFrame:
        part = pd.concat([rows_of_block(key, block) for block in results.blocks[key]])
        return part.sort_values(["shown", "learning_rate", "run", "epoch"], ascending=[False, True, True, True])

    return long_table(results.blocks, rows).drop(columns="depth")


def plot(table: pd.DataFrame) -> Figure:
    """a: eigenvalues, b: condition number; mean and standard deviation of the logarithm over runs, against the loss.

    Of the runs with the whole training. Unresolved percentiles are replaced by their noise floor, but those of a run on
    its way to infinity.
    """
    figure, (left, right) = panels("ab", 2.8)
    table = curves.whole_runs(table[table["shown"]])
    for network, rows in table.groupby("network", sort=False):
        style, resolved = line_look(str(network)), rows[rows["resolved"]]
        plot_against_loss(left, rows, "lambda_max", style, logs=True)
        plot_against_loss(left, resolved, "lambda_p10", style, logs=True)
        plot_against_loss(right, resolved, "condition_number", style, logs=True)
        stays = ~rows["run"].isin(rows.loc[np.isinf(rows["loss"]), "run"])
        unknown = _above_optimum(rows[~rows["resolved"] & stays & np.isfinite(rows["noise_floor"])])
        left.scatter(unknown["loss"], unknown["noise_floor"], marker="_", color=style["color"], alpha=0.4)
    for axes in (left, right):
        axes.set_yscale("log")
        loss_axis(axes)
    left.set_ylabel(r"absolute eigenvalue $|\lambda|$")
    right.set_ylabel(r"condition number $|\lambda|_{\max}\,/\,|\lambda|_{(0.1)}$")
    # The eigenvalues' names are at the last points of the first network's curves: above one, below the rising other.
    names = ((r"$|\lambda|_{\max}$", (0, 9)), (r"$|\lambda|_{(0.1)}$", (18, -6)))
    for line, (name, shift) in zip(left.get_lines(), names, strict=False):
        x, y = _points(line)
        if len(x):
            left.note(name, (x[-1], y[-1]), shift, fontsize=8)
    _shade_larger(right)
    network_legend(figure, table["network"].unique(), markers=False)
    return figure


def _shade_larger(axes: Panel) -> None:
    """Shade the losses at which the first network's mean is above another's."""
    (losses, first), *others = map(_points, axes.get_lines())
    larger = np.any([first > curves.interpolate(losses, *other) for other in others], axis=0) if others else first < 0
    if larger.any():
        across = axes.get_xaxis_transform()
        axes.fill_between(losses, 0, 1, where=larger, transform=across, color="0.88", linewidth=0, zorder=0)
        name = f"{axes.get_lines()[0].get_label()} larger"
        axes.note(name, (losses[larger].min(), 0.03), (-3, 0), xycoords=across, ha="right")


def _points(line: Line2D) -> np.ndarray:
    """Shape (2, points)."""
    return np.asarray(line.get_xydata()).T


def plot_against_loss(axes: Panel, rows: pd.DataFrame, column: str, style: dict[str, Any], logs: bool) -> None:
    """Plot mean and standard deviation over runs, of the logarithm if ``logs``, against the distance to the optimum.

    Only until the first run ends: there the mean would jump although no run does.
    """
    losses, values = _by_loss(_above_optimum(rows), column)
    runs = np.isfinite(values).sum(axis=0)
    before = np.cumsum(np.diff(runs, prepend=runs[:1]) < 0) == 0
    values = np.log(values[:, before]) if logs else values[:, before]
    centre, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    low, middle, high = (np.exp(v) if logs else v for v in (centre - spread, centre, centre + spread))
    axes.plot_band(pd.Series(middle, losses[before]), low, high, **style)


def loss_axis(axes: Panel) -> None:
    """Distance to the optimal loss on a logarithmic axis; training goes from right to left."""
    axes.set_xscale("log")
    axes.tick_params(axis="x", which="minor", labelbottom=False)
    axes.set_xlabel(r"$\leftarrow$ training      loss $-$ optimal loss")


def _above_optimum(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose loss is the distance to the optimal loss, without those too near it to be drawn.

    Interpolation is linear in the loss, so it is the same in this distance.
    """
    return rows.assign(loss=rows["excess_loss"])[rows["excess_loss"] > LEAST_EXCESS]


def _by_loss(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate a column linearly in the loss, run by run, at losses that at least half of the runs passed.

    Only epochs with a new least loss are used, since the loss can rise at high learning rates.

    Args:
        rows: one network's rows, with run, epoch, loss and the column.
        column: the column to interpolate.

    Returns:
        Losses, descending, shape (points,), and values, shape (runs, points), NaN where a run did not pass; possibly
        no points.
    """
    finite = rows[np.isfinite(rows[column])]
    runs = [curves.descending(finite[finite["run"] == run], column) for run in rows["run"].unique()]
    passed = [losses for losses, _ in runs if len(losses)]
    if not passed:
        return np.empty(0), np.empty((len(runs), 0))
    ends = np.geomspace(max(losses[0] for losses in passed), min(losses[-1] for losses in passed), POINTS)
    # Rounding could move the grid's ends outside the runs' ranges, so their own ends are added.
    grid = np.unique(np.concatenate([ends, *(losses[[0, -1]] for losses in passed)]))[::-1]
    values = np.array([curves.interpolate(grid, *curve) for curve in runs])
    enough = np.isfinite(values).sum(axis=0) >= len(runs) / 2
    return grid[enough], values[:, enough]
