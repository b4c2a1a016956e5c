"""Oracle: the simulation that made benchmarks/coverage.csv, again with fewer simulations.

Sees a table that is not that of the intervals that verdicts have, and a stated level that is missed unsaid.
"""

import numpy as np
import pandas as pd
from benchmarks.coverage import LEVELS, RUNS, TABLE, all_pairs, measured, with_many_runs

from resaudit.claims.intervals import covered
from resaudit.claims.verdicts import SHORT

T, BOOTSTRAPPED = 4000, 100


COMMITTED = pd.read_csv(TABLE)


def test_the_table_is_what_the_script_makes() -> None:
    made, keys = measured(T, BOOTSTRAPPED), list(COMMITTED.columns[:5])
    assert made[keys].equals(COMMITTED[keys])
    told, found = (table.filter(like="n = ").to_numpy(float) / 100 for table in (COMMITTED, made))
    assert (np.isnan(told) == np.isnan(found)).all()
    simulated = np.where(COMMITTED["method"].isin(["t", "Cox"]), T, BOOTSTRAPPED)[:, None]
    # Five standard errors, and what is rounded; a rare event may be absent from the fewer simulations.
    error = 5 * np.sqrt(np.maximum(told * (1 - told), 0.005) / simulated) + 1e-3
    assert COMMITTED[(np.abs(told - found) > error).any(axis=1)].empty


def rows_of(table: str) -> dict[tuple[str, str, str], list[float]]:
    """By effect, law and level, what intervals by t cover at each number of runs."""
    rows = COMMITTED[(COMMITTED["table"] == table) & (COMMITTED["method"] == "t")].dropna(axis="columns", how="all")
    keys = rows[["effect", "runs", "level"]].itertuples(index=False, name=None)
    return dict(zip(keys, (rows.filter(like="n = ") / 100).to_numpy().tolist(), strict=True))


def test_intervals_across_networks_miss_their_level_by_little() -> None:
    for (_, law, level), shares in rows_of("two networks").items():
        assert min(shares) > LEVELS[level] - SHORT - 0.01 or "σ = 2" in law


def test_intervals_of_pairs_cover_at_least_their_level() -> None:
    for case, shares in with_many_runs(all_pairs(), T):
        for name, level in LEVELS.items():
            # Three standard errors.
            assert min(shares["t", name]) >= level - 3 * np.sqrt(level * (1 - level) / T), case.law


def test_the_level_is_reached_or_what_is_reached_is_printed() -> None:
    for (effect, law, level), shares in rows_of("one network").items():
        if "σ = 2" in law:
            continue
        for runs, share in zip(RUNS, shares, strict=True):
            if effect in ("ratio of geometric means", "exponent of growth"):
                assert share > LEVELS[level] - SHORT
            elif share < LEVELS[level] - SHORT - 0.01:
                told = covered(runs, LEVELS[level], logarithmic=effect != "mean")
                # No more than is covered.
                assert told < share + 0.01
                # It is printed.
                assert LEVELS[level] - told > SHORT
