"""Imports of a real archive, of forged ones and of interrupted ones. Oracles: the archive's bytes, and Snakemake.

Sees a forged job that is taken, a refused archive that leaves something behind, an own result that is overwritten, a
kill after which the next import does not go on, and imported results that Snakemake computes again.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from resaudit.base.errors import ResauditError
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from resaudit.share.imports import importing
from resaudit.share.imports.checking import check_jobs
from resaudit.share.imports.forgetting import forget_import
from resaudit.share.imports.importing import differences, import_run
from resaudit.share.imports.packed import Packed
from resaudit.share.records import Import, imports
from tests.conftest import Completed, run_command, run_snakemake
from tests.travel.archives import BY, FIGURE, OVERRIDES, a_job, config_in, forged, with_json

pytest.importorskip("rocrate", reason="the extra crate is not installed")

RULES = re.compile(r"^(?:local)?rule (\w+):$", re.MULTILINE)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_in(tmp_path)


@pytest.fixture
def results(config: Config) -> Path:
    return Path(config.paths.results)


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Without Snakemake, which takes seconds a call; the last test has it. The number of jobs of each call."""
    calls: list[int] = []
    monkeypatch.setattr(importing, "touch", lambda jobs, *_: calls.append(len(jobs)))
    return calls


def imported(archive: Path, config: Config, other_code: bool = False) -> Import:
    return import_run(archive, config, OVERRIDES, other_code, lambda _: None)


def left(results: Path) -> list[str]:
    """All files of a results folder but the lock's."""
    return sorted(p.relative_to(results).as_posix() for p in results.rglob("*") if p.is_file() and p.name != ".lock")


def refused(archive: Path, config: Config, said: str) -> None:
    with pytest.raises(ResauditError) as error:
        imported(archive, config)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert left(Path(config.paths.results)) == []


@pytest.mark.usefixtures("untouched")
def test_every_file_of_a_real_run_arrives_as_it_was_packed(archive: Path, config: Config, results: Path) -> None:
    record = imported(archive, config)
    assert (record.by, record.kept, record.missing, record.differences) == (BY, [], [], [])
    with zipfile.ZipFile(archive) as packed:
        names = [n for n in packed.namelist() if n.startswith("results/") and not n.startswith("results/plan/")]
        assert {key.split("/")[0] for key in record.jobs} == {n.split("/")[1] for n in names}
        for name in names:
            assert (results.parent / name).read_bytes() == packed.read(name)
    damaged = results / a_job(archive) / "spectra.npz"
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:100])
    imported(archive, config)
    assert damaged.read_bytes() == whole
    assert read_json(results / "imports" / f"{sha256_of(archive)}.json")["jobs"] == record.jobs


def another_seed(plan: Any) -> None:
    plan["settings"]["ensemble"]["seed"] += 1


def another_input(provenance: Any) -> None:
    name = next(iter(provenance["inputs"]))
    provenance["inputs"][name] = "0" * 64


def no_inputs(provenance: Any) -> None:
    provenance["inputs"] = {}


def not_a_number(provenance: Any) -> None:
    provenance["seconds"] = float("nan")


def code_of_another(provenance: Any) -> None:
    provenance["code"] = "0" * 64


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("results/plan/{}.json", another_seed, "is not the plan of this job here"),
        ("results/plan/{}.json", lambda plan: plan.update(id="x"), "is not the plan of this job here"),
        ("results/{}/settings.json", lambda settings: settings.update(precision="float16"), "is of another job"),
        ("results/{}/provenance.json", another_input, "was computed from another whiten/"),
        ("results/{}/provenance.json", no_inputs, "does not say the digests of what it reads"),
        ("results/{}/provenance.json", not_a_number, "is not valid JSON"),
        ("results/{}/provenance.json", lambda ran: ran.pop("code"), "provenance.json.code is missing"),
        ("results/{}/provenance.json", code_of_another, "is of other code than this checkout's; check out the commit"),
    ],
)
def test_a_forged_job_is_refused(
    name: str, change: Callable[[Any], None], said: str, archive: Path, config: Config, tmp_path: Path
) -> None:
    bad = with_json(archive, tmp_path / "bad.zip", {name.format(a_job(archive)): change})
    refused(bad, config, said)


