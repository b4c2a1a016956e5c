"""Figure 3: average Frobenius norm of the weights of 2-shortcut networks per epoch, by depth; linear and with ReLUs."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, panels
from residual.demystifying_resnet.experiments.results import JUDGED, TrainingResults, judged_epochs
from residual.demystifying_resnet.figures import label, long_table, mark_judged, rows_of_stage
from residual.demystifying_resnet.networks.network import base_name
from residual.demystifying_resnet.networks.trajectory import Trajectory


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, stage, learning_rate, shown, run, epoch, mean_frobenius_norm.

    Rows for every learning rate tied for the best of a depth: at the drawn one, which has ``shown``, every epoch, at
    the others those judged. Runs of a screening that is confirmed have the last epoch alone.
    """

    def rows(key: tuple[str, int]) -> pd.DataFrame:
        screening, *blocks = results.stages(key)
        parts = [_of_stage(*block, results.rates[key], drawn=True) for block in blocks]
        return pd.concat([_of_stage(*screening, results.rates[key], drawn=not blocks), *parts])

    return long_table(results.sweeps, rows)


def _of_stage(stage: str, first: int, trajectory: Trajectory, rates: Sequence[float], drawn: bool) -> pd.DataFrame:
    norms, shown = trajectory.mean_frobenius_norm, rates[:drawn]
    last = len(norms) - 1
    epochs = dict.fromkeys(rates, judged_epochs(last) if drawn else [last]) | dict.fromkeys(shown, range(last + 1))
    part = rows_of_stage(stage, first, trajectory, epochs, mean_frobenius_norm=norms)
    part.insert(2, "shown", part["learning_rate"].isin(shown))
    return part


def plot(table: pd.DataFrame) -> Figure:
    """One panel per network, one curve per depth: mean over runs, one standard deviation shaded; from epoch 1 on."""
    table = table[table["shown"] & (table["epoch"] > 0)]
    networks, depths = table["network"].unique(), sorted(table["depth"].unique())
    figure, every_axes = panels(len(networks), 2.6)
    colours = dict(zip(depths, Look.colours_of(depths), strict=True))
    for network, axes in zip(networks, every_axes, strict=True):
        rows = table[table["network"] == network]
        ends, last = [], int(rows["epoch"].max())
        for depth, of_depth in rows.groupby("depth"):
            how = {"color": colours[depth], "label": f"{depth}"}
            end = axes.plot_mean(of_depth, "epoch", "mean_frobenius_norm", alpha=0.25, **how)
            ends.append((end, f"depth {depth}", how["color"]))
        mark_judged(axes, JUDGED, last)
        axes.set(xscale="log", xlim=(1, last), xlabel="epoch")
        axes.set_ylim(bottom=0)
        axes.set_title(label(network) + (", linear" if base_name(network) == network else ""))
        axes.label_ends(ends)
    every_axes[0].set_ylabel("average Frobenius norm")
    return figure
