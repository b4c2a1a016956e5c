"""Figure 4: success rates against the number of patches, with the printed ones."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.figures.style import panels
from residual.shortcut_importance.rates import LOOKS, rates_table


def table(counts: pd.DataFrame) -> pd.DataFrame:
    """The columns of :func:`~residual.shortcut_importance.rates.rates_table`."""
    return rates_table(counts)


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
    axes.set_xlabel("number of patches $k$")
    axes.set_ylabel("share of runs at the global optimum")
    axes.set_ylim(0.45, 1.03)
    handles = [Line2D([], [], **LOOKS[str(name)]) for name in table["network"].unique()]
    open_mark = Line2D([], [], marker="o", markersize=8, markerfacecolor="none", color="0.4", linestyle="none")
    open_mark.set_label("published")
    figure.legend(handles=[*handles, open_mark], loc="outside upper center", ncols=2)
    return figure
