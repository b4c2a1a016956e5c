"""From a configuration to the jobs to run, each with a content id. Imports neither torch nor pandas."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from resaudit.config import Config, Experiment, Figure, HessianMethod, Precision, Protocol, RateChoice
from resaudit.networks.network import Network, base_name, network_named, shortcut_depth_of
from resaudit.theory.cases import Cases

FOLLOWED = {RateChoice.best: "tied_for_best", RateChoice.tenth_of_best: "tenth_of_best"}
"""The learning rates that training is looked at with, by the one it is shown at."""
DENSE_UP_TO = 200
"""Parameters up to which all eigenvalues are computed: counting them would not be quicker."""


def content_id(stem: str, settings: dict[str, Any]) -> str:
    """A readable stem and eight digits that change with any setting, and with nothing else.

    >>> content_id("depth16", {"a": 1, "b": 2}) == content_id("depth16", {"b": 2, "a": 1})
    True
    """
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return f"{stem}-{hashlib.sha256(canonical.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class WhitenedData:
    """A data set whitened in one way."""

    dataset: str
    sha256: tuple[str, str]
    components: int
    centered: bool

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on."""
        return asdict(self)

    @cached_property
    def id(self) -> str:
        """Readable stem and hash of the settings."""
        mean = "centered" if self.centered else "uncentered"
        return content_id(f"{self.dataset}-pca{self.components}-{mean}", self.settings)


