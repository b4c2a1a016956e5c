"""The numbers that papers print, beside ours."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from resaudit.figures.drawing import figure_module
from resaudit.figures.tables import Drawn, errors_naming
from resaudit.plan.models import Config

Json = dict[str, Any]


def printed_values(config: Config, paper: str, figures: Mapping[str, Drawn]) -> list[Json]:
    """The tables of printed numbers of a paper, as ``printed`` of audit.json; also of figures that were not drawn.

    A figure has one if its module has a function ``beside_the_paper(figure, table)``, with the figure's configuration
    and its table (None if it was not drawn). It gives all keys of :class:`resaudit.audit.evidence_models.Printed` but
    ``figure``; None where the paper prints nothing.

    Raises:
        ResauditError: a table lacks something.
    """
    found = []
    for name, figure in config.figure.items():
        beside = getattr(figure_module(name), "beside_the_paper", None) if name.startswith(f"{paper}/") else None
        if beside is not None:
            table = figures[name].table if name in figures else None
            with errors_naming(f"table of {name}", name):
                found.append({"figure": name, **beside(figure, table)})
    return found


def over_runs(values: "pd.Series | None") -> Json:
    """Mean, mean minus and plus one standard deviation, and number of runs, as keys of a printed value.

    >>> over_runs(pd.Series([1.0, 3.0]))["low"], over_runs(pd.Series([2.0])), over_runs(None)
    (0.5857864376269049, {'here': 2.0, 'low': None, 'high': None, 'n': 1}, {'here': None})
    """
    if values is None or values.empty:
        return {"here": None}
    mean, deviation = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None
    ends = (None, None) if deviation is None else (mean - deviation, mean + deviation)
    return {"here": mean, "low": ends[0], "high": ends[1], "n": len(values)}
