"""Figure 4: initial condition number of the Hessian against depth."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.experiments.networks import Key
from resaudit.experiments.results import TrainingResults
from resaudit.papers.demystifying_resnet.tables import long_table
from resaudit.papers.style import depth_axis, look, panels


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, run, lambda_max, lambda_p10, condition_number, noise_floor, resolved."""

    def rows(key: Key) -> pd.DataFrame:
        spectra = results.spectra[key]
        return pd.DataFrame(
            {
                "run": np.arange(spectra.lambda_max.shape[1]),
                "lambda_max": spectra.lambda_max[0],
                "lambda_p10": spectra.lambda_p10[0],
                "condition_number": spectra.condition_number[0],
                "noise_floor": spectra.noise_floor[0],
                "resolved": spectra.resolved[0],
            }
        )

    return long_table(results.spectra, rows)


def plot(table: pd.DataFrame) -> Figure:
    """Mean and standard deviation over runs.

    For a depth with an unresolved run, an open marker with an arrow shows the mean over runs of the largest condition
    number that double precision resolves, lambda_max / noise_floor: the true value is at least of that order.
    """
    figure, (axes,) = panels(1)
    for network, rows in table.groupby("network", sort=False):
        style = look(str(network))
        by_depth = rows.groupby("depth")
        known = by_depth["resolved"].all()
        mean = by_depth["condition_number"].mean()[known]
        deviation = by_depth["condition_number"].std(ddof=1).fillna(0.0)[known]
        # On a logarithmic axis a bar cannot reach zero: it ends at half the mean.
        down = deviation.where(deviation < mean, mean / 2)
        axes.errorbar(mean.index, mean, yerr=[down, deviation], capsize=2, **style)
        floor = (rows["lambda_max"] / rows["noise_floor"]).groupby(rows["depth"]).mean()[~known]
        axes.plot(floor.index, floor, linestyle="none", color=style["color"], marker=style["marker"], fillstyle="none")
        axes.plot(floor.index, floor * 6, linestyle="none", color=style["color"], marker=r"$\uparrow$", markersize=7)
    axes.set_yscale("log")
    depth_axis(axes, sorted(table["depth"].unique()))
    axes.set_ylabel(r"condition number $|\lambda|_{\max}\,/\,|\lambda|_{(0.1)}$")
    if not table["resolved"].all():
        axes.plot(
            [],
            [],
            linestyle="none",
            color="0.3",
            marker="^",
            fillstyle="none",
            label="at least this: beyond\ndouble precision",
        )
    axes.legend()
    return figure
