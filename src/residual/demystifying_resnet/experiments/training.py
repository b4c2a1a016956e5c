"""Networks of several depths: initial Hessians, training at every learning rate, fresh runs at the best."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from resaudit.paper import (
    Confirmation,
    Coordinates,
    Data,
    Experiment,
    Job,
    Model,
    Product,
    Stage,
    Whiten,
    at,
    bounded,
    curves,
    different,
    in_words,
)
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.networks.network import Network, base_name, network_named, shortcut_depth_of
from residual.demystifying_resnet.training.ensemble import Ensemble
from residual.images.experiments import LARGEST_BATCH, ImageDepths, ImageTraining
from residual.images.setting import Network as ImageNetwork
from residual.images.setting import PreActivation

if TYPE_CHECKING:
    import pandas as pd

    from resaudit.paper import BestRate
    from residual.demystifying_resnet.experiments.results import TrainingResults


Jobs = Mapping[Coordinates, Job]
Rows = Mapping[Coordinates, Sequence[Product]]


class RunsAt(Model):
    """Fewer runs at one expensive depth.

    Attributes:
        depth: number of weight matrices.
        runs: largest number of runs at this depth.
    """

    depth: bounded.Depth
    runs: bounded.Runs


class Networks(Experiment):
    """Networks of several depths, each from several seeds.

    Attributes:
        networks: names as in the figure's legend.
        depths: numbers of weight matrices.
        runs: seeds of each setting.
        runs_at: fewer runs at single depths.
        zero_scale: factor on Xavier weights that start a shortcut network.
        xavier: distribution of the Xavier initialization.
    """

    linear: ClassVar[bool] = False  # whether all are, so that Hessians have a closed form

    networks: bounded.Names
    depths: bounded.Depths
    runs: bounded.Runs
    runs_at: list[RunsAt] = []
    zero_scale: Annotated[float, Field(ge=0)] = 0.01
    xavier: Literal["gaussian", "uniform"] = "gaussian"

    def depths_of(self, network: str) -> list[int]:
        """The depths of a network."""
        return self.depths if network in self.networks else []

    def runs_of(self, network: str, depth: int) -> int:
        """Number of runs of a network at a depth."""
        return min([self.runs, *(fewer.runs for fewer in self.runs_at if fewer.depth == depth)])

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network and depth."""
        return ((name, depth) for name in self.networks for depth in self.depths_of(name))

    def ensemble(self, name: str, depth: int, width: int, seed: int) -> Ensemble:
        """The runs of a network at a depth."""
        network = network_named(name, depth, width)
        xavier = "xavier" if self.xavier == "gaussian" else "xavier_uniform"
        return Ensemble(
            network,
            initialization="orthogonal" if base_name(name) == "orthogonal" else xavier,
            scale=self.zero_scale if network.has_shortcuts else 1.0,
            seed=seed,
            runs=self.runs_of(name, depth),
        )

    def in_words(self) -> dict[str, str | None]:
        """Runs, with the depths that have fewer."""
        fewer = [f"{each.runs} at depth {each.depth}" for each in self.runs_at]
        return {"runs": ", ".join([str(self.runs), *fewer]), "runs_at": None}

    @model_validator(mode="after")
    def _networks_exist(self) -> Self:
        for name, depth in self.places():
            if not checked_network(name, depth).is_linear and self.linear:
                raise ValueError(f"has the network {name!r}; allowed where Hessians are wanted: linear networks")
        return self


def checked_network(name: str, depth: int) -> Network:
    """A network by its name in figures, or a ValueError that lists what is allowed."""
    try:
        return network_named(name, depth, width=1)
    except ValueError as error:
        raise ValueError(f"is wrong: {error}") from None


def checked_name(name: str) -> str:
    """The name, if a network has it."""
    try:
        shortcut_depth_of(name)
    except ValueError as error:
        raise ValueError(f"is wrong: {error}") from None
    return name


DENSE_UP_TO = 200
"""Up to this many parameters, all eigenvalues are computed: counts would not be faster."""

Precision = Literal["float64", "float32"]
"""Floating-point type of Hessians and eigenvalues."""
HessianMethod = Literal["counts", "dense"]
"""How statistics of a Hessian's spectrum are computed; both methods are exact up to rounding.

``counts``: numbers of eigenvalues below bounds, in time linear in the depth. ``dense``: all eigenvalues, in time cubic
in the depth; always used for single precision and for small Hessians.
"""


