"""Runs that are merged. Oracle: the one run of all, and tables made by hand.

Sees a run that counts twice, another seed's that replaces it, a forged table that is pooled, and a folder half-written.
"""

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest
from benchmarks.forger import ground

from resaudit.audit.build import make_audit
from resaudit.audit.models import Audit, DrawnFigure, FigureProvenance
from resaudit.audit.schema import read_audit
from resaudit.base.errors import ArchiveError, ConfigError, DifferenceError, MachineError, TableError
from resaudit.base.files import sha256_of, write_json
from resaudit.claims.comparison import agreement_of, differences_of
from resaudit.data.dataset import Dataset
from resaudit.data.fetch import Fetch
from resaudit.figures.draw import reference_file
from resaudit.figures.drawing import about, read_about, read_csv, write_csv
from resaudit.figures.tables import Drawn
from resaudit.jobs.provenance import provenance
from resaudit.plan import plan as planning
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from resaudit.plan.words import settings_of
from resaudit.share import merging
from resaudit.share.finished_runs import FinishedRun, read_run
from resaudit.share.merging import merge, merge_figure, provenance_of_all
from tests.conftest import CHECKOUT, in_process
from tests.refusals import refused
from tests.share.archives import METADATA
from tests.share.archives import OVERRIDES as OF_ARCHIVE
from tests.share.finished_run import as_planned

FIG04, FIG08, FIG10 = (f"demystifying_resnet/{name}" for name in ("fig04", "fig08", "fig10"))
PROTOCOL = ("scale=smoke", "figures=[demystifying_resnet]")
RUNS = 2
"""Of Figure 4 at scale smoke."""


def expected(figure: str) -> pd.DataFrame:
    return read_csv(CHECKOUT / "tests" / "workflow" / "expected" / f"{figure}.csv")


def run_in(folder: Path, *overrides: str, **tables: pd.DataFrame) -> Path:
    """A run whose folder of figures has these tables."""
    figures = [f"demystifying_resnet/{name}" for name in tables]
    given = [*PROTOCOL, f"paths.figures={folder / 'figures'}", *overrides]
    plan = make_plan(load(given))
    for name, table in zip(figures, tables.values(), strict=True):
        csv = folder / "figures" / f"{name}.csv"
        csv.parent.mkdir(parents=True, exist_ok=True)
        write_csv(csv, table)
        write_json(
            csv.with_suffix(".json"),
            about(as_planned(plan.figures[name])) | {"sha256": sha256_of(csv)} | provenance(),
        )
    write_json(folder / "figures" / "audit.json", make_audit(plan, given).as_json())
    return folder


def merged(into: Path, *places: Path, overrides: tuple[str, ...] = PROTOCOL) -> list[str]:
    return list(merge(places, make_plan(load(list(overrides))), overrides, into))


def other_numbers(table: pd.DataFrame, factor: float = 1.01) -> pd.DataFrame:
    return table.assign(**{name: factor * table[name] for name in ("lambda_max", "condition_number")})


def test_runs_of_other_seeds_are_pooled_in_any_order(tmp_path: Path) -> None:
    table = expected(FIG04)
    a = run_in(tmp_path / "a", fig04=table)
    b = run_in(tmp_path / "b", "seed=2", fig04=other_numbers(table))
    (words, *_) = merged(tmp_path / "ab", a / "figures", b / "figures")
    assert "of a/figures, b/figures" in words
    merged(tmp_path / "ba", b, a)
    pooled = read_csv(tmp_path / "ab" / f"{FIG04}.csv")
    assert sorted(pooled["run"].unique()) == list(range(2 * RUNS))
    for run, factor in ((0, 1.0), (RUNS, 1.01)):
        first = pooled.loc[pooled["run"] == run, "condition_number"].to_numpy()
        assert first == pytest.approx(factor * table.loc[table["run"] == 0, "condition_number"].to_numpy())
    assert sha256_of(tmp_path / "ab" / f"{FIG04}.csv") == sha256_of(tmp_path / "ba" / f"{FIG04}.csv")
    audit = json.loads((tmp_path / "ab" / "audit.json").read_text(encoding="utf-8"))
    (paper,) = audit["papers"]
    counts = {p["n"] for claim in paper["claims"] for check in claim["checks"] for p in check["points"]}
    assert counts == {2 * RUNS}
    assert paper["figures"][0]["settings"]["seed"] == "1, 2"
    assert "seeds 1, 2" in (tmp_path / "ab" / f"{FIG04}.svg").read_text(encoding="utf-8")


