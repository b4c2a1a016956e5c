"""Norms of hidden states at initialisation: Theorems 2 and 4, the sharp scale, and Proposition 1."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.figures.fits import slope
from resaudit.figures.style import BLUE, DASHED, RED, mark, panels
from residual.stable_scaling.jobs.propagate import AtInitialisation
from residual.stable_scaling.looks import LAWS, depths_axis, power_look
from residual.stable_scaling.network.setting import Network, Propagated, layers_kept, promised

BELOW, ABOVE = "below one half", "one half and above"
SHOWN = (0.25, 0.3, 0.4, 0.5, 0.6, 1.0)
"""Powers whose norms along layers are drawn."""
EMPTY = {
    "power": -1.0, "layer": -1, "run": -1, "squared_norm": 0.0, "gained": 0.0, "growth": 0.0, "over_bound": 0.0,
    "runs": 0, "inside": 0, "promised": 0.0, "least": 0.0, "largest": 0.0,
}  # fmt: skip
"""Columns that a part of the table does not use."""


def table(found: Any) -> pd.DataFrame:
    """Four parts: ``grid`` (one row a run), ``layers`` (geometric means over runs), ``stable``, ``normalised``.

    Columns: part, inputs, network, width, power (a; -1: none), depth, layer, run (-1: all), squared_norm
    (||h_l||^2, mean over samples), gained (that minus ||h_0||^2), growth (log of their ratio), over_bound (squared_norm
    over L^(2c)/2 or l/2), runs, inside (runs with every norm in [1 - c, 1 + c]), promised (a probability), least and
    largest (of ||h_l|| over l, samples and runs).
    """
    results, labels = found
    parts = []
    for where, (job, propagated) in results.items():
        part, inputs = (dict(where)[name] for name in ("part", "inputs"))
        rows = {"grid": _grid, "stable": _stable, "normalised": _normalised}[part]
        for i, (network, label) in enumerate(zip(job.networks, labels[part], strict=True)):
            parts += [
                EMPTY | {"part": part, "inputs": inputs, "width": network.width, "depth": network.depth} | row
                for row in rows(job, network, label, propagated, i)
            ]
    made = pd.DataFrame(parts)
    curves = made[made["part"] == "layers"]
    widest = curves["width"].eq(made.loc[made["part"] == "grid", "width"].max())
    deepest = curves["depth"].eq(made.loc[made["part"] == "grid", "depth"].max())
    made = made.drop(curves.index[~(widest & deepest)])
    return made[["part", "inputs", "network", "width", "depth", *EMPTY]].reset_index(drop=True)


Rows = Iterator[dict[str, Any]]


def _grid(job: AtInitialisation, network: Network, label: dict[str, Any], found: Propagated, i: int) -> Rows:
    power, layers = label["power"], layers_kept(network.depth, job.kept)
    squared = found.squared_norms[i][:, : len(layers)]
    bound = network.depth ** (1 - 2 * power) / 2
    name = BELOW if power < 0.5 else ABOVE
    for run, (last, start) in enumerate(zip(squared[:, -1], found.start[i], strict=True)):
        yield {
            "network": name, "power": power, "layer": layers[-1], "run": run, "squared_norm": last,
            "gained": last - start, "growth": np.log(last / start), "over_bound": last / bound if power < 0.5 else 0.0,
        }  # fmt: skip
    for layer, here in zip(layers, squared.T, strict=True):
        mean = np.exp(np.log(here).mean())
        yield {"part": "layers", "network": name, "power": power, "layer": layer, "squared_norm": mean}


def _stable(job: AtInitialisation, network: Network, label: dict[str, Any], found: Propagated, i: int) -> Rows:
    c, least, largest = label["c"], found.least[i], found.largest[i]
    yield {
        "network": f"{job.samples.law}, c = {c:g}",
        "runs": job.runs,
        "inside": int(((least >= 1 - c) & (largest <= 1 + c)).sum()),
        "promised": promised(network.width, network.depth, job.samples.count, c),
        "least": least.min(),
        "largest": largest.max(),
    }


def _normalised(job: AtInitialisation, network: Network, label: dict[str, Any], found: Propagated, i: int) -> Rows:
    for k, layer in enumerate(layers_kept(network.depth, job.kept)):
        for run, (here, start) in enumerate(zip(found.squared_norms[i][:, k], found.start[i], strict=True)):
            yield {
                "network": label["branch"], "layer": layer, "run": run, "squared_norm": here, "gained": here - start,
                "over_bound": here / (layer / 2),
            }  # fmt: skip


def plot(table: pd.DataFrame) -> Figure:
    """a: norms along layers. b: exponents against a. c: Theorem 2's interval. d: the normalised branch."""
    figure, (layers, scale, stable, normalised) = panels("ab;cd", 4.6)
    _plot_layers(layers, table[table["part"] == "layers"])
    _plot_exponents(scale, table[table["part"] == "grid"])
    _plot_stable(stable, table[table["part"] == "stable"])
    _plot_normalised(normalised, table[table["part"] == "normalised"])
    return figure