class InitialSpectra(Networks, name="initial_spectra"):
    """Hessians at the initial point.

    Attributes:
        hessian_precision: floating-point type of Hessians and eigenvalues.
        hessian_method: how they are computed.
    """

    linear: ClassVar[bool] = True

    hessian_precision: Precision = "float64"
    hessian_method: HessianMethod = "counts"

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """Hessians by ``network`` and ``depth``."""
        data = self.whitened(data)
        return {
            at(network=name, depth=depth): hessians_job(
                data, self.ensemble(name, depth, data.components, seed), self.hessian_precision, self.hessian_method
            )
            for name, depth in self.places()
        }

    def read(self, jobs: Jobs, results: Path) -> "TrainingResults":
        """The spectra, and the moments of the data."""
        from residual.demystifying_resnet.experiments.results import read_training

        return read_training(jobs, results)


def hessians_job(
    data: Whiten, ensemble: Ensemble, precision: str, method: str, training: Train | None = None
) -> Hessians:
    """The Hessians of linear networks; counts only in double precision and above :data:`DENSE_UP_TO` parameters."""
    countable = precision == "float64" and ensemble.network.parameters > DENSE_UP_TO
    return Hessians(data, ensemble, precision, method if countable else "dense", training)


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
    depths: Annotated[list[bounded.Depth], AfterValidator(different)] = []
    runs: bounded.Runs | None = None
    learning_rates: bounded.SomeRates = []
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
    parts = "per_network"
    epochs: bounded.Epochs
    learning_rates: bounded.Rates
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
        for (name, depth), sweep in self.sweeps(self.whitened(data), seed).items():
            jobs[at(stage=Stage.SCREENING, network=name, depth=depth)] = sweep
            confirm = self.confirmation_of(name)
            for first, runs in confirm.blocks(sweep.ensemble.runs) if confirm else ():
                where = at(stage=Stage.CONFIRMATION, network=name, depth=depth, first=first)
                jobs[where] = self.block(sweep, first, runs)
        return jobs

    def block(self, sweep: Train, first: int, runs: int, snapshot_epochs: tuple[int, ...] = ()) -> Train:
        """Fresh runs at the rates that a sweep leaves."""
        ensemble = replace(sweep.ensemble, first=first, runs=runs)
        return Train(sweep.data, ensemble, self.epochs, (), sweep, FOLLOWED[self.rate], snapshot_epochs)

    def sweeps(self, data: Whiten, seed: int) -> dict[tuple[str, int], Train]:
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

    def expected(self, jobs: Jobs, keys: Sequence[str], table: "pd.DataFrame") -> Rows:
        """Both stages of each network and depth (:mod:`~residual.demystifying_resnet.experiments.results`)."""
        from residual.demystifying_resnet.experiments.results import sweep_rows

        return sweep_rows(self, FOLLOWED[self.rate], jobs, keys, table)

    def read(self, jobs: Jobs, results: Path) -> "TrainingResults":
        """Trajectories and best rates."""
        from residual.demystifying_resnet.experiments.results import read_training

        return read_training(jobs, results, FOLLOWED[self.rate])

    def best_rates(self, found: "TrainingResults") -> Mapping[tuple[str, int], "BestRate"]:
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


NegativeEigenvalues = Literal["beyond_noise", "every", "sizeable"]
"""The eigenvalues that the index counts: below minus the noise floor, below zero, or below minus a hundredth of the
largest absolute eigenvalue."""


ALONG_BLOCK = 10
"""Fresh runs with Hessians along the training of one job: more of them recompute none."""


class SpectraConfirmation(Confirmation):
    """Fresh runs with Hessians at the learning rates that the screening leaves.

    Attributes:
        along: number of fresh runs, the first ones, with Hessians along the training; the others have one at the last
            epoch.
    """

    along: bounded.Runs

    def blocks(self, screened: int) -> list[tuple[int, int]]:
        """The first run and the number of runs of each job; the first jobs have the runs with the whole training.

        >>> SpectraConfirmation(runs=70, along=10).blocks(10)
        [(10, 10), (20, 50), (70, 10)]
        >>> SpectraConfirmation(runs=70, along=12).blocks(10)
        [(10, 10), (20, 2), (22, 50), (72, 8)]
        """
        along = self.blocks_from(screened, self.along, ALONG_BLOCK)
        return [*along, *self.blocks_from(screened + self.along, self.runs - self.along)]

    @model_validator(mode="after")
    def _along_are_some_of_them(self) -> Self:
        if self.along > self.runs:
            raise ValueError(f"has along {self.along}; allowed: up to {self.runs}, its number of runs")
        return self


