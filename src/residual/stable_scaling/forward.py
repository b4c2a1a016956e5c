"""Norms of hidden states at initialisation: Theorems 2 and 4, the sharp scale, and Proposition 1."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, Panel, curves, panels
from residual.stable_scaling.jobs.at_initialisation import AtInitialisation
from residual.stable_scaling.looks import LAWS, depths_axis, power_look
from residual.stable_scaling.network.setting import Propagated, layers_kept, promised

BELOW, ABOVE = "below one half", "one half and above"
SHOWN = (0.25, 0.3, 0.4, 0.5, 0.6, 1.0)
"""Powers whose norms along layers are drawn."""
DIGITS_LEFT = 1e-6
"""A difference of squared norms tells the smaller one to nine digits if it is at least this share."""
EMPTY = {
    "power": -1.0, "layer": -1, "run": -1, "squared_norm": 0.0, "gained": 0.0, "growth": 0.0, "over_bound": 0.0,
    "runs": 0, "inside": 0, "promised": 0.0, "least": 0.0, "largest": 0.0,
}  # fmt: skip
"""Columns that a part of the table does not use."""


def table(read: Any) -> pd.DataFrame:
    """Four parts: ``grid`` (one row a run), ``layers`` (geometric means over runs), ``stable``, ``normalised``.

    Columns: part, inputs, network, width, power (a; -1: none), depth, layer, run (-1: all), squared_norm
    (||h_l||^2, mean over samples), gained (that minus ||h_0||^2), growth (log of their ratio), over_bound (squared_norm
    over L^(2c)/2 or l/2), runs, inside (runs with every norm in [1 - c, 1 + c]), promised (a probability), least and
    largest (of ||h_l|| over l, samples and runs).
    """
    results, labels = read
    rows: list[dict[str, Any]] = []
    for where, (job, propagated) in results.items():
        for i, (network, label) in enumerate(zip(job.networks, labels[dict(where)["part"]], strict=True)):
            shared = EMPTY | dict(where) | {"width": network.width, "depth": network.depth}
            rows += (shared | row for row in _rows(job, i, propagated, **label))
    made = pd.DataFrame(rows)
    profiles = made[made["part"] == "layers"]
    widest = profiles["width"].eq(made.loc[made["part"] == "grid", "width"].max())
    deepest = profiles["depth"].eq(made.loc[made["part"] == "grid", "depth"].max())
    made = made.drop(profiles.index[~(widest & deepest)])
    return (
        made[["part", "inputs", "network", "width", "depth", *EMPTY]]
        .reset_index(drop=True)
        .assign(over_bound=_over_bound)
    )


def _over_bound(table: pd.DataFrame) -> "pd.Series[float]":
    """The squared norm over L^(1 - 2a)/2 for a below 1/2, of a normalised branch over l/2; else 0."""
    bounded = (table["part"] == "grid") & (table["power"] < 0.5)
    powers = [depth ** (1 - 2 * power) / 2 for depth, power in zip(table["depth"], table["power"], strict=True)]
    bound = pd.Series(powers, table.index).where(bounded, np.inf)
    return table["squared_norm"] / bound.mask(table["part"] == "normalised", table["layer"] / 2)


def _growth(table: pd.DataFrame) -> "pd.Series[float]":
    """The logarithm of the ratio of squared norms, where their difference leaves enough digits of the first."""
    start = table["squared_norm"] - table["gained"]
    known = (table["part"] == "grid") & (start > DIGITS_LEFT * table["squared_norm"])
    return pd.Series(np.log(table["squared_norm"] / start.where(known)), table.index)


DERIVED = {"over_bound": _over_bound, "growth": _growth}
COUNTED = ("inside",)


def _rows(
    job: AtInitialisation, i: int, found: Propagated, power: float = -1.0, c: float | None = None, branch: str = ""
) -> Iterator[dict[str, Any]]:
    """Rows of network i, which has a power, is one of Theorem 2 with c, or has a normalised branch."""
    network, squared, start = job.networks[i], found.squared_norms[i], found.start[i]
    layers = layers_kept(network.depth, job.kept)
    if c is not None:
        least, largest = found.least[i], found.largest[i]
        yield {
            "network": f"{job.samples.law}, c = {c:g}", "runs": job.runs,
            "inside": int(((least >= 1 - c) & (largest <= 1 + c)).sum()),
            "promised": promised(network.width, network.depth, job.samples.count, c),
            "least": least.min(), "largest": largest.max(),
        }  # fmt: skip
    elif branch:
        for layer, norms in zip(layers, squared.T, strict=False):
            for run, (norm, first) in enumerate(zip(norms, start, strict=True)):
                yield {
                    "network": branch, "layer": layer, "run": run, "squared_norm": norm, "gained": norm - first,
                }  # fmt: skip
    else:
        shared = {"network": BELOW if power < 0.5 else ABOVE, "power": power}
        for run, (norm, first) in enumerate(zip(squared[:, len(layers) - 1], start, strict=True)):
            yield shared | {
                "layer": layers[-1], "run": run, "squared_norm": norm, "gained": norm - first,
                "growth": np.log(norm / first),
            }  # fmt: skip
        for layer, norms in zip(layers, squared.T, strict=False):
            yield shared | {"part": "layers", "layer": layer, "squared_norm": np.exp(np.log(norms).mean())}


def plot(table: pd.DataFrame) -> Figure:
    """a: norms along layers. b: exponents against a. c: Theorem 2's interval. d: the normalised branch."""
    figure, (layers, scale, stable, normalised) = panels("ab;cd", 4.6)
    profiles = table[(table["part"] == "layers") & table["power"].isin(SHOWN)]
    profiles = profiles[profiles["inputs"] == profiles["inputs"].iloc[0]]
    for power, curve in profiles.groupby("power"):
        layers.plot(curve["layer"], curve["squared_norm"], markersize=3, **power_look(float(str(power))))
    layers.set(xscale="log", yscale="log", ylabel=r"$\|h_l\|^2$")
    layers.set_xlabel(f"layer $l$ of $L={profiles['depth'].iloc[0]}$, $m={profiles['width'].iloc[0]}$")
    layers.legend(loc="upper left")
    _plot_exponents(scale, table[table["part"] == "grid"])
    _plot_stable(stable, table[table["part"] == "stable"])
    rows = table[table["part"] == "normalised"]
    for colour, (inputs, of_inputs) in zip((Look.BLUE, Look.RED), rows.groupby("inputs", sort=False), strict=False):
        marker, words = LAWS[str(inputs)]
        mean = of_inputs.groupby("layer")["squared_norm"].mean()
        normalised.plot(mean.index, mean, marker=marker, markersize=3, color=colour,
                        linestyle="-" if marker == "o" else "--",
                        markerfacecolor="none" if inputs == "sphere" else None, label=words)  # fmt: skip
    bound = np.array(sorted(rows["layer"].unique()), dtype=float)
    normalised.plot(bound, bound / 2, color="0.4", linewidth=0.8, linestyle=":", label="$l/2$")
    normalised.set(xscale="log", yscale="log", ylabel=r"mean of $\|h_l\|^2$")
    normalised.set_xlabel(r"layer $l$, normalised branch, $\tau=1$")
    normalised.legend(loc="upper left")
    return figure


