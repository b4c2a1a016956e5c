"""Pydantic models of a figure: protocol, data, assumptions with their variants, tolerances."""

from typing import Annotated, Any, Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from resaudit.base.models import Id, Model
from resaudit.data.dataset import LARGEST_CLASSES, Dataset, Signs
from resaudit.plan.experiment import Experiment, experiments_of

LARGEST_SEED = 2**63 - 1
"""The largest signed 64-bit integer."""


class Whitening(Model):
    """Principal components, scaled to unit variance.

    Attributes:
        components: kept, as many as there are classes.
        centered: true: the mean is subtracted first.
        signs: rule for the signs of the components.
    """

    components: Annotated[int, Field(ge=1, le=LARGEST_CLASSES)]
    centered: bool
    signs: Signs = "largest_positive"


class Variant(Model):
    """Another plausible value of an assumption: a summary and the figure's overrides that set it.

    Figures of a paper may share a variant's id; together they are one other reading of the paper.

    Attributes:
        summary: description in words.
        overrides: ``KEY=VALUE``, of the figure that lists the variant.
    """

    summary: str
    overrides: Annotated[list[str], Field(min_length=1)]


class Assumption(Model):
    """A value that the paper does not state.

    Attributes:
        setting: the key of the figure that holds the value, such as ``protocol.runs`` or ``dataset.name``.
        value: the value in words if no key holds it.
        reason: why this value.
        variants: plausible other values, by id.
    """

    setting: str | None = None
    value: str | None = None
    reason: str
    variants: dict[Id, Variant] = {}


class ColumnTolerance(Model):
    """How far a column of a new table may differ from the reference.

    Attributes:
        relative: difference, of the reference.
        absolute: difference, in the column's unit.
        of: for a column that is a share, the column of what it is a share of.
        counts: the difference allowed of such a share, in whole ones of these.
        chaotic: whether rounding grows until it decides single rows, as in a chaotic training; then only rows before
            the first step and means over runs must agree.
    """

    relative: Annotated[float, Field(ge=0)] = 0.0
    absolute: Annotated[float, Field(ge=0)] = 0.0
    of: str | None = None
    counts: Annotated[int, Field(ge=0)] = 0
    chaotic: bool = False


class Paper(Model):
    """The paper that a figure belongs to.

    Attributes:
        title: title of the paper.
        short: its authors.
        arxiv: identifier with the version that claims and protocols refer to; or
        url: its address, such as ``https://doi.org/...``.
        thresholds: date of our interpretations and thresholds, and what had been seen by then.
    """

    title: str
    short: str
    arxiv: Annotated[str, Field(pattern=r"^[0-9]{4}\.[0-9]{4,5}(v[0-9]+)?$")] | None = None
    url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    thresholds: str = ""

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if (self.arxiv is None) == (self.url is None):
            raise ValueError("must have either arxiv, its number there, or url, its address elsewhere")
        return self

    @property
    def link(self) -> str:
        """Its address."""
        return self.url or f"https://arxiv.org/abs/{self.arxiv}"

    @property
    def cited(self) -> str:
        """Where it is, in a word."""
        return self.url or f"arXiv:{self.arxiv}"


class Figure(Model):
    """A figure: the paper's protocol, and assumptions where the paper states nothing.

    Attributes:
        name: ``paper/figure``.
        dataset, whitening: its data; null: none.
        seed: seed of all its random draws.
        scale: name of the scale that it is drawn at.
        paper, title, caption: what it shows.
        legend: what lines, markers and colours mean.
        remark: what must stand under the drawing, such as that its settings are reconstructed.
        experiment: name of the experiment.
        protocol: the settings of the experiment.
        scales: reduced settings, by scale.
        variant_scales: settings reduced further under a variant, by scale.
        assumptions: values that the paper does not state, by name.
        published: numbers of the paper's that its plot draws too, by network or other name, then by place.
        draws_one: lists of the protocol of which it draws one value; several would be averaged.
        keys: columns of its table that identify a row.
        tolerances: allowed differences, by column of its table.
    """

    name: str
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]
    dataset: SerializeAsAny[Dataset] | None
    whitening: Whitening | None
    scale: str
    paper: Paper
    title: str
    caption: str
    legend: str = ""
    remark: str = ""
    experiment: str
    protocol: SerializeAsAny[Experiment]
    scales: dict[str, dict[str, Any]] = {}
    variant_scales: dict[str, dict[str, Any]] = {}
    assumptions: dict[str, Assumption] = {}
    published: dict[str, dict[str, float]] = {}
    draws_one: list[str] = []
    keys: list[str] = []
    tolerances: dict[str, ColumnTolerance] = {}

    @property
    def full_caption(self) -> str:
        """The caption and the legend."""
        return " ".join(part for part in (self.caption, self.legend) if part)

    @property
    def variants(self) -> dict[str, Variant]:
        """The variants of all its assumptions, by id."""
        return {key: variant for each in self.assumptions.values() for key, variant in each.variants.items()}

    @field_validator("protocol", mode="before")
    @classmethod
    def _of_its_experiment(cls, given: Any, info: ValidationInfo) -> Any:
        if isinstance(given, Experiment):
            return given
        known = experiments_of(info.data["name"].split("/")[0])
        experiment = info.data.get("experiment")
        if experiment not in known:
            raise ValueError(
                f"has the unknown experiment {experiment!r}; allowed: {', '.join(sorted(known))}; or write one in the "
                f"paper's experiments.py: class Name(Experiment, name={experiment!r})"
            )
        return known[experiment].model_validate(given)

    @field_validator("whitening")
    @classmethod
    def _as_wide_as_targets(cls, given: Whitening | None, info: ValidationInfo) -> Whitening | None:
        dataset = info.data.get("dataset")
        if dataset is None:
            return None
        if given is not None and given.components != dataset.classes:
            raise ValueError(
                f"has components {given.components}; allowed: {dataset.classes}, the classes of {dataset.title}, since "
                "whitened inputs and targets have the same size"
            )
        return given

    @field_validator("protocol")
    @classmethod
    def _fits_the_data(cls, given: Experiment, info: ValidationInfo) -> Experiment:
        if info.data.get("whitening"):
            given.check_width(info.data["whitening"].components)
        return given

    @field_validator("assumptions")
    @classmethod
    def _about_this_data(cls, given: dict[str, Assumption], info: ValidationInfo) -> dict[str, Assumption]:
        """Without those about a key that only data sets of another format have, as CIFAR-100's reader."""
        if (dataset := info.data.get("dataset")) is None:
            return given
        keys = {key for kind in Dataset.__subclasses__() for key in kind.model_fields} - {*type(dataset).model_fields}
        return {name: each for name, each in given.items() if each.setting not in {f"dataset.{key}" for key in keys}}

    @model_validator(mode="after")
    def _draws_all(self) -> Self:
        for key in self.draws_one:
            values = getattr(self.protocol, key, None)
            if not isinstance(values, list):
                raise ValueError(f"has draws_one {key!r}, which is no list of the protocol")
            if len(values) > 1:
                raise ValueError(f"has {len(values)} protocol.{key}, but draws one; give one, draw the others apart")
        return self

    @model_validator(mode="after")
    def _settings_exist(self) -> Self:
        for name, assumption in self.assumptions.items():
            node: Any = self
            for part in assumption.setting.split(".") if assumption.setting is not None else ():
                if not isinstance(node, Model) or part not in type(node).model_fields:
                    raise ValueError(
                        f"has assumptions.{name}.setting {assumption.setting!r}, which is no key; allowed: a key of "
                        "the figure, as protocol.runs or dataset.name"
                    )
                node = getattr(node, part)
        return self
