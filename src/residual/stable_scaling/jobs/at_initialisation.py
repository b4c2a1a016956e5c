"""The base of all jobs about networks at initialisation: runs in groups, and a checkpoint between two groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from resaudit.paper import Fetch, Job, Work, refuse_black
from residual.stable_scaling.network.setting import Network, Samples, layers_kept

Places = Sequence[int]
"""Indices of networks that are measured together."""
Measure = Callable[[Places, range, np.ndarray, np.ndarray], Sequence[np.ndarray]]
"""Values of each of these networks, (runs, values), of these runs with their inputs and targets."""


@dataclass(frozen=True)
class Values:
    """What the groups so far have given: the state of a checkpoint."""

    groups: np.ndarray  # number of groups that are done, shape ()
    values: np.ndarray  # (networks, runs, values); NaN where there is none yet, or the network has fewer


@dataclass(frozen=True)
class AtInitialisation(Job):
    """Networks at initialisation, each with the same number of runs, which differ in weights and inputs."""

    data: Fetch | None  # the images; None: inputs on the sphere
    networks: tuple[Network, ...]  # each gets all runs, which draw from the same streams
    samples: Samples  # the inputs of each run
    runs: int  # number of runs of each network
    kept: int  # number of layers whose norms are kept
    seed: int  # the seed of all draws

    @property
    def stem(self) -> str:
        widths, depths = ({getattr(each, name) for each in self.networks} for name in ("width", "depth"))
        spans = [f"{min(each)}" + (f"to{max(each)}" if len(each) > 1 else "") for each in (widths, depths)]
        return f"{self.samples.law}-width{spans[0]}-depth{spans[1]}"

    @property
    def numbers(self) -> int:
        """Entries of all hidden states."""
        return self.runs * self.samples.count * sum(each.width * each.depth for each in self.networks)

    @property
    def layers(self) -> int:
        """Layers kept of the deepest network."""
        return max(len(layers_kept(network.depth, self.kept)) for network in self.networks)

    def measured(self, work: Work, groups: Sequence[tuple[Places, range]], count: int, measure: Measure) -> np.ndarray:
        """The values of all networks and runs, group by group; resumes from a checkpoint if there is one.

        Args:
            work: the job's context.
            groups: networks with runs; each pair of them once.
            count: most values of a network's run.
            measure: gives the values of a group.

        Returns:
            Shape (networks, runs, count); NaN where a network has fewer values.
        """
        from resaudit.paper import Checkpoint, Progress
        from residual.stable_scaling.network.propagation import inputs_of

        images = None
        if self.data:
            images = self.data.training_set()
            if self.samples.norm == "each":
                refuse_black(images[0], self.data.dataset.name)
        checkpoint = Checkpoint.of(self, work, Values)
        values = np.full((len(self.networks), self.runs, count), np.nan)
        done = 0
        if (state := checkpoint.read()) is not None:
            done, values = int(state.groups), state.values
            checkpoint.note(work.record, "group", done)
        with work.delayed_signals() as signalled:
            for group in Progress.over(range(done, len(groups)), f"{self.id} groups"):
                places, runs = groups[group]
                found = measure(places, runs, *inputs_of(self.samples, images, self.seed, runs))
                for place, of_network in zip(places, found, strict=True):
                    values[place, runs.start : runs.stop, : of_network.shape[1]] = of_network
                checkpoint.keep(partial(Values, np.array(group + 1), values), signalled())
        return values

    def groups(
        self, together: Sequence[Places], numbers_of_run: Callable[[Network], int], most: int
    ) -> list[tuple[Places, range]]:
        """Groups of networks, each with runs side by side that hold at most ``most`` numbers, or one run."""
        groups = []
        for places in together:
            size = max(1, most // max(numbers_of_run(self.networks[place]) for place in places))
            runs = (range(first, min(first + size, self.runs)) for first in range(0, self.runs, size))
            groups += [(places, some) for some in runs]
        return groups