def test_settings_name_the_runs_of_every_seed(tmp_path: Path) -> None:
    table = expected(FIG04)
    a = run_in(tmp_path / "a", fig04=table)
    b = run_in(tmp_path / "b", "seed=2", "protocol.runs=1", fig04=table[table["run"] == 0])
    merged(tmp_path / "ab", a, b)
    audit = json.loads((tmp_path / "ab" / "audit.json").read_text(encoding="utf-8"))
    settings = audit["papers"][0]["figures"][0]["settings"]
    assert (settings["seed"], settings["runs"]) == ("1, 2", f"{RUNS}, 1")


def test_the_same_run_counts_once_and_fewer_runs_of_it_add_nothing(tmp_path: Path) -> None:
    table = expected(FIG04)
    whole = run_in(tmp_path / "whole", fig04=table)
    part = run_in(tmp_path / "part", "protocol.runs=1", fig04=table[table["run"] == 0])
    merged(tmp_path / "merged", part, whole, whole, part)
    assert sha256_of(tmp_path / "merged" / f"{FIG04}.csv") == sha256_of(whole / "figures" / f"{FIG04}.csv")


def test_two_halves_give_the_bytes_and_verdicts_of_the_whole(tmp_path: Path) -> None:
    tables = {"fig04": expected(FIG04), "fig10": expected(FIG10)}
    whole = run_in(tmp_path / "whole", **tables)
    halves = [run_in(tmp_path / name, **{name: table}) for name, table in tables.items()]
    merged(tmp_path / "merged", *halves)
    for figure in (FIG04, FIG10):
        assert sha256_of(tmp_path / "merged" / f"{figure}.csv") == sha256_of(whole / "figures" / f"{figure}.csv")
    audits = [
        json.loads((f / "audit.json").read_text(encoding="utf-8")) for f in (whole / "figures", tmp_path / "merged")
    ]
    of_paper = [
        {claim["id"]: (claim["verdict"], claim["checks"]) for p in audit["papers"] for claim in p["claims"]}
        for audit in audits
    ]
    assert of_paper[1].items() <= of_paper[0].items()
    assert (tmp_path / "merged" / "audit.html").is_file()


def test_a_table_without_numbered_runs_stays_that_of_the_least_seed(tmp_path: Path) -> None:
    a, b = (run_in(tmp_path / str(seed), f"seed={seed}", fig10=expected(FIG10)) for seed in (3, 2))
    (words, *_) = merged(tmp_path / "merged", a, b)
    assert "seed 2 alone" in words


@pytest.mark.parametrize("others", [1, 2])
def test_numbers_that_contradict_another_run_of_the_seed_are_named(others: int, tmp_path: Path) -> None:
    honest = [run_in(tmp_path / f"honest{i}", fig04=expected(FIG04)) for i in range(others)]
    forged = run_in(tmp_path / "forged", fig04=other_numbers(expected(FIG04), 3))
    with refused(DifferenceError, "resaudit compare says what") as error:
        merged(tmp_path / "merged", forged, *honest)
    assert str(forged) in str(error.value)
    assert others == 1 or str(error.value).startswith(f"{forged} ")
    assert not list(tmp_path.glob("*merged*"))


def test_a_table_that_was_changed_after_its_audit_is_named(tmp_path: Path) -> None:
    a, b = (run_in(tmp_path / name, fig04=expected(FIG04)) for name in "ab")
    write_csv(b / "figures" / f"{FIG04}.csv", other_numbers(expected(FIG04)))
    with refused(TableError, b):
        merged(tmp_path / "merged", a, b)


def test_another_protocol_a_merged_run_and_a_folder_that_exists_are_refused(tmp_path: Path) -> None:
    a = run_in(tmp_path / "a", fig04=expected(FIG04))
    with refused(DifferenceError, "zero scale"):
        merged(tmp_path / "merged", a, a, overrides=(*PROTOCOL, "protocol.zero_scale=0"))
    with refused(DifferenceError, "shows"):
        merged(tmp_path / "merged", a, a, overrides=PROTOCOL[1:])
    merged(tmp_path / "merged", a, a)
    with refused(ConfigError, "exists; remove it, or give"):
        merged(tmp_path / "merged", a, a)
    with refused(ArchiveError, "is merged from other runs"):
        merged(tmp_path / "again", a, tmp_path / "merged")


