"""One audit from the runs of several machines: runs of one protocol are pooled, and the same run counts once.

Of one seed nothing is chosen: its tables must agree, each alone must give the same verdicts, and so must the pool with
any of them.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, groupby, islice
from os.path import lexists
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from resaudit.audit.build import audited_paper
from resaudit.audit.changes import shares_of
from resaudit.audit.models import (
    Audit,
    DrawnFigure,
    FigureProvenance,
    ImportedResults,
    Provenance,
    counts_in_words,
    standings_of,
)
from resaudit.audit.page import write_page
from resaudit.base.errors import ConfigError, DifferenceError, MachineError, ResauditError, TableError, listed
from resaudit.base.files import sha256_of, write_json
from resaudit.base.models import refusals, shown, validated
from resaudit.base.text import two_in_words
from resaudit.claims.comparison import (
    NUMBERED,
    RUNS,
    differences_of,
    of_single_runs,
    other_verdicts,
    same_numbers_of_runs,
    verdicts_on,
)
from resaudit.figures.drawing import imported_in_words, plot_of, read_csv, save_drawing, write_csv
from resaudit.figures.expected import unexpected
from resaudit.figures.tables import Drawn
from resaudit.jobs.origin import by_archive
from resaudit.jobs.provenance import provenance
from resaudit.plan.figure import ColumnTolerance, Figure
from resaudit.plan.models import Config
from resaudit.plan.plan import FigurePlan, Plan, make_plan, plan_figure
from resaudit.plan.words import settings_of
from resaudit.share.finished_runs import FinishedRun, read_run, table_faults

POOLED = RUNS | {"seed"}
"""Settings in which runs that are merged may differ; all others are the protocol."""
SAME_BYTES = ("machine classes", "codes", "code", "machine", "system", "python", "packages")
"""What decides the bytes of a table beside its settings, as its ``.json`` has it."""


@dataclass(frozen=True)
class Merged:
    """A figure of one or several runs.

    Attributes:
        table: the table.
        sources: the runs whose rows it has, by seed; of one seed, the run with the most rows first, else as given.
        words: what was done, for people.
    """

    table: pd.DataFrame
    sources: list[FinishedRun]
    words: str


def merge(places: Sequence[Path], plan: Plan, overrides: Sequence[str], into: Path) -> Iterator[str]:
    """Write the audit of several runs, its tables and drawings into a new folder, and say what was done in lines.

    Args:
        places: the runs, as :func:`read_run` takes them.
        plan: a plan of the protocol that they ran; seeds and numbers of runs may be others.
        overrides: the overrides of the plan.
        into: a folder that does not exist yet.
    """
    if lexists(into):
        raise ConfigError(f"{into} exists; remove it, or give another --into")
    runs = [read_run(place) for place in places]
    every = make_plan(plan.config.with_every_figure())
    for run in runs:
        for name, table in run.tables.items():
            every.config.named(name)
            _check_table(run, table, every)
    names = [name for name in every.figures if any(name in run.tables for run in runs)]
    merged, drawn = dict[str, Merged](), dict[str, Drawn]()
    with _made_whole(into) as whole:
        for name in names:
            of_figure = [run for run in runs if name in run.tables]
            merged[name] = merge_figure(every.config, every.figures[name].figure, of_figure)
            with table_faults(_places(of_figure), name):
                drawn[name] = _draw(merged[name], every.figures[name], whole)
        with refusals("the merged audit.json breaks its schema: $"):
            audit = _audit(runs, merged, drawn, every, overrides)
        write_json(whole / "audit.json", audit.as_json())
        write_page(audit, whole / "audit.html")
    yield from (f"{name}: {figure.words}" for name, figure in merged.items())
    yield from _changes(runs, audit)


@contextmanager
def _made_whole(into: Path) -> Iterator[Path]:
    """A folder that is to be written, renamed to ``into`` on success and removed on failure."""
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=into.parent, prefix=".merging-") as folder:
            (whole := Path(folder) / "merged").mkdir()
            yield whole
            whole.rename(into)
    except OSError as error:
        raise MachineError(
            f"cannot write into {into.absolute().parent}: {error.strerror or error}; choose another with --into"
        ) from error


def _check_table(run: FinishedRun, drawn: Drawn, every: Plan) -> None:
    """Check that a table has the protocol's settings, jobs, rows and numbers."""
    figure, path = every.figures[drawn.name].figure, run.place / f"{drawn.name}.csv"
    values = {"scale": figure.scale, **settings_of(figure)}
    stored = {"scale": drawn.about["scale"], **drawn.about["values"]}
    for key, value in values.items():
        if key not in POOLED and stored.get(key) != value:
            shown, asked = two_in_words(stored.get(key, "none"), value)
            raise DifferenceError(
                f"{path} shows {key} {shown}, asked for is {asked}; give the overrides that it was drawn with, or "
                "leave it out"
            )
    with table_faults(run.place, drawn.name):
        part = plan_figure(_numbered_as(figure, drawn.about["values"], path), every.config.paths.data)
    if part.evidence != drawn.about["evidence"]:
        raise TableError(
            f"{path} was drawn from other jobs than those asked for, as of other data of the same title; leave it out"
        )
    with table_faults(run.place, drawn.name):
        if reason := unexpected(drawn.table, part):
            raise ValueError(reason)


