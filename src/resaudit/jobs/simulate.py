"""Many runs of gradient descent on the population loss of a two-layer network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from resaudit.plan.job import SECONDS_TO_START, Cost, Execution, Job, Work
from resaudit.store.results import read_result
from resaudit.two_layer.setting import Setting

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_RUN = 1e-5
SECONDS_PER_STEP = 1e-4
MEGABYTES_TO_SIMULATE = 250.0


@dataclass(frozen=True)
class Simulated:
    """What became of the runs.

    Attributes:
        outcomes: shape (settings, runs), int8, as :func:`resaudit.two_layer.reduced.outcomes` returns them.
        states: shape (settings, steps, 4, runs), as :func:`resaudit.two_layer.reduced.follow` returns them; of the
            steps asked for, possibly none.
    """

    outcomes: np.ndarray
    states: np.ndarray


@dataclass(frozen=True)
class Simulate(Job):
    """Runs of one network at several settings.

    Attributes:
        network: ``resnet-warm-up``, ``resnet`` or ``cnn``.
        settings_of_runs: each gets the same number of runs.
        start: law of the start, of :data:`resaudit.two_layer.starts.LAWS`.
        runs: of each setting.
        seed: of all draws.
        steps: after which the states are kept.
    """

    kind: ClassVar[str] = "simulate"
    files: ClassVar[tuple[str, ...]] = ("simulated.npz",)

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

    def cost(self, execution: Execution) -> Cost:
        """In proportion to runs, and to the steps that are followed."""
        settings = len(self.settings_of_runs)
        seconds = settings * (SECONDS_PER_RUN * self.runs + SECONDS_PER_STEP * max(self.steps, default=0))
        kept = 8e-6 * 4 * settings * self.runs * len(self.steps)
        return Cost(SECONDS_TO_START + seconds, MEGABYTES_TO_SIMULATE + 2 * kept)

    def run(self, work: Work) -> dict[str, Any]:
        """Simulate."""
        from resaudit.two_layer.reduced import follow, outcomes
        from resaudit.two_layer.starts import starts

        found, states = [], []
        for setting in self.settings_of_runs:
            start = starts(self.network, self.start, setting, self.seed, self.runs)
            found.append(outcomes(start, setting))
            states.append(follow(start, setting, self.steps) if self.steps else np.empty((0, *start.shape)))
        return {"simulated.npz": Simulated(np.stack(found), np.stack(states))}

    def read(self, results: Path) -> Simulated:
        """The outcomes and states; raises ResauditError as :func:`resaudit.store.results.read_result`."""
        return read_result(self, results, "simulated.npz", Simulated)
