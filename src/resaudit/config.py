"""The typed schema of the configuration: each key, its type, its bounds and its default stand here, nowhere else.

Files and overrides become a :class:`Config` in :mod:`resaudit.composition`. Imports neither torch nor pandas.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from omegaconf import MISSING

from resaudit.claims.claim import Claim
from resaudit.datasets.dataset import LARGEST_CLASSES, Dataset
from resaudit.errors import ResauditError
from resaudit.schema import bounded

CONTROL = "control"
"""Not a variant: the reading configured, reduced as far as the variants are, to be compared with them."""


# Upper bounds keep a slip of the keyboard from planning what no machine can hold.
LARGEST_DEPTH = 10_000
"""Weight matrices: ten times the deepest network that is drawn."""
LARGEST_RUNS = 10_000
"""Seeds, or draws of a theorem's check: twenty times the most that are drawn."""
LARGEST_EPOCHS = 100_000
"""Steps of gradient descent: a hundred times the paper's. Every epoch that is kept is a number in the plan."""
LARGEST_SEED = 2**63 - 1
"""What a signed integer of 64 bits holds."""
LARGEST_UNITS = 1000
"""Of a theorem's network, or to move one column of X; samples of a class likewise. The most that is drawn is 400."""
LARGEST_DISTANCE = 2.0
"""Between points on the unit sphere."""


class Device(Enum):
    """Where jobs run that want a GPU (:func:`resaudit.cost.wants_gpu`); ``auto``: CUDA where torch can use it."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class Kernel(Enum):
    """What computes activations: the ``fused`` kernel, ``torch``, or ``auto`` (on a CPU fused if possible)."""

    auto = "auto"
    fused = "fused"
    torch = "torch"


class Experiment(Enum):
    """What a figure is drawn from.

    - ``initial_spectra``: Hessians at the initial point of every network and depth;
    - ``rate_sweep``: training at every learning rate;
    - ``best_rate_spectra``: a rate sweep, then training at its best rate with Hessians on the way;
    - ``theorem_1``, ``theorem_2``: what a theorem states, checked by construction;
    - ``sphere_path``: one way of Theorem 1's construction;
    - ``zero_hessians``: Hessians at zero, entry by entry.
    """

    initial_spectra = "initial_spectra"
    rate_sweep = "rate_sweep"
    best_rate_spectra = "best_rate_spectra"
    theorem_1 = "theorem_1"
    theorem_2 = "theorem_2"
    sphere_path = "sphere_path"
    zero_hessians = "zero_hessians"

    @property
    def trains(self) -> bool:
        """Whether networks are initialized, and so may be trained: else a theorem is looked at."""
        return self in (Experiment.initial_spectra, Experiment.rate_sweep, Experiment.best_rate_spectra)


class Precision(Enum):
    """Floating-point type that Hessians and their eigenvalues are computed in."""

    float64 = "float64"
    float32 = "float32"


class HessianMethod(Enum):
    """How statistics of a Hessian's spectrum are computed; both are exact, but for rounding and what is said of counts.

    - ``counts``: numbers of eigenvalues below bounds, in time linear in the depth;
    - ``dense``: all eigenvalues, in time cubic in the depth. Single precision, and Hessians so small that nothing is
      gained, are always computed so.
    """

    counts = "counts"
    dense = "dense"


class NegativeEigenvalues(Enum):
    """Which eigenvalues the index counts.

    - ``beyond_noise``: those below minus the noise floor;
    - ``every``: every one with a minus sign;
    - ``sizeable``: those below minus a hundredth of the largest absolute eigenvalue.
    """

    beyond_noise = "beyond_noise"
    every = "every"
    sizeable = "sizeable"


class RateChoice(Enum):
    """Which of the learning rates of a sweep a network is shown at.

    - ``best``: the least mean final loss;
    - ``tenth_of_best``: the one nearest to a tenth of that, whose path is closer to the gradient flow.
    """

    best = "best"
    tenth_of_best = "tenth_of_best"


class XavierLaw(Enum):
    """The law that Xavier's variance 1/width is given to."""

    gaussian = "gaussian"
    uniform = "uniform"


@dataclass
class Whitening:
    """Principal components kept and scaled to unit variance; whether the mean is taken off first."""

    components: int = bounded(10, at_least=1, at_most=LARGEST_CLASSES)
    centered: bool = True


@dataclass
class Scale:
    """How much of the protocol is run."""

    name: str = MISSING
    summary: str = MISSING


@dataclass
class RunsAt:
    """Fewer runs at one depth, where a run is dear."""

    depth: int = bounded(at_least=1, at_most=LARGEST_DEPTH)
    runs: int = bounded(at_least=1, at_most=LARGEST_RUNS)


