"""The kinds of jobs of "Importance of Shortcut Connections": simulations, and Proposition 16 checked."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from resaudit.paper import Cost, Job, Tolerance, Work, arrays
from residual.shortcut_importance.reduced.measured import Checked, Sizes
from residual.shortcut_importance.reduced.setting import Setting, by_run

RUNS_AT_ONCE = 100_000


@dataclass(frozen=True)
class Simulated:
    """What became of the runs, by :func:`~residual.shortcut_importance.reduced.reduced.outcomes` and ``follow``."""

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
    start: str  # law of the start, of reduced.starts.LAWS
    runs: int  # of each setting
    seed: int  # of all draws
    steps: tuple[int, ...] = ()  # after which the states are kept

    @property
    def stem(self) -> str:
        """Network and number of patches."""
        patches = sorted({setting.patches for setting in self.settings_of_runs})
        return f"{self.network}-k{patches[0]}" + (f"to{patches[-1]}" if len(patches) > 1 else "")

    def run(self, work: Work) -> dict[str, Any]:
        """Simulate."""
        from residual.shortcut_importance.reduced.reduced import follow, outcomes
        from residual.shortcut_importance.reduced.starts import starts

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
class Proposition(Job):
    """The closed forms against Monte Carlo, automatic differentiation and full vectors."""

    kind = "proposition"
    files = {"checked.npz": Checked}
    typical = Cost(5.0, 620.0)

    sizes: Sizes
    seed: int

    @property
    def stem(self) -> str:
        """Its number."""
        return "proposition-16"

    def run(self, work: Work) -> dict[str, Any]:
        """Check."""
        from residual.shortcut_importance.reduced.verification import check

        return {"checked.npz": check(self.sizes, self.seed)}
