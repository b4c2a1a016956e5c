"""Drawing a figure, its table and the plot of that; and the committed table that a new one is compared with."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from resaudit.base.papers import module_of, reference_folder
from resaudit.jobs.job import Cost, Job, Work
from resaudit.plan.composition import load, scale_named
from resaudit.plan.figure import Figure
from resaudit.plan.models import SUFFIXES, Run
from resaudit.plan.plan import FigurePlan, Plan, plan_figure, with_inputs
from resaudit.plan.words import assumed, deviations, note
from resaudit.runtime.progress import log


@dataclass(frozen=True)
class Draw(Job):
    """One figure: its table, drawings, and a ``.json`` that records what they are of and their SHA-256."""

    kind = "draw"
    typical = Cost(6.0, 220.0)

    figure: Figure  # its configuration
    deviations: tuple[str, ...]  # from the paper's protocol, in words
    assumptions: tuple[str, ...]  # of the paper's protocol, in words
    note: str  # the line under the drawing
    data: str = field(metadata={"identity": False})  # folder of all data sets' raw files

    @property
    def stem(self) -> str:
        """Paper and figure."""
        return self.figure.name.replace("/", "-")

    @cached_property
    def part(self) -> FigurePlan:
        """The jobs that it is drawn from."""
        return plan_figure(self.figure, self.data)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The settings and the ids of the jobs that it is drawn from."""
        return super().identity | {"evidence": self.part.evidence}

    @property
    def modules(self) -> tuple[str, ...]:
        """Its own, the figure's, and that of its experiment."""
        return (type(self).__module__, module_of(self.figure.name), type(self.figure.protocol).__module__)

    def record(self, results: Path) -> Path:
        """The record of the table and its drawings."""
        return self.folder(results) / "figure.json"

    def reads(self, results: Path) -> list[Path]:
        """The results of the figure's jobs, and the records of all that these rest on."""
        jobs = with_inputs(self.part.jobs.values()).values()
        return list(dict.fromkeys([*self.part.reads(results), *(job.record(results) for job in jobs if job.files)]))

    def written(self, results: Path, *names: str) -> list[Path]:
        """The table, the drawings and their record, ``figure.*``."""
        return [self.folder(results) / f"figure.{suffix}" for suffix in SUFFIXES]

    def run(self, work: Work) -> dict[str, Any]:
        """Draw it."""
        from resaudit.figures.drawing import draw

        draw(self, work.results, self.folder(work.results), work.code)
        log(f"wrote {self.folder(work.results)}")
        return {}


def draw_job(figure: Figure, of_paper: Figure, run: Run) -> Draw:
    """The drawing of a figure.

    Args:
        figure: the figure as it is to be drawn.
        of_paper: the same figure at scale paper.
        run: what holds for all figures.
    """
    return Draw(
        figure,
        tuple(deviations(figure, of_paper)),
        tuple(assumed(of_paper)),
        note(figure, of_paper) if scale_named(figure.scale).evidence else "Test run: no evidence.",
        run.paths.data,
    )


def references(plan: Plan) -> dict[str, Path]:
    """Where each chosen figure's reference is, or would be.

    Of other data than usual, its name has the data set's; of another scale than usual, it is in that scale's folder.
    """
    configured = load(only=list(plan.figures)).figure
    files = {}
    for name, part in plan.figures.items():
        figure, usual = part.figure, configured[name]
        other_data = figure.dataset and usual.dataset and figure.dataset.name != usual.dataset.name
        named = f"{name}-{figure.dataset.name}" if figure.dataset and other_data else name
        files[name] = reference_file(named, None if figure.scale == usual.scale else figure.scale)
    return files


def reference_file(name: str, other_scale: str | None = None) -> Path:
    """The committed table of ``paper/figure`` at the usual scale, or at another one."""
    folder = reference_folder(name.split("/")[0])
    return (folder / f"scale_{other_scale}" if other_scale else folder) / f"{name}.csv"
