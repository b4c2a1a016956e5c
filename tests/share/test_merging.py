"""Runs that are merged. Oracle: the one run of all, and tables made by hand.

Sees a run that counts twice, another seed's that replaces it, a forged table that is pooled, and a folder half-written.
"""

import json
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

from resaudit.audit.build import make_audit
from resaudit.audit.models import Audit, DrawnFigure, FigureProvenance
from resaudit.audit.schema import read_audit
from resaudit.base.files import sha256_of, write_json
from resaudit.data.dataset import Dataset
from resaudit.data.fetch import Fetch
from resaudit.figures.drawing import about, read_about, read_csv, write_csv
from resaudit.figures.tables import Drawn
from resaudit.jobs.provenance import provenance
from resaudit.plan import plan as planning
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.share import merging
from resaudit.share.finished_runs import FinishedRun, read_run
from resaudit.share.merging import merge, provenance_of_all
from tests.conftest import CHECKOUT, in_process
from tests.refusals import refused
from tests.share.archives import METADATA
from tests.share.archives import OVERRIDES as OF_ARCHIVE
from tests.share.finished_run import SETTING

FIG04, FIG10 = "demystifying_resnet/fig04", "demystifying_resnet/fig10"
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
            csv.with_suffix(".json"), about(plan.figures[name], SETTING) | {"sha256": sha256_of(csv)} | provenance()
        )
    write_json(folder / "figures" / "audit.json", make_audit(plan, given).as_json())
    return folder


def merged(into: Path, *places: Path, overrides: tuple[str, ...] = PROTOCOL) -> list[str]:
    return list(merge(places, make_plan(load(list(overrides))), overrides, into))


def other_numbers(table: pd.DataFrame, factor: float = 1.01) -> pd.DataFrame:
    return table.assign(condition_number=factor * table["condition_number"])


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
    with refused("contradicting-runs") as error:
        merged(tmp_path / "merged", forged, *honest)
    assert str(forged) in str(error.value)
    assert others == 1 or error.value.fields["place"] == forged
    assert not list(tmp_path.glob("*merged*"))


def test_a_table_that_was_changed_after_its_audit_is_named(tmp_path: Path) -> None:
    a, b = (run_in(tmp_path / name, fig04=expected(FIG04)) for name in "ab")
    write_csv(b / "figures" / f"{FIG04}.csv", other_numbers(expected(FIG04)))
    with refused("changed-table") as error:
        merged(tmp_path / "merged", a, b)
    assert str(b) in str(error.value)


def test_another_protocol_a_merged_run_and_a_folder_that_exists_are_refused(tmp_path: Path) -> None:
    a = run_in(tmp_path / "a", fig04=expected(FIG04))
    with refused("other-settings"):
        merged(tmp_path / "merged", a, a, overrides=(*PROTOCOL, "protocol.zero_scale=0"))
    with refused("other-settings"):
        merged(tmp_path / "merged", a, a, overrides=PROTOCOL[1:])
    merged(tmp_path / "merged", a, a)
    with refused("existing-folder"):
        merged(tmp_path / "merged", a, a)
    with refused("merged-run"):
        merged(tmp_path / "again", a, tmp_path / "merged")


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
    tables = {figure: Drawn(figure, pd.DataFrame(), "", json.loads(json.dumps(about(part, SETTING))))}
    run = FinishedRun(Path("theirs"), Audit.model_construct(papers=[]), tables, None, {})
    monkeypatch.setattr(merging, "read_run", lambda _place: run)
    with refused("other-settings", key="data"):
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
    with refused("other-evidence", path=b / f"{FIG04}.csv"):
        merged(tmp_path / "merged", a, b)


def test_an_audit_of_another_name_is_a_run_where_its_tables_are(tmp_path: Path) -> None:
    figures = run_in(tmp_path / "a", fig10=expected(FIG10)) / "figures"
    beside, alone = (Path(shutil.copy(figures / "audit.json", to / "alice.json")) for to in (figures, tmp_path))
    assert read_run(beside).tables.keys() == {FIG10}
    with refused("missing-table", place=alone):
        read_run(alone)


def test_a_folder_that_cannot_be_made_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    a = run_in(tmp_path / "a", fig10=expected(FIG10))
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    for into in (tmp_path / "file" / "merged", tmp_path / "file" / "deep" / "merged", tmp_path / ("m" * 300)):
        with refused("unwritable-folder", folder=into.parent):
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
