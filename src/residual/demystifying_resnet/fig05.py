"""Figure 5: largest and 10th percentile of the absolute eigenvalues against loss."""

from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.paper import (
    CONFIRMATION,
    STAGE,
    Key,
    above_optimum,
    annotate,
    interpolate,
    loss_axis,
    panels,
    plot_against_loss,
    whole_runs,
)
from residual.demystifying_resnet.experiments.results import Block, TrainingResults
from residual.demystifying_resnet.figures import SPECTRAL, Derived, line_look, long_table, network_legend
from residual.demystifying_resnet.networks.spectra import Spectra

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

    def rows_of_block(key: Key, block: Block) -> pd.DataFrame:
        trajectory, spectra, tied = block.trajectory, cast(Spectra, block.spectra), results.rates[key]
        epochs, rates = trajectory.snapshot_epochs, trajectory.learning_rate
        rate, epoch = np.meshgrid(rates, epochs)
        columns = {
            "learning_rate": rate,
            "shown": rate == tied[0],
            STAGE: np.full(rate.shape, CONFIRMATION),
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

    def rows(key: Key) -> pd.DataFrame:
        part = pd.concat([rows_of_block(key, block) for block in results.blocks[key]])
        return part.sort_values(["shown", "learning_rate", "run", "epoch"], ascending=[False, True, True, True])

    return long_table(results.blocks, rows).drop(columns="depth")


def plot(table: pd.DataFrame) -> Figure:
    """a: eigenvalues, b: condition number; mean and standard deviation of the logarithm over runs, against the loss.

    Of the runs with the whole training. Unresolved percentiles are replaced by their noise floor, but those of a run on
    its way to infinity.
    """
    figure, (left, right) = panels("ab", 2.8)
    table = whole_runs(table[table["shown"]])
    for network, rows in table.groupby("network", sort=False):
        style, resolved = line_look(str(network)), rows[rows["resolved"]]
        plot_against_loss(left, rows, "lambda_max", style, logs=True)
        plot_against_loss(left, resolved, "lambda_p10", style, logs=True)
        plot_against_loss(right, resolved, "condition_number", style, logs=True)
        stays = ~rows["run"].isin(rows.loc[np.isinf(rows["loss"]), "run"])
        unknown = above_optimum(rows[~rows["resolved"] & stays & np.isfinite(rows["noise_floor"])])
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
            annotate(left, name, (x[-1], y[-1]), shift, fontsize=8)
    _shade_larger(right)
    network_legend(figure, table["network"].unique(), markers=False)
    return figure


def _shade_larger(axes: Axes) -> None:
    """Shade the losses at which the first network's mean is above another's."""
    (losses, first), *others = map(_points, axes.get_lines())
    larger = np.any([first > interpolate(losses, *other) for other in others], axis=0) if others else first < 0
    if larger.any():
        across = axes.get_xaxis_transform()
        axes.fill_between(losses, 0, 1, where=larger, transform=across, color="0.88", linewidth=0, zorder=0)
        name = f"{axes.get_lines()[0].get_label()} larger"
        annotate(axes, name, (losses[larger].min(), 0.03), (-3, 0), xycoords=across, ha="right")


def _points(line: Line2D) -> np.ndarray:
    """Shape (2, points)."""
    return np.asarray(line.get_xydata()).T
