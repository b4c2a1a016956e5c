"""The plan: from a configuration to the jobs of every figure. Imports neither torch nor pandas."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from resaudit.base.errors import ConfigError, PaperError, ResauditError
from resaudit.base.papers import failing_code
from resaudit.data.dataset import Dataset
from resaudit.data.fetch import Fetch
from resaudit.data.whiten import Whiten
from resaudit.jobs.job import Execution, Job
from resaudit.plan.experiment import Coordinates, Data, NoData, in_words
from resaudit.plan.figure import Figure
from resaudit.plan.models import Config, Run
from resaudit.runtime.devices import settled


@dataclass(frozen=True)
class FigurePlan:
    """One figure and its jobs."""

    figure: Figure  # its configuration
    jobs: Mapping[Coordinates, Job]  # the jobs whose results its table is made from, by coordinates

    def reads(self, results: Path) -> list[Path]:
        """The files that its table is made from."""
        files = [file for job in self.jobs.values() for file in (*job.written(results), *job.read_along(results))]
        return list(dict.fromkeys(files))

    @cached_property
    def evidence(self) -> dict[str, Any]:
        """All that its table depends on: plans with equal evidence give equal tables."""
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
        """All jobs by ``kind/id``, each once."""
        return with_inputs(job for figure in self.figures.values() for job in figure.jobs.values())

    def jobs_of(self, kind: str) -> dict[str, Job]:
        """All jobs of a kind, by id."""
        return {job.id: job for job in self.jobs.values() if job.kind == kind}


def with_inputs(jobs: Iterable[Job]) -> dict[str, Job]:
    """Jobs with all their direct and indirect inputs, by ``kind/id``; inputs come first."""
    known: dict[str, Job] = {}
    for job in jobs:
        if job.key not in known:
            known |= with_inputs(job.inputs.values()) | {job.key: job}
    return known


def plan_figure(figure: Figure, data: str) -> FigurePlan:
    """The jobs of one figure."""
    try:
        job_data: Data = fetch_of(figure.dataset, data) if figure.dataset else None
        if isinstance(job_data, Fetch) and figure.whitening:
            job_data = Whiten(job_data, **dict(figure.whitening))
        jobs = figure.protocol.jobs(job_data, figure.seed)
    except NoData as error:
        raise ConfigError(f"{figure.name}: experiment {figure.experiment} needs {error}") from None
    except ResauditError:
        raise
    except (Exception, SystemExit) as error:
        raise failing_code(error, figure.name.partition("/")[0], f"cannot list the jobs of {figure.name}") from error
    if not isinstance(jobs, dict):
        raise PaperError(
            f"{inspect.getfile(type(figure.protocol))}: jobs returns {type(jobs).__name__}, not a dict; let it return "
            "one"
        )
    return FigurePlan(figure, jobs)


def make_plan(config: Config, plan: Callable[[Figure, str], FigurePlan] = plan_figure) -> Plan:
    """The jobs of every chosen figure, each by ``plan``."""
    return Plan(config, {name: plan(figure, config.paths.data) for name, figure in config.chosen_figures().items()})


def fetch_of(dataset: Dataset, data: str) -> Fetch:
    """The job that fetches a data set into its folder under ``data``."""
    return Fetch(dataset, str(Path(data) / dataset.name))


def execution_of(run: Run) -> Execution:
    """How jobs run here."""
    return Execution(settled(run.device), run.kernel, run.checkpoint_seconds)
