"""Judging a table of runs that no workflow drew: anybody's numbers, by the checks and intervals of claims."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from resaudit.base.errors import ConfigError, DataError, TableError, in_one_line, listed, suggestion
from resaudit.base.files import sha256_of, written_whole
from resaudit.base.models import ID, Id, Part, Sha256, shown, validated
from resaudit.base.text import counted, effect_and_interval, folded
from resaudit.claims.checks.rows import words
from resaudit.claims.records import UNJUDGED, Judgement
from resaudit.claims.verdicts import judge
from resaudit.claims.words import leaning, threshold_in_words, why
from resaudit.figures.expected import WITHIN, doubled
from resaudit.plan.claim import Check, Claim, check_named, import_checks
from resaudit.plan.overrides import Tree

RUNS = 3
"""Fewer runs of a group are no evidence, unless a claim's ``needs`` says otherwise."""
SEEDS = ("run", "seed")
"""Columns that number the runs, unless another is named."""
_UNIT = re.compile(r"[ _(\[](ns|us|µs|ms|s|sec|min|h|%|pct|percent|B|kB|KB|MB|GB)[)\]]?$")


class ClaimOnTable(Judgement):
    """A claim about a table, and its verdict."""

    id: Id
    """Its name."""
    statement: str
    """What is claimed."""
    why: str
    """The verdict in one sentence: effect, interval and n, or what is missing."""
    leans: str
    """Which way an open claim leans; empty where it is decided."""
    notes: list[str]
    """What else to know of the runs, such as that all have the same value."""


class JudgedTable(Part):
    """The verdict on every claim about a table."""

    table: str
    """Name of the file."""
    sha256: Sha256
    """Of the file."""
    rows: int
    """Its lines, without that of names."""
    claims: list[ClaimOnTable]
    """The claims."""


def asked(name: str, by: str | None, above: str, below: str, **given: Any) -> Tree:
    """The section of one claim with one check, as options give it.

    Args:
        name: the check.
        by: the column that tells groups; a check that compares none measures each by itself.
        above: the group that is compared, if any.
        below: the group that it is compared with.
        given: other parameters and thresholds; None, False and what is empty are left out.
    """
    import_checks()
    kind = check_named(name)
    fields = kind.model_fields
    if not _compares(kind):
        given["per"] = [*([by] if by else []), *given["per"]]
        by = None
    elif not (by and above and below):
        raise ConfigError(f"{name} compares two groups of runs; give --group COLUMN --compare A:B")
    every = {"check": name, "by": by, "above": above, "below": below, **given}
    parameters = {key: value for key, value in every.items() if value is not None and value is not False}
    parameters = {key: value for key, value in parameters.items() if value not in ("", [], {})}
    if "per" in fields and fields["per"].is_required() and "per" not in parameters:
        raise ConfigError(f"{name} measures each group of runs; give --group COLUMN")
    without = [key for key, field in fields.items() if field.is_required() and key not in parameters]
    if wrong := [*without, *(key for key in parameters if key not in ("check", *fields))]:
        raise ConfigError(
            f"{name} asks for other parameters than these options ({listed(wrong)}); write it in a file for --claims "
            "('resaudit checks' has its parameters)"
        )
    return {name.replace("_", "-"): {"checks": {"effect": parameters}}}


