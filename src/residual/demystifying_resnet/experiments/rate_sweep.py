"""Training at every learning rate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, model_validator

from resaudit.paper import (
    CONFIRMATION,
    SCREENING,
    Confirmation,
    Coordinates,
    Data,
    Depth,
    Epochs,
    Job,
    Key,
    Model,
    Product,
    Rates,
    Runs,
    SomeRates,
    Whiten,
    at,
    different,
    in_words,
    needed,
)
from residual.demystifying_resnet.experiments.networks import Networks, checked_name
from residual.demystifying_resnet.jobs.train import Train

if TYPE_CHECKING:
    import pandas as pd

    from resaudit.paper import BestRate
    from residual.demystifying_resnet.experiments.results import TrainingResults

RateChoice = Literal["best", "tenth_of_best"]
"""The learning rate at which a network is shown: the best by mean final loss, or the one nearest to a tenth of it,
whose path is closer to the gradient flow."""
FOLLOWED = {"best": "tied_for_best", "tenth_of_best": "tenth_of_best"}
"""The learning rates to follow, by the rate shown."""


class PerNetwork(Model):
    """Settings that differ for one network; empty fields inherit the figure's.

    Attributes:
        network: name of the network.
        depths: numbers of weight matrices.
        runs: seeds of each setting.
        learning_rates: learning rates to try.
        confirm: fresh runs at the rates that the sweep leaves.
    """

    network: Annotated[str, AfterValidator(checked_name)]
    depths: Annotated[list[Depth], AfterValidator(different)] = []
    runs: Runs | None = None
    learning_rates: SomeRates = []
    confirm: Confirmation | None = None


class RateSweep(Networks, name="rate_sweep"):
    """Training at every learning rate.

    Attributes:
        per_network: settings of single networks; networks that are not drawn are ignored.
        epochs: steps of full-batch gradient descent.
        learning_rates: learning rates to try.
        rate: learning rate at which a network is shown.
        confirm: fresh runs at the rates that the sweep leaves; null: the sweep's own runs are measured.
    """

    of_table: ClassVar[tuple[str, ...]] = ("rate",)

    per_network: list[PerNetwork] = []
    epochs: Epochs
    learning_rates: Rates
    rate: RateChoice = "best"
    confirm: Confirmation | None = None

    def depths_of(self, network: str) -> list[int]:
        """The depths of a network."""
        return self._settings_of(network).depths or self.depths

    def runs_of(self, network: str, depth: int) -> int:
        """Number of runs of a network at a depth."""
        runs = self._settings_of(network).runs or self.runs
        return min([runs, *(fewer.runs for fewer in self.runs_at if fewer.depth == depth)])

    def learning_rates_of(self, network: str) -> list[float]:
        """The learning rates to try for a network."""
        return self._settings_of(network).learning_rates or self.learning_rates

    def confirmation_of(self, network: str) -> Confirmation | None:
        """The fresh runs of a network, which are measured in place of the sweep's; None: it has none."""
        return self._settings_of(network).confirm or self.confirm

    def _settings_of(self, network: str) -> PerNetwork:
        own = (each for each in self.per_network if each.network == network)
        return next(own, PerNetwork.model_construct(network=network))

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """By ``network`` and ``depth`` the ``screening``, and, by the first run, the blocks of the ``confirmation``."""
        jobs = dict[Coordinates, Job]()
        for (name, depth), sweep in self.sweeps(needed(data), seed).items():
            jobs[at(stage=SCREENING, network=name, depth=depth)] = sweep
            confirm = self.confirmation_of(name)
            for first, runs in confirm.blocks(sweep.ensemble.runs) if confirm else ():
                where = at(stage=CONFIRMATION, network=name, depth=depth, first=first)
                jobs[where] = self.block(sweep, first, runs)
        return jobs

    def block(self, sweep: Train, first: int, runs: int, snapshot_epochs: tuple[int, ...] = ()) -> Train:
        """Fresh runs at the rates that a sweep leaves."""
        ensemble = replace(sweep.ensemble, first=first, runs=runs)
        return Train(sweep.data, ensemble, self.epochs, (), sweep, FOLLOWED[self.rate], snapshot_epochs)

    def sweeps(self, data: Whiten, seed: int) -> dict[Key, Train]:
        """The trainings by network and depth."""
        return {
            (name, depth): Train(
                data,
                self.ensemble(name, depth, data.components, seed),
                self.epochs,
                tuple(self.learning_rates_of(name)),
            )
            for name, depth in self.places()
        }

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Both stages of each network and depth (:mod:`~residual.demystifying_resnet.experiments.sweep_rows`)."""
        from residual.demystifying_resnet.experiments.sweep_rows import sweep_rows

        return sweep_rows(self, FOLLOWED[self.rate], jobs, keys, table)

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "TrainingResults":
        """Trajectories and best rates."""
        from residual.demystifying_resnet.experiments.results import read_training

        return read_training(jobs, results, FOLLOWED[self.rate])

    def best_rates(self, found: "TrainingResults") -> Mapping[Key, "BestRate"]:
        """By excess losses."""
        return found.best

    def in_words(self) -> dict[str, str | None]:
        """Settings of single networks; runs, with the depths that have fewer."""
        words = []
        for each in self.per_network:
            settings = {key: value for key, value in each.model_dump(exclude={"network"}).items() if value}
            named = (f"{key.replace('_', ' ')} {in_words(value)}" for key, value in settings.items())
            words.append(f"{each.network}: {', '.join(named)}")
        return super().in_words() | {"per_network": "; ".join(words)}

    @model_validator(mode="after")
    def _each_network_once(self) -> Self:
        names = [each.network for each in self.per_network]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"has {twice!r} twice in per_network; give all its settings in one place")
        return self
