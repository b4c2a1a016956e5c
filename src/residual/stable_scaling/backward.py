"""Theorems 3 and 6: gradients at initialisation against depth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import legend_above, panels
from residual.stable_scaling.looks import depths_axis, network_look, power_name
from residual.stable_scaling.network.setting import layers_kept

LAST, LARGEST, LAYERS = "last", "largest", "layers"


def names_of(powers: Sequence[float]) -> list[str]:
    """The names of a depth's networks."""
    return [*map(power_name, powers), "plain"]


def table(read: Any) -> pd.DataFrame:
    """Rows of part ``depth``, one a run, and of part ``layers``, geometric means over runs at the greatest depth.

    Columns: part, inputs, network, width, depth, layer (-1: all), run (-1: all), last (norm of the gradient of W_L),
    largest (of W_l over tau, l < L), gradient (of W_l over tau, of one layer); all relative to sqrt(loss * m/d).
    """
    results, powers = read
    names = names_of(powers)
    rows: list[dict[str, Any]] = []
    for where, (job, gradients) in results.items():
        deepest = max(network.depth for network in job.networks)
        for i, network in enumerate(job.networks):
            shared = dict(where) | {"part": "depth", "network": names[i % len(names)], "depth": network.depth}
            shared |= {"layer": -1, "run": -1, "last": 0.0, "largest": 0.0, "gradient": 0.0}
            pairs = zip(gradients.last[i], gradients.largest[i], strict=True)
            rows += [shared | {"run": run, "last": a, "largest": b} for run, (a, b) in enumerate(pairs)]
            if network.depth == deepest:
                layers = layers_kept(network.depth, job.kept)
                means = np.exp(np.log(gradients.middle[i][:, : len(layers)]).mean(axis=0))
                rows += [
                    shared | {"part": LAYERS, "layer": layer, "gradient": mean}
                    for layer, mean in zip(layers, means, strict=True)
                ]
    columns = ["part", "inputs", "network", "width", "depth", "layer", "run", "last", "largest", "gradient"]
    return pd.DataFrame(rows)[columns]


def plot(table: pd.DataFrame) -> Figure:
    """a: of W_L by depth. b: the largest of W_l over tau. c: along the layers."""
    figure, (last, largest, along) = panels("abc", 2.7)
    rows = table[(table["width"] == table["width"].max()) & (table["inputs"] == table["inputs"].iloc[0])]
    by_depth, layers = rows[rows["part"] == "depth"], rows[rows["part"] == LAYERS]
    looks = {str(network): network_look(str(network)) for network in by_depth["network"].unique()}
    for axes, column in ((last, LAST), (largest, LARGEST)):
        for network, curve in by_depth.groupby("network", sort=False):
            logs = np.log(curve[column]).groupby(curve["depth"])
            mean, error = logs.mean(), logs.sem().fillna(0)
            ends = np.exp(mean - 2 * error), np.exp(mean + 2 * error)
            axes.plot_band(np.exp(mean), *ends, alpha=0.15, **looks[str(network)])
        depths_axis(axes, sorted(by_depth["depth"].unique()))
    for network, curve in layers.groupby("network", sort=False):
        along.plot(curve["layer"], curve["gradient"], **looks[str(network)] | {"markersize": 2.5})
    last.set(yscale="log", ylabel=r"gradient of $W_L$, relative")
    largest.set(yscale="log", ylabel=r"largest gradient of $W_l$ over $\tau$, relative")
    along.set(xscale="log", yscale="log", ylabel=r"gradient of $W_l$ over $\tau$, relative")
    along.set_xlabel(f"layer $l$ of $L={layers['depth'].iloc[0]}$")
    legend_above(figure, list(looks.values()))
    return figure
