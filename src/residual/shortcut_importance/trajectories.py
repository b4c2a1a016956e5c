"""A tidy table of trajectories."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from resaudit.paper import Coordinates
from residual.shortcut_importance.jobs import Simulate, Simulated
from residual.shortcut_importance.reduced.reduced import distance, loss, projection

if TYPE_CHECKING:
    import pandas as pd

FOLLOWED = "trajectory"
"""The property of the rows of figure ``theory`` that hold trajectories."""


def trajectories(results: Mapping[Coordinates, tuple[Simulate, Simulated]]) -> "pd.DataFrame":
    """One row a run and step that was kept.

    Columns: network, patches, run, step, time (step * eta_a), stage (1 or 2: that of the next step, so the first row of
    2 is the end of stage I; it is always kept), angle (radians), projection (a.a*/N), distance (||a - a*||/||a*||),
    loss (L/N).
    """
    import pandas as pd

    parts = []
    for place, (job, simulated) in results.items():
        (setting,) = job.settings_of_runs
        states = simulated.states[0]
        step, run = (grid.ravel() for grid in np.meshgrid(job.steps, np.arange(job.runs), indexing="ij"))
        flat = np.moveaxis(states, 1, 0).reshape(4, -1)
        columns = {
            "run": run,
            "step": step,
            "time": step * setting.step,
            "stage": np.where(step < setting.stage_one, 1, 2),
            "angle": flat[0],
            "projection": projection(flat, setting) / setting.squared_norm,
            "distance": distance(flat, setting),
            "loss": loss(flat, setting) / setting.squared_norm,
        }
        parts.append(pd.DataFrame(dict(place) | columns))
    return pd.concat(parts, ignore_index=True)