def _numbered_as(figure: Figure, values: dict[str, Any], path: Path) -> Figure:
    """A figure with the seed and the numbers of runs of a table's settings."""
    if type(values["seed"]) is not int:
        raise TypeError(f"its seed is {shown(values['seed'])}; allowed: an integer")
    numbers = {key: value for key, value in values.items() if key in RUNS}
    if isinstance(runs := numbers.get("runs"), dict):
        numbers |= {"runs": runs.get("everywhere"), "runs_at": runs.get("at")}
    protocol = validated(type(figure.protocol), figure.protocol.model_dump() | numbers, f"{path}: values")
    return figure.model_copy(update={"seed": values["seed"], "protocol": protocol})


def merge_figure(config: Config, figure: Figure, runs: Sequence[FinishedRun]) -> Merged:
    """One table of a figure from all runs that have drawn it.

    Of one seed, a run that several have counts once; runs of other seeds are numbered on. Where that cannot be done,
    the table of the least seed stays.
    """
    # Runs of other seeds may be given in any order.
    ordered = sorted(runs, key=lambda run: _order(run.tables[figure.name]))
    by_seed = {seed: list(each) for seed, each in groupby(ordered, key=lambda run: _order(run.tables[figure.name])[0])}
    for of_seed in by_seed.values():
        _check_agreement(config, figure, of_seed)
    merged = _pooled(figure, by_seed)
    verdicts = _verdicts(config, figure, runs, merged.table)
    for seed, (first, *others) in by_seed.items():
        for run in (each for each in others if each.tables[figure.name].sha256 != first.tables[figure.name].sha256):
            foremost = [run, *(each for each in by_seed[seed] if each is not run)]
            table = _pooled(figure, by_seed | {seed: foremost}).table
            if claims := other_verdicts(verdicts, _verdicts(config, figure, runs, table)):
                raise _contradicting_verdicts(figure, first, run, claims)
    return merged


def _verdicts(config: Config, figure: Figure, runs: Sequence[FinishedRun], table: pd.DataFrame) -> dict[str, str]:
    with table_faults(_places(runs), figure.name):
        return verdicts_on(config, figure.name, table)


def _places(runs: Sequence[FinishedRun]) -> str:
    return ", ".join(dict.fromkeys(str(run.place) for run in runs))


