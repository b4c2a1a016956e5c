"""Networks with ReLUs: finite-sample expressivity, counts of parameters, and training on images."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from resaudit.paper import Coordinates, Data, Experiment, Job, Model, Product, at, bounded, different
from residual.identity_matters.jobs.count import Count
from residual.identity_matters.jobs.lemma import Lemma
from residual.identity_matters.jobs.memorize import Memorize
from residual.identity_matters.relu.measured import (
    DOUBLE,
    GAUSSIAN,
    IMAGES,
    ORTHOGONAL,
    SINGLE,
    SPHERE,
    Case,
    LemmaSizes,
)
from residual.images.experiments import ImageTraining
from residual.images.setting import AllConvolutional, Architecture

if TYPE_CHECKING:
    import pandas as pd

LARGEST_WIDTH = 4096
"""Units of a layer; the paper's k is a logarithm."""
LARGEST_MARGIN = 0.03
"""Larger ones leave random points of few dimensions too close to each other for the lemma's conditions."""

Width = Annotated[int, Field(ge=1, le=LARGEST_WIDTH)]
Widths = Annotated[list[Width], Field(min_length=1), AfterValidator(different)]
Samples = Annotated[int, Field(ge=2, le=1_000_000)]
Share = Annotated[float, Field(gt=0, lt=1)]
Channels = Annotated[int, Field(ge=1, le=100_000)]
Few = Annotated[int, Field(ge=1, le=1000)]
LemmaWidth = Annotated[int, Field(ge=32, le=LARGEST_WIDTH, multiple_of=2)]
LemmaMargin = Annotated[float, Field(gt=0, le=LARGEST_MARGIN)]
LemmaConstant = Annotated[float, Field(gt=0, le=10)]


class Expressivity(Experiment, name="expressivity"):
    """Theorem 3.2's network, built for images and run on them, and Lemma B.1 by itself.

    Attributes:
        samples: n.
        width: k.
        projection: law of A_0.
        share: rho' / rho, which sets the biases.
        labels: labellings of the same images.
        narrow: widths of networks for all n images whose projections are scaled to norm 1.
        nested: numbers of images whose least distance is measured.
        search_samples: n of the search for a width that suffices.
        search_widths: the values of k tried there.
        share_samples: n of the networks with other shares.
        shares: rho' / rho, in double and single precision.
        lemma_widths: k at which Lemma B.1 is checked.
        lemma_margins: rho' at which it is checked.
        lemma_constants: c of its condition ||a_i - a_j||^2 >= c rho'; the paper prints 3, its proof needs 6.
        lemma_draws: draws at each size.
        lemma_others: points that a block must leave, for each one that it moves.
    """

    samples: Samples
    width: Width
    projection: Literal["orthogonal", "gaussian"]
    share: Share
    labels: Annotated[list[Literal["given", "random"]], Field(min_length=1), AfterValidator(different)]
    narrow: Widths
    nested: Annotated[list[Samples], Field(min_length=1), AfterValidator(different)]
    search_samples: Samples
    search_widths: Widths
    share_samples: Samples
    shares: Annotated[list[Share], Field(min_length=1), AfterValidator(different)]
    lemma_widths: Annotated[list[LemmaWidth], Field(min_length=1), AfterValidator(different)]
    lemma_margins: Annotated[list[LemmaMargin], Field(min_length=1), AfterValidator(different)]
    lemma_constants: Annotated[list[LemmaConstant], Field(min_length=1), AfterValidator(different)]
    lemma_draws: bounded.Runs
    lemma_others: Few

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job a part, and the lemma."""
        raw = self.whitened(data).data
        nested = {"network": tuple(self.nested)}
        parts: dict[Coordinates, Job] = {
            at(part=part): Memorize(raw, cases, nested.get(part, ()), seed) for part, cases in self.cases().items()
        }
        lists = {key: tuple(getattr(self, f"lemma_{key}")) for key in ("widths", "margins", "constants")}
        sizes = LemmaSizes(**lists, draws=self.lemma_draws, others=self.lemma_others)
        return {**parts, at(part="lemma"): Lemma(sizes, seed)}

    def cases(self) -> dict[str, tuple[Case, ...]]:
        """The networks of every part."""
        labels, first = tuple(self.labels), (self.labels[0],)

        def case(n: int, k: int, **other: Any) -> Case:
            plain = {"points": IMAGES, "projection": self.projection, "normalized": False, "share": self.share}
            return Case(**{"samples": n, "width": k, "labels": first, "precision": DOUBLE, **plain, **other})

        searched = product((IMAGES, SPHERE), (ORTHOGONAL, GAUSSIAN), (False, True), self.search_widths)
        return {
            "network": (
                case(self.samples, self.width, labels=labels),
                case(self.samples, self.width, precision=SINGLE),
            ),
            "narrow": tuple(case(self.samples, k, normalized=True, labels=labels) for k in self.narrow),
            "widths": tuple(
                case(self.search_samples, k, points=points, projection=law, normalized=normalized)
                for points, law, normalized, k in searched
            ),
            "shares": tuple(
                case(self.share_samples, self.width, share=share, precision=precision)
                for precision in (DOUBLE, SINGLE)
                for share in self.shares
            ),
        }

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every network, layer and size of the lemma; how many images are no duplicates the table has."""
        from residual.identity_matters.theorem32 import planned_rows

        places: dict[Coordinates, Sequence[Product]] = {}
        for where, job in jobs.items():
            if isinstance(job, Memorize):
                for row in planned_rows(dict(where)["part"], job, max(1, int(table["samples"].max()))):
                    places[tuple((key, row[key]) for key in keys)] = [{}]
            if isinstance(job, Lemma):
                for constant, width, margin in product(job.sizes.constants, job.sizes.widths, job.sizes.margins):
                    place = at(part="lemma", constant=constant, width=width, share=margin)
                    places[place] = [{"draw": range(job.sizes.draws)}]
        return places

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """Each part's job with its result."""
        return {dict(where)["part"]: (job, job.read(results)) for where, job in jobs.items()}


