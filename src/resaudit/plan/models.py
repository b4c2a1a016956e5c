"""Pydantic models of the configuration: keys, types, bounds, defaults (a protocol's: in its experiment)."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from resaudit.base.errors import figures_named
from resaudit.base.models import Model
from resaudit.data.dataset import LARGEST_CLASSES, Dataset, Signs
from resaudit.plan.claim import Claim, import_checks
from resaudit.plan.experiment import Experiment, experiments_of

CONFIGURED = "as-configured"
"""The id of no variant."""
CONTROL, OTHER_SEED = "control", "other-seed"
CONTROLS = {
    CONTROL: "as configured, reduced as far as the variants are",
    OTHER_SEED: "the control with the next seed: what another draw of all random numbers changes",
}
"""No variants: what these are compared with, by id, with a summary."""
LARGEST_SEED = 2**63 - 1
"""The largest signed 64-bit integer."""

Device = Literal["auto", "cpu", "cuda"]
"""Where jobs that want a GPU run; ``auto``: on CUDA if torch can use it."""
Kernel = Literal["auto", "fused", "torch"]
"""What computes networks with activations; ``auto``: the fused kernel on a CPU if possible, else torch."""


class Whitening(Model):
    """Principal components, scaled to unit variance.

    Attributes:
        components: kept, and so the width of the networks; the number of classes.
        centered: true: the mean is subtracted first.
        signs: rule for the signs of the components.
    """

    components: Annotated[int, Field(ge=1, le=LARGEST_CLASSES)]
    centered: bool
    signs: Signs = "largest_positive"


class Scale(Model):
    """How much of the protocol is run.

    Attributes:
        name: name of the scale.
        summary: description in words.
        gpu_figures: whether figures that take days without a GPU are drawn without being named: if the run uses one,
            not, or only these.
    """

    name: str
    summary: str
    gpu_figures: Literal["if_gpu", "if_named", "only"] = "if_gpu"

    def left_out(self, needs_gpu: bool, gpu: Callable[[], bool]) -> str | None:
        """Why a figure is left out unless it is named; None if it is not."""
        if not needs_gpu:
            only = f"scale {self.name} is for figures that take days without a GPU"
            return only if self.gpu_figures == "only" else None
        days = "in full it takes days without a GPU"
        if self.gpu_figures == "if_named":
            return f"{days}; at scale {self.name} drawn only if it is named"
        if self.gpu_figures == "if_gpu" and not gpu():
            return f"{days}, and this run uses none; drawn only if it is named"
        return None


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
    variants: dict[str, Variant] = {}


class ColumnTolerance(Model):
    """How far a column of a new table may differ from the reference, and in what share of the rows it must agree.

    Attributes:
        relative: difference, of the reference.
        absolute: difference, in the column's unit.
        eigenvalues: for a column that is a share of eigenvalues, the difference allowed in whole eigenvalues.
        share: share of the rows that must agree.
    """

    relative: Annotated[float, Field(ge=0)] = 0.0
    absolute: Annotated[float, Field(ge=0)] = 0.0
    eigenvalues: Annotated[int, Field(ge=0)] = 0
    share: Annotated[float, Field(ge=0, le=1)] = 1.0


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
    def _square_layers(cls, given: Whitening | None, info: ValidationInfo) -> Whitening | None:
        dataset = info.data.get("dataset")
        if dataset is None:
            return None
        if given is not None and given.components != dataset.classes:
            raise ValueError(
                f"has components {given.components}; the networks' layers are square, so it must be {dataset.classes}, "
                f"the number of classes of {dataset.title}"
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


def _usable(folder: str) -> str:
    if not folder:
        raise ValueError("is empty; give a folder, . for the working directory")
    if not {"{", "}"}.isdisjoint(folder):
        raise ValueError(f"is {folder!r}; Snakemake takes braces for a wildcard: give a folder without {{ and }}")
    return folder


Folder = Annotated[str, AfterValidator(_usable)]


class Paths(Model):
    """Folders, relative to the working directory.

    Attributes:
        data: raw data, by data set.
        results: results of jobs, with their plan, logs and checkpoints.
        figures: tables, drawings, and the audit with its page.
    """

    data: Folder
    results: Folder
    figures: Folder


class Run(Model):
    """The settings shared by all figures of a run.

    Attributes:
        device: device of jobs that want a GPU.
        kernel: what computes networks with activations.
        checkpoint_seconds: seconds of work between two checkpoints of a training.
        scale: share of the protocol that is run, by figures without a scale of their own.
        figures: figures to draw, by full name, by short name if one paper has it, or by their paper; empty: all.
        variant: id of another reading of the papers, or ``control`` or ``other-seed``.
        rung: which of three looks at the claims this is, each with four times the fresh runs (``confirm.runs``) of the
            one before and with its share of the error rate; None: the only look.
        paths: folders.
    """

    device: Device
    kernel: Kernel
    checkpoint_seconds: Annotated[float, Field(ge=0)]
    scale: Scale
    figures: list[str]
    variant: str | None = None
    rung: Annotated[int, Field(ge=1, le=3)] | None = None
    paths: Paths


class Config(Run):
    """The whole configuration.

    Attributes:
        figure: every figure that was composed, by ``paper/figure``.
        claims: every claim, by paper and id.
        left_out: the figures that are drawn only if they are named, with the reason.
    """

    figure: dict[str, Figure]
    claims: dict[str, dict[str, Claim]] = {}
    left_out: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _import_checks(cls, given: Any) -> Any:
        for paper in given.get("claims", {}):
            import_checks(paper)
        return given

    def named(self, wanted: str) -> list[str]:
        """Every ``paper/figure`` that a short or full name, or that of its paper, means.

        A paper's name does not mean figures that are left out, unless all of them are.
        """
        meant = figures_named(wanted, list(self.figure))
        return [name for name in meant if name not in self.left_out] or meant

    def dataset_of(self, figure: str) -> str | None:
        """The name of the data set of ``paper/figure``; None if it has none, or is not configured."""
        settings = self.figure.get(figure)
        return settings.dataset.name if settings and settings.dataset else None

    def scale_of(self, figure: str) -> str:
        """The name of the scale of ``paper/figure``."""
        settings = self.figure.get(figure)
        return settings.scale if settings else self.scale.name

    def papers(self) -> set[str]:
        """The papers of the figures that were composed."""
        return {name.split("/")[0] for name in self.figure}

    def audited_papers(self) -> list[str]:
        """The papers of the audit: those that ``figures`` names if it names papers alone, else all that have claims."""
        named = [paper for paper in self.claims if paper in self.figures]
        return named if len(named) == len(self.figures) and named else list(self.claims)

    def claims_of(self, paper: str) -> dict[str, Claim]:
        """The claims of a paper by their ids, in the order of their file."""
        return self.claims.get(paper, {})

    def variants(self, paper: str | None = None) -> dict[str, Variant]:
        """Every variant of the figures that are not left out, or those of one paper, by id."""
        left_out = set(self.left_out) - set(self.chosen_figures())
        return {
            key: variant
            for name, figure in self.figure.items()
            if paper in (None, name.split("/")[0]) and name not in left_out
            for key, variant in figure.variants.items()
        }

    def chosen_figures(self) -> dict[str, Figure]:
        """The figures to draw, by ``paper/figure``."""
        chosen = {name for wanted in self.figures for name in self.named(wanted)}
        if not self.figures:
            chosen = set(self.figure) - set(self.left_out)
        return {name: figure for name, figure in self.figure.items() if name in chosen}

    def not_chosen(self) -> dict[str, str]:
        """The figures that the run is asked for and leaves out, with the reason."""
        every = list(self.figure)
        asked = {name for wanted in self.figures for name in figures_named(wanted, every)} or set(every)
        chosen = self.chosen_figures()
        return {name: why for name, why in self.left_out.items() if name in asked and name not in chosen}

    def with_every_figure(self) -> "Config":
        """The same with every figure to draw."""
        return self.model_copy(update={"figures": list(self.figure)})

    def datasets(self) -> list[Dataset]:
        """The data sets of the figures to draw."""
        datasets = [figure.dataset for figure in self.chosen_figures().values() if figure.dataset]
        return list({dataset.name: dataset for dataset in datasets}.values())
