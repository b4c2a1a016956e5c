"""From a configuration to the jobs of every figure. Loads neither torch nor pandas."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from resaudit.config import Config, Experiment, Figure, HessianMethod, Precision, Protocol, RateChoice
from resaudit.devices import settled
from resaudit.jobs.fetch import Fetch
from resaudit.jobs.hessians import Hessians
from resaudit.jobs.theorem import Theorem
from resaudit.jobs.train import Train
from resaudit.jobs.whiten import Whiten
from resaudit.networks.ensemble import Ensemble
from resaudit.networks.network import base_name, network_named, shortcut_depth_of
from resaudit.plan.job import Execution, Job
from resaudit.theory.cases import Cases

FOLLOWED = {RateChoice.best: "tied_for_best", RateChoice.tenth_of_best: "tenth_of_best"}
"""The learning rates that training is looked at with, by the one it is shown at."""
DENSE_UP_TO = 200
"""Parameters up to which all eigenvalues are computed: counting them would not be quicker."""


@dataclass(frozen=True)
class FigurePlan:
    """What one figure is drawn from: for each (network name, depth) the sweep, and the Hessians.

    A figure about a theorem is drawn from the theorem's check instead.
    """

    figure: Figure
    data: Whiten
    sweeps: dict[tuple[str, int], Train] = field(default_factory=dict)
    hessians: dict[tuple[str, int], Hessians] = field(default_factory=dict)
    theorem: Theorem | None = None

    @property
    def jobs(self) -> list[Job]:
        """Every job whose result its table is made from."""
        followed = [h.training for h in self.hessians.values() if h.training]
        data = [self.data] if self.hessians else []
        return [
            *self.sweeps.values(),
            *followed,
            *self.hessians.values(),
            *([self.theorem] if self.theorem else []),
            *data,
        ]

    def reads(self, results: Path) -> list[Path]:
        """The files that its table is made from."""
        data = self.data.written(results, "moments.npz") if self.hessians else []
        return data + [file for job in self.jobs if job is not self.data for file in job.written(results)]

    @cached_property
    def evidence(self) -> dict[str, Any]:
        """What its table is a function of: two plans with the same evidence give the same table."""
        return {
            "sweeps": {f"{name} {depth}": job.id for (name, depth), job in self.sweeps.items()},
            "hessians": {f"{name} {depth}": job.id for (name, depth), job in self.hessians.items()},
            "theorem": self.theorem.id if self.theorem else None,
            "rate": self.figure.protocol.rate.value,
            "negative eigenvalues": self.figure.protocol.negative_eigenvalues.value,
        }


@dataclass(frozen=True)
class Plan:
    """All jobs of a run."""

    config: Config
    data: Whiten
    figures: dict[str, FigurePlan]

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """All jobs by ``kind/id``, each once however many others want its result."""
        found: dict[str, Job] = {}

        def add(job: Job) -> None:
            if job.key not in found:
                for needed in job.inputs.values():
                    add(needed)
                found[job.key] = job

        for figure in self.figures.values():
            for job in figure.jobs:
                add(job)
        return found


def make_plan(config: Config) -> Plan:
    """The jobs of every figure of the configuration that is to be drawn."""
    data = Whiten(fetch_of(config), config.whitening.components, config.whitening.centered)
    figures = {name: _plan_figure(figure, config, data) for name, figure in config.chosen_figures().items()}
    return Plan(config, data, figures)


def fetch_of(config: Config) -> Fetch:
    """The data set of a configuration."""
    return Fetch(config.dataset, str(Path(config.paths.data) / config.dataset.name))


def execution_of(config: Config) -> Execution:
    """How the jobs of a configuration run here."""
    return Execution(settled(config.device.value), config.kernel.value, config.checkpoint_seconds)


def _plan_figure(figure: Figure, config: Config, data: Whiten) -> FigurePlan:
    protocol = figure.protocol
    if not figure.experiment.trains:
        return FigurePlan(figure, data, theorem=_theorem(figure, config, data))
    ensembles = {
        (name, depth): _ensemble(protocol, name, depth, config)
        for name in protocol.networks
        for depth in protocol.depths_of(name)
    }
    if figure.experiment is Experiment.initial_spectra:
        initial = {key: _hessians(protocol, data, ensemble) for key, ensemble in ensembles.items()}
        return FigurePlan(figure, data, hessians=initial)
    sweeps = {
        key: Train(data, ensemble, protocol.epochs, tuple(protocol.learning_rates_of(key[0])))
        for key, ensemble in ensembles.items()
    }
    if figure.experiment is Experiment.rate_sweep:
        return FigurePlan(figure, data, sweeps)
    epochs, rate = snapshot_epochs(protocol.epochs, protocol.hessian_epochs), FOLLOWED[protocol.rate]
    followed = {
        key: Train(data, sweep.ensemble, protocol.epochs, (), sweep, rate, epochs) for key, sweep in sweeps.items()
    }
    hessians = {key: _hessians(protocol, data, training.ensemble, training) for key, training in followed.items()}
    return FigurePlan(figure, data, sweeps, hessians)


def _ensemble(protocol: Protocol, name: str, depth: int, config: Config) -> Ensemble:
    network = network_named(name, depth, config.whitening.components)
    xavier = "xavier" if protocol.xavier.value == "gaussian" else "xavier_uniform"
    return Ensemble(
        network,
        initialization="orthogonal" if base_name(name) == "orthogonal" else xavier,
        scale=protocol.zero_scale if network.has_shortcuts else 1.0,
        seed=config.seed,
        runs=protocol.runs_of(name, depth),
    )


def _theorem(figure: Figure, config: Config, data: Whiten) -> Theorem:
    protocol = figure.protocol
    cases = Cases(
        seed=config.seed,
        draws=protocol.runs,
        shortcut_depths=tuple(shortcut_depth_of(name) for name in protocol.networks),
        activations=tuple((a.pre, a.mid, a.post) for a in protocol.activations),
        widths=tuple(protocol.widths),
        units=tuple(protocol.units),
        depths=tuple(protocol.depths),
        steps=tuple(protocol.steps),
        samples_per_class=tuple(protocol.samples_per_class),
        min_distance=protocol.min_distance,
        label_noise=protocol.label_noise,
    )
    return Theorem(data, figure.experiment.value, cases)


def _hessians(protocol: Protocol, data: Whiten, ensemble: Ensemble, training: Train | None = None) -> Hessians:
    countable = protocol.hessian_precision is Precision.float64 and ensemble.network.parameters > DENSE_UP_TO
    method = protocol.hessian_method if countable else HessianMethod.dense
    return Hessians(data, ensemble, protocol.hessian_precision.value, method.value, training)


def snapshot_epochs(epochs: int, count: int | None) -> tuple[int, ...]:
    """``count`` of the epochs 0 … ``epochs``, both ends among them, as evenly as may be on a logarithmic scale.

    >>> snapshot_epochs(1000, 8)
    (0, 1, 3, 10, 32, 101, 318, 1000)
    >>> snapshot_epochs(3, None)
    (0, 1, 2, 3)
    """
    if count is None or count > epochs:
        return tuple(range(epochs + 1))
    chosen = [0]
    for left in range(count - 1, 1, -1):
        last = chosen[-1]
        # While even steps are shorter than one epoch, every epoch is taken, and the rest spread anew.
        chosen.append(max(last + 1, round(last * (epochs / last) ** (1 / left)) if last else 1))
    return (*chosen, epochs)