def judge_table(file: Path, sections: Tree, seed: str | None = None) -> JudgedTable:
    """Judge claims about a table.

    Args:
        file: a CSV, one line a run, or a run and step.
        sections: claims by id as in a claims.yaml; only ``checks`` must be there.
        seed: the column that numbers the runs; None: :data:`SEEDS`, else each line is a run.
    """
    table = _read(file)
    columns = list(map(str, table))
    if seed is not None and seed not in columns:
        raise ConfigError(f"--seed: {file} has no column {seed!r}{suggestion(seed, columns)}")
    seed = seed or next((name for name in SEEDS if name in columns), None)
    table = table.assign(run=table[seed] if seed else table.index + 2)
    import_checks()
    claims = {str(name): _claim(str(name), file, section) for name, section in sections.items()}
    for name, claim in claims.items():
        for check in claim.checks.values():
            _refuse_names(name, check, table, file, columns)
            _refuse_values(check, table, file)
            _refuse_doubled(check, table, file)
    try:
        judged = {name: judge(claim, table, claim.needs.scales[0]) for name, claim in claims.items()}
    except TableError as error:
        raise DataError(f"{file}: {error}") from error
    return JudgedTable(
        table=in_one_line(file.name),
        sha256=sha256_of(file),
        rows=len(table),
        claims=[_with_notes(name, claims[name], judgement, table) for name, judgement in judged.items()],
    )


def _with_notes(name: str, claim: Claim, judgement: Judgement, table: pd.DataFrame) -> ClaimOnTable:
    """A judgement with what else to know; equal runs alone decide nothing, since other seeds may give another value."""
    notes = [note for check in claim.checks.values() for note in _without_spread(check, table)]
    if any(point.low == point.high and point.n for result in judgement.checks for point in result.points) and notes:
        judgement = judgement.model_copy(update={"verdict": "inconclusive", "obstacle": f"{UNJUDGED}: {notes[0]}"})
    return ClaimOnTable(
        **dict(judgement),
        id=name,
        statement=claim.statement,
        why=why(judgement),
        leans=leaning(judgement),
        notes=[note for note in notes if note not in judgement.obstacle],
    )


def _read(file: Path) -> pd.DataFrame:
    """The table, in whose first line every column has a name of its own."""
    how: dict[str, Any] = {"keep_default_na": False, "na_values": [""], "skipinitialspace": True}
    try:
        first = pd.read_csv(file, header=None, nrows=1, dtype=str, **how)
        table: pd.DataFrame = pd.read_csv(file, low_memory=False, **how)
    except (OSError, ValueError, OverflowError) as error:
        wanted = "give a CSV in UTF-8 whose first line names the columns"
        raise DataError(f"{file} cannot be read ({error}); {wanted}") from error
    names = first.iloc[0].dropna()
    if len(names) == 1 and (mark := next((mark for mark in ";\t|" if mark in names.iloc[0]), None)):
        raise DataError(f"{file} has {mark!r} between its columns; write commas there, and 0.5 for 0,5")
    if names.duplicated().any():
        name = names[names.duplicated()].iloc[0]
        raise DataError(f"{file} has two columns {name!r}; give each a name of its own")
    if not isinstance(table.index, pd.RangeIndex):  # pandas would take the first values as names of the lines
        raise DataError(f"{file} has more values in a line than names in its first; name every column there, once")
    if table.empty:
        raise DataError(f"{file} has no line below that of names; give one line a run")
    return table


def _claim(name: str, file: Path, section: Any) -> Claim:
    """A claim, in which all but the checks may be left out."""
    if not isinstance(section, dict):
        raise ConfigError(f"is {shown(section)}; allowed: a section with checks", place=name)
    if not re.fullmatch(ID, name):
        raise ConfigError(f"claim {name!r} has an unfit name; write letters, digits, - and _")
    needs = section.get("needs", {})
    filled = {"statement": name.replace("-", " "), "where": file.name, "kind": "empirical", "evidence": file.stem}
    filled |= {"interpretation": "as stated", "reason": "as stated"}
    filled |= section | {"needs": {"runs": RUNS, **needs} if isinstance(needs, dict) else needs}
    claim = validated(Claim, filled, name)
    if "statement" not in section:
        said = "; ".join(f"{_in_words(check)}: {threshold_in_words(check)}" for check in claim.checks.values())
        return claim.model_copy(update={"statement": said})
    return claim


def _in_words(check: Check) -> str:
    """What a check measures, in a few words."""
    of = f" of {words(check.column)}" if hasattr(check, "column") else ""
    compared = f", {' against '.join(_compared(check))}" if _compared(check) else ""
    where = "".join(f", {column} {value}" for column, value in getattr(check, "rows", {}).items())
    return f"{words(check.name)}{of}{compared}{where}"


