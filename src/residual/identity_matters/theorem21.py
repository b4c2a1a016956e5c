"""Theorem 2.1: the largest norm of factors I + A of a map, by the proof, by a shorter path, and by search."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Coordinates, Look, Panel, panels
from residual.identity_matters.linear.factorization import SOLVES, product_tolerance, split
from residual.identity_matters.linear.measured import Factored

PRODUCT = "product = R"
NORM = "largest norm"
PROOF_NORM = "largest norm of the proof's factors"
BUILT = "smallest norm built over (4 pi + 3 gamma)/l"
WHOLE = "proof's norm over max(pi/q, 3 gamma/p)"
AS_PRINTED = "proof's norm over (4 pi + 3 gamma)/l"
POSITIVE = "positive: proof's norm over 3 gamma/l"
PRINTED = {
    PRODUCT: PRODUCT,
    BUILT: "smallest norm built ≤ (4π + 3γ)/ℓ",
    WHOLE: "proof's norm ≤ max(π/q, 3γ/p)",
    AS_PRINTED: "proof's norm ≤ (4π + 3γ)/ℓ",
    POSITIVE: "positive: proof's norm ≤ 3γ/ℓ",
}
"""Properties in print."""
DEEP = 64
"""Layers from which the exponent is fitted: with fewer, whole p and q are coarse."""
CLOSE = 1e-9
"""Relative rounding of gamma."""
LOOKS: dict[str, dict[str, Any]] = {
    "proof": {"color": Look.RED, "marker": "^", "markersize": 5, "label": "proof's factors"},
    "polar": {"color": Look.BLUE, "marker": "o", "label": "polar path (ours)"},
    "search": {"color": Look.GREEN, "marker": "D", "markersize": 3, "label": "search"},
}


def _paper(table: pd.DataFrame) -> "pd.Series[float]":
    """The theorem's bound: (4 pi + 3 gamma)/l, or 3 gamma/l."""
    turning = np.where(table["target"] == "positive", 0.0, 4 * np.pi)
    return pd.Series(turning + 3 * table["gamma"], table.index) / table["depth"]


def _of_norms(table: pd.DataFrame) -> "pd.Series[float]":
    """Values that follow from the largest norms, of the product its error."""
    keys = ["target", "width", "draw", "depth"]
    norms = table[table["property"] == NORM]
    built = norms[norms["method"] != "search"].groupby(keys, as_index=False)["value"].min().assign(method="any")
    known = pd.concat([norms[[*keys, "method", "value"]], built]).drop_duplicates([*keys, "method"])
    norm = table[[*keys, "method"]].merge(known, on=[*keys, "method"], how="left")["value"].set_axis(table.index)
    bounds = {name: _paper(table) for name in (BUILT, AS_PRINTED, POSITIVE)} | {PROOF_NORM: 1.0}
    parts = zip(table["depth"], table["gamma"], strict=True)
    bounds[WHOLE] = pd.Series([split(depth, gamma).bound(gamma) for depth, gamma in parts], table.index)
    values = table["error"].where(table["property"] == PRODUCT)
    for name, bound in bounds.items():
        values = values.mask(table["property"] == name, norm / bound)
    return values


def _tolerances(table: pd.DataFrame) -> "pd.Series[float]":
    """At most what rounding allows of a map whose largest singular value is exp(gamma), and its condition the square.

    The map of a negative determinant has one more dimension.
    """
    width, stretch = table["width"] + (table["target"] == "negative"), np.exp(table["gamma"])
    sizes = zip(width, table["depth"], strict=True)
    most = stretch * np.array([product_tolerance(np.eye(size), depth) for size, depth in sizes])
    factors = (1 + table["value"].where(table["property"] == NORM)) ** table["depth"]
    solving = SOLVES * width**2 * np.finfo(float).eps * factors * stretch**2
    keys = [table[key] for key in ("target", "width", "draw", "depth", "method")]
    searched = solving.groupby(keys).transform("max").where(table["method"] == "search", 0.0)
    return table["tolerance"].clip(upper=(most + searched) * (1 + CLOSE))


DERIVED = {"paper": lambda table: _paper(table).where(table["property"] == NORM), "value": _of_norms,
           "tolerance": _tolerances}  # fmt: skip


def methods_of(
    target: str, depths: Collection[int], searched: Collection[int]
) -> Iterator[tuple[str, str, Collection[int]]]:
    """The properties of a kind of map with their methods and depths, of those at which it was factored and searched."""
    for name in (PRODUCT, NORM):
        yield from ((name, method, depths) for method in ("proof", "polar"))
        yield name, "search", searched
    yield PROOF_NORM, "proof", [depth for depth in depths if depth >= DEEP]
    if target == "positive":
        yield POSITIVE, "proof", depths
    else:
        yield from ((name, "proof", depths) for name in (WHOLE, AS_PRINTED))
        yield BUILT, "any", depths


