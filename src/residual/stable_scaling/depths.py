"""One learning rate for all depths, and the steps to a loss, from tables of losses by step."""

from typing import TYPE_CHECKING

import numpy as np

from resaudit.paper import NEAR, at_the_end, screened, sweep

if TYPE_CHECKING:
    import pandas as pd


def common_rates(rows: "pd.DataFrame") -> tuple[float, ...]:
    """The learning rates that serve all depths of one network best, the one shown first.

    A rate's score is its mean final loss over the least one of the same depth, at the worst depth. The rate shown is
    the smallest one whose score is within :data:`~resaudit.figures.rates.NEAR` of the least; the others within it
    follow. None if at every rate some run diverges at some depth. The screening chooses, if there is one.
    """
    scores: dict[float, float] = {}
    for _, group in at_the_end(screened(rows)).groupby("depth"):
        rates, losses = sweep(group, "loss")
        means = losses.mean(axis=0)
        of_depth = dict(zip(rates, means / means.min() if np.isfinite(means.min()) else means, strict=True))
        scores = {rate: max(scores.get(rate, 0.0), score) for rate, score in of_depth.items()}
    least = min(scores.values(), default=np.inf)
    near = [rate for rate, score in scores.items() if score <= NEAR * least]
    return tuple(near) if np.isfinite(least) else ()


def steps_to_target(rows: "pd.DataFrame") -> "pd.Series":
    """Steps of one network, depth and learning rate until the loss first is the target, by run; infinite if never.

    A window's loss counts at its middle; between two middles it is interpolated linearly.
    """
    import pandas as pd

    steps = {}
    for number, run in rows.groupby("run"):
        run = run.sort_values("step")
        target, losses = float(run["target_loss"].iloc[0]), run["loss"].to_numpy()
        middles = run["step"].to_numpy() - run["step"].iloc[0] / 2
        reached = np.flatnonzero(losses <= target)
        if not len(reached):
            steps[number] = np.inf
        elif (k := int(reached[0])) == 0:
            steps[number] = float(middles[0])
        else:
            share = (losses[k - 1] - target) / (losses[k - 1] - losses[k])
            steps[number] = float(middles[k - 1] + share * (middles[k] - middles[k - 1]))
    return pd.Series(steps, dtype=float)
