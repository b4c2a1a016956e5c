"""Theorem 2: derivatives at zero against the stated values, and condition numbers at zero against depth."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.paper import panels
from residual.demystifying_resnet.figures import look
from residual.demystifying_resnet.theorem1 import CASE, by_property, of_case, statements_panel, table

__all__ = ["DERIVED", "plot", "table"]

CONDITION = "condition number |l|max / |l|{} of the Hessian at zero"
LEAST = (("min", ":", r"$|\lambda|_{\min}$"), ("(0.1)", "-", r"$|\lambda|_{(0.1)}$"))
"""What the condition number divides by: its name in the table, its line, its label."""
EIGENVALUES, CONDITIONS = "eq. 26: the eigenvalues, each with its multiplicity", "eq. 9: the condition number"
LEAST_CANCELLING = 1e-3
"""Eigenvalues of sums whose terms cancel further than to this share are known too badly to test an equation."""


def tolerances(table: pd.DataFrame) -> "pd.Series[float]":
    """What rounding allows, from the sizes; of eigenvalues, how far their terms cancel is the least units'."""
    from residual.demystifying_resnet.theory.at_zero import EPS, rounding_of

    layers = table["units"] * table["shortcut_depth"]
    entries = rounding_of(table["samples"], layers, table["width"])
    solver, moments = EPS * layers * table["width"] ** 2, entries * table["width"]
    eigenvalues = of_case(table, EIGENVALUES, "tolerance")
    cancelling = ((eigenvalues - solver) / moments).groupby([table[key] for key in CASE if key != "units"])
    shares = cancelling.transform("first").clip(upper=1 / LEAST_CANCELLING)
    condition = 2 * of_case(table, CONDITIONS, "expected") * eigenvalues
    first = condition.groupby([table[key] for key in CASE if key != "units"]).transform("first")
    return by_property(
        table,
        {
            "eq. 26": solver + shares * moments,
            "strict saddle": solver + shares * moments,
            "eq. 9": condition,
            "the condition number": condition + first,
            "condition number": 1.0,
            "": entries,
        },
    )


DERIVED = {"tolerance": tolerances}


def plot(table: pd.DataFrame) -> Figure:
    """a: the error of each statement. b: condition numbers by depth, on all real data.

    The error of a condition number by depth is the noise floor relative to the eigenvalue in the denominator: the value
    is resolved if the error is below the tolerance.
    """
    figure, (statements, axes) = panels("ab", 3.7, width_ratios=[1.75, 1])
    statements_panel(statements, table)
    real = table[table["samples"] == table["samples"].max()]
    real = real.assign(depth=real["units"] * real["shortcut_depth"])
    networks = {f"{depth}-shortcut": depth for depth in sorted(real["shortcut_depth"].unique())}
    ends = []
    for least, line, name in LEAST:
        for network, depth in networks.items():
            rows = real[real["shortcut_depth"] == depth]
            resolved = (rows["property"] == CONDITION.format(least)) & (rows["error"] < rows["tolerance"])
            known = rows[resolved].sort_values("depth")
            axes.plot(known["depth"], known["value"], **look(network) | {"linestyle": line})
            ends += [(float(known["value"].iloc[-1]), name, "0.2")] if network == "1-shortcut" and len(known) else []
    axes.depth_axis(sorted(real.loc[real["expected"].isna(), "depth"].unique()))
    axes.set_yscale("log")
    axes.set_ylabel(r"condition number $|\lambda|_{\max}\,/\,\ldots$ of the Hessian at zero")
    axes.label_ends([((axes.get_xlim()[1], y), name, colour) for y, name, colour in ends])
    if len(ends) == len(LEAST):
        (above, _, _), (below, _, _) = ends
        axes.note(f"× {above / below:.0f}", (axes.get_xlim()[1], np.sqrt(above * below)), ha="right")
    axes.legend(handles=[Line2D([], [], **look(network) | {"linestyle": "none"}) for network in networks])
    return figure