@dataclass
class Otherwise:
    """What is otherwise for one network of a figure than for the others; what is left empty is the same."""

    network: str = MISSING
    depths: list[int] = bounded([], at_least=1, at_most=LARGEST_DEPTH)
    runs: int | None = bounded(None, at_least=1, at_most=LARGEST_RUNS)
    learning_rates: list[float] = bounded([], above=0)


@dataclass
class Activations:
    """Activations of an n-shortcut network by position; their names stand in :mod:`resaudit.networks.activations`."""

    pre: str = "identity"
    mid: str = "identity"
    post: str = "identity"

    def __str__(self) -> str:
        return f"{self.pre}/{self.mid}/{self.post}"


@dataclass
class Protocol:
    """The settings of a figure's experiment.

    Attributes:
        networks: names as in the figure's legend.
        depths: numbers of weight matrices.
        runs: seeds of each setting; of a theorem's check, random draws.
        runs_at: fewer runs at the depths named.
        otherwise: what is otherwise for one network.
        epochs: steps of full-batch gradient descent.
        learning_rates: all that are tried.
        rate: which of these a network's training is shown at.
        hessian_epochs: how many epochs have their Hessian computed, evenly on a logarithmic scale; null: all.
        hessian_precision: what Hessians and their eigenvalues are computed in.
        hessian_method: how these are computed.
        negative_eigenvalues: which eigenvalues count for the index.
        zero_scale: what Xavier weights are multiplied by to start a shortcut network.
        xavier: law of the Xavier initialization.
        widths: inputs and outputs of a layer, where a theorem is checked at several.
        units: numbers of residual units, likewise.
        activations: by position, likewise.
        steps: residual units that move one column of X to its label.
        samples_per_class: labelled samples of each class; a network of width d has d classes.
        min_distance: that any two points keep on the unit sphere.
        label_noise: length of the noise added to equal labels, so that they are distinct points.
    """

    networks: list[str] = field(default_factory=list)
    depths: list[int] = bounded([], at_least=1, at_most=LARGEST_DEPTH)
    runs: int = bounded(at_least=1, at_most=LARGEST_RUNS)
    runs_at: list[RunsAt] = field(default_factory=list)
    otherwise: list[Otherwise] = field(default_factory=list)
    epochs: int = bounded(0, at_least=0, at_most=LARGEST_EPOCHS)
    learning_rates: list[float] = bounded([], above=0)
    rate: RateChoice = RateChoice.best
    hessian_epochs: int | None = bounded(None, at_least=2, at_most=LARGEST_EPOCHS)
    hessian_precision: Precision = Precision.float64
    hessian_method: HessianMethod = HessianMethod.counts
    negative_eigenvalues: NegativeEigenvalues = NegativeEigenvalues.beyond_noise
    zero_scale: float = bounded(0.01, at_least=0)
    xavier: XavierLaw = XavierLaw.gaussian
    widths: list[int] = bounded([], at_least=1, at_most=LARGEST_CLASSES)
    units: list[int] = bounded([], at_least=1, at_most=LARGEST_UNITS)
    activations: list[Activations] = field(default_factory=list)
    steps: list[int] = bounded([], at_least=1, at_most=LARGEST_UNITS)
    samples_per_class: list[int] = bounded([], at_least=1, at_most=LARGEST_UNITS)
    min_distance: float = bounded(0.4, above=0, at_most=LARGEST_DISTANCE)
    label_noise: float = bounded(0.5, above=0, at_most=LARGEST_DISTANCE)

    def depths_of(self, network: str) -> list[int]:
        """The depths of a network."""
        return self._of(network).depths or self.depths

    def runs_of(self, network: str, depth: int) -> int:
        """How many runs a network has at a depth."""
        runs = self._of(network).runs or self.runs
        return min([runs, *(thinned.runs for thinned in self.runs_at if thinned.depth == depth)])

    def learning_rates_of(self, network: str) -> list[float]:
        """The learning rates that a network is tried at."""
        return self._of(network).learning_rates or self.learning_rates

    def _of(self, network: str) -> Otherwise:
        return next((other for other in self.otherwise if other.network == network), Otherwise(network))


@dataclass
class Variant:
    """Another plausible value of an assumption: in words, and as the overrides that set it.

    Figures, and a paper's claims, may share a variant under one id; together their overrides are one other reading
    of the paper.
    """

    summary: str = MISSING
    overrides: list[str] = field(default_factory=list)


@dataclass
class Assumption:
    """A value that the paper does not state.

    Attributes:
        setting: the configuration key that holds the value, from the root or (``protocol.…``) the figure.
        value: the value in words where no key holds it.
        reason: why this value.
        variants: plausible others, by id.
    """

    setting: str | None = None
    value: str | None = None
    reason: str = MISSING
    variants: dict[str, Variant] = field(default_factory=dict)


