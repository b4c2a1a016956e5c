"""Theorems, or steps of their proofs, checked by construction."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from resaudit.base.models import Model, different
from resaudit.jobs.job import Job
from resaudit.plan.experiment import Coordinates, Data, Experiment, at, needed
from resaudit.plan.fields import Depths, Names, Runs
from residual.demystifying_resnet.experiments.networks import checked_network
from residual.demystifying_resnet.jobs.theorem import Theorem
from residual.demystifying_resnet.networks.network import ACTIVATIONS, base_name, shortcut_depth_of
from residual.demystifying_resnet.theory.cases import Cases

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


Shortcuts = Annotated[Names, AfterValidator(_shortcuts)]


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
        return {at(theorem=self.name): Theorem(needed(data), self.name, Cases(seed, **sizes))}

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """The job's measurements."""
        (job,) = jobs.values()
        return job.read(results)

    def check_width(self, width: int) -> None:
        """Check that no network is wider than the data."""
        widest = max(getattr(self, "widths", [0]))
        if widest > width:
            raise ValueError(f"has widths {widest}; allowed: at most {width} (whitening.components)")


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

    runs: Runs
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


class SpherePath(Sphere, name="sphere_path"):
    """One path of Theorem 1's construction."""

    widths: Annotated[list[Annotated[int, Field(ge=3, le=3)]], Field(min_length=1, max_length=1)]
    samples_per_class: One
    steps: One


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

    runs: Runs
    networks: Shortcuts
    depths: Depths
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


class ZeroHessians(TheoremExperiment, name="zero_hessians"):
    """Hessians at zero of all data, entry by entry.

    Attributes:
        networks: n-shortcut networks.
        units: numbers of residual units.
    """

    networks: Shortcuts
    units: Units