class BestRateSpectra(RateSweep, name="best_rate_spectra"):
    """A sweep of learning rates, and fresh runs with Hessians at those tied for the best, at one depth.

    Attributes:
        confirm: the fresh runs.
        hessian_epochs: number of epochs with a Hessian, evenly spaced on a logarithmic scale; null: all.
        hessian_precision: floating-point type of Hessians and eigenvalues.
        hessian_method: how they are computed.
        negative_eigenvalues: which eigenvalues count for the index.
    """

    linear: ClassVar[bool] = True
    of_table: ClassVar[tuple[str, ...]] = ("rate", "negative_eigenvalues")

    depths: Annotated[list[bounded.Depth], Field(min_length=1, max_length=1)]
    per_network: Annotated[list[PerNetwork], Field(max_length=0)] = []
    confirm: SpectraConfirmation
    hessian_epochs: Annotated[bounded.Epochs, Field(ge=2)] | None = None
    hessian_precision: Precision = "float64"
    hessian_method: HessianMethod = "counts"
    negative_eigenvalues: NegativeEigenvalues = "beyond_noise"

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """The ``sweep`` of each ``network`` and ``depth``; of each block a ``confirmation`` and its ``hessians``.

        A block is named by its ``first`` run.
        """
        data, jobs = self.whitened(data), dict[Coordinates, Job]()
        for (name, depth), sweep in self.sweeps(data, seed).items():
            place = {"network": name, "depth": depth}
            jobs[at(part="sweep", **place)] = sweep
            for first, runs in self.confirm.blocks(sweep.ensemble.runs):
                along = first < sweep.ensemble.runs + self.confirm.along
                epochs = curves.snapshot_epochs(self.epochs, self.hessian_epochs) if along else (self.epochs,)
                fresh = self.block(sweep, first, runs, epochs)
                hessians = hessians_job(data, fresh.ensemble, self.hessian_precision, self.hessian_method, fresh)
                for part, job in (("confirmation", fresh), ("hessians", hessians)):
                    jobs[at(part=part, first=first, **place)] = job
        return jobs

    def with_runs(self, read: int, wanted: int) -> dict[str, int]:
        """Effects on no more runs than have Hessians along the training rest on these."""
        if read > self.confirm.along:
            return {"confirm.runs": wanted}
        return {"confirm.along": wanted, "confirm.runs": max(wanted, self.confirm.runs)}

    def expected(self, jobs: Jobs, keys: Sequence[str], table: "pd.DataFrame") -> Rows:
        """The fresh runs of each network at the epochs that have Hessians: those of the screening have none."""
        places, present = dict[Coordinates, list[Product]](), set(table["epoch"])
        for where, job in jobs.items():
            if isinstance(job, Hessians) and job.training:
                rows = {"run": job.run_numbers, "epoch": curves.recorded_epochs(job.training.snapshot_epochs, present)}
                places.setdefault(at(network=dict(where)["network"]), []).append(rows)
        return places

    def read(self, jobs: Jobs, results: Path) -> "TrainingResults":
        """Trajectories, spectra and best rates."""
        from residual.demystifying_resnet.experiments.results import read_training

        return read_training(jobs, results, FOLLOWED[self.rate], self.negative_eigenvalues)


RESNET = "resnet"
"""The usual network, of shortcut depth 2."""


class PreActivationTraining(ImageTraining, name="preactivation_training"):
    """Pre-activation residual networks as in fb.resnet.torch, with shortcuts of any depth.

    Attributes:
        networks: ``resnet``, or ``k-shortcut`` with shortcuts of depth k.
        depths: layers, two more than a multiple of three times the shortcut depth.
        statistics: samples of a batch over which batch norm takes its statistics.
    """

    depths: ImageDepths
    statistics: Annotated[int, Field(ge=2, le=LARGEST_BATCH)] = 128

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network at every depth."""
        return ((name, depth) for name in self.networks for depth in self.depths)

    def network(self, name: str, depth: int) -> ImageNetwork:
        """A network's settings."""
        match = re.fullmatch("([1-9][0-9]?)-shortcut", "2-shortcut" if name == RESNET else name)
        if match is None:
            raise ValueError(f"has the network {name!r}; allowed: {RESNET}, 1-shortcut, 2-shortcut, …")
        return PreActivation(depth, int(match[1]), self.statistics)
