"""Robustness: the claims under every variant of the assumptions, as the matrix claim x variant."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap, to_rgba
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch

from resaudit.base.commands import run_command
from resaudit.base.errors import ConfigError, TableError, listed
from resaudit.base.files import sha256_of, write_json
from resaudit.base.models import Closed, read_record
from resaudit.claims.decision import Verdict
from resaudit.claims.records import Commit, Drawings, Judgement, VariantRun, VerdictUnderVariant
from resaudit.claims.verdicts import judgement_on
from resaudit.claims.words import why
from resaudit.figures.draw import reference_file
from resaudit.figures.drawing import save_drawing, write_csv
from resaudit.figures.style import TWO_COLUMNS, apply_style
from resaudit.figures.tables import drawn
from resaudit.jobs.provenance import provenance
from resaudit.plan.models import CONFIGURED, CONTROL, CONTROLS, Config, Layout
from resaudit.plan.plan import Plan
from resaudit.plan.plans import Plans
from resaudit.plan.words import judgement_sha256

_LOOKS = {
    "supported": ("#009E73", "holds"),
    "contradicted": ("#D55E00", "fails"),
    "depends": ("#8E7CC3", "depends"),
    "inconclusive": ("#E9C46A", "open"),
    "not run": ("#DDDDDD", "not run"),
}

Tables = Mapping[tuple[str, str], Path]
"""By variant, or :data:`CONFIGURED`, and figure."""


class Matrix(Closed):
    """The content of ``robustness.json``.

    Attributes:
        paper: the paper's id.
        reference: whether it was committed as a reference.
        commit: the commit of the code that made it, or its last claims.
        constraints_sha256: SHA-256 of constraints.txt then.
        finished: when the matrix, or its last claims, were made.
        ledger: by claim, SHA-256 of what its verdicts are computed from, see :func:`judgement_sha256`.
        tables: SHA-256 of each configured figure's table.
        variants: the variants as they were run.
        verdicts: the verdicts by claim, then variant.
        configured: each claim's verdict as configured in that run.
        sha256: SHA-256 of the matrix as a table.
        drawings: SHA-256 of the drawn matrix, by suffix.
    """

    paper: str
    reference: bool = False
    commit: Commit | None = None
    constraints_sha256: str | None = None
    finished: str
    ledger: dict[str, str]
    tables: dict[str, str]
    variants: list[VariantRun]
    verdicts: dict[str, dict[str, VerdictUnderVariant]]
    configured: dict[str, Verdict] = {}
    sha256: str = ""
    drawings: Drawings = {}

    def among(self, figures: Collection[str]) -> "Matrix":
        """The same, which the tables of these figures alone can make stale: those of others have not been read."""
        tables = {name: digest for name, digest in self.tables.items() if name in figures}
        return self.model_copy(update={"tables": tables})

    def stale(self, ledger: Mapping[str, str], tables: Mapping[str, str]) -> str | None:
        """Why the matrix is stale for these claims and tables; None if it is not.

        A reference is of other tables, and only the claims count.

        Args:
            ledger: by claim, SHA-256 of what its verdicts are computed from now.
            tables: SHA-256 of each figure's table now; one of the matrix that is missing here counts as not drawn.
        """
        if others := [name for name, digest in self.ledger.items() if ledger.get(name) != digest]:
            return f"{', '.join(others)}, or the rules of judging, have changed since"
        if self.reference:
            return None
        other = [name for name, digest in self.tables.items() if tables.get(name, digest) != digest]
        gone = [name for name in self.tables if name not in tables]
        faults = {"has been drawn anew since": other, "is not drawn now as asked for": gone}
        return "; ".join(f"{', '.join(names)} {fault}" for fault, names in faults.items() if names) or None


def read_robustness(layout: Layout, paper: str) -> Matrix | None:
    """The last matrix of a paper, else the committed reference; None if there is neither."""
    path = layout.figure(f"{paper}/robustness", "json")
    if not path.is_file():
        path = reference_file(f"{paper}/robustness").with_suffix(".json")
    return _read(path) if path.is_file() else None


def _read(path: Path) -> Matrix:
    return read_record(path, Matrix, "remove it and run snakemake robustness again")


def ledger_of(config: Config, paper: str, names: Iterable[str]) -> dict[str, str]:
    """By claim, SHA-256 of what its verdicts are computed from; without names that are no claims."""
    claims = config.claims_of(paper)
    return {name: judgement_sha256(config, paper, name) for name in names if name in claims}


def keep_matrix(plan: Plan, say: Callable[[str], None]) -> None:
    """Copy the matrix of each chosen paper that has one to the references, marked as one.

    A reference's claims that the matrix does not have stay, unless they have changed since: a matrix that takes hours
    can be made figure by figure.
    """
    for paper in dict.fromkeys(figure.split("/")[0] for figure in plan.figures):
        csv = Layout(plan.config.paths).figure(f"{paper}/robustness", "csv")
        if csv.with_suffix(".json").is_file():
            reference, claims = reference_file(f"{paper}/robustness"), plan.config.claims_of(paper)
            places = {claim: place for place, claim in enumerate(claims)}
            matrix, table = _read(csv.with_suffix(".json")), _as_text(csv)
            _refuse_stale(matrix, plan.config, paper, csv)
            if reference.is_file():
                kept, rows = _read(reference.with_suffix(".json")), _as_text(reference)
                now = ledger_of(plan.config, paper, kept.ledger)
                stay = {n: claims[n].evidence for n in now if n not in matrix.ledger and now[n] == kept.ledger[n]}
                matrix, table = joined(kept, stay, matrix), pd.concat([rows[rows["claim"].isin(stay)], table])
            write_csv(reference, table.sort_values("claim", key=lambda names: names.map(places), kind="stable"))
            content = matrix.model_copy(update={"reference": True, "sha256": sha256_of(reference), "drawings": {}})
            write_json(reference.with_suffix(".json"), content.model_dump())
            say(f"{paper}/robustness: {len(matrix.ledger)} claims in {reference}")


def _refuse_stale(matrix: Matrix, config: Config, paper: str, csv: Path) -> None:
    """Ask what the page asks of a matrix: whether it is of these claims and of the tables that are there."""
    files = {name: Layout(config.paths).figure(name, "csv") for name in matrix.tables}
    tables = matrix.tables | {name: sha256_of(file) for name, file in files.items() if file.is_file()}
    if reason := matrix.stale(ledger_of(config, paper, matrix.ledger), tables):
        raise TableError(
            f"{csv} is not this paper's as it is now ({reason}); run {run_command('robustness')}, or remove it"
        )


def joined(kept: Matrix, stay: Mapping[str, str], matrix: Matrix) -> Matrix:
    """A matrix with some claims of an older one, which are given with the figures that are their evidence."""
    by_claim = {
        key: {name: of_claim for name, of_claim in getattr(kept, key).items() if name in stay} | getattr(matrix, key)
        for key in ("ledger", "verdicts", "configured")
    }
    old = set(stay.values()) - {name.split("/")[1] for name in matrix.tables}
    variants = {variant.id: variant for variant in kept.variants}
    for variant in matrix.variants:
        before = variants[variant.id].deviations if variant.id in variants else []
        others = [line for line in before if line.split()[0] in old]
        deviations = list(dict.fromkeys((*others, *variant.deviations)))
        variants[variant.id] = variant.model_copy(update={"deviations": deviations})
    tables = {name: digest for name, digest in kept.tables.items() if name.split("/")[1] in old} | matrix.tables
    return matrix.model_copy(update=by_claim | {"tables": tables, "variants": list(variants.values())})


def _as_text(csv: Path) -> pd.DataFrame:
    """A table to be written again to the same bytes."""
    return pd.read_csv(csv, dtype=str, keep_default_na=False)


def write_matrix(plans: Plans, paper: str, deviations: Mapping[str, Sequence[str]], tables: Tables) -> None:
    """Judge a paper's claims under every variant: ``figures/<paper>/robustness.{csv,json,pdf,svg,png}``.

    Args:
        plans: the plans as configured and under every variant of the paper.
        paper: the paper with the claims.
        deviations: the deviations from the paper's protocol, in words, by variant and for the control.
        tables: the tables of the figures that claims are checked against.
    """
    layout, name, variants = Layout(plans.base.config.paths), f"{paper}/robustness", plans.variants(paper)
    csv, record = layout.figure(name, "csv"), layout.figure(name, "json")
    table = matrix(plans, paper, tables)
    # The record must not describe files that are being replaced.
    record.unlink(missing_ok=True)
    write_csv(csv, table)
    titles = {CONFIGURED: "as configured"} | {key: key.replace("-", " ") for key in (*CONTROLS, *variants)}
    apply_style()
    drawing = heat_map(table, titles)
    reduced = deviations[CONTROL]
    summaries = "; ".join(f"{titles[key]}: {variant.summary}" for key, variant in variants.items())
    description = (
        f"Each claim's verdict as configured (scale {plans.base.config.scale.name}), and under one other reading at a "
        "time of what the paper leaves unsaid. The control is the reading configured, reduced as far as the variants "
        f"are: {'; '.join(reduced) or 'not at all'}; the other seed is the control with the next seed. {summaries}."
    )
    title, note = f"Claims of {paper} under other readings", "Controls and variants: reduced protocol."
    drawings = save_drawing(drawing, layout.figures, name, title, description, note if reduced else "")
    made, verdicts = provenance(), {str(key): verdicts_of(rows) for key, rows in table.groupby("claim", sort=False)}
    configured = table[table["variant"] == CONFIGURED]
    content = Matrix(
        paper=paper,
        commit=made["commit"],
        constraints_sha256=made["constraints_sha256"],
        finished=made["finished"],
        ledger=ledger_of(plans.base.config, paper, verdicts),
        tables={figure: sha256_of(file) for (variant, figure), file in tables.items() if variant == CONFIGURED},
        variants=[
            VariantRun(
                id=key,
                summary=variants[key].summary if key in variants else CONTROLS[key],
                overrides=list(variants[key].overrides) if key in variants else [],
                scale=plans.under(key).config.scale.name,
                deviations=list(deviations[key]),
            )
            for key in (*CONTROLS, *variants)
        ],
        verdicts=verdicts,
        configured=dict(zip(configured["claim"], configured["verdict"], strict=True)),
        sha256=sha256_of(csv),
    )
    write_json(record, content.model_dump() | {"drawings": drawings})


def matrix(plans: Plans, paper: str, tables: Tables) -> pd.DataFrame:
    """One row per runnable claim, variant and check.

    Columns: claim, variant (:data:`CONFIGURED`, the controls, then the variants), depends (whether the claim's evidence
    differs from the control's), verdict (of the claim), check, check_verdict, effect, low, high, runs, where,
    unit, why.
    """
    config = plans.base.config
    evidence = {name: f"{paper}/{claim.evidence}" for name, claim in config.claims_of(paper).items()}
    claims = [n for n, c in config.claims_of(paper).items() if not c.not_yet and evidence[n] in plans.base.figures]
    if not claims:
        raise ConfigError(
            f"no claim is checked against {listed(list(plans.base.figures))}; figures with claims: "
            f"{listed(list(dict.fromkeys(evidence.values())))}"
        )
    rows: list[dict[str, Any]] = []
    judged: dict[tuple[str | None, str], Judgement] = {}
    for name in claims:
        for variant in (None, *CONTROLS, *plans.variants(paper)):
            other_evidence = depends(plans, variant, paper, name)
            # The same claim on the same evidence is not judged again.
            same = (None if variant == CONTROL else CONTROL, name)
            judgement = _judge(plans, variant, paper, name, tables) if other_evidence else judged[same]
            judged[variant, name] = judgement
            for result in judgement.checks:
                worst = result.worst
                low, high = worst.ends if worst else (np.nan, np.nan)
                rows.append(
                    {
                        "claim": name,
                        "variant": variant or CONFIGURED,
                        "depends": other_evidence,
                        "verdict": judgement.verdict,
                        "check": result.name,
                        "check_verdict": result.verdict,
                        "effect": worst.effect if worst else np.nan,
                        "low": low,
                        "high": high,
                        "runs": worst.n if worst else 0,
                        "where": worst.where if worst else "",
                        "unit": result.unit,
                        "why": why(judgement),
                    }
                )
    return pd.DataFrame(rows)


def _judge(plans: Plans, variant: str | None, paper: str, name: str, tables: Tables) -> Judgement:
    plan = plans.under(variant)
    claim = plan.config.claims_of(paper)[name]
    figure = f"{paper}/{claim.evidence}"
    csv = tables[variant or CONFIGURED, figure]
    evidence = drawn(plan, figure, csv)
    if evidence is None:
        raise TableError(f"{csv} has not been drawn; run {run_command('robustness')}")
    return judgement_on(plan.config, paper, name, evidence.table)


def depends(plans: Plans, variant: str | None, paper: str, name: str) -> bool:
    """Whether a claim's evidence differs from the control's; for the control, from the configured one."""
    if variant is None:
        return True
    plan, other = plans.under(variant), plans.under(None if variant == CONTROL else CONTROL)
    claim = plan.config.claims_of(paper)[name]
    figure = f"{paper}/{claim.evidence}"
    same_evidence = plan.figures[figure].evidence == other.figures[figure].evidence
    return not same_evidence or claim != other.config.claims_of(paper)[name]


def verdicts_of(rows: pd.DataFrame) -> dict[str, VerdictUnderVariant]:
    """Verdicts by variant, each with the effect of its deciding check; null if the evidence does not depend on it."""
    verdicts = {}
    for variant, of_variant in rows[rows["variant"] != CONFIGURED].groupby("variant", sort=False):
        deciding = of_variant[of_variant["check_verdict"] == of_variant["verdict"]]
        row = (deciding if len(deciding) else of_variant).iloc[0]
        effect, low, high = (float(row[key]) if np.isfinite(row[key]) else None for key in ("effect", "low", "high"))
        verdicts[str(variant)] = (
            VerdictUnderVariant(verdict=row["verdict"], why=row["why"], effect=effect, low=low, high=high)
            if row["depends"]
            else VerdictUnderVariant(verdict=None, why=None, effect=None, low=None, high=None)
        )
    return verdicts


def heat_map(table: pd.DataFrame, titles: Mapping[str, str]) -> Drawing:
    """A heat map of verdicts, in words and colour: claims in rows, readings in columns.

    A pale cell with a dot: the claim's evidence does not depend on the variant; the verdict is the control's.
    """
    import seaborn as sns  # loads scipy.stats, which a run without this matrix can do without

    claims, variants = list(table["claim"].unique()), list(table["variant"].unique())
    verdicts, depends = (
        table.pivot_table(column, "claim", "variant", aggfunc="first").loc[claims, variants]
        for column in ("verdict", "depends")
    )
    words = {verdict: word for verdict, (_, word) in _LOOKS.items()}
    places = {verdict: place for place, verdict in enumerate(_LOOKS)}
    colours = [to_rgba(colour, alpha) for alpha in (0.25, 1.0) for colour, _ in _LOOKS.values()]
    figure = Drawing(figsize=(TWO_COLUMNS, 1.5 + 0.18 * len(claims)), layout="constrained")
    axes = figure.add_subplot()
    sns.heatmap(
        verdicts.replace(places).astype(int) + len(_LOOKS) * depends.astype(int),
        vmin=0,
        vmax=len(colours),
        cmap=ListedColormap(colours),
        annot=verdicts.replace(words).where(depends.astype(bool), "·"),
        fmt="",
        annot_kws={"fontsize": 6.5, "color": "0.15"},
        cbar=False,
        linewidths=0.8,
        xticklabels=[titles[variant] for variant in variants],
        yticklabels=[claim.replace("-", " ") for claim in claims],
        ax=axes,
    )
    axes.set(xlabel="", ylabel="")
    axes.grid(visible=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False, labelsize=7)
    axes.tick_params(axis="y", rotation=0)  # seaborn's own are vertical where they are short
    for text in axes.get_xticklabels():
        text.set(rotation=45, horizontalalignment="left")
    axes.axvline(1, color="0.25", linewidth=1.2)
    seen = [verdict for verdict in _LOOKS if verdict in set(table["verdict"])]
    handles = [Patch(facecolor=_LOOKS[verdict][0], label=f"{_LOOKS[verdict][1]}: {verdict}") for verdict in seen]
    handles.append(Patch(facecolor="white", edgecolor="0.7", label="·: does not depend on it"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=6.5, handlelength=1.2)
    return figure
