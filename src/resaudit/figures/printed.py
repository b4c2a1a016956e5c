"""The numbers that papers print, beside ours."""

from typing import Annotated, Any

import pandas as pd
from pydantic import Field, model_validator

from resaudit.base.models import Count, PairId, Part
from resaudit.figures.possible import Examined, consistent


class PrintedValue(Part):
    """A number that is printed in the paper, with ours."""

    what: str
    """Of what: a network, a depth, a count."""
    printed: float
    """The paper's number."""
    printed_low: float | None = None
    """Lower end of its interval; null: none."""
    printed_high: float | None = None
    """Upper end of its interval; null: none."""
    here: float | None
    """Our number; null where it has not been computed."""
    low: float | None = None
    """Lower end of our interval; null: none."""
    high: float | None = None
    """Upper end of our interval; null: none."""
    n: Count | None = None
    """How many runs our number rests on; null where it is not of runs, or not known."""
    examined: list[Examined] = []
    """What arithmetic says of the paper's number: no verdict, since a number that is possible may be wrong."""
    consistent: bool | None = None
    """Whether one of the shares examined is possible and every other test passes; null: nothing was examined."""

    @model_validator(mode="before")
    @classmethod
    def _with_result(cls, given: Any) -> Any:
        derived = isinstance(given, dict) and "examined" in given and "consistent" not in given
        return given | {"consistent": consistent(given["examined"])} if derived else given


class Printed(Part):
    """A table of a paper whose numbers a figure computes again."""

    figure: PairId
    """The figure that has our numbers, even if it has not been drawn."""
    quantity: str
    """What the numbers are, with their unit."""
    digits: Annotated[int, Field(ge=0, le=12)]
    """Decimals that the paper prints."""
    spread: str
    """What an interval is; empty where there is none."""
    remark: str
    """What must be known to compare them; possibly empty."""
    values: list[PrintedValue]
    """The numbers."""


def over_runs(values: "pd.Series | None") -> dict[str, Any]:
    """Mean, mean minus and plus one standard deviation, and number of runs, as keys of a printed value.

    >>> over_runs(pd.Series([1.0, 3.0]))["low"], over_runs(pd.Series([2.0])), over_runs(None)
    (0.5857864376269049, {'here': 2.0, 'low': None, 'high': None, 'n': 1}, {'here': None})
    """
    if values is None or values.empty:
        return {"here": None}
    mean, low, high = float(values.mean()), None, None
    if len(values) > 1:
        deviation = float(values.std(ddof=1))
        low, high = mean - deviation, mean + deviation
    return {"here": mean, "low": low, "high": high, "n": len(values)}
