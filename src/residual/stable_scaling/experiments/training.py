"""Training at every depth and learning rate, and on images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from resaudit.paper import (
    BestRate,
    Confirmation,
    Coordinates,
    Data,
    Experiment,
    Job,
    Model,
    Product,
    Stage,
    at,
    bounded,
    different,
    in_words,
    sweeps,
)
from residual.images.experiments import ImageDepths, ImageTraining
from residual.images.setting import PostActivation
from residual.stable_scaling.jobs.train_scaled import TrainScaled

if TYPE_CHECKING:
    import pandas as pd

WITH_BATCH_NORM = {"batch-norm": None, "batch-norm-tau": 0.5}
"""The power a of tau = L^-a; None: no tau."""
WITHOUT = {"L^-0.25": 0.25, "L^-0.5": 0.5, "L^-1": 1.0}


class PostActivationTraining(ImageTraining, name="postactivation_training"):
    """Residual networks relu(x + tau B(x)) with and without batch norm.

    Attributes:
        networks: ``batch-norm``, ``batch-norm-tau`` (tau = 1/sqrt(L)), and without batch norm ``L^-a`` (tau = L^-a).
        depths: layers, two more than a multiple of six; L is the number of blocks.
        learnable: tau is trained in networks without batch norm.
    """

    depths: ImageDepths
    learnable: bool

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network at every depth."""
        return ((name, depth) for name in self.networks for depth in self.depths)

    def network(self, name: str, depth: int) -> PostActivation:
        """A network's settings.

        Raises:
            ValueError: no network has that name; the message continues the protocol's name.
        """
        known = WITH_BATCH_NORM | WITHOUT
        if name not in known:
            raise ValueError(f"has the network {name!r}; allowed: {', '.join(known)}")
        normed = name in WITH_BATCH_NORM
        return PostActivation(depth, normed, known[name], self.learnable and not normed)


PLAIN = "feedforward"
LARGEST_SAMPLES = 10_000_000
LARGEST_STEPS = 1_000_000
LARGEST_RATE = 1e6

Network = Annotated[str, Field(pattern=r"^(feedforward|resnet-(0\.[0-9]*[1-9]|1))$")]
"""``resnet-a`` has tau = L^-a with a up to 1; ``feedforward`` has no shortcuts."""
LayerCount = Annotated[bounded.Depth, Field(ge=2)]
"""L; the last layer has no shortcut."""


class FurtherRates(Model):
    """Learning rates that are tried for one network only.

    Attributes:
        network: the network that they are tried for.
        learning_rates: rates to try beside those of all networks.
    """

    network: Network
    learning_rates: bounded.SomeRates