def _plot_layers(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows[(rows["inputs"] == rows["inputs"].iloc[0]) & rows["power"].isin(SHOWN)]
    for power, curve in rows.groupby("power"):
        axes.plot(curve["layer"], curve["squared_norm"], markersize=3, **power_look(float(str(power))))
    axes.set(xscale="log", yscale="log", ylabel=r"$\|h_l\|^2$")
    axes.set_xlabel(f"layer $l$ of $L={rows['depth'].iloc[0]}$, $m={rows['width'].iloc[0]}$")
    axes.legend(loc="upper left")


def _plot_exponents(axes: Axes, rows: pd.DataFrame) -> None:
    powers = np.array(sorted(rows["power"].unique()))
    axes.plot(powers, 1 - 2 * powers, color="0.4", linewidth=0.8)
    axes.axhline(0, color="0.7", linewidth=0.6)
    mark(axes, x=0.5)
    groups = list(rows.groupby(["inputs", "width"], sort=False))
    shades = {m: f"C{k}" for k, m in enumerate(sorted(rows["width"].unique()))}
    for k, ((inputs, width), part) in enumerate(groups):
        found, errors = _exponents(part.pivot_table("growth", "run", ["power", "depth"]))
        marker, name = LAWS[str(inputs)]
        axes.errorbar(
            powers + 0.006 * (k - (len(groups) - 1) / 2), found, 2 * errors, fmt=marker, markersize=3, elinewidth=0.7,
            color=shades[width], markerfacecolor="none" if inputs == "sphere" else None, label=f"{name}, $m={width}$",
        )  # fmt: skip
    axes.set(xlabel=r"$a$ of $\tau=L^{-a}$", ylim=(-1.4, 1.0))
    axes.set_ylabel(r"exponent of $\log(\|h_{L-1}\|^2/\|h_0\|^2)$ in $L$")
    axes.legend(loc="lower left")


def _exponents(values: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Least-squares exponents in depth of means over runs, by power, and their standard errors by the jackknife.

    Columns are (power, depth); where a mean is not positive, or there is one run, exponent or error is NaN.
    """
    powers, depths = (values.columns.get_level_values(k).unique().sort_values() for k in (0, 1))
    each = values.to_numpy()
    runs = len(each)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.vstack([each.mean(axis=0), (each.sum(axis=0) - each) / (runs - 1)])
        logs = np.log(np.where(means > 0, means, np.nan)).reshape(1 + runs, len(powers), len(depths))
    found = slope(np.log(depths.to_numpy(dtype=float)), logs)
    errors = np.sqrt((runs - 1) / runs * np.sum((found[1:] - found[1:].mean(axis=0)) ** 2, axis=0))
    return found[0], errors


def _plot_stable(axes: Axes, rows: pd.DataFrame) -> None:
    widest = rows["network"].str.split(" = ").str[1].max()
    for k, (name, part) in enumerate(rows.groupby("network", sort=False)):
        law, c = str(name).split(", c = ")
        colour, line, markers = (RED, ":", "os") if c == widest else (BLUE, DASHED, "D^")
        middle = (part["least"] + part["largest"]) / 2
        axes.errorbar(
            part["depth"] * 1.1 ** (k - 1.5), middle, (part["largest"] - part["least"]) / 2, linestyle="none",
            capsize=3, color=colour, elinewidth=1.2, marker=markers[law == "sphere"], markersize=3,
            markerfacecolor="none" if law == "sphere" else None,
            label=f"{LAWS[law][1]}, $c={c}$, $m={part['width'].iloc[0]}$",
        )  # fmt: skip
        for end in (1 - float(c), 1 + float(c)):
            axes.axhline(end, color=colour, linewidth=0.8, linestyle=line)
    axes.set_ylim(0.4, 1.9)
    depths_axis(axes, sorted(rows["depth"].unique()))
    axes.set_ylabel(r"least and largest $\|h_l\|$")
    axes.legend(loc="upper right", ncols=2, columnspacing=0.8, handlelength=1.2)


def _plot_normalised(axes: Axes, rows: pd.DataFrame) -> None:
    for colour, (inputs, part) in zip((BLUE, RED), rows.groupby("inputs", sort=False), strict=False):
        marker, words = LAWS[str(inputs)]
        mean = part.groupby("layer")["squared_norm"].mean()
        axes.plot(mean.index, mean, marker=marker, markersize=3, color=colour, linestyle="-" if marker == "o" else "--",
                  markerfacecolor="none" if inputs == "sphere" else None, label=words)  # fmt: skip
    layers = np.array(sorted(rows["layer"].unique()), dtype=float)
    axes.plot(layers, layers / 2, color="0.4", linewidth=0.8, linestyle=":", label="$l/2$")
    axes.set(xscale="log", yscale="log", ylabel=r"mean of $\|h_l\|^2$")
    axes.set_xlabel(r"layer $l$, normalised branch, $\tau=1$")
    axes.legend(loc="upper left")
