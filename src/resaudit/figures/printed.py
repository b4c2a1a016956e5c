"""The numbers that papers print, beside ours."""

from collections.abc import Mapping
from typing import Annotated, Any

import pandas as pd
from pydantic import Field, model_validator

from resaudit.base.models import Count, PairId, Part, validated
from resaudit.figures.drawing import figure_module
from resaudit.figures.possible import Examined, consistent
from resaudit.figures.tables import Drawn, errors_naming
from resaudit.plan.models import Config


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


def printed_values(config: Config, paper: str, figures: Mapping[str, Drawn]) -> list[Printed]:
    """The tables of printed numbers of a paper; also of figures that were not drawn.

    A figure has one if its module has a function ``beside_the_paper(figure, table)``, with the figure's configuration
    and its table (None if it was not drawn). It gives all keys of :class:`Printed` but ``figure``.
    """
    tables = []
    for name, figure in config.figure.items():
        beside = getattr(figure_module(name), "beside_the_paper", None) if name.startswith(f"{paper}/") else None
        if beside is not None:
            table = figures[name].table if name in figures else None
            with errors_naming(f"table of {name}", name):
                tables.append(validated(Printed, {"figure": name, **beside(figure, table)}, "printed"))
    return tables


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