def _compares(check: type[Check]) -> bool:
    """Whether a check compares two groups of runs; ``above`` and ``below`` may also be bounds of a quantity."""
    return "above" in check.model_fields and check.model_fields["above"].is_required()


def _compared(check: Check) -> list[str]:
    """The two groups of runs that a check compares, if it does."""
    return [getattr(check, key) for key in ("above", "below")] if _compares(type(check)) else []


def _groups(check: Check) -> list[str]:
    """The columns whose values say of what a line is a run."""
    by = [getattr(check, "by", "")] if _compares(type(check)) or hasattr(check, "bounds") else []
    return list(dict.fromkeys([*by, *getattr(check, "per", []), *getattr(check, "rows", {})]))


def _within(check: Check, table: pd.DataFrame) -> list[str]:
    """The columns along which a check expects a run, or its number, several times: networks, depths, rates, steps."""
    along = [getattr(check, key) for key in ("by", "against") if hasattr(check, key)]
    if not _groups(check) or check.named:
        along += ["network", "depth", "stage", *WITHIN]
    return [column for column in dict.fromkeys(along) if column in table and column not in _groups(check)]


def _chosen(check: Check) -> list[tuple[str, str]]:
    """The values that a check names, with their columns."""
    by = getattr(check, "by", "")
    groups = (*_compared(check), *getattr(check, "bounds", {}))
    return [*getattr(check, "rows", {}).items(), *((by, value) for value in groups)]


def _refuse_names(name: str, check: Check, table: pd.DataFrame, file: Path, columns: list[str]) -> None:
    """Refuse columns and groups that the table lacks or spells in two ways, and groups that cannot be compared."""
    for column in (*check.columns, *check.reads):
        if column not in table:
            raise ConfigError(f"{name}: {file} has no column {column!r}{suggestion(column, columns)}")
    if "run" in _groups(check):
        raise ConfigError(f"{name}: the column run numbers the runs; give the one that tells groups another name")
    rows = getattr(check, "rows", {})
    chosen = table[(table[list(rows)].astype(str) == pd.Series(rows, dtype=str)).all(axis=1)]
    for column, value in _chosen(check):
        if value not in (known := list(dict.fromkeys(table[column].astype(str)))):
            raise ConfigError(f"{name}: no line has {column} {value!r}{suggestion(value, known)}")
        alike = [other for other in known if other != value and _bare(other) == _bare(value)]
        if alike:
            raise DataError(f"{file}: column {column} has {value!r} and {alike[0]!r}; write both alike, or rename one")
        if value not in chosen[column].astype(str).to_numpy():
            where = listed(f"{key} {each}" for key, each in rows.items())
            raise ConfigError(f"{name}: no line with {where} has {column} {value!r}; choose lines of all groups")
    if len(pair := _compared(check)) > len(set(pair)):
        raise ConfigError(f"{name}: {pair[0]} is compared with itself; give two groups")
    if getattr(check, "paired", False) and table["run"].is_unique:
        raise ConfigError(
            f"{name}: no two lines have one seed, so no runs are pairs; give --seed COLUMN, or do not pair"
        )
    units = dict.fromkeys(found[1] for _, value in _chosen(check) if (found := _UNIT.search(value)))
    if len(units) > 1:
        raise DataError(f"{name}: the groups are in other units ({listed(units)}); give both in the same")


