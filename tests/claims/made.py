"""Made tables whose effects are known."""

import re
import zlib
from collections.abc import Callable

import numpy as np
import pandas as pd

from resaudit.claims.decision import Choice, Span
from resaudit.claims.records import CheckResult
from resaudit.claims.verdicts import judge
from resaudit.plan.claim import Check, Claim, Needs

RUNS = 8


def claim(*checks: Check, runs: int = 3, depths: tuple[int, ...] = ()) -> Claim:
    return Claim(
        statement="statement", where="where", kind="empirical", evidence="fig04", interpretation="read", reason="why",
        checks={f"part-{i}": check for i, check in enumerate(checks)}, needs=Needs(runs=runs, depths=list(depths)),
    )  # fmt: skip


def mentions(text: str, *words: object) -> bool:
    """Whether a text has each of these names and numbers, whole."""
    return all(re.search(rf"(?<![\w-]){re.escape(str(word))}(?![\w-])", text) for word in words)


def verdict(check: Check, table: pd.DataFrame, runs: int = 3) -> str:
    return judge(claim(check, runs=runs), table, "laptop").verdict


def result(check: Check, table: pd.DataFrame, runs: int = 3) -> CheckResult:
    return judge(claim(check, runs=runs), table, "laptop").checks[0]


def choice(effect: float, own: Span, shared: Span, n: int = 10, reaching: tuple[float, ...] = ()) -> Choice:
    return Choice(name="", effect=effect, own=own, shared=shared, n=n, reaching=list(reaching))


def spread(value: float, factor: float = 1.0, runs: int = RUNS) -> np.ndarray:
    """Values of runs about a geometric mean, the outermost a factor from it."""
    return value * factor ** np.linspace(-1, 1, runs)


def apart(values: np.ndarray, *place: object) -> np.ndarray:
    """The values of runs in an order of each place's own, so that no two places go up and down together."""
    return np.random.default_rng(zlib.crc32(repr(place).encode())).permutation(values)


def by_depth(networks: dict[str, Callable[[int], np.ndarray]], depths: tuple[int, ...] = (2, 4, 8, 16)) -> pd.DataFrame:
    """Like Figure 4's table: the condition numbers that a function of the depth gives."""
    parts = [
        pd.DataFrame(
            {"network": name, "depth": depth, "run": range(len(values)), "condition_number": values, "resolved": True}
        )
        for name, of in networks.items()
        for depth in depths
        for values in [apart(of(depth), name, depth)]
    ]
    return pd.concat(parts, ignore_index=True)


def along_training(
    networks: dict[str, Callable[[np.ndarray], np.ndarray]], column: str = "condition_number", factor: float = 1.01
) -> pd.DataFrame:
    """Like Figure 5's table: losses fall from 4 to 0.4; the column is a function of the loss."""
    epochs = np.array([0, 1, 2, 3, 5, 10, 30, 100])
    losses = np.geomspace(4, 0.4, len(epochs))
    parts = [
        pd.DataFrame(
            {
                "network": name, "run": run, "epoch": epochs, "loss": losses, "resolved": True,
                "gradient_norm": 1.0, column: of(losses) * factor**shift,
            }
        )
        for name, of in networks.items()
        for run, shift in enumerate(apart(np.linspace(-1, 1, RUNS), name))
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def sweep(
    finals: dict[str, Callable[[int, float], float]],
    depths: tuple[int, ...] = (4, 16),
    rates: tuple[float, ...] = (0.01, 0.1, 1.0),
    factor: float = 1.01,
    beyond: bool = True,
) -> pd.DataFrame:
    """Like Figure 7's table: excess losses that a function of depth and rate gives, and losses 1 above them.

    The grid reaches ``beyond`` the rates given: to a tenth of the first, with large losses, and to ten times the last,
    at which every run diverges.
    """
    outer = {rates[0] / 10: 1e4, rates[-1] * 10: np.inf} if beyond else {}
    rows = [
        (name, depth, rate, run, 1 + excess, 1.0, 1e6, excess)
        for name, of in finals.items()
        for depth in depths
        for rate in sorted([*rates, *outer])
        for level in [outer[rate] if rate in outer else of(depth, rate)]
        for run, excess in enumerate(apart(spread(level, factor), name, depth, rate))
    ]
    columns = ["network", "depth", "learning_rate", "run", "final_loss", "optimal_loss", "initial_loss", "excess_loss"]
    return pd.DataFrame(rows, columns=columns)


def with_excess(table: pd.DataFrame, rows: "pd.Series[bool]", excess: float | np.ndarray) -> pd.DataFrame:
    """A table of :func:`sweep` with other excess losses, and final losses with them, in some rows."""
    changed = table["excess_loss"].mask(rows, excess)
    return table.assign(excess_loss=changed, final_loss=table["optimal_loss"] + changed)
