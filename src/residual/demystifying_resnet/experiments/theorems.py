"""Theorems, or steps of their proofs, checked by construction."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from resaudit.paper import Coordinates, Data, Experiment, Job, Model, Product, at, bounded, different
from residual.demystifying_resnet.experiments.training import Jobs, Rows, checked_network
from residual.demystifying_resnet.jobs.theorem import Theorem
from residual.demystifying_resnet.networks.network import ACTIVATIONS, base_name, shortcut_depth_of
from residual.demystifying_resnet.theory.records import Cases

if TYPE_CHECKING:
    import pandas as pd

LARGEST_UNITS = 1000
"""Residual units of a network, steps per column of X, or samples per class; 400 are the most used."""
LARGEST_WIDTH = 256
LARGEST_SHORTCUT = 10
"""Each further order of derivatives doubles the cost."""
LEAST_WIDTH_OF_SPHERE = 3
"""Lemma 2 goes round obstacles on a sphere, which needs three dimensions; Figure 10 shows exactly three."""

Unit = Annotated[int, Field(ge=1, le=LARGEST_UNITS)]
Units = Annotated[list[Unit], Field(min_length=1), AfterValidator(different)]
One = Annotated[list[Unit], Field(min_length=1, max_length=1)]
Distance = Annotated[float, Field(gt=0, le=2.0)]
"""Between points on the unit sphere."""


def _shortcuts(names: list[str]) -> list[str]:
    for name in names:
        if base_name(name) != name or not 1 <= shortcut_depth_of(name) <= LARGEST_SHORTCUT:
            raise ValueError(
                f"has {name!r}; allowed: 'N-shortcut' with N >= 1, as in 2-shortcut, and at most {LARGEST_SHORTCUT}"
            )
    return names


Shortcuts = Annotated[bounded.Names, AfterValidator(_shortcuts)]


class Activations(Model):
    """Activations of an n-shortcut network by position, named as in ``activations``.

    Attributes:
        pre: before the first layer of a shortcut's block.
        mid: between its layers.
        post: after its last layer, before the shortcut is added.
    """

    pre: str = "identity"
    mid: str = "identity"
    post: str = "identity"

    def __str__(self) -> str:
        return f"{self.pre}/{self.mid}/{self.post}"

    @model_validator(mode="after")
    def _known(self) -> Self:
        for position in ("pre", "mid", "post"):
            # Assumption 3 of Demystifying ResNet: sigma_mid(0) = sigma_post(0) = 0.
            allowed = [name for name, zero in ACTIVATIONS.items() if position == "pre" or zero.value == 0]
            if getattr(self, position) not in allowed:
                raise ValueError(f"has {position} {getattr(self, position)!r}; allowed: {', '.join(allowed)}")
        return self


class TheoremExperiment(Experiment):
    """A theorem, checked by one job."""

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """The check at every size and draw."""
        sizes: dict[str, Any] = {"draws": 1}
        for key, value in self:
            if key == "runs":
                sizes["draws"] = value
            elif key == "networks":
                sizes["shortcut_depths"] = tuple(map(shortcut_depth_of, value))
            elif key == "activations":
                sizes[key] = tuple((each.pre, each.mid, each.post) for each in value)
            else:
                sizes[key] = tuple(value) if isinstance(value, list) else value
        return {at(theorem=self.name): Theorem(self.whitened(data), self.name, Cases(seed, **sizes))}

    def read(self, jobs: Jobs, results: Path) -> Any:
        """The job's measurements."""
        (job,) = jobs.values()
        return job.read(results)

    def check_width(self, width: int) -> None:
        """Check that no network is wider than the data."""
        widest = max(getattr(self, "widths", [0]))
        if widest > width:
            raise ValueError(f"has widths {widest}; allowed: at most {width} (whitening.components)")


def _job(jobs: Jobs) -> tuple[Cases, list[str]]:
    """The cases of a theorem's job, and its data by name."""
    (job,) = jobs.values()
    assert isinstance(job, Theorem)
    return job.cases, ["random", job.data.data.dataset.name]


class Sphere(TheoremExperiment):
    """Points on the unit sphere that keep a distance from each other.

    Attributes:
        widths: inputs and outputs of a layer.
        samples_per_class: labelled samples of each class; a network of width d has d classes.
        steps: residual units that move one column of X to its label.
        min_distance: between any two points.
        label_noise: length of the noise that makes equal labels distinct points.
        runs: random draws of each size.
    """

    runs: bounded.Runs
    widths: Annotated[
        list[Annotated[int, Field(ge=LEAST_WIDTH_OF_SPHERE, le=LARGEST_WIDTH)]],
        Field(min_length=1),
        AfterValidator(different),
    ]
    samples_per_class: Units
    steps: Units
    min_distance: Distance = 0.4
    label_noise: Distance = 0.5


