"""Pydantic models of the configuration: keys, types, bounds, defaults (protocols: in experiments); a run's folders."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from resaudit.base.errors import MachineError, ResauditError, figures_named
from resaudit.base.models import Model
from resaudit.base.papers import reference_folders
from resaudit.data.dataset import Dataset
from resaudit.plan.claim import Claim, import_checks
from resaudit.plan.figure import Figure, Variant

CONFIGURED = "as-configured"
"""The id of no variant."""
CONTROL, OTHER_SEED = "control", "other-seed"
CONTROLS = {
    CONTROL: "as configured, reduced as far as the variants are",
    OTHER_SEED: "the control with the next seed: what another draw of all random numbers changes",
}
"""No variants: what these are compared with, by id, with a summary."""

Device = Literal["auto", "cpu", "cuda"]
"""Where jobs that want a GPU run; ``auto``: on CUDA if torch can use it."""
Kernel = Literal["auto", "fused", "torch"]
"""What computes networks with activations; ``auto``: the fused kernel on a CPU if possible, else torch."""


OF_THE_RUN = {"device", "kernel", "checkpoint_seconds", "paths"}
"""Settings on which no result, and so no id, depends."""


class Scale(Model):
    """How much of the protocol is run.

    Attributes:
        name: name of the scale.
        summary: description in words.
        evidence: whether results can be evidence; false: only that everything runs is tested.
        gpu_figures: whether figures that take days without a GPU are drawn without being named: if the run uses one,
            not, or only these.
    """

    name: str
    summary: str
    evidence: bool = True
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
        checkpoints: checkpoints of jobs at work, such as on a volume that outlives a machine; None: with the results.
    """

    data: Folder
    results: Folder
    figures: Folder
    checkpoints: Folder | None = None


class Run(Model):
    """The settings shared by all figures of a run.

    Attributes:
        device: device of jobs that want a GPU.
        kernel: what computes networks with activations.
        checkpoint_seconds: seconds of work between two checkpoints of a training.
        scale: share of the protocol that is run, by figures without a scale of their own.
        figures: figures to draw, by full name, by short name if one paper has it, or by their paper; empty: all.
        variant: id of another reading of the papers, or ``control`` or ``other-seed``.
        rung: which of three looks at the claims this is, each with four times the fresh runs (``confirm``) of the
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
        return named if set(named) == set(self.figures) and named else list(self.claims)

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

    def asks_about(self, evidence: str) -> bool:
        """Whether claims on ``paper/figure`` are asked for: by the figure's name, or with all of the paper's.

        A paper's claims are those too whose figure is left out, or does not exist yet.
        """
        return not self.figures or evidence.split("/")[0] in self.figures or evidence in self.chosen_figures()

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


FORMATS = ("pdf", "svg", "png")
SUFFIXES = ("csv", *FORMATS, "json")
"""Of all files of a figure: table, drawings, and what they are of."""


class Layout:
    """The paths of a run's files, used by the code and by the rules."""

    def __init__(self, paths: Paths) -> None:
        self.data = Path(paths.data)
        self.results = Path(paths.results)
        self.figures = Path(paths.figures)

    def figure(self, name: str, suffix: str) -> Path:
        """A file of ``paper/figure``."""
        return self.figures / f"{name}.{suffix}"

    def check_unused(self, fetches: bool = True) -> None:
        """Check before any plan the folders that are empty or missing, and that of data if some are to be fetched.

        Others may be read-only, if the run has nothing to do.
        """
        folders = {key: getattr(self, key) for key in ("results", "figures")}
        unused = [key for key, folder in folders.items() if not (folder.is_dir() and any(folder.iterdir()))]
        self.check_writable(*(["data"] if fetches else []), *unused)

    def check_writable(self, *keys: str) -> None:
        """Check before any job that folders are writable, or can be created."""
        for key in keys:
            folder: Path = getattr(self, key)
            if key == "figures" and folder.resolve() in reference_folders():
                raise _unwritable(folder, "it holds the committed tables, which no run overwrites", key)
            try:
                nearest = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
            except OSError as error:
                raise _unwritable(folder, error.strerror or str(error), key) from error
            if not nearest.is_dir() or not os.access(nearest, os.W_OK):
                raise _unwritable(folder, f"{nearest} is not {'writable' if nearest.is_dir() else 'a folder'}", key)


def _unwritable(folder: Path, reason: str, key: str) -> ResauditError:
    return MachineError(f"cannot write into {folder}: {reason}; choose another paths.{key}")
