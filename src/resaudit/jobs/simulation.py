"""A short job with one result: all that a small paper's own kind of job needs."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from resaudit.jobs.job import Job, Work


@dataclass(frozen=True)
class Simulation(Job):
    """A short job; its fields are its settings, and its result is a dataclass of arrays."""

    result: ClassVar[type[Any]]
    """That dataclass; what :mod:`resaudit.jobs.arrays` annotates in it is checked and compared."""

    def __init_subclass__(cls) -> None:
        """Name the file of the result."""
        super().__init_subclass__()
        if "result" in vars(cls):
            cls.files = {"result.npz": cls.result}

    @abstractmethod
    def simulate(self) -> Any:
        """Compute the result, from the settings alone."""

    def run(self, work: Work) -> dict[str, Any]:
        """Simulate."""
        return {"result.npz": self.simulate()}