def test_other_bytes_are_refused_wherever_their_digest_is_not_redone(
    archive: Path, config: Config, tmp_path: Path
) -> None:
    table, spectra = f"figures/{FIGURE}.csv", f"results/{a_job(archive)}/spectra.npz"
    bad = tmp_path / "bad.zip"
    refused(forged(archive, bad, {table: b"a,b\n1,2\n"}, listed=False), config, "is not the file that is listed")
    refused(forged(archive, bad, {table: b"a,b\n1,2\n"}), config, f"{table} is not the table that its audit judged")
    refused(forged(archive, bad, {spectra: b"1"}), config, "is not what its provenance says was computed")
    refused(forged(archive, bad, {spectra: None}, listed=False), config, "is missing in ro-crate-metadata.json")
    refused(forged(archive, bad, {"figures/more.csv": b"1"}), config, "'figures/more.csv' is not listed")
    refused(forged(archive, bad, {"evil/sitecustomize.py": b"1"}), config, "has no place in a run")


def test_a_forged_array_with_all_digests_redone_is_refused_before_it_is_read(
    archive: Path, config: Config, tmp_path: Path
) -> None:
    folder, bad = f"results/{a_job(archive)}", b"not an array"
    with zipfile.ZipFile(archive) as real:
        ran = json.loads(real.read(f"{folder}/provenance.json"))
    ran["sha256"]["spectra.npz"] = hashlib.sha256(bad).hexdigest()
    files = {f"{folder}/spectra.npz": bad, f"{folder}/provenance.json": json.dumps(ran).encode()}
    refused(forged(archive, tmp_path / "bad.zip", files), config, "spectra.npz cannot be read")


def test_a_run_of_another_seed_is_refused_with_its_overrides(archive: Path, tmp_path: Path) -> None:
    refused(archive, config_in(tmp_path, "seed=7"), f"its run had the overrides {' '.join(OVERRIDES)}: give the same")


def another_paper(audit: Any) -> None:
    figure = next(figure for paper in audit["papers"] for figure in paper["figures"])
    figure["id"] = "beta/fig01"


def test_a_run_of_a_paper_outside_is_refused_with_papers_path(archive: Path, config: Config, tmp_path: Path) -> None:
    """Its figure, or the kind of its jobs, is known by nobody here; of a run of another seed both are."""
    outside = with_json(archive, tmp_path / "beta.zip", {"figures/audit.json": another_paper})
    refused(outside, config_in(tmp_path, "seed=7"), "give the same, with papers_path=FOLDER if it is of a paper")
    packed = Packed(archive, mock.Mock(), {}, {}, {}, {"overrides": ["figures=[beta]"]})
    for jobs, said in (({"descend/beta": set[str]()}, True), ({"hessians/another": set[str]()}, False)):
        with pytest.raises(ResauditError, match=r"its run had the overrides figures=\[beta\]: give the same") as error:
            check_jobs(replace(packed, jobs=jobs), make_plan(config), other_code=False)
        assert ("papers_path=FOLDER" in str(error.value)) == said


@pytest.mark.usefixtures("untouched")
def test_other_code_is_accepted_on_request_and_recorded(archive: Path, config: Config, tmp_path: Path) -> None:
    key = a_job(archive)
    other = with_json(archive, tmp_path / "other.zip", {f"results/{key}/provenance.json": code_of_another})
    imported(other, config, other_code=True)
    origin = read_json(tmp_path / "results" / key / "imported.json")
    assert (origin["code"], origin["by"]) == ("0" * 64, BY)
    assert origin["accepted_code"] not in ("0" * 64, None)


@pytest.mark.usefixtures("untouched")
def test_own_results_are_kept_and_compared_and_killed_ones_replaced(
    archive: Path, config: Config, results: Path
) -> None:
    imported(archive, config)
    own = results / a_job(archive)
    killed = next(path for path in sorted((results / "hessians").iterdir()) if path != own)
    for folder in (own, killed):
        (folder / "imported.json").unlink()
    (killed / "provenance.json").unlink()
    (own / "spectra.npz").write_bytes(b"computed here")
    record = imported(archive, config)
    assert record.kept == [own.relative_to(results).as_posix()]
    assert (own / "spectra.npz").read_bytes() == b"computed here"
    names = [path.name for path in own.iterdir()]
    assert (killed / "imported.json").is_file()
    forget_import(record.archive[:8], results)
    assert left(results) == sorted(f"{record.kept[0]}/{name}" for name in names)


@pytest.mark.parametrize("step", ["check_jobs", "_stage", "_move", "forget", "touch", "write_json"])
def test_a_killed_import_leaves_whole_jobs_and_the_next_one_goes_on(
    step: str, archive: Path, config: Config, results: Path, untouched: list[int]
) -> None:
    calls = iter(range(100))
    real: Callable[..., Any] = getattr(importing, step)

    def dies(*arguments: Any) -> Any:
        """At the second call, or at the only one."""
        if next(calls) == (1 if step in ("_stage", "_move", "forget", "write_json") else 0):
            os._exit(9)
        return real(*arguments)

    child = os.fork()
    if child == 0:
        setattr(importing, step, dies)
        imported(archive, config)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not list(results.glob("imports/*"))
    for folder in (path.parent for path in results.glob("*/*/settings.json")):
        assert {"imported.json", "provenance.json", "settings.json"} < {path.name for path in folder.iterdir()}
    record = imported(archive, config)
    assert untouched == [len(record.jobs)]
    assert not list(results.glob(".import-*"))
    assert all((results / key / "imported.json").is_file() for key in record.jobs)


