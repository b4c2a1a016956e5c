"""Which unknown settings give the printed success rates: rates over planes of what the text lost."""

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, panels
from residual.shortcut_importance.figures import COUNTED, RATE
from residual.shortcut_importance.simulation import WARM_UP

__all__ = ["COUNTED", "DERIVED", "plot", "table"]

DERIVED = RATE

LABELS = {
    "squared_norm": r"$\|a^*\|^2/k$",
    "alignment": r"$1\cdot a^*/\|a^*\|$",
    "stage_one": r"length of stage I (steps $\times\,\eta_a$)",
}
TICKS: dict[str, list[float]] = {
    "squared_norm": [1, 10, 100],
    "alignment": [0.1, 0.2, 0.5, 1, 2],
    "stage_one": [0.1, 1, 10],
}
LEVELS = {"squared_norm": [0.55, 0.7, 0.85, 0.999], "alignment": [0.55, 0.7, 0.85, 0.999], "stage_one": [0.9, 0.999]}
COMPATIBLE = 0.03
"""Mean distance to the printed rates up to which a world is shaded: 1.5 standard errors of 500 runs."""


def table(counts: pd.DataFrame) -> pd.DataFrame:
    """Columns: plane, network, patches, angle, value, runs, successes, trapped, undecided, published, rate."""
    return counts.assign(**DERIVED)


def plot(table: pd.DataFrame) -> Figure:
    """One panel a plane: the mean rate over k in contours; where the rates without warm-up are the paper's, shaded."""
    planes = [plane for plane in LABELS if plane in set(table["plane"])]
    figure, every_axes = panels(len(planes), 2.6)
    for axes, plane in zip(every_axes, planes, strict=True):
        rows = table[table["plane"] == plane]
        rates = rows.pivot_table("rate", "angle", "value")
        far = rows.assign(far=(rows["rate"] - rows["published"]).abs()).pivot_table("far", "angle", "value")
        if (far <= COMPATIBLE).to_numpy().any():
            axes.contourf(far.columns, far.index, far, [0, COMPATIBLE], colors=[Look.YELLOW])
        lines = axes.contour(rates.columns, rates.index, rates, LEVELS[plane], colors="0.35", linewidths=0.8)
        axes.clabel(lines, fontsize=6.5, fmt="%g")
        axes.set(xscale="log", xlim=(rows["value"].min(), rows["value"].max()), xlabel=LABELS[plane])
        axes.plain_ticks("x", TICKS[plane])
        axes.mark(y=60)
        axes.note("Assumption 1", (0, 60), (3, -8), xycoords=("axes fraction", "data"))
        axes.set_title("warm-up" if rows["network"].iloc[0] == WARM_UP else "no warm-up")
    every_axes[0].set_ylabel("angle of $v^*$ to the shortcut (degrees)")
    return figure
