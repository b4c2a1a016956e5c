"""A short job with one result: all that a small paper's own kind of job needs."""

from abc import abstractmethod
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from resaudit.jobs.job import Job, Work
from resaudit.jobs.results import read_result


@dataclass(frozen=True)
class Simulation(Job):
    """A job of seconds whose fields are settings, and whose result is a dataclass of arrays."""

    files: ClassVar[tuple[str, ...]] = ("result.npz",)
    result: ClassVar[type[Any]]
    """That dataclass."""

    @abstractmethod
    def simulate(self) -> Any:
        """Compute the result, from the settings alone."""

    @property
    def stem(self) -> str:
        """Its kind."""
        return self.kind

    def arrays_of(self, file: str) -> str:
        """The fields of the result, of any type and shape, unless the class states ``arrays``."""
        return super().arrays_of(file) or " ".join(f"{field.name}:*" for field in fields(self.result))

    def run(self, work: Work) -> dict[str, Any]:
        """Simulate."""
        return {"result.npz": self.simulate()}

    def read(self, results: Path) -> Any:
        """The result; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "result.npz", self.result)
