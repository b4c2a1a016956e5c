"""Tossing a coin."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from resaudit.paper import Cost, Execution, Job, Work, arrays


@dataclass(frozen=True)
class Tosses:
    """Tosses of a coin."""

    heads: Annotated[np.ndarray, arrays.Type("b1"), arrays.Shape("tosses")]  # whether each gave heads


@dataclass(frozen=True)
class Toss(Job):
    """One coin, tossed again and again."""

    kind = "toss"
    files = {"tosses.npz": Tosses}

    bias: float
    tosses: int
    seed: int

    @property
    def stem(self) -> str:
        """The bias, in per cent."""
        return f"coin{100 * self.bias:.0f}"

    def cost(self, execution: Execution) -> Cost:
        """Next to nothing."""
        return Cost(1.0, 100.0)

    def run(self, work: Work) -> dict[str, Any]:
        """Toss."""
        return {"tosses.npz": Tosses(np.random.default_rng(self.seed).random(self.tosses) < self.bias)}