CODES = {"train": {"1" * 64: 3}}
PLATFORMS = [{"machine classes": [{"device": "cpu", "processor": name}], "codes": CODES} for name in "ab"]
TURNS, TURNS_NOTHING = ("2-shortcut-relu", 16, 0.1), ("xavier-relu", 4, 0.1)
"""Places of Figure 8: the verdict on relu-final-loss turns if two of three losses there are 1.3 times as large."""


@cache
def config_of(figure: str, *overrides: str) -> Config:
    return load([f"figures=[{figure}]", *overrides])


def held(name: str, table: pd.DataFrame, figure: str = FIG04, *overrides: str, **record: object) -> FinishedRun:
    """A run of scale laptop as it is read, with one table; ``record``: more of what stands beside it."""
    values = json.loads(json.dumps(settings_of(config_of(figure, *overrides).figure[figure])))
    digest = sha256(table.to_csv(index=False).encode()).hexdigest()
    drawn = Drawn(figure, table, digest, {"values": values, **record})
    return FinishedRun(Path(name), Audit.model_construct(papers=[]), {figure: drawn}, None, {})


def merged_table(*runs: FinishedRun, figure: str = FIG04) -> pd.DataFrame:
    return merge_figure(config_of(figure), config_of(figure).figure[figure], runs).table


def forgery(place: tuple[str, int, float]) -> pd.DataFrame:
    """A copy of the reference of Figure 8 with two runs of one place times 1.3, and the smaller SHA-256."""
    honest = read_csv(reference_file(FIG08))
    keys = honest[["network", "depth", "learning_rate"]].itertuples(index=False, name=None)
    rows = [row for row, key in zip(honest.index, keys, strict=True) if key == place][:2]
    forged = ground(honest, "final_loss", rows, 1.3)
    agreement = agreement_of(forged, honest, config_of(FIG08).figure[FIG08])
    assert agreement
    assert agreement.of_rows - agreement.rows == 2
    assert agreement.groups == agreement.of_groups
    assert not list(differences_of(forged, honest, config_of(FIG08).figure[FIG08]))
    return forged


@pytest.mark.parametrize("honest_runs", [1, 2])
@pytest.mark.parametrize("other_seed", [False, True])
def test_a_ground_forgery_that_turns_a_verdict_is_refused_by_name(honest_runs: int, other_seed: bool) -> None:
    honest = read_csv(reference_file(FIG08))
    runs = [held(f"honest{i}", honest, FIG08) for i in range(honest_runs)]
    runs += [held("other", honest, FIG08, "seed=2")] if other_seed else []
    forged = held("forged", forgery(TURNS), FIG08)
    for order in ([forged, *runs], [*runs, forged]):
        with refused(DifferenceError, FIG08) as error:
            merged_table(*order, figure=FIG08)
        assert str(forged.place) in str(error.value)
        assert "relu-final-loss (" in str(error.value)