@dataclass
class Tolerance:
    """How far a column of a fresh table may lie from the reference, and for what share of the rows.

    ``eigenvalues``: of a share of a Hessian's eigenvalues, how many of these, whose number the table has.
    """

    relative: float = bounded(0.0, at_least=0)
    absolute: float = bounded(0.0, at_least=0)
    eigenvalues: int = bounded(0, at_least=0)
    share: float = bounded(1.0, at_least=0, at_most=1)


@dataclass
class Paper:
    """The paper that a figure belongs to."""

    title: str = MISSING
    short: str = MISSING
    arxiv: str = MISSING


@dataclass
class Figure:
    """A figure: the paper's protocol, what reduced scales change in it, and what the paper left unsaid.

    ``variant_scales`` holds, by scale, what is reduced further when the figure is drawn under a variant.
    """

    paper: Paper = field(default_factory=Paper)
    title: str = MISSING
    caption: str = MISSING
    marks: str = ""
    omitted: str | None = None
    experiment: Experiment = MISSING
    protocol: Protocol = field(default_factory=Protocol)
    scales: dict[str, dict[str, Any]] = field(default_factory=dict)
    variant_scales: dict[str, dict[str, Any]] = field(default_factory=dict)
    assumptions: dict[str, Assumption] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    tolerances: dict[str, Tolerance] = field(default_factory=dict)

    @property
    def full_caption(self) -> str:
        """The caption, what the marks mean, and what of the paper's figure is left out."""
        return " ".join(part for part in (self.caption, self.marks, self.omitted) if part)


@dataclass
class Paths:
    """Folders, relative to the working directory."""

    data: str = "data"
    results: str = "results"
    figures: str = "figures"


@dataclass
class Config:
    """Everything that a run depends on.

    Attributes:
        seed: of all ensembles.
        device: where ensembles train.
        kernel: what computes networks with activations.
        checkpoint_seconds: of work between two checkpoints of a training, which goes on from the last one.
        dataset, whitening: the data.
        scale: how much of the protocol is run.
        figures: those to draw, by short or full name; empty: all.
        figure: every figure, by paper and name.
        claims: every claim, by paper and id.
        variant: another reading of what the papers leave unsaid, by its id; :data:`CONTROL` is the reading
            configured, reduced as the variants are.
        paths: folders.
    """

    seed: int = bounded(1, at_least=0, at_most=LARGEST_SEED)
    device: Device = Device.auto
    kernel: Kernel = Kernel.auto
    checkpoint_seconds: float = bounded(60.0, at_least=0.0)
    dataset: Dataset = field(default_factory=Dataset)
    whitening: Whitening = field(default_factory=Whitening)
    scale: Scale = field(default_factory=Scale)
    figures: list[str] = field(default_factory=list)
    figure: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    variant: str | None = None
    paths: Paths = field(default_factory=Paths)

    def every_figure(self) -> Iterator[tuple[str, Figure]]:
        """All figures configured, as ``paper/figure`` and the figure."""
        for paper, figures in self.figure.items():
            for name, figure in figures.items():
                yield f"{paper}/{name}", figure

    def by_name(self, name: str) -> Figure:
        """The figure ``paper/figure``."""
        return dict(self.every_figure())[name]

    def named(self, wanted: str) -> list[str]:
        """Every ``paper/figure`` that a short or full name stands for.

        Raises:
            ResauditError: there is none.
        """
        known = [name for name, _ in self.every_figure()]
        matches = [name for name in known if wanted in (name, name.split("/")[1])]
        if not matches:
            raise ResauditError(f"unknown figure {wanted!r}; known: {', '.join(known)}")
        return matches

    def claims_of(self, paper: str) -> dict[str, Claim]:
        """The claims of a paper by their ids, in the order of its ledger."""
        return dict(self.claims.get(paper, {}))

    def variants(self) -> dict[str, Variant]:
        """Every variant of the figures' assumptions, by id, with the overrides of all figures that have it."""
        merged: dict[str, Variant] = {}
        for _, figure in self.every_figure():
            for assumption in figure.assumptions.values():
                for name, variant in assumption.variants.items():
                    known = merged.setdefault(name, Variant(variant.summary))
                    known.overrides += [o for o in variant.overrides if o not in known.overrides]
        return merged

    def chosen_figures(self) -> dict[str, Figure]:
        """The figures to draw, by ``paper/figure``."""
        chosen = {name for wanted in self.figures for name in self.named(wanted)}
        return {name: figure for name, figure in self.every_figure() if not self.figures or name in chosen}

    def resolve_figure(self, wanted: str) -> str:
        """The ``paper/figure`` that a short or full name stands for.

        Raises:
            ResauditError: there is none, or it is in several papers.
        """
        matches = self.named(wanted)
        if len(matches) > 1:
            raise ResauditError(f"ambiguous figure {wanted!r}; known: {', '.join(matches)}")
        return matches[0]