def _plot_exponents(axes: Panel, rows: pd.DataFrame) -> None:
    powers = np.array(sorted(rows["power"].unique()))
    axes.plot(powers, 1 - 2 * powers, color="0.4", linewidth=0.8)
    axes.axhline(0, color="0.7", linewidth=0.6)
    axes.mark(x=0.5)
    groups, first = list(rows.groupby(["inputs", "width"], sort=False)), rows["inputs"].iloc[0]
    shades = {m: f"C{k}" for k, m in enumerate(sorted(rows["width"].unique()))}
    for k, ((inputs, width), group) in enumerate(groups):
        means, errors = _exponents(group.pivot_table("growth", "run", ["power", "depth"]))
        axes.errorbar(
            powers + 0.006 * (k - (len(groups) - 1) / 2), means, 2 * errors, fmt=LAWS[str(inputs)][0], markersize=3,
            elinewidth=0.7, color=shades[width], markerfacecolor="none" if inputs == "sphere" else None,
            label=f"$m={width}$" if inputs == first else None,
        )  # fmt: skip
    axes.set(xlabel=r"$a$ of $\tau=L^{-a}$", ylim=(-1.4, 1.0))
    axes.set_ylabel(r"exponent of $\log(\|h_{L-1}\|^2/\|h_0\|^2)$ in $L$")
    axes.legend(loc="lower left")


def _exponents(values: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Least-squares exponents in depth of means over runs, by power, and their standard errors by the jackknife.

    Columns are (power, depth); where a mean is not positive, or there is one run, exponent or error is NaN.
    """
    powers, depths = (values.columns.get_level_values(k).unique().sort_values() for k in (0, 1))
    growth = values.to_numpy()
    runs = len(growth)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.vstack([growth.mean(axis=0), (growth.sum(axis=0) - growth) / (runs - 1)])
        logs = np.log(np.where(means > 0, means, np.nan)).reshape(1 + runs, len(powers), len(depths))
    exponents = curves.slope(np.log(depths.to_numpy(dtype=float)), logs)
    errors = np.sqrt((runs - 1) / runs * np.sum((exponents[1:] - exponents[1:].mean(axis=0)) ** 2, axis=0))
    return exponents[0], errors


def _plot_stable(axes: Panel, rows: pd.DataFrame) -> None:
    names = {str(name): float(str(name).rpartition(" = ")[2]) for name in rows["network"].unique()}
    for k, (name, group) in enumerate(rows.groupby("network", sort=False)):
        law, c = str(group["inputs"].iloc[0]), names[str(name)]
        colour, line, markers = (Look.RED, ":", "os") if c == max(names.values()) else (Look.BLUE, Look.DASHED, "D^")
        middle = (group["least"] + group["largest"]) / 2
        axes.errorbar(
            group["depth"] * 1.1 ** (k - 1.5), middle, (group["largest"] - group["least"]) / 2, linestyle="none",
            capsize=3, color=colour, elinewidth=1.2, marker=markers[law == "sphere"], markersize=3,
            markerfacecolor="none" if law == "sphere" else None,
            label=f"{LAWS[law][1]}, $c={c:g}$, $m={group['width'].iloc[0]}$",
        )  # fmt: skip
        for end in (1 - c, 1 + c):
            axes.axhline(end, color=colour, linewidth=0.8, linestyle=line)
    axes.set_ylim(0.4, 1.9)
    depths_axis(axes, sorted(rows["depth"].unique()))
    axes.set_ylabel(r"least and largest $\|h_l\|$")
    axes.legend(loc="upper right", ncols=2, columnspacing=0.8, handlelength=1.2)