def test_a_forgery_that_turns_the_pool_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By made-up verdicts, which only forged rows among those of several seeds turn."""
    honest, forged = read_csv(reference_file(FIG08)), forgery(TURNS)
    losses = set(forged["final_loss"]) - set(honest["final_loss"])

    def verdicts_on(_config: object, figure: str, table: pd.DataFrame) -> dict[str, str]:
        turned = not losses.isdisjoint(table["final_loss"]) and len(table) > len(honest)
        return {figure: "contradicted" if turned else "supported"}

    monkeypatch.setattr(merging, "verdicts_on", verdicts_on)
    runs = [held("a", honest, FIG08), held("b", forged, FIG08)]
    assert len(merged_table(*runs, figure=FIG08)) == len(honest)
    with refused(DifferenceError, "give other verdicts by"):
        merged_table(*runs, held("c", honest, FIG08, "seed=2"), figure=FIG08)


def test_nothing_is_chosen_by_its_digest() -> None:
    honest, forged = held("a", read_csv(reference_file(FIG08)), FIG08), held("b", forgery(TURNS_NOTHING), FIG08)
    for first, second in ((honest, forged), (forged, honest)):
        assert merged_table(first, second, figure=FIG08).equals(first.tables[FIG08].table)


@pytest.mark.parametrize("column", ["condition_number", "lambda_max", "noise_floor"])
def test_one_cpu_platform_gives_one_table(column: str) -> None:
    table = read_csv(reference_file(FIG04))
    rounded = table.assign(**{column: table[column].where(table.index != 5, table[column] * (1 + 1e-12))})
    one, same, other = (held(f"{i}", each, **PLATFORMS[i // 2]) for i, each in enumerate((table, rounded, rounded)))
    assert merged_table(one, other).equals(table)
    with refused(DifferenceError, FIG04):
        merged_table(one, same)
    assert merged_table(one, held("other code", rounded, **PLATFORMS[0] | {"codes": {}})).equals(table)


@pytest.mark.parametrize(
    ("figure", "less"),
    [("stable_scaling/backward", 10), ("stable_scaling/products", 2), ("shortcut_importance/table1", 2500)],
)
def test_statistics_over_other_numbers_of_runs_accuse_nobody(figure: str, less: int) -> None:
    """Statistics over fewer runs are other numbers; here of counts a half, else 2 % more."""
    table = read_csv(reference_file(figure))
    over_runs = table["run"] < 0 if "run" in table else table["runs"] > 0
    others = {
        column: table[column].where(~over_runs, 1.02 * table[column] if table[column].dtype == float else less)
        for column in [*config_of(figure).figure[figure].tolerances, "runs"]
        if column in table
    }
    forged = table.assign(**others)
    fewer = forged[forged["run"] < less] if "run" in table else forged
    whole = held("whole", table, figure)
    part = held("part", fewer, figure, f"figure.{figure.replace('/', '.')}.protocol.runs={less}")
    for order in ([whole, part], [part, whole]):
        assert merged_table(*order, figure=figure).equals(table)
    with refused(DifferenceError, figure):
        merged_table(whole, held("forged", forged, figure), figure=figure)


def cell(value: str) -> Callable[[str], str]:
    """Puts a value into the first row's condition number."""

    def change(text: str) -> str:
        header, row, *rows = text.splitlines()
        fields = row.split(",")
        fields[header.split(",").index("condition_number")] = value
        return "\n".join([header, ",".join(fields), *rows, ""])

    return change


