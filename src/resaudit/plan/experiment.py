"""The base class of all experiments."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from resaudit.base.models import Model
from resaudit.base.papers import classes_of
from resaudit.data.fetch import Fetch
from resaudit.data.whiten import Whiten
from resaudit.jobs.job import Job

if TYPE_CHECKING:
    import pandas as pd

    from resaudit.figures.rates import BestRate

Kind = TypeVar("Kind", bound=Job)
Data = Whiten | Fetch | None
"""A figure's data: whitened, as they are (``whitening: null``), or none (``dataset: null``)."""
Coordinates = tuple[tuple[str, Any], ...]
"""A job's place in an experiment: names and values, such as ``(("network", "xavier"), ("depth", 16))``."""
Product = Mapping[str, Collection[Any]]
"""Rows of a table by column: one for each combination of these values."""


def at(**named: Any) -> Coordinates:
    """Coordinates by name.

    >>> at(network="xavier", depth=16)
    (('network', 'xavier'), ('depth', 16))
    """
    return tuple(named.items())


def in_words(coordinates: Coordinates) -> str:
    """Coordinates in words.

    >>> in_words(at(network="xavier", depth=16))
    'xavier, depth 16'
    """
    return ", ".join(str(value) if isinstance(value, str) else f"{name} {value}" for name, value in coordinates)


class NoData(Exception):
    """An experiment that needs data was given none, or data of the other kind."""


class Experiment(Model):
    """The settings of one experiment: the keys of ``protocol`` in a figure's configuration.

    A subclass is an experiment: ``class RateSweep(Experiment, name="rate_sweep")`` is ``experiment: rate_sweep``.
    """

    name: ClassVar[str]
    of_table: ClassVar[tuple[str, ...]] = ()
    """Settings that only the table depends on, not the jobs."""
    of_jobs: ClassVar[tuple[str, ...]] = ()
    """Settings that divide the work into jobs, and change no result."""
    of_some_rows: ClassVar[tuple[str, ...]] = ()
    """Keys of the table that are empty in rows of another kind."""
    parts: ClassVar[str | None] = None
    """Its list of settings of single parts, such as networks; what is set for all of them replaces theirs."""
    needs_gpu: ClassVar[bool] = False
    """Whether the full protocol takes days without a GPU: such figures are drawn if named, or if there is a GPU."""

    def __init_subclass__(cls, name: str | None = None, **options: Any) -> None:
        """Set the experiment's name; a shared base class has none.

        Raises:
            TypeError: an experiment with a name has no ``jobs``.
        """
        super().__init_subclass__(**options)
        if name is not None:
            cls.name = name
            if cls.jobs is Experiment.jobs:
                raise TypeError(f"{cls.__name__} has no function jobs(self, data, seed); write it, or correct its name")

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """The jobs whose results the figure's table is made from.

        Args:
            data: the figure's data.
            seed: seed of all random draws.
        """
        raise NotImplementedError

    @staticmethod
    def whitened(data: Data) -> Whiten:
        """The whitened data, which the experiment needs."""
        if not isinstance(data, Whiten):
            raise NoData("data; dataset is null" if data is None else "whitened data; whitening is null")
        return data

    @staticmethod
    def images(data: Data) -> Fetch:
        """The images as they are, which the experiment needs."""
        if not isinstance(data, Fetch):
            raise NoData("images; " + ("dataset is null" if data is None else "set whitening to null"))
        return data

    def job(self, kind: type[Kind], **others: Any) -> Kind:
        """A job whose fields are those of the experiment that have the same name, and the others given.

        Lists become tuples, so that the job cannot change.

        Args:
            kind: the kind of job.
            others: its fields that the experiment lacks, or has another value for in this job.
        """
        own = {f.name: getattr(self, f.name) for f in fields(kind) if f.name in type(self).model_fields}
        same = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
        return kind(**same | others)

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """The argument of the figure's ``table``: by default each job's result by coordinates."""
        return {where: job.read(results) for where, job in jobs.items()}

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """The places that the figure's table must have, and no others, each with the products of its rows; empty: any.

        The products of a place have the same columns, and no row in common. Rows of a place that agree in all other
        keys are those of its products together.

        By default the coordinates that all jobs have and that are keys of the table, with the jobs' runs, if known.

        Args:
            jobs: the jobs of the plan.
            keys: columns that identify a row; the table has them.
            table: for what only the data decide, such as the learning rates of fresh runs.
        """
        shared = [name for name in keys if all(name in dict(where) for where in jobs)]
        places: dict[Coordinates, set[int]] = {}
        for where, job in jobs.items():
            place = tuple((name, dict(where)[name]) for name in shared)
            places.setdefault(place, set()).update(job.run_numbers)
        return {place: [{"run": runs} if runs and "run" in keys else {}] for place, runs in places.items()}

    def best_rates(self, found: Any) -> Mapping[tuple[str, int], "BestRate"]:
        """The best learning rate of each network and depth; none if no rates are swept.

        Args:
            found: what :meth:`read` returned.
        """
        return {}

    def with_runs(self, read: int, wanted: int) -> dict[str, int]:
        """The settings by which effects that rest on ``read`` runs here rest on ``wanted`` ones; empty if none does.

        By default the number of fresh runs, else of runs; none where only some networks have fresh runs.
        """
        if getattr(self, "confirm", None) is not None:
            return {"confirm.runs": wanted}
        return {"runs": wanted} if hasattr(self, "runs") and not self.is_confirmed else {}

    @property
    def is_confirmed(self) -> bool:
        """Whether the figure, or a part of it, has fresh runs, the number of which a rung raises."""
        parts = getattr(self, self.parts) if self.parts else ()
        return any(getattr(each, "confirm", None) for each in (self, *parts))

    def check_width(self, width: int) -> None:
        """Check settings that depend on the data.

        Args:
            width: number of components of the whitened data.

        Raises:
            ValueError: a setting does not fit; the message continues the protocol's name.
        """

    def in_words(self) -> dict[str, Any]:
        """Settings shown in another form, by name; None: not shown."""
        return {}


def experiments_of(paper: str) -> dict[str, type[Experiment]]:
    """The experiments that a paper's figures can use, by name: those that its module ``experiments`` has."""
    return {kind.name: kind for kind in classes_of(paper, "experiments", Experiment, "name")}
