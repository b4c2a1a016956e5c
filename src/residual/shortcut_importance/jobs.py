"""The kinds of jobs of "Importance of Shortcut Connections": simulations, and Proposition 16 checked."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from resaudit.paper import Cost, Job, Tolerance, Work, arrays
from residual.shortcut_importance.simulation import Setting, by_run

RUNS_AT_ONCE = 100_000


@dataclass(frozen=True)
class Simulated:
    """What became of the runs, by :func:`~residual.shortcut_importance.simulation.outcomes` and ``follow``."""

    # A start on the border of two basins falls to either side.
    outcomes: Annotated[
        np.ndarray, arrays.Type("i1"), arrays.Shape("settings_of_runs", "runs"), Tolerance(differing=0.01)
    ]
    # Of the steps asked for, possibly none.
    states: Annotated[
        arrays.Float,
        arrays.Shape("settings_of_runs", "steps", 4, "runs"),
        Tolerance(relative=1e-6, absolute=1e-6, differing=0.01, runs=-1, epochs=1),
    ]


@dataclass(frozen=True)
class Simulate(Job):
    """Runs of one network at several settings."""

    kind = "simulate"
    files = {"simulated.npz": Simulated}
    typical = Cost(5.0, 460.0)

    network: str  # resnet-warm-up, resnet or cnn
    settings_of_runs: tuple[Setting, ...]  # each gets the same number of runs
    start: str  # law of the start: ball, sphere, worst or grid
    runs: int  # of each setting
    seed: int  # of all draws
    steps: tuple[int, ...] = ()  # after which the states are kept

    @property
    def stem(self) -> str:
        patches = sorted({setting.patches for setting in self.settings_of_runs})
        return f"{self.network}-k{patches[0]}" + (f"to{patches[-1]}" if len(patches) > 1 else "")

    def run(self, work: Work) -> dict[str, Any]:
        from residual.shortcut_importance.simulation import follow, outcomes, starts

        settings, at_once = self.settings_of_runs, max(1, RUNS_AT_ONCE // self.runs)
        first = [starts(self.network, self.start, setting, self.seed, self.runs) for setting in settings]
        ends = [
            outcomes(np.hstack(first[k : k + at_once]), by_run(settings[k : k + at_once], self.runs))
            for k in range(0, len(first), at_once)
        ]
        states = np.empty((len(first), 0, 4, self.runs))
        if self.steps:
            pairs = zip(first, settings, strict=True)
            states = np.stack([follow(start, setting, self.steps) for start, setting in pairs])
        return {"simulated.npz": Simulated(np.concatenate(ends).reshape(len(first), self.runs), states)}


@dataclass(frozen=True)
class Sizes:
    """The sizes and draws of a check."""

    patches: tuple[int, ...]  # every k, with every p
    filter_sizes: tuple[int, ...]  # every p
    draws: int  # of teacher and student at each size
    samples: int  # of the inputs, for the Monte Carlo
    steps: int  # of gradient descent with full vectors


@dataclass(frozen=True)
class Checked:
    """Checks as columns, each of shape (rows,)."""

    property: arrays.Text  # what is checked, in a few words
    patches: arrays.Int  # k
    filter_size: arrays.Int  # p
    draw: arrays.Int  # number of the random draw of teacher and student
    # The largest discrepancy, on the scale that the checking function documents.
    error: Annotated[arrays.Float, Tolerance.ERROR]
    # The bound on it, from double precision or from the Monte Carlo's errors.
    tolerance: Annotated[arrays.Float, Tolerance.LIMIT]


@dataclass(frozen=True)
class Proposition(Job):
    """The closed forms against Monte Carlo, automatic differentiation and full vectors."""

    kind = "proposition"
    stem = "proposition-16"
    files = {"checked.npz": Checked}
    typical = Cost(5.0, 620.0)

    sizes: Sizes
    seed: int  # of all draws

    def run(self, work: Work) -> dict[str, Any]:
        from residual.shortcut_importance.proposition import check

        return {"checked.npz": Checked(*map(np.array, zip(*check(self.sizes, self.seed), strict=True)))}