def _refuse_values(check: Check, table: pd.DataFrame, file: Path) -> None:
    """Refuse a quantity that is no number, and groups that are one number written in two ways."""
    quantity, groups = getattr(check, "column", None), _groups(check)
    if quantity:
        values = pd.to_numeric(table[quantity], errors="coerce")
        # Whichever way a value goes, a run that diverged is inf: only that supports nothing.
        wrong = table[quantity][(values.isna() & table[quantity].notna()) | (values == -math.inf)]
        if len(wrong):
            raise DataError(
                f"{file}: column {quantity} has {shown(wrong.tolist()[0])} in line {wrong.index[0] + 2} ({len(wrong)} "
                "such lines); allowed: numbers, all in one unit, and inf where a run diverged"
            )
    for column in (column for column in groups if is_numeric_dtype(table[column])):
        as_text = pd.read_csv(file, usecols=[column], dtype=str)[column].str.strip()
        for value, written in as_text.groupby(table[column]):
            if len(ways := list(dict.fromkeys(written))) > 1:
                raise DataError(f"{file}: {column} {listed(ways)} are all the number {value}; write each in one way")


def _refuse_doubled(check: Check, table: pd.DataFrame, file: Path) -> None:
    """Refuse a run that is there twice, by its number or by its values."""
    groups, steps = _groups(check), _within(check, table)
    if table.duplicated(once := [*groups, *steps, "run"]).any():
        twice = table[table.duplicated(once, keep=False)]
        row = twice.iloc[0]
        place = listed(f"{column} {row[column]}" for column in once)
        lines = twice.index[(twice[once] == row[once]).all(axis=1)] + 2
        raise DataError(
            f"{file}: {place} is in lines {listed(lines[:3])}; allowed: each run once, others told apart by per or "
            "rows, as options --per or --where"
        )
    numbered = table if steps else table.assign(run=table.index + 2)
    for fault in doubled(numbered, [*groups, *steps, "run"]):
        raise DataError(f"{file}: {fault if steps else fault.replace(' in run ', ' in lines ')}")


def _bare(value: str) -> str:
    """A value without case and outer spaces, by which a slip differs."""
    return value.strip().casefold()


def _without_spread(check: Check, table: pd.DataFrame) -> Iterator[str]:
    """The groups whose runs all have one value, from which no spread is known."""
    quantity, groups = getattr(check, "column", None), _groups(check)
    if not quantity or not groups or _within(check, table):
        return
    chosen = defaultdict[str, set[str]](set)
    for column, value in _chosen(check):
        chosen[column].add(value)
    for column, values in chosen.items():
        table = table[table[column].astype(str).isin(values)]
    for place, rows in table.groupby(groups, sort=False):
        if len(rows) > 1 and (rows[quantity] == rows[quantity].iloc[0]).all():
            named = listed(f"{column} {value}" for column, value in zip(groups, place, strict=True))
            yield f"all {len(rows)} runs of {named} have the same {words(quantity)}, so the spread is not known"


def in_words(judged: JudgedTable) -> Iterator[str]:
    """Every verdict, with what it rests on and where it would turn."""
    for claim in judged.claims:
        yield f"{claim.id}: {claim.verdict}"
        yield folded(f"claim: {claim.statement}")
        yield folded(f"verdict: {claim.why}")
        for result in claim.checks:
            for point in result.points:
                effect, ends = effect_and_interval(*point.numbers, result.is_ratio, digits=6)
                yield folded(f"{point.where}: {effect} ({ends}), n = {point.n}, {point.verdict}", "    ", "      ")
            yield from (folded(each, "    ", "      ") for each in result.missing)
            yield from (folded(f"the threshold: {turns.words}") for turns in result.turns)
            if result.verdict == "inconclusive" and result.runs_to_decide:
                yield folded(f"about {counted(result.runs_to_decide, 'run')} of each group would decide it")
        yield from (folded(each) for each in (claim.leans, *(f"note: {note}" for note in claim.notes)) if each)


def write_page(judged: JudgedTable, page: Path) -> None:
    """The verdicts as one self-contained HTML file, in the style of the audit's page."""
    from importlib.resources import files

    from resaudit.audit.page import environment

    style = files("resaudit.audit").joinpath("templates", "page.css").read_text(encoding="utf-8")
    text = environment().get_template("judge.html.j2").render(judged=judged, style=style)
    with written_whole(page) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
