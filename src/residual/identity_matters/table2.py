"""Table 2, CIFAR-10: test error of Table 1's network beside the published ones."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Examined, over_runs, panels, sweeps
from residual.images.curves import mean_and_deviation

Published = Mapping[str, Mapping[str, float]]
"""Top-1 errors of Table 2 in %, by data set and network."""
OURS = "this network, paper"
TEST_IMAGES = 10_000, "all test images"
PER_EVALUATION = 5000, "the test images that the code named in section 4.1 takes for an evaluation"


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row a run, at its end.

    Columns: network, depth, learning_rate, run, step, test_error (of the last step), error (as reported); in %.
    """
    return sweeps.at_the_end(evaluations)[["network", "depth", "learning_rate", "run", "step", "test_error", "error"]]


def plot(table: pd.DataFrame, published: Published) -> Figure:
    """CIFAR-10's column."""
    return plot_printed(table, published, "CIFAR-10")


def plot_printed(table: pd.DataFrame, published: Published, column: str) -> Figure:
    """The printed table, beside the errors published for a data set."""
    rows = printed(table, published, column)
    figure, (axes,) = panels("a", 0.17 * (len(rows) + 2))
    axes.print_rows(rows, (0.0, 1.0))
    return figure


def printed(table: pd.DataFrame, published: Published, column: str) -> list[tuple[str, ...]]:
    """The lines of the table: a heading, the paper's, and ours."""
    runs = table["run"].nunique()
    ours = {"as reported": table["error"], "last step": table["test_error"]}
    return [
        (column, "top-1 error, %"),
        *((name, f"{error:.2f}") for name, error in published[column].items()),
        *((f"here, {name} ({runs} runs)", mean_and_deviation(errors)) for name, errors in ours.items()),
    ]


def beside_the_paper(figure: Any, table: pd.DataFrame | None) -> dict[str, Any]:
    """The paper's errors, the one of its own network with ours as reported."""
    column = "CIFAR-100" if figure.name.endswith("cifar100") else "CIFAR-10"
    ours = over_runs(None if table is None else table["error"])
    values = []
    for name, error in figure.published[column].items():
        shares = [TEST_IMAGES, PER_EVALUATION] if name == OURS else [TEST_IMAGES]
        tests = [Examined.as_share(f"{error:.2f}", 100, *share) for share in shares]
        known = {"what": "the network of Table 1", **ours} if name == OURS else {"what": name, "here": None}
        values.append({**known, "printed": error, "examined": tests})
    return {
        "quantity": f"{column}, top-1 error, %",
        "digits": 2,
        "spread": "mean ± one standard deviation over runs",
        "remark": "Only the network of Table 1 is trained here.",
        "values": values,
    }
