"""Figure 4: success rates against the number of patches, with the printed ones."""

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import legend_above, panels
from residual.shortcut_importance.figures import COUNTED, DERIVED, LOOKS
from residual.shortcut_importance.figures import rates_table as table

__all__ = ["COUNTED", "DERIVED", "plot", "table"]


def plot(table: pd.DataFrame) -> Figure:
    """Measured rates with intervals as filled marks, the paper's as open ones."""
    figure, (axes,) = panels(height=2.6)
    for network, rows in table.groupby("network", sort=False):
        look = LOOKS[str(network)]
        errors = [rows["rate"] - rows["low"], rows["high"] - rows["rate"]]
        axes.errorbar(rows["patches"], rows["rate"], errors, capsize=1.5, elinewidth=0.8, **look)
        axes.plot(rows["patches"], rows["published"], linestyle="none", marker=look["marker"], markersize=8,
                  markerfacecolor="none", color=look["color"])  # fmt: skip
    axes.set_xticks(sorted(table["patches"].unique()))
    axes.set(xlabel="number of patches $k$", ylabel="share of runs at the global optimum", ylim=(0.45, 1.03))
    open_mark = {"marker": "o", "markersize": 8, "markerfacecolor": "none", "color": "0.4", "linestyle": "none"}
    looks = [LOOKS[str(name)] for name in table["network"].unique()]
    legend_above(figure, [*looks, open_mark | {"label": "published"}], ncols=2)
    return figure
