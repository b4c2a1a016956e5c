"""Checks of when things happen during training (Figure 6, and training curves)."""

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import by_run, epoch_at, not_negative, of_network, take
from resaudit.claims.intervals import replicate_means
from resaudit.ledger import CurveRatio, EarlyFall, PeakAtDrop


def early_fall(check: EarlyFall, table: pd.DataFrame, least_runs: int) -> Measured:
    """Mean over runs of the fall from epoch 0 to a share of the training, as it is or of the whole fall."""
    what = check.column.replace("_", " ")
    epoch = epoch_at(table, check.within)
    of_whole = "as a share of its whole fall" if check.of_whole else ""
    measured = Measured(
        f"fall of the {what} of {check.network} by epoch {epoch} {of_whole}".rstrip(),
        "a share" if check.of_whole else f"a difference of the {what}",
        arithmetic=True,
    )
    curves = _curves(table, check.network, check.column)
    if epoch not in curves.index:
        measured.left_out.append(f"epoch {epoch}: {check.network} has no row there")
        return measured
    start = curves.iloc[0]
    fall = start - curves.loc[epoch]
    if check.of_whole:
        whole = start - curves.min()
        fall = (fall / whole).where(whole > 0)
    _add_mean(measured, f"epoch {epoch}", fall.to_numpy(), least_runs)
    return measured


def peak_at_drop(check: PeakAtDrop, table: pd.DataFrame, least_runs: int) -> Measured:
    """Mean over runs of the epochs from a peak to the two epochs between which another quantity falls most steeply."""
    measured = Measured(
        f"distance of the peak of the {check.peak.replace('_', ' ')} of {check.network} to the steepest fall of its "
        f"{check.drop.replace('_', ' ')}",
        "epochs",
        arithmetic=True,
    )
    peaks, drops = (_curves(table, check.network, column) for column in (check.peak, check.drop))
    epochs = drops.index.to_numpy()
    distances = []
    for run in drops:
        with np.errstate(invalid="ignore"):
            slopes = np.diff(drops[run]) / np.diff(epochs)
        if not (slopes < 0).any() or peaks[run].isna().all():
            distances.append(np.nan)
            continue
        steepest, peak = int(np.nanargmin(slopes)), epochs[int(np.nanargmax(peaks[run]))]
        distances.append(max(epochs[steepest] - peak, peak - epochs[steepest + 1], 0.0))
    _add_mean(measured, "all runs", np.array(distances), least_runs)
    return measured


def curve_ratio(check: CurveRatio, table: pd.DataFrame, least_runs: int) -> Measured:
    """Ratio of mean excess losses at shares of the training, depth by depth."""
    measured = Measured(
        f"mean excess loss of {check.network} over that of {check.other}, each at its best rate, during training",
        "a factor",
        logarithmic=True,
        arithmetic=True,
    )
    take(table, "network", "depth", "run", "epoch", "excess_loss")
    table = _curves_alone(not_negative(table, "excess_loss"))
    for share in check.epochs:
        epoch = epoch_at(table, share)
        at_epoch = table[table["epoch"] == epoch]
        for depth in sorted(at_epoch["depth"].unique()):
            rows = at_epoch[at_epoch["depth"] == depth]
            where = f"depth {depth}, epoch {epoch}"
            excess = [by_run(of_network(rows, name), "excess_loss", where) for name in (check.network, check.other)]
            both = pd.concat(excess, axis=1, join="inner").to_numpy(dtype=float)
            if len(both) < least_runs:
                measured.left_out.append(f"{where}: {len(both)} runs, {least_runs} are needed")
                continue
            means = replicate_means(both)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                ratio = means[:, 0] / means[:, 1]
            measured.add(where, ratio[0], ratio[1:], len(both))
    return measured


def _curves_alone(table: pd.DataFrame) -> pd.DataFrame:
    """Without the runs of which nothing but the end is there, at rates other than the best."""
    if "learning_rate" not in table:
        return table
    started = table[table["epoch"] == table["epoch"].min()][["network", "depth", "learning_rate"]].drop_duplicates()
    return table.merge(started)


def _curves(table: pd.DataFrame, network: str, column: str) -> pd.DataFrame:
    """A column by epoch (rows) and run (columns); epochs at which a run had diverged are NaN."""
    rows = of_network(take(table, "network", "run", "epoch", "loss", column), network)
    rows = rows.assign(**{column: rows[column].where(np.isfinite(rows["loss"]))})
    return rows.pivot_table(index="epoch", columns="run", values=column, dropna=False)


def _add_mean(measured: Measured, where: str, values: np.ndarray, least_runs: int) -> None:
    values = values[np.isfinite(values)]
    if len(values) < least_runs:
        measured.left_out.append(f"{where}: {len(values)} runs have a value, {least_runs} are needed")
        return
    mean = replicate_means(values)
    measured.add(where, mean[0], mean[1:], len(values))