class Stage(Model):
    """Residual blocks of one width.

    Attributes:
        channels: channels of their outputs.
        blocks: number of blocks, of two convolutions each.
        stride: stride of the first convolution.
    """

    channels: Channels
    blocks: Few
    stride: Annotated[int, Field(ge=1, le=8)]


class ArchitectureKeys(Model):
    """An architecture; :class:`~residual.images.setting.Architecture` has the meaning of the keys.

    Attributes:
        first_outputs: channels after the first convolution.
        first_kernel: width and height of that convolution.
        first_stride: stride of that convolution.
        stages: stages of blocks, one after the other.
        classes: outputs of the last layer.
    """

    first_outputs: Channels
    first_kernel: Annotated[int, Field(ge=1, le=31)]
    first_stride: Annotated[int, Field(ge=1, le=8)]
    stages: Annotated[list[Stage], Field(min_length=1)]
    classes: Channels

    @model_validator(mode="after")
    def _widening(self) -> Self:
        widths = [self.first_outputs, *(stage.channels for stage in self.stages)]
        if widths != sorted(widths):
            raise ValueError(f"has channels {widths}; allowed: ascending ones, since shortcuts pad with zeros")
        return self

    def architecture(self) -> Architecture:
        """With 3 input channels and 3x3 convolutions, as both of the paper's networks."""
        stages = tuple((stage.channels, stage.blocks, stage.stride) for stage in self.stages)
        return Architecture(3, self.first_outputs, self.first_kernel, self.first_stride, 3, stages, self.classes)


class ParameterCounts(Experiment, name="parameter_counts"):
    """Convolutions and trainable weights of networks.

    Attributes:
        networks: architectures by name.
        published: the paper's counts in millions of parameters, by network and place in the paper.
    """

    of_table = ("published",)

    networks: Annotated[dict[str, ArchitectureKeys], Field(min_length=1)]
    published: dict[str, dict[str, Annotated[float, Field(gt=0)]]] = {}

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job a network."""
        return {at(network=name): Count(name, plan.architecture()) for name, plan in self.networks.items()}

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """Counts by network, with what was published of it."""
        counts = {dict(where)["network"]: job.read(results) for where, job in jobs.items()}
        return {name: (counted, self.published.get(name, {})) for name, counted in counts.items()}

    def in_words(self) -> dict[str, Any]:
        """The networks by name; their layers are in the table."""
        return {"networks": ", ".join(self.networks), "published": None}


class AllConvolutionalTraining(ImageTraining, name="all_convolutional_training"):
    """Table 1's network, and the same with what section 4.1 says it was compared with.

    Attributes:
        networks: ``published``; ``usual-init``: residual convolutions of deviation 1/(k sqrt(c)) instead of 1/(k^2 c);
            ``trained-projection``: the last layer is trained.
        blocks: number of blocks in each of the three stages.
        projection: law of the fixed last layer.
        leak: slope of the ReLUs below zero.
        last_relu: a ReLU comes before the average pool.
    """

    networks: Annotated[  # type: ignore[assignment]
        list[Literal["published", "usual-init", "trained-projection"]], Field(min_length=1), AfterValidator(different)
    ]
    blocks: Annotated[int, Field(ge=1, le=1000)]
    projection: Literal["uniform", "normal"]
    leak: Annotated[float, Field(ge=0, lt=1)]
    last_relu: bool

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network; its depth is the number of its convolutions."""
        return ((name, 1 + 6 * self.blocks) for name in self.networks)

    def network(self, name: str, depth: int) -> AllConvolutional:
        """A network's settings."""
        projection = "trained" if name == "trained-projection" else self.projection
        return AllConvolutional(self.blocks, name != "usual-init", projection, self.leak, self.last_relu)
