"""Which verdicts a forger can turn who stays within every tolerance of a spot-check.

``python -m benchmarks.forger [OVERRIDES]``, after a laptop-scale run: of every figure all results are forged as far as
the tolerances go, each strategy in turn, and the claims judged again as a spot-check does.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.jobs.arrays import Tolerance
from resaudit.jobs.job import Job
from resaudit.plan.composition import load
from resaudit.plan.models import Layout
from resaudit.plan.plan import FigurePlan, make_plan, with_inputs
from resaudit.share.comparing import compare, judge_twice

STRATEGIES = {"up": (1.0, 1e2), "down": (-1.0, 1e-2), "runs up": (0.0, 1e2), "runs down": (0.0, 1e-2)}
"""How far each entry moves, in nine tenths of its tolerance; the factor on the runs that may be any distance off."""


def main() -> None:
    """Print what each strategy turns."""
    plan = make_plan(load(sys.argv[1:]))
    results = Layout(plan.config.paths).results
    turned, tried = set[str](), set[str]()
    for figure, part in plan.figures.items():
        if all(file.is_file() for file in part.reads(results)):
            paper, _, evidence = figure.partition("/")
            of_paper = plan.config.claims_of(paper).items()
            claims = [f"{paper}/{name}" for name, claim in of_paper if claim.evidence == evidence]
            for strategy in STRATEGIES:
                with TemporaryDirectory() as folder:
                    forged = Path(folder)
                    gone_too_far = forge(part, results, forged, *STRATEGIES[strategy])
                    recomputed = {key: job.folder(results) for key, job in jobs_of(part).items()}
                    judged = judge_twice(plan, forged, claims, recomputed)
                other = {claim for claim, twice in judged.items() if not twice.same}
                tried |= judged.keys()
                turned |= set() if gone_too_far else other
                words = "; ".join(f"{c}: {judged[c].imported or judged[c].obstacle[:90]}" for c in sorted(other))
                print(f"{figure}, {strategy}: {words or 'turns nothing'}{gone_too_far}")
    print(f"{len(tried)} claims tried, {len(turned)} turned within all tolerances: {', '.join(sorted(turned))}")


def jobs_of(part: FigurePlan) -> dict[str, Job]:
    """The jobs with results."""
    return {key: job for key, job in with_inputs(part.jobs.values()).items() if job.files}


def forge(part: FigurePlan, results: Path, folder: Path, step: float, factor: float) -> str:
    """Write forged results of a figure; says how many jobs a spot-check would refuse by their numbers alone."""
    refused = 0
    for job in jobs_of(part).values():
        source, own, tolerances = job.folder(results), job.folder(folder), job.tolerances() or {}
        own.parent.mkdir(parents=True, exist_ok=True)
        if job.kind == "whiten":
            own.symlink_to(source.resolve())
            continue
        own.mkdir()
        for file in source.iterdir():
            (own / file.name).write_bytes(file.read_bytes())
        for name in [name for name in job.files if name.endswith(".npz")]:
            with np.load(source / name, allow_pickle=False) as arrays:
                content = dict(arrays)
            np.savez(own / name, allow_pickle=False, **changed(content, tolerances, step, factor))
        ran = read_json(own / "provenance.json")
        write_json(own / "provenance.json", ran | {"sha256": {name: sha256_of(own / name) for name in job.files}})
        refused += compare(job.files, source, own, False, tolerances).outcome != "within tolerance"
    return f" ({refused} jobs beyond tolerance)" if refused else ""


def ground(table: pd.DataFrame, column: str, rows: Sequence[int], factor: float) -> pd.DataFrame:
    """A table with some rows of a column times a factor, in other last digits until its CSV has the smaller SHA-256."""
    honest, forged = _digest(table), table.copy()
    forged.loc[rows, column] *= factor
    while _digest(forged) > honest:
        forged.loc[rows, column] *= 1 + 1e-12
    return forged


def _digest(table: pd.DataFrame) -> str:
    return sha256(table.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def changed(
    content: Mapping[str, np.ndarray], tolerances: Mapping[str, Tolerance], step: float, factor: float
) -> dict[str, np.ndarray]:
    """Arrays as far off as their tolerances allow."""
    found = dict(content)
    for name in [name for name in content if name in tolerances and content[name].dtype.kind == "f"]:
        array, tolerance = content[name], tolerances[name]
        if tolerance.limit:  # Only the side of our limit counts.
            continue
        relative = np.full(array.shape, tolerance.relative)
        if tolerance.first:
            relative[(np.s_[:],) * tolerance.epochs + (np.s_[: tolerance.first[0]],)] = tolerance.first[1]
        moved = np.atleast_1d(array * (1 + 0.9 * step * relative) + 0.9 * step * tolerance.absolute)
        moved = np.maximum(moved, 0.0) if (array >= 0).all() else moved
        if tolerance.rows is None and tolerance.differing and array.ndim:
            axis = 0 if tolerance.runs is None else tolerance.runs
            flat = moved.reshape(-1) if tolerance.runs is None else np.moveaxis(moved, axis, 0)
            some = math.floor(tolerance.differing * len(flat))
            flat[np.s_[:some, tolerance.first[0] :] if tolerance.first else np.s_[:some]] *= factor
        found[name] = moved.reshape(array.shape).astype(array.dtype)
    return found


if __name__ == "__main__":
    main()