@dataclass(frozen=True)
class Ensemble:
    """Runs of one network that differ only in learning rate and seed, trained at once.

    Attributes:
        data: id of the whitened data.
        network: shape and activations.
        initialization: law of the initial weights, as :mod:`resaudit.networks.initialization` knows it.
        scale: factor on the initial weights.
        seed: of the whole ensemble; run r draws from (seed, r).
        runs: seeds at each learning rate.
        epochs: steps of gradient descent.
        learning_rates: the rates tried; none where the rate is another ensemble's best, or nothing is trained.
        rate_from: id of the sweep whose best rates are used.
        rate: which of them, as :func:`resaudit.training.rates.followed_rates` knows it.
        snapshot_epochs: the epochs whose weights are kept.
    """

    data: str
    network: Network
    initialization: str
    scale: float
    seed: int
    runs: int
    epochs: int = 0
    learning_rates: tuple[float, ...] = ()
    rate_from: str | None = None
    rate: str | None = None
    snapshot_epochs: tuple[int, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on."""
        return {**asdict(self), "dtype": "float64" if self.network.is_linear else "float32"}

    @cached_property
    def id(self) -> str:
        """Readable stem and hash of the settings."""
        n = self.network.shortcut_depth
        kind = f"shortcut{n}" if n else self.initialization
        shape = "linear" if self.network.is_linear else "-".join(
            (self.network.pre, self.network.mid, self.network.post)
        )  # fmt: skip
        return content_id(f"{kind}-{shape}-depth{self.network.depth}", self.settings)

    @property
    def trajectories(self) -> int:
        """Runs in all: each seed at each learning rate."""
        return self.runs * max(1, len(self.learning_rates))


@dataclass(frozen=True)
class Hessians:
    """The Hessians at an ensemble's snapshots, or at its initial point if it is not trained.

    Attributes:
        ensemble: the runs.
        precision: what Hessians and eigenvalues are computed in, as :class:`~resaudit.config.Precision` has it.
        method: how, as :class:`~resaudit.config.HessianMethod` has it.
    """

    ensemble: Ensemble
    precision: str
    method: str

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on."""
        return {**self.ensemble.settings, "hessian_precision": self.precision, "hessian_method": self.method}

    @cached_property
    def id(self) -> str:
        """The ensemble's id, the precision and the method."""
        return f"{self.ensemble.id}-{self.precision}-{self.method}"


@dataclass(frozen=True)
class Verification:
    """A theorem, or a part of its proof, checked by construction.

    Attributes:
        experiment: what is checked, one of :class:`~resaudit.config.Experiment` that do not train.
        data: id of the whitened data that real samples are taken from.
        dataset: its name.
        cases: sizes and draws.
    """

    experiment: str
    data: str
    dataset: str
    cases: Cases

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on."""
        return {**asdict(self), "dtype": "float64"}

    @cached_property
    def id(self) -> str:
        """Readable stem and hash of the settings."""
        return content_id(self.experiment.replace("_", "-"), self.settings)


@dataclass(frozen=True)
class FigurePlan:
    """What one figure is drawn from: for each (network name, depth) the sweep, and the Hessians.

    A figure about a theorem is drawn from its verification instead.
    """

    figure: Figure
    sweeps: dict[tuple[str, int], Ensemble] = field(default_factory=dict)
    hessians: dict[tuple[str, int], Hessians] = field(default_factory=dict)
    verification: Verification | None = None

    @property
    def ensembles(self) -> list[Ensemble]:
        """Every ensemble that it needs, trained or at its initial point."""
        return [*self.sweeps.values(), *(h.ensemble for h in self.hessians.values())]

    @cached_property
    def ids(self) -> set[str]:
        """The ids of its jobs."""
        ids = {e.id for e in self.ensembles} | {h.id for h in self.hessians.values()}
        return ids | ({self.verification.id} if self.verification else set())

    @cached_property
    def evidence(self) -> dict[str, Any]:
        """What its table is a function of: two plans with the same evidence give the same table."""
        return {
            "sweeps": {f"{name} {depth}": e.id for (name, depth), e in self.sweeps.items()},
            "hessians": {f"{name} {depth}": h.id for (name, depth), h in self.hessians.items()},
            "verification": self.verification.id if self.verification else None,
            "rate": self.figure.protocol.rate.value,
            "negative eigenvalues": self.figure.protocol.negative_eigenvalues.value,
        }


@dataclass(frozen=True)
class Plan:
    """All jobs of a run."""

    config: Config
    data: WhitenedData
    figures: dict[str, FigurePlan]

    @cached_property
    def trained(self) -> dict[str, Ensemble]:
        """The ensembles to train, by id, each once however many figures want it."""
        return {e.id: e for f in self.figures.values() for e in f.ensembles if e.epochs}

    @cached_property
    def hessians(self) -> dict[str, Hessians]:
        """The Hessians to compute, by id, each once however many figures want them."""
        return {h.id: h for f in self.figures.values() for h in f.hessians.values()}

    @cached_property
    def verified(self) -> dict[str, Verification]:
        """The theorems to check, by id."""
        return {f.verification.id: f.verification for f in self.figures.values() if f.verification}


def make_plan(config: Config) -> Plan:
    """The jobs of every figure of the configuration that is to be drawn."""
    files = config.dataset.files
    data = WhitenedData(
        dataset=config.dataset.name,
        sha256=(files["train_images"].sha256, files["train_labels"].sha256),
        components=config.whitening.components,
        centered=config.whitening.centered,
    )
    figures = {name: _plan_figure(figure, config, data) for name, figure in config.chosen_figures().items()}
    return Plan(config, data, figures)


def _plan_figure(figure: Figure, config: Config, data: WhitenedData) -> FigurePlan:
    protocol = figure.protocol
    if not figure.experiment.trains:
        return FigurePlan(figure, verification=_verification(figure, config, data))
    initial = {
        (name, depth): _initial(protocol, name, depth, config, data.id)
        for name in protocol.networks
        for depth in protocol.depths_of(name)
    }
    if figure.experiment is Experiment.initial_spectra:
        untrained = {key: Ensemble(**start, snapshot_epochs=(0,)) for key, start in initial.items()}
        return FigurePlan(figure, hessians=_hessians(protocol, untrained))
    sweeps = {
        key: Ensemble(**start, epochs=protocol.epochs, learning_rates=tuple(protocol.learning_rates_of(key[0])))
        for key, start in initial.items()
    }
    if figure.experiment is Experiment.rate_sweep:
        return FigurePlan(figure, sweeps)
    epochs = snapshot_epochs(protocol.epochs, protocol.hessian_epochs)
    followed = {
        key: Ensemble(
            **initial[key],
            epochs=protocol.epochs,
            snapshot_epochs=epochs,
            rate_from=sweep.id,
            rate=FOLLOWED[protocol.rate],
        )
        for key, sweep in sweeps.items()
    }
    return FigurePlan(figure, sweeps, _hessians(protocol, followed))


def _initial(protocol: Protocol, name: str, depth: int, config: Config, data: str) -> dict[str, Any]:
    network = network_named(name, depth, config.whitening.components)
    xavier = "xavier" if protocol.xavier.value == "gaussian" else "xavier_uniform"
    return {
        "data": data,
        "network": network,
        "initialization": "orthogonal" if base_name(name) == "orthogonal" else xavier,
        "scale": protocol.zero_scale if network.has_shortcuts else 1.0,
        "seed": config.seed,
        "runs": protocol.runs_of(name, depth),
    }


def _verification(figure: Figure, config: Config, data: WhitenedData) -> Verification:
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
    return Verification(figure.experiment.value, data.id, data.dataset, cases)


def _hessians(protocol: Protocol, ensembles: dict[tuple[str, int], Ensemble]) -> dict[tuple[str, int], Hessians]:
    return {key: _hessians_of(protocol, ensemble) for key, ensemble in ensembles.items()}


def _hessians_of(protocol: Protocol, ensemble: Ensemble) -> Hessians:
    countable = protocol.hessian_precision is Precision.float64 and ensemble.network.parameters > DENSE_UP_TO
    method = protocol.hessian_method if countable else HessianMethod.dense
    return Hessians(ensemble, protocol.hessian_precision.value, method.value)


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