def _pooled(figure: Figure, by_seed: dict[int, list[FinishedRun]]) -> Merged:
    """The table of all runs; of a run that several have, the rows of the first of its seed."""
    ordered = [run for of_seed in by_seed.values() for run in of_seed]
    tables = {seed: _of_one_seed(figure, of_seed) for seed, of_seed in by_seed.items()}
    (least, first), *others = tables.items()
    where = f"of {', '.join(_told_apart([run.place.resolve() for run in ordered]))}"
    if not others:
        return Merged(first, ordered, f"seed {least}, {len(first)} rows {where}")
    number = next((key for key in NUMBERED if key in figure.keys), "")
    pooled = _numbered_on(list(tables.values()), number) if number else first
    obstacle = _obstacle(figure, list(tables.values()), pooled) if number else "its rows are of no single run"
    if obstacle:
        alone = by_seed[least]
        return Merged(first, alone, f"seed {least} alone, since {obstacle}")
    runs_in_words = f"{pooled[number].nunique()} {number}s of seeds {', '.join(map(str, tables))}"
    return Merged(pooled, ordered, f"{runs_in_words} {where}")


def _told_apart(places: Sequence[Path]) -> list[str]:
    """Names of places, with the folders above that tell different ones apart, as "a/figures" and "b/figures"."""
    deepest = max(len(place.parts) for place in places)
    names = (["/".join(place.parts[-parts:]) for place in places] for parts in range(1, deepest + 1))
    return next(each for each in names if len(set(each)) == len(set(places)))


def _order(drawn: Drawn) -> tuple[int, int, float]:
    counted = pd.to_numeric(drawn.table["runs"], errors="coerce").sum() if "runs" in drawn.table else 0.0
    return drawn.about["values"]["seed"], -len(drawn.table), -float(counted)


def _check_agreement(config: Config, figure: Figure, runs: Sequence[FinishedRun]) -> None:
    """Check that tables of one seed have the same numbers and, at equal numbers of runs, each alone the verdicts."""
    contradicted: list[dict[int, ResauditError]] = [{} for _ in runs]
    for i, j in combinations(range(len(runs)), 2):
        with table_faults(_places([runs[i], runs[j]]), figure.name):
            for difference in islice(_differences(figure, *(runs[k].tables[figure.name] for k in (i, j))), 1):
                contradicted[i][j] = contradicted[j][i] = difference
    odd = max(range(len(runs)), key=lambda i: (len(contradicted[i]), i))
    if contradicted[odd]:
        others = [runs[other].place for other in contradicted[odd]]
        raise DifferenceError(
            f"{runs[odd].place} has other numbers for {figure.name} than {listed(others)}, of the same seed: "
            f"{next(iter(contradicted[odd].values()))}; resaudit compare says what differs behind them; leave one out"
        )
    tables = {run.tables[figure.name].sha256: run for run in runs}
    alone = {key: _verdicts(config, figure, [run], run.tables[figure.name].table) for key, run in tables.items()}
    for one, other in combinations(runs, 2):
        first, second = one.tables[figure.name], other.tables[figure.name]
        claims = other_verdicts(alone[first.sha256], alone[second.sha256])
        if claims and _same_runs(first, second):
            raise _contradicting_verdicts(figure, one, other, claims)


def _contradicting_verdicts(figure: Figure, run: FinishedRun, other: FinishedRun, claims: list[str]) -> ResauditError:
    return DifferenceError(
        f"{run.place} and {other.place} give other verdicts by {figure.name}, of the same seed: {listed(claims)}; "
        "leave one out"
    )


def _same_runs(one: Drawn, other: Drawn) -> bool:
    return same_numbers_of_runs(one.about["values"], other.about["values"])