def test_an_import_is_whole_where_a_file_system_takes_no_modes(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snakemake, which is told of the results, finds them in the working directory."""

    def refuses(path: Path, _mode: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))

    monkeypatch.setattr(Path, "chmod", refuses)
    monkeypatch.chdir(tmp_path)
    record = imported(archive, config_in(Path()))
    assert record.jobs
    assert [each.jobs for each in imports(Path("results"))] == [record.jobs]
    assert "not write-protected" in capsys.readouterr().err
    modes = {path.stat().st_mode & 0o222 for path in Path("results").glob("hessians/*/spectra.npz")}
    assert 0 not in modes


def test_differences_name_the_verdicts_and_tables(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        theirs = json.loads(packed.read("figures/audit.json"))
    ours = json.loads(json.dumps(theirs))
    write_json(tmp_path / "audit.json", ours)
    assert list(differences(theirs, tmp_path / "audit.json")) == []
    paper = next(paper for paper in ours["papers"] if paper["figures"])
    claim = next(claim for claim in paper["claims"] if claim["verdict"] != "not run")
    before, claim["verdict"] = claim["verdict"], "contradicted" if claim["verdict"] != "contradicted" else "supported"
    paper["figures"][0]["sha256"] = "0" * 64
    write_json(tmp_path / "audit.json", ours)
    said = list(differences(theirs, tmp_path / "audit.json"))
    assert said == [
        f"{claim['id']}: their audit says {before}, these results say {claim['verdict']}",
        f"{FIGURE}: their table has other bytes than the one drawn from these results",
    ]


def test_snakemake_draws_from_imported_results_without_data_or_computing(archive: Path, tmp_path: Path) -> None:
    def resaudit(*arguments: str) -> Completed:
        return run_command("resaudit", *arguments, cwd=tmp_path)

    def snakemake(*arguments: str) -> Completed:
        # A folder of data that is empty, and no source that could be reached.
        config = ("--config", f"overrides={json.dumps([*OVERRIDES, 'dataset.sources=[folder]'])}")
        return run_snakemake(*arguments, *config, cwd=tmp_path)

    shutil.copy(archive, tmp_path / "run.zip")
    run = resaudit("import", "run.zip", *OVERRIDES, "dataset.sources=[folder]")
    assert run.returncode == 0, run.stderr
    assert f"run by {BY} as it says" in run.stdout
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "results").glob("hessians/*/spectra.npz")}
    assert modes == {0o444}
    drawn = snakemake()
    assert drawn.returncode == 0, drawn.stderr[-3000:]
    assert set(RULES.findall(drawn.stderr + drawn.stdout)) == {"draw", "show", "audit", "all"}
    (paper,) = [p for p in read_json(tmp_path / "figures" / "audit.json")["papers"] if p["figures"]]
    (part,) = paper["figures"][0]["imported"]
    assert (part["by"], part["jobs"]) == (BY, paper["figures"][0]["jobs"])
    assert part["archive"][:12] in (tmp_path / "figures" / "audit.html").read_text(encoding="utf-8")
    drawing = (tmp_path / "figures" / f"{FIGURE}.svg").read_text(encoding="utf-8")
    assert f"Imported: {len(part['jobs'])} of {len(part['jobs'])} results, run by {BY.split(' <')[0]}" in drawing
    again = resaudit("import", "run.zip", *OVERRIDES, "dataset.sources=[folder]")
    assert "no verdict and no table of it differs" in again.stdout, again.stdout + again.stderr
    idle = snakemake("--dry-run")
    assert "Nothing to be done" in idle.stdout + idle.stderr
    # Another edit of the code than the one that the results were accepted for.
    record = tmp_path / "results" / part["jobs"][0] / "imported.json"
    write_json(record, read_json(record) | {"accepted_code": "0" * 64})
    stale = snakemake("--dry-run")
    assert stale.returncode != 0
    assert f"1 imported results ({part['jobs'][0]} …) are of other code than today's" in stale.stderr
    forgotten = resaudit("import", "--forget", "run.zip", *OVERRIDES)
    assert forgotten.returncode == 0, forgotten.stderr
    assert not [path for key in part["jobs"] for path in tmp_path.glob(f"results/{key}")]