class ScaledTraining(Experiment, name="scaled_training"):
    """SGD on the network of section 2 and on plain networks, at every depth and learning rate.

    Attributes:
        networks: names of the networks.
        depths: L.
        width: m.
        runs: draws of weights and batches.
        samples: the first ones of the training set.
        batch: samples in a step; as many as ``samples``: full batch.
        steps: SGD steps.
        window: steps that a recorded loss is the mean of.
        learning_rates: rates for the mean loss, in units of d/m with d outputs, as in theorem 5; for every network.
        further_rates: further rates of single networks.
        confirm: fresh runs at the rates that those of ``runs`` leave; null: these are measured themselves.
        at_every_rate: networks whose fresh runs are at every rate, since one rate must serve all depths.
        target_loss: the loss to which steps are counted.
        precision: floating-point type of all numbers.
    """

    of_table: ClassVar[tuple[str, ...]] = ("window", "target_loss")

    networks: Annotated[list[Network], Field(min_length=1), AfterValidator(different)]
    depths: Annotated[list[LayerCount], Field(min_length=1), AfterValidator(different)]
    width: Annotated[int, Field(ge=1, le=10_000)]
    runs: bounded.Runs
    samples: Annotated[int, Field(ge=1, le=LARGEST_SAMPLES)]
    batch: Annotated[int, Field(ge=1, le=LARGEST_SAMPLES)]
    steps: Annotated[int, Field(ge=1, le=LARGEST_STEPS)]
    window: Annotated[int, Field(ge=1, le=LARGEST_STEPS)]
    learning_rates: Annotated[bounded.SomeRates, Field(min_length=1)]
    further_rates: list[FurtherRates] = []
    confirm: Confirmation | None = None
    at_every_rate: list[Network] = []
    target_loss: Annotated[float, Field(gt=0)]
    precision: Literal["float32", "float64"] = "float32"

    def rates_of(self, network: str) -> tuple[float, ...]:
        """The learning rates of a network, ascending."""
        further = [rate for each in self.further_rates if each.network == network for rate in each.learning_rates]
        return tuple(sorted({*self.learning_rates, *further}))

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """By ``network`` and ``depth`` the ``screening``, and, by the first run, the blocks of the ``confirmation``."""
        images, jobs = self.whitened(data).data, dict[Coordinates, Job]()
        for name, depth in product(self.networks, self.depths):
            screening = TrainScaled(
                images, depth, self.width, power_of(name), self.rates_of(name), self.runs, self.samples, self.batch,
                self.steps, self.precision, seed,
            )  # fmt: skip
            jobs[at(stage=Stage.SCREENING, network=name, depth=depth)] = screening
            for first, runs in self.confirm.blocks(self.runs) if self.confirm else ():
                block = replace(screening, first=first, runs=runs)
                if name not in self.at_every_rate:
                    block = replace(block, learning_rates=(), sweep=screening, window=self.window)
                jobs[at(stage=Stage.CONFIRMATION, network=name, depth=depth, first=first)] = block
        return jobs

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every run of the screening at every rate, and the fresh runs at every rate or those that it leaves.

        At the end of every window, or of the last alone.
        """
        windows, ends = range(self.window, self.steps + 1, self.window), sweeps.at_the_end(table)
        steps = windows[-1:] if len(ends) == len(table) else windows
        places = dict[Coordinates, list[Product]]()
        for where, job in jobs.items():
            assert isinstance(job, TrainScaled)
            place = tuple((key, value) for key, value in where if key != "first")
            rates = {"learning_rate": job.learning_rates}
            if job.sweep:
                here = (ends["network"] == dict(where)["network"]) & (ends["depth"] == job.depth)
                screened = sweeps.whole(ends[here & (ends["stage"] == Stage.SCREENING)], "loss")
                rates = {"learning_rate": BestRate.to_confirm(*screened)} if screened else {}
            places.setdefault(place, []).append({**rates, "run": job.run_numbers, "step": steps})
        return places

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "pd.DataFrame":
        """A table of losses.

        Columns: stage, network, depth, learning_rate, run, step, loss (the mean over the steps of the window that ends
        there), target_loss.
        """
        import pandas as pd

        tables = [
            self._table({key: value for key, value in where if key != "first"}, job.read(results))
            for where, job in jobs.items()
        ]
        return pd.concat(tables, ignore_index=True).assign(target_loss=self.target_loss)

    def best_rates(self, found: "pd.DataFrame") -> Mapping[tuple[str, int], BestRate]:
        """By losses at the last step."""
        return sweeps.best_rates(sweeps.at_the_end(found), "loss")

    def _table(self, where: Mapping[str, Any], losses: Any) -> "pd.DataFrame":
        # In double precision: a sum of large losses must not overflow.
        import pandas as pd

        windows = losses.loss.astype(float).reshape(-1, self.window, losses.loss.shape[1]).mean(axis=1)
        count, runs = windows.shape
        return pd.DataFrame(
            {
                **{name: [value] * windows.size for name, value in where.items()},
                "learning_rate": np.repeat(losses.learning_rate, count),
                "run": np.repeat(losses.run, count),
                "step": np.tile(self.window * np.arange(1, count + 1), runs),
                "loss": windows.T.ravel(),
            }
        )

    def in_words(self) -> dict[str, Any]:
        """Further rates without braces."""
        rates = (f"{each.network}: {in_words(each.learning_rates)}" for each in self.further_rates)
        return {"further_rates": "; ".join(rates)}

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.steps % self.window:
            raise ValueError(f"has window {self.window}, which does not divide steps {self.steps}; give one that does")
        if self.batch > self.samples:
            raise ValueError(f"has batch {self.batch}; allowed: at most samples, {self.samples}")
        if max(max(self.rates_of(name)) for name in self.networks) > LARGEST_RATE:
            raise ValueError(f"has a learning rate above {LARGEST_RATE:g}; allowed: up to that, in units of d/m")
        return self


def power_of(network: str) -> float | None:
    """The power a of a network's tau = L^-a; None of the plain one.

    >>> power_of("resnet-0.25"), power_of("feedforward")
    (0.25, None)
    """
    return None if network == PLAIN else float(network.removeprefix("resnet-"))
