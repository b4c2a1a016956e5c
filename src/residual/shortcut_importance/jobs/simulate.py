"""Many runs of gradient descent on the population loss of a two-layer network."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import Tolerance
from residual.shortcut_importance.reduced.setting import Setting, by_run

RUNS_AT_ONCE = 100_000


@dataclass(frozen=True)
class Simulated:
    """What became of the runs.

    Attributes:
        outcomes: shape (settings, runs), int8, as :func:`residual.shortcut_importance.reduced.reduced.outcomes` returns
            them.
        states: shape (settings, steps, 4, runs), as :func:`residual.shortcut_importance.reduced.reduced.follow` returns
            them; of the steps asked for, possibly none.
    """

    outcomes: np.ndarray
    states: np.ndarray


@dataclass(frozen=True)
class Simulate(Job):
    """Runs of one network at several settings.

    Attributes:
        network: ``resnet-warm-up``, ``resnet`` or ``cnn``.
        settings_of_runs: each gets the same number of runs.
        start: law of the start, of :data:`residual.shortcut_importance.reduced.starts.LAWS`.
        runs: of each setting.
        seed: of all draws.
        steps: after which the states are kept.
    """

    kind: ClassVar[str] = "simulate"
    files: ClassVar[tuple[str, ...]] = ("simulated.npz",)
    typical: ClassVar[Cost] = Cost(5.0, 460.0)
    arrays: ClassVar[Mapping[str, str]] = {
        "simulated.npz": "outcomes:i1[settings,runs] states[settings,steps,4,runs]",
    }

    network: str
    settings_of_runs: tuple[Setting, ...]
    start: str
    runs: int
    seed: int
    steps: tuple[int, ...] = ()

    @property
    def stem(self) -> str:
        """Network and number of patches."""
        patches = sorted({setting.patches for setting in self.settings_of_runs})
        return f"{self.network}-k{patches[0]}" + (f"to{patches[-1]}" if len(patches) > 1 else "")

    @property
    def known_sizes(self) -> dict[str, int]:
        """All."""
        return {"settings": len(self.settings_of_runs), "runs": self.runs, "steps": len(self.steps)}

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        return {
            # A start on the border of two basins falls to either side.
            "outcomes": Tolerance(differing=0.01),
            "states": Tolerance(relative=1e-6, absolute=1e-6, differing=0.01, runs=-1, epochs=1),
        }

    def run(self, work: Work) -> dict[str, Any]:
        """Simulate."""
        from residual.shortcut_importance.reduced.reduced import follow, outcomes
        from residual.shortcut_importance.reduced.starts import starts

        each = [starts(self.network, self.start, setting, self.seed, self.runs) for setting in self.settings_of_runs]
        found, at_once = [], max(1, RUNS_AT_ONCE // self.runs)
        for first in range(0, len(each), at_once):
            part = slice(first, first + at_once)
            found.append(outcomes(np.hstack(each[part]), by_run(self.settings_of_runs[part], self.runs)))
        states = np.empty((len(each), 0, 4, self.runs))
        if self.steps:
            pairs = zip(each, self.settings_of_runs, strict=True)
            states = np.stack([follow(start, setting, self.steps) for start, setting in pairs])
        return {"simulated.npz": Simulated(np.concatenate(found).reshape(len(each), self.runs), states)}

    def read(self, results: Path) -> Simulated:
        """The outcomes and states; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "simulated.npz", Simulated)