DAMAGES: dict[str, Callable[[str], str]] = {
    "doubled row": lambda text: text + text.splitlines(keepends=True)[1],
    "inf0.5": cell("inf0.5"),
    "NUL": cell("1\0"),
    "a number too long": cell("9" * 400),
    "header twice": lambda text: text + text.splitlines(keepends=True)[0],
    "unknown network": lambda text: text + text.splitlines()[1].replace("2-shortcut", "3-shortcut") + "\n",
    "unknown depth": lambda text: re.sub(r"^([^,]+),2,", r"\1,3,", text, flags=re.MULTILINE),
    "no rows": lambda text: text.splitlines(keepends=True)[0],
    "no bytes": lambda _: "",
    "another line": lambda text: text + "a,b\n",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("as_archive", [False, True])
def test_an_odd_table_with_right_digests_is_refused_in_a_line_with_run_and_figure(
    damage: str, as_archive: bool, tmp_path: Path
) -> None:
    good, bad = (run_in(tmp_path / name, fig04=expected(FIG04)) for name in ("good", "bad"))
    csv = bad / "figures" / f"{FIG04}.csv"
    text = csv.read_text()
    csv.write_text(DAMAGES[damage](text))
    assert csv.read_text() != text
    write_json(csv.with_suffix(".json"), json.loads(csv.with_suffix(".json").read_text()) | {"sha256": sha256_of(csv)})
    change_figure(bad, sha256=sha256_of(csv))
    place = packed(bad, {}) if as_archive else bad
    with refused(ArchiveError, place, FIG04):
        merged(tmp_path / "merged", good, place)


@pytest.mark.parametrize("change", [{"seed": "1"}, {"seed": None}, {"runs": "many"}, {"runs": [1]}])
def test_odd_settings_beside_a_table_are_refused_in_a_line(change: dict[str, object], tmp_path: Path) -> None:
    run = run_in(tmp_path / "a", fig04=expected(FIG04))
    record = run / "figures" / f"{FIG04}.json"
    content = json.loads(record.read_text())
    write_json(record, content | {"values": content["values"] | change})
    with refused(ArchiveError, FIG04):
        merged(tmp_path / "merged", run, run)


AS_PUBLISHED = "figure.identity_matters.table2_cifar100.dataset.cifar100_reader=as-published"


@pytest.mark.parametrize("is_asked", [False, True])
def test_data_read_otherwise_are_another_protocol(
    is_asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a figure that takes a GPU days: all but its table."""
    figure = "identity_matters/table2_cifar100"
    usual = ("scale=smoke", f"figures=[{figure}]")
    ours, theirs = ((*usual, AS_PUBLISHED), usual) if is_asked else (usual, (*usual, AS_PUBLISHED))
    part = make_plan(load([*theirs, "seed=2"])).figures[figure]
    tables = {figure: Drawn(figure, pd.DataFrame(), "", json.loads(json.dumps(about(as_planned(part)))))}
    run = FinishedRun(Path("theirs"), Audit.model_construct(papers=[]), tables, None, {})
    monkeypatch.setattr(merging, "read_run", lambda _place: run)
    with refused(DifferenceError, "data"):
        merged(tmp_path / "merged", Path("ours"), Path("theirs"), overrides=ours)


def of_other_files(dataset: Dataset, data: str) -> Fetch:
    """As a checkout has it whose file of this data set was edited."""
    files = {key: file.model_copy(update={"sha256": "0" * 64}) for key, file in dataset.files.items()}
    return Fetch(dataset.model_copy(update={"files": files}), data)


def test_other_files_of_data_of_the_same_title_are_another_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = expected(FIG04)
    a = run_in(tmp_path / "a", fig04=table)
    with monkeypatch.context() as theirs:
        theirs.setattr(planning, "fetch_of", of_other_files)
        b = run_in(tmp_path / "b", "seed=2", "protocol.runs=1", fig04=table[table["run"] == 0])
    with refused(TableError, b / f"{FIG04}.csv"):
        merged(tmp_path / "merged", a, b)


def test_an_audit_of_another_name_is_a_run_where_its_tables_are(tmp_path: Path) -> None:
    figures = run_in(tmp_path / "a", fig10=expected(FIG10)) / "figures"
    beside, alone = (Path(shutil.copy(figures / "audit.json", to / "alice.json")) for to in (figures, tmp_path))
    assert read_run(beside).tables.keys() == {FIG10}
    with refused(TableError, alone):
        read_run(alone)


def test_a_folder_that_cannot_be_made_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    a = run_in(tmp_path / "a", fig10=expected(FIG10))
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    for into in (tmp_path / "file" / "merged", tmp_path / "file" / "deep" / "merged", tmp_path / ("m" * 300)):
        with refused(MachineError, into.parent):
            merged(into, a, a)
        assert sorted(tmp_path.rglob("*")) == before


def test_folders_with_an_equals_sign_are_runs_and_other_words_overrides(tmp_path: Path) -> None:
    for seed in (1, 2):
        run_in(tmp_path / f"seed={seed}", f"seed={seed}", fig10=expected(FIG10))
    done = in_process("merge", "seed=1", "seed=2", *PROTOCOL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "seed 1 alone" in done.stdout
    assert in_process("merge", "seed=1", "seed=3", *PROTOCOL, cwd=tmp_path).returncode == 2


def change_figure(run: Path, **changes: object) -> list[str]:
    """Rewrite what a run's audit says of its only figure; returns the figure's jobs."""
    audit = json.loads((run / "figures" / "audit.json").read_text(encoding="utf-8"))
    (figure,) = (figure for paper in audit["papers"] for figure in paper["figures"])
    figure |= changes
    write_json(run / "figures" / "audit.json", audit)
    jobs: list[str] = figure["jobs"]
    return jobs


def packed(run: Path, agents: dict[str, str]) -> Path:
    """A run's figures and made-up results in an archive that says who ran each job."""
    files = {str(file.relative_to(run)): file.read_bytes() for file in run.rglob("*") if file.is_file()}
    files |= {f"results/{job}/result.json": b"{}" for job in agents}
    listed = [{"@id": name, "@type": "File", "sha256": sha256(file).hexdigest()} for name, file in files.items()]
    people = [{"@id": f"#{name}", "@type": "Person", "name": name} for name in {*agents.values()}]
    ran = [{"@id": f"#job/{job}", "@type": "CreateAction", "agent": {"@id": f"#{by}"}} for job, by in agents.items()]
    with zipfile.ZipFile(run.with_suffix(".zip"), "w") as archive:
        archive.writestr(METADATA, json.dumps({"@graph": [*listed, *people, *ran]}))
        for name, file in files.items():
            archive.writestr(name, file)
    return run.with_suffix(".zip")


def test_a_merged_figure_has_who_computed_what_and_the_code_of_all_its_runs(tmp_path: Path) -> None:
    table, (one, other), adas = expected(FIG04), ("1" * 64, "2" * 64), "a" * 64
    runs = [run_in(tmp_path / f"run{seed}", f"seed={seed}", fig04=table) for seed in (1, 2, 3)]
    jobs = [change_figure(run, codes={"train": {code: 3}}) for run, code in zip(runs, (one, other, one), strict=True)]
    change_figure(runs[0], imported=[{"archive": adas, "by": "Ada", "jobs": jobs[0][:1]}])
    change_figure(runs[2], imported=[{"archive": adas, "by": "Ada", "jobs": jobs[2][:1]}])
    archive = packed(runs[2], dict.fromkeys(jobs[2], "Bob") | {jobs[2][0]: "Ada", jobs[2][1]: "Eve"})
    merged(tmp_path / "merged", runs[0], runs[1], archive, Path(shutil.copy(archive, tmp_path / "copy.zip")))
    (figure,) = read_audit(tmp_path / "merged" / "audit.json").figures
    digest = sha256_of(archive)
    assert {(part.archive, part.by): part.jobs for part in figure.imported} == {
        (adas, "Ada"): sorted([jobs[0][0], jobs[2][0]]),
        (digest, "Eve"): [jobs[2][1]],
        (digest, "Bob"): jobs[2][2:],
    }
    assert figure.codes == {"train": {one: 6, other: 3}}
    assert figure.mixed_code
    record = read_about(tmp_path / "merged" / f"{FIG04}.csv")
    assert [record["imported"], record["codes"]] == [[part.model_dump() for part in figure.imported], figure.codes]
    page, drawing = ((tmp_path / "merged" / name).read_text() for name in ("audit.html", f"{FIG04}.svg"))
    assert {name: f"<td>{name}</td>" in page and f"run by {name}" in drawing for name in ("Ada", "Bob", "Eve")} == (
        dict.fromkeys(("Ada", "Bob", "Eve"), True)
    )


@pytest.mark.parametrize(
    ("seconds", "together"), [((3.0, 40.0, 500.0), 540.0), ((None, 40.0, 500.0), 540.0), ((3.0, None, 500.0), None)]
)
def test_a_merged_figure_took_the_time_and_the_devices_of_all_its_runs(
    seconds: tuple[float | None, ...], together: float | None
) -> None:
    """The second run has the first one's jobs too, and more."""
    made = FigureProvenance(
        commit=None, finished="2026-11-21T05:04:05+00:00", machine="", system="", python="", packages={}, devices=[],
        seconds=None,
    )  # fmt: skip
    figures = [
        DrawnFigure.model_construct(jobs=jobs, provenance=made.model_copy(update={"seconds": each, "devices": [on]}))
        for jobs, each, on in zip((["a"], ["a", "b"], ["c"]), seconds, ("cpu", "cuda", "cpu by native"), strict=True)
    ]
    whole = provenance_of_all(figures)
    assert (whole.seconds, whole.devices) == (together, ["cpu", "cpu by native", "cuda"])


def test_archives_are_merged_and_named_in_the_audit(archive: Path, tmp_path: Path) -> None:
    copy = shutil.copy(archive, tmp_path / "copy.zip")
    merged(tmp_path / "merged", archive, Path(copy), overrides=OF_ARCHIVE)
    audit = json.loads((tmp_path / "merged" / "audit.json").read_text(encoding="utf-8"))
    (figure,) = (figure for paper in audit["papers"] for figure in paper["figures"])
    assert {each["archive"] for each in figure["imported"]} == {sha256_of(archive)}
