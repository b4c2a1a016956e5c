"""Types of settings that several experiments have, with bounds."""

from math import log10
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from resaudit.base.models import Model, different

# Upper bounds keep a typing error from planning more than a machine can hold.
LARGEST_DEPTH = 10_000
"""Weight matrices; ten times the deepest network drawn."""
LARGEST_RUNS = 10_000
"""Seeds, or draws of a theorem; twenty times the most used."""
LARGEST_EPOCHS = 100_000
"""Steps of gradient descent; a hundred times the paper's. The plan lists every epoch that is kept."""

MOST_OF_A_GRID = 1000
"""Numbers of a :class:`Grid`; forty times the most used."""

Depth = Annotated[int, Field(ge=1, le=LARGEST_DEPTH)]
"""Number of weight matrices."""
Runs = Annotated[int, Field(ge=1, le=LARGEST_RUNS)]
"""Number of seeds."""
Epochs = Annotated[int, Field(ge=1, le=LARGEST_EPOCHS)]
"""Steps of full-batch gradient descent."""
Rate = Annotated[float, Field(gt=0)]
"""Learning rate."""
Names = Annotated[list[str], Field(min_length=1), AfterValidator(different)]
Depths = Annotated[list[Depth], Field(min_length=1), AfterValidator(different)]
Key = tuple[str, int]
"""Network name and depth."""


BLOCK = 50
"""Fresh runs of one job: more runs add blocks and recompute nothing."""


class Confirmation(Model):
    """Fresh runs at the learning rates that a screening leaves tied for the best; effects are measured on them alone.

    Attributes:
        runs: number of fresh runs, whose numbers go on where those of the screening end.
    """

    runs: Runs

    def blocks(self, screened: int) -> list[tuple[int, int]]:
        """The first run and the number of runs of each job.

        >>> Confirmation(runs=120).blocks(10)
        [(10, 50), (60, 50), (110, 20)]
        """
        return self.blocks_from(screened, self.runs)

    @staticmethod
    def blocks_from(first: int, runs: int, block: int = BLOCK) -> list[tuple[int, int]]:
        """The first run and the number of runs of each job, of so many runs from number ``first`` on."""
        return [(first + start, min(block, runs - start)) for start in range(0, runs, block)]


class Grid(Model):
    """Numbers at equal distances on a logarithmic axis, ``{from: 1.0e-4, to: 31.6, per_decade: 4}`` in YAML.

    Attributes:
        first: the least number.
        to: the largest, of which two digits are enough.
        per_decade: numbers for each factor of ten.
    """

    first: Annotated[float, Field(alias="from", ge=1e-12, le=1e12)]
    to: Annotated[float, Field(ge=1e-12, le=1e12)]
    per_decade: Annotated[int, Field(ge=1, le=MOST_OF_A_GRID)]

    def numbers(self) -> list[float]:
        """Its numbers, rounded to 12 digits to be the same on every machine.

        >>> Grid.model_validate({"from": 0.1, "to": 3.16, "per_decade": 2}).numbers()
        [0.1, 0.316227766017, 1.0, 3.16227766017]
        """
        count = round(self._steps) + 1
        return [float(f"{10 ** (log10(self.first) + i / self.per_decade):.12g}") for i in range(count)]

    @property
    def _steps(self) -> float:
        return (log10(self.to) - log10(self.first)) * self.per_decade

    @model_validator(mode="after")
    def _ends_at_a_number(self) -> Self:
        if not 0 <= self._steps < MOST_OF_A_GRID:
            raise ValueError(f"gives none or over {MOST_OF_A_GRID} numbers; allowed: from <= to, and fewer per_decade")
        if abs(self._steps - round(self._steps)) > 0.05:
            nearest = self.numbers()[-1]
            raise ValueError(f"has to {self.to:.3g}, between two of its numbers; the nearest is {nearest:.3g}")
        return self


def _numbers(given: Any) -> Any:
    return Grid.model_validate(given).numbers() if isinstance(given, dict) else given


SomeRates = Annotated[list[Rate], AfterValidator(different), BeforeValidator(_numbers)]
"""A list, or a :class:`Grid`; possibly none."""
Rates = Annotated[SomeRates, Field(min_length=1)]
