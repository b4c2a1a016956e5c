"""Drawing a figure: its table, and the plot of that table."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from resaudit.config.models import Figure, Run
from resaudit.plan.job import Cost, Execution, Job, Work
from resaudit.plan.plan import plan_figure
from resaudit.plan.words import assumed, deviations, note


@dataclass(frozen=True)
class Draw(Job):
    """One figure, as configured or under a variant. Its files go to the figures folder.

    Attributes:
        figure: its configuration.
        scale: name of the scale.
        variant: id, or None.
        deviations: from the paper's protocol, in words.
        assumptions: of the paper's protocol, in words.
        note: the line under the drawing.
        data: folder of all data sets' raw files.
        figures: output folder.
    """

    kind: ClassVar[str] = "draw"
    files: ClassVar[tuple[str, ...]] = ()

    figure: Figure
    scale: str
    variant: str | None
    deviations: tuple[str, ...]
    assumptions: tuple[str, ...]
    note: str
    data: str = field(metadata={"identity": False})
    figures: str = field(metadata={"identity": False})

    @property
    def stem(self) -> str:
        """Paper and figure, and the variant."""
        under = f"-{self.variant}" if self.variant else ""
        return f"{self.figure.name.replace('/', '-')}{under}"

    def cost(self, execution: Execution) -> Cost:
        """The largest measured."""
        return Cost(6.0, 220.0)

    def reads(self, results: Path) -> list[Path]:
        """The results of the figure's jobs."""
        return plan_figure(self.figure, self.data).reads(results)

    def run(self, work: Work) -> dict[str, Any]:
        """Draw it.

        Raises:
            ResauditError: a result is missing, or the figure has no module.
        """
        from resaudit.papers.drawing import Setting, draw

        setting = Setting(self.scale, self.variant, self.deviations, self.assumptions, self.note)
        draw(plan_figure(self.figure, self.data), setting, work.results, Path(self.figures))
        return {}


def draw_job(figure: Figure, of_paper: Figure, run: Run) -> Draw:
    """The drawing of a figure.

    Args:
        figure: as it is to be drawn.
        of_paper: the same at scale paper.
        run: what holds for all figures.
    """
    return Draw(
        figure,
        run.scale.name,
        run.variant,
        tuple(deviations(figure, of_paper)),
        tuple(assumed(of_paper)),
        note(figure, of_paper, run.scale.name),
        run.paths.data,
        run.paths.figures,
    )