def _differences(figure: Figure, one: Drawn, other: Drawn) -> Iterator[ResauditError]:
    """Where two tables of one seed do not agree in the rows that both have; on one CPU platform in any digit."""
    on_one = [platform["device"] for platform in one.about.get("machine classes", [])] == ["cpu"]
    exact = on_one and bool(one.about.get("codes")) and all(one.about.get(k) == other.about.get(k) for k in SAME_BYTES)
    if exact:
        figure = figure.model_copy(update={"tolerances": dict.fromkeys(figure.tolerances, ColumnTolerance())})
    shared = other.table[_has(one.table, other.table, figure)]
    same_runs = _same_runs(one, other)
    yield from differences_of(one.table, shared, figure, same_runs)
    if exact and same_runs and one.sha256 != other.sha256:
        yield DifferenceError("the tables' bytes differ, although one CPU platform made both")


def _of_one_seed(figure: Figure, runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """The rows of all runs, those of the first where others have them too; statistics over runs are of the most."""
    first, *others = (run.tables[figure.name] for run in runs)
    most = min((first, *others), key=_order)
    table = first.table if _same_runs(first, most) else first.table[of_single_runs(first.table, figure)]
    for other in others:
        new = other.table[~_has(table, other.table, figure)]
        table = pd.concat([table, new], ignore_index=True) if len(new) else table
    return table


def _has(table: pd.DataFrame, other: pd.DataFrame, figure: Figure) -> np.ndarray:
    """Which rows of another table have a row here with the same keys."""
    keys = pd.MultiIndex.from_frame(table[figure.keys])
    return np.asarray(pd.MultiIndex.from_frame(other[figure.keys]).isin(keys))


def _obstacle(figure: Figure, tables: Sequence[pd.DataFrame], pooled: pd.DataFrame) -> str | None:
    """Why tables of other seeds cannot be pooled; None if they can."""
    if any(set(table) != set(tables[0]) for table in tables):
        return "columns differ"
    if "shown" in tables[0]:
        by = [key for key in ("network", "depth", "learning_rate") if key in figure.keys]
        rates = [set(table.loc[table["shown"], by].itertuples(index=False, name=None)) for table in tables]
        if any(each != rates[0] for each in rates):
            return "other learning rates are shown"
    if pooled.duplicated(figure.keys).any():
        return "some rows are of no single run"
    return None


def _numbered_on(tables: Sequence[pd.DataFrame], number: str) -> pd.DataFrame:
    parts, following = [], 0
    for table in tables:
        numbers = table[number]
        parts.append(table.assign(**{number: numbers.where(numbers < 0, numbers + following)}))
        following = int(parts[-1][number].max()) + 1
    return pd.concat(parts, ignore_index=True)


def _draw(merged: Merged, part: FigurePlan, folder: Path) -> Drawn:
    """Write a figure's table, drawings and record into a folder."""
    name, first = part.figure.name, merged.sources[0].tables[part.figure.name]
    csv = folder / f"{name}.csv"
    csv.parent.mkdir(parents=True, exist_ok=True)
    write_csv(csv, merged.table)
    table = read_csv(csv)
    note = f"{first.about.get('note', '')} Merged: {merged.words}.".strip()
    imported = by_archive(each for run in merged.sources for each in run.imported(name))
    jobs = {job for run in merged.sources for job in run.figure(name).jobs}
    words = f"{note} {imported_in_words(imported, len(jobs))}".strip()
    figure = part.figure
    drawings = save_drawing(plot_of(figure, table), folder, name, figure.title, figure.full_caption, words)
    changed: dict[str, Any] = {
        "note": note,
        "settings": _settings([run.tables[name].about for run in merged.sources]),
        "merged": [{"sha256": run.tables[name].sha256, "archive": run.archive} for run in merged.sources],
        "sha256": sha256_of(csv),
        "drawings": drawings,
        "codes": _codes(merged, name),
        "imported": imported,
    }
    write_json(csv.with_suffix(".json"), first.about | changed)
    return Drawn(name, table, changed["sha256"], first.about | changed)


def _settings(records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Settings in words: those of the first run, with every seed, and the numbers of runs of each seed's first run."""
    of_seed: dict[int, dict[str, str]] = {}
    for record in records:
        of_seed.setdefault(record["values"]["seed"], record["settings"])
    first, *_ = each = list(of_seed.values())
    return first | {key: ", ".join(dict.fromkeys(one[key] for one in each if key in one)) for key in POOLED & {*first}}


def _codes(merged: Merged, name: str) -> dict[str, dict[str, int]]:
    """By kind of job and hash of the code, how many results of all runs it made; of the same jobs and code once."""
    figures = (run.figure(name) for run in merged.sources)
    distinct = {figure.model_dump_json(include={"jobs", "codes"}): figure.codes for figure in figures}
    counts: dict[str, Counter[str]] = {}
    for kind, by_code in (each for codes in distinct.values() for each in codes.items()):
        counts.setdefault(kind, Counter()).update(by_code)
    return {kind: dict(sorted(by_code.items())) for kind, by_code in sorted(counts.items())}


def _audit(
    runs: Sequence[FinishedRun],
    merged: dict[str, Merged],
    drawn: dict[str, Drawn],
    every: Plan,
    overrides: Sequence[str],
) -> Audit:
    made, config = provenance(), every.config
    audited = {paper.id for run in runs for paper in run.audit.papers}
    papers = [
        audited_paper(
            config,
            paper,
            {name: figure for name, figure in drawn.items() if name.startswith(f"{paper}/")},
            [_figure(merged[n], figure) for n, figure in drawn.items() if n.startswith(f"{paper}/")],
            {},
            None,
            overrides,
        )
        for paper in config.claims
        if paper in audited
    ]
    return Audit(
        version=4,
        generated=made["finished"],
        scale=config.scale.name,
        scale_summary=config.scale.summary,
        evidence=config.scale.evidence,
        provenance=Provenance(**made),
        overrides=list(overrides),
        shares=shares_of(papers),
        papers=papers,
    )


def _figure(merged: Merged, drawn: Drawn) -> DrawnFigure:
    """A merged figure as the audit has it: what its first run says of it, with jobs, devices, archives, code of all."""
    figures = [run.figure(drawn.name) for run in merged.sources]
    changed = {
        "sha256": drawn.sha256,
        "drawings": drawn.about["drawings"],
        "rows": len(drawn.table),
        "settings": drawn.about["settings"],
        "jobs": sorted({job for figure in figures for job in figure.jobs}),
        "imported": [ImportedResults.model_validate(part) for part in drawn.about["imported"]],
        "codes": drawn.about["codes"],
        "provenance": provenance_of_all(figures),
    }
    return figures[0].model_copy(update=changed)


def provenance_of_all(figures: Sequence[DrawnFigure]) -> FigureProvenance:
    """That of the first run, with the devices and the seconds of all; a run whose jobs another has too adds none."""
    by_jobs: dict[frozenset[str], FigureProvenance] = {}
    for figure in figures:
        by_jobs.setdefault(frozenset(figure.jobs), figure.provenance)
    counted = [made.seconds for jobs, made in by_jobs.items() if not any(jobs < others for others in by_jobs)]
    known = [seconds for seconds in counted if seconds is not None]
    changed = {
        "devices": sorted({device for figure in figures for device in figure.provenance.devices}),
        "seconds": round(math.fsum(known), 1) if len(known) == len(counted) else None,
    }
    return figures[0].provenance.model_copy(update=changed)


def _changes(runs: Sequence[FinishedRun], audit: Audit) -> Iterator[str]:
    """The claims that a run decides otherwise than all together, and how many claims have each verdict."""
    of_runs = [{claim.id: claim.standing for claim in run.audit.claims} for run in runs]
    for claim in audit.claims:
        standings = [standing.get(claim.id, "not run") for standing in of_runs]
        if set(standings) - {"not run", claim.standing}:
            yield f"{claim.id}: {' | '.join(standings)}; merged {claim.standing}: {claim.why}"
    yield f"claims: {counts_in_words(standings_of(audit.claims))}"
