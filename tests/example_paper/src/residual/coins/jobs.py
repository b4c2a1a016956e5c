"""Tossing a coin."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from resaudit.jobs.job import Cost, Execution, Job, Work
from resaudit.jobs.results import read_result


@dataclass(frozen=True)
class Tosses:
    """Whether each toss gave heads, shape (tosses,)."""

    heads: np.ndarray


@dataclass(frozen=True)
class Toss(Job):
    """One coin, tossed again and again."""

    kind: ClassVar[str] = "toss"
    files: ClassVar[tuple[str, ...]] = ("tosses.npz",)
    arrays: ClassVar[Mapping[str, str]] = {"tosses.npz": "heads:b1[tosses]"}

    bias: float
    tosses: int
    seed: int

    @property
    def stem(self) -> str:
        """The bias, in per cent."""
        return f"coin{100 * self.bias:.0f}"

    @property
    def known_sizes(self) -> dict[str, int]:
        """The tosses."""
        return {"tosses": self.tosses}

    def cost(self, execution: Execution) -> Cost:
        """Next to nothing."""
        return Cost(1.0, 100.0)

    def run(self, work: Work) -> dict[str, Any]:
        """Toss."""
        return {"tosses.npz": Tosses(np.random.default_rng(self.seed).random(self.tosses) < self.bias)}

    def read(self, results: Path) -> Tosses:
        """The tosses; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "tosses.npz", Tosses)