class Theorem1(Sphere, name="theorem_1"):
    """The construction of Theorem 1's proof."""

    def expected(self, jobs: Jobs, keys: Sequence[str], table: "pd.DataFrame") -> Rows:
        """Each width and number of samples, with every number of units, both kinds of data and every draw."""
        cases, data = _job(jobs)
        return {
            at(width=width, samples=width * each): [
                {"units": [width * each * steps for steps in cases.steps], "data": data, "draw": range(cases.draws)}
            ]
            for width, each in product(cases.widths, cases.samples_per_class)
        }


class SpherePath(Sphere, name="sphere_path"):
    """One path of Theorem 1's construction."""

    widths: Annotated[list[Annotated[int, Field(ge=3, le=3)]], Field(min_length=1, max_length=1)]
    samples_per_class: One
    steps: One

    def expected(self, jobs: Jobs, keys: Sequence[str], table: "pd.DataFrame") -> Rows:
        """Both paths with every step, and the other columns of X."""
        cases, _ = _job(jobs)
        points, others = cases.steps[0] + 1, cases.widths[0] * cases.samples_per_class[0] - 1
        return {
            at(kind=kind): [{"step": range(count)}]
            for kind, count in (("path", points), ("direct", points), ("obstacle", others))
        }


class Theorem2(TheoremExperiment, name="theorem_2"):
    """The Hessian at zero.

    Attributes:
        networks: n-shortcut networks.
        widths: inputs and outputs of a layer.
        units: numbers of residual units.
        depths: numbers of weight matrices at which condition numbers are taken.
        activations: by position.
        samples_per_class: labelled samples of each class.
        runs: random draws of each size.
    """

    runs: bounded.Runs
    networks: Shortcuts
    depths: bounded.Depths
    widths: Annotated[
        list[Annotated[int, Field(ge=1, le=LARGEST_WIDTH)]], Field(min_length=1), AfterValidator(different)
    ]
    units: Units
    activations: Annotated[list[Activations], Field(min_length=1), AfterValidator(different)]
    samples_per_class: Units

    @model_validator(mode="after")
    def _depths_fit(self) -> Self:
        if "2-shortcut" in self.networks:
            for depth in self.depths:
                checked_network("2-shortcut", depth)
        return self

    def expected(self, jobs: Jobs, keys: Sequence[str], table: "pd.DataFrame") -> Rows:
        """Each network and size at zero, and the depths of condition numbers, with both kinds of data and every draw.

        Condition numbers are also of all real data, whose number of samples the table has.
        """
        cases, data = _job(jobs)
        linear = "identity/identity/identity"
        of_depths = {(n, linear, depth // n) for n, depth in product((1, 2), cases.depths) if depth % n == 0}
        of_depths = {each for each in of_depths if each[0] in cases.shortcut_depths}
        at_zero = set(product(cases.shortcut_depths, map("/".join, cases.activations), cases.units))
        sizes = [(width, width * each) for width, each in product(cases.widths, cases.samples_per_class)]
        every: list[Product] = [{"data": data, "draw": range(cases.draws)}]
        whole: list[Product] = [{"data": data[1:], "draw": [0]}]
        others = {*table[["width", "samples"]].itertuples(index=False, name=None)} - {*sizes}
        of_all: list[tuple[Any, Any]] = [*others][:1] or [("all", "all")]
        return {
            at(shortcut_depth=n, activations=activations, units=units, width=width, samples=samples): rows
            for places, of_sizes, rows in ((at_zero | of_depths, sizes, every), (of_depths, of_all, whole))
            for (n, activations, units), (width, samples) in product(sorted(places), of_sizes)
        }


class ZeroHessians(TheoremExperiment, name="zero_hessians"):
    """Hessians at zero of all data, entry by entry.

    Attributes:
        networks: n-shortcut networks.
        units: numbers of residual units.
    """

    networks: Shortcuts
    units: Units

    def expected(self, jobs: Jobs, keys: Sequence[str], table: "pd.DataFrame") -> Rows:
        """Each network with each number of units; which entries are not zero the data decide."""
        cases, _ = _job(jobs)
        networks = product(cases.shortcut_depths, cases.units)
        return {at(network=f"{n}-shortcut", units=units): [{}] for n, units in networks}
