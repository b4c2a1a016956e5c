"""From a configuration to the jobs of every figure. Loads neither torch nor pandas."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from resaudit.config.models import Config, Figure, Run
from resaudit.datasets.dataset import Dataset
from resaudit.devices import settled
from resaudit.experiments.experiment import Coordinates, in_words
from resaudit.jobs.fetch import Fetch
from resaudit.jobs.whiten import Whiten
from resaudit.plan.job import Execution, Job


@dataclass(frozen=True)
class FigurePlan:
    """What one figure is drawn from.

    Attributes:
        figure: its configuration.
        jobs: whose results its table is made from, by their coordinates in the experiment.
    """

    figure: Figure
    jobs: Mapping[Coordinates, Job]

    def reads(self, results: Path) -> list[Path]:
        """The files that its table is made from."""
        files = [file for job in self.jobs.values() for file in (*job.written(results), *job.read_along(results))]
        return list(dict.fromkeys(files))

    @cached_property
    def evidence(self) -> dict[str, Any]:
        """What its table is a function of: two plans with the same evidence give the same table."""
        protocol = self.figure.protocol
        return {
            "jobs": {in_words(where): job.id for where, job in self.jobs.items()},
            "table": {key: getattr(protocol, key) for key in protocol.of_table},
        }


@dataclass(frozen=True)
class Plan:
    """All jobs of a run."""

    config: Config
    figures: dict[str, FigurePlan]

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """All jobs by ``kind/id``, each once however many others want its result."""
        found: dict[str, Job] = {}

        def add(job: Job) -> None:
            if job.key not in found:
                for needed in job.inputs.values():
                    add(needed)
                found[job.key] = job

        for figure in self.figures.values():
            for job in figure.jobs.values():
                add(job)
        return found

    def jobs_of(self, kind: str) -> dict[str, Job]:
        """All jobs of a kind, by id."""
        return {job.id: job for job in self.jobs.values() if job.kind == kind}


def make_plan(config: Config) -> Plan:
    """The jobs of every figure of the configuration that is to be drawn."""
    return Plan(config, {name: _plan_figure(figure, config) for name, figure in config.chosen_figures().items()})


def _plan_figure(figure: Figure, config: Config) -> FigurePlan:
    data = Whiten(fetch_of(figure.dataset, config), figure.whitening.components, figure.whitening.centered)
    return FigurePlan(figure, figure.protocol.jobs(data, figure.seed))


def fetch_of(dataset: Dataset, run: Run) -> Fetch:
    """The fetching of a data set into the folder that is configured."""
    return Fetch(dataset, str(Path(run.paths.data) / dataset.name))


def execution_of(run: Run) -> Execution:
    """How jobs run here."""
    return Execution(settled(run.device), run.kernel, run.checkpoint_seconds)