def table(results: Mapping[Coordinates, Factored]) -> pd.DataFrame:
    """Rows of each factorization's product and largest norm, and of that norm relative to its bounds.

    Columns: property, target (the kind of map), method (proof, polar, search or any), width, draw, depth, gamma, value,
    error, tolerance; of largest norms also paper (the theorem's bound) and least (below which there is none).
    """
    frames = (pd.DataFrame(dataclasses.asdict(each)).assign(target=dict(at)["target"]) for at, each in results.items())
    every = pd.concat(frames, ignore_index=True)
    positive = every["target"] == "positive"
    proof, root = (every[(every["method"] == "proof") & chosen] for chosen in (~positive, positive))
    deep = pd.concat([proof, root])
    deep = deep[deep["depth"] >= DEEP]
    built = every[(every["method"] != "search") & ~positive].sort_values("norm")
    best = built.drop_duplicates(["target", "width", "draw", "depth"]).assign(method="any").sort_index()
    rows = [
        _rows(every, PRODUCT, every["error"]),
        _rows(every, NORM, every["norm"]).assign(paper=every["paper"], least=every["least"]),
        _rows(deep, PROOF_NORM, deep["norm"]),
        _rows(best, BUILT, best["norm"] / best["paper"]),
        _rows(proof, WHOLE, proof["norm"] / proof["whole"]),
        _rows(proof, AS_PRINTED, proof["norm"] / proof["paper"]),
        _rows(root, POSITIVE, root["norm"] / root["paper"]),
    ]
    return pd.concat(rows, ignore_index=True)


def _rows(rows: pd.DataFrame, name: str, values: "pd.Series[float]") -> pd.DataFrame:
    columns = ["property", "target", "method", "width", "draw", "depth", "gamma", "value", "error", "tolerance"]
    return rows.assign(property=name, value=values)[columns]


def plot(table: pd.DataFrame) -> Figure:
    """a: statements. b: norms of one Gaussian map by depth. c: norms over the bound, one map of each kind."""
    figure, (statements, curves, kinds) = panels("aaa;bbc", 4.2, height_ratios=[1, 1.9])
    rows = [("statement", "cases", "worst / bound")]
    for name, words in PRINTED.items():
        cases = table[table["property"] == name]
        worst = (cases["error"] / cases["tolerance"] if name == PRODUCT else cases["value"]).max()
        rows.append((words, f"{len(cases)}", f"{worst:.3g}"))
    statements.print_rows(rows, (0.0, 0.82, 1.0))
    norms = table[table["property"] == NORM]
    _plot_depths(curves, norms)
    _plot_kinds(kinds, norms)
    return figure


def _plot_depths(axes: Panel, norms: pd.DataFrame) -> None:
    first = norms[(norms["target"] == norms["target"].iloc[0]) & (norms["draw"] == 0)]
    first = first[first["width"] == first["width"].min()].sort_values("depth")
    bounds = first.drop_duplicates("depth")
    axes.plot(bounds["depth"], bounds["paper"], ":", color="0.2", label=r"$(4\pi+3\gamma)/\ell$")
    for method, look in LOOKS.items():
        curve = first[first["method"] == method]
        if len(curve):
            axes.plot(curve["depth"], curve["value"], "-" if method != "search" else "", **look)
    axes.set(xscale="log", yscale="log", xlabel=r"factors $\ell$", ylabel=r"$\max_i\,\Vert A_i\Vert$")
    low = float(bounds["least"].min()) / 2
    axes.fill_between(bounds["depth"], low, bounds["least"], color="0.88", linewidth=0, label="impossible")
    axes.set_ylim(low, None)
    axes.legend(loc="lower left")


def _plot_kinds(axes: Panel, norms: pd.DataFrame) -> None:
    """Each kind's map that was searched (else its first), at the most factors there."""
    chosen = norms[norms["method"] == "search"] if "search" in set(norms["method"]) else norms
    chosen = chosen[(chosen["draw"] == 0) & (chosen["depth"] == chosen["depth"].max())]
    chosen = chosen.sort_values("width").drop_duplicates("target")[["target", "width", "draw", "depth"]]
    rows = norms.merge(chosen)
    kinds = list(dict.fromkeys(norms["target"]))[::-1]
    places = rows["target"].map(kinds.index)
    axes.plot(rows["least"] / rows["paper"], places, "|", color="0.4", markersize=11, zorder=1)
    for method, look in LOOKS.items():
        of_method = rows["method"] == method
        axes.plot(rows.loc[of_method, "value"] / rows.loc[of_method, "paper"], places[of_method], linestyle="", **look)
    axes.axvline(1, color="0.2", linestyle=":", linewidth=1.0)
    axes.set_yticks(np.arange(len(kinds)), kinds)
    axes.set(xlim=(0, 1.2), ylim=(-0.6, len(kinds) - 0.4), xlabel="largest norm / paper's bound")
    axes.set_title(f"ℓ = {chosen['depth'].iloc[0]:g}")
