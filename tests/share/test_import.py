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
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.io import IOFile
from snakemake.persistence.file import FilePersistence

from resaudit.base.errors import ResauditError
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from resaudit.share.imports import importing
from resaudit.share.imports.checking import check_jobs
from resaudit.share.imports.importing import differences, import_run
from resaudit.share.imports.packed import Packed, unpacked
from resaudit.share.records import Import, forget_import, imports
from tests.conftest import Completed, run_command, run_snakemake
from tests.refusals import assert_exits, refused
from tests.share.archives import BY, FIGURE, OVERRIDES, a_job, config_in, forged, with_json

pytest.importorskip("rocrate", reason="the extra crate is not installed")

RULES = re.compile(r"^(?:local)?rule (\w+):$", re.MULTILINE)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_in(tmp_path)


@pytest.fixture
def results(config: Config) -> Path:
    return Path(config.paths.results)


def imported(archive: Path, config: Config, other_code: bool = False) -> Import:
    return import_run(archive, config, OVERRIDES, other_code, lambda _: None)


def left(results: Path) -> list[str]:
    """All files of a results folder but the lock's."""
    return sorted(p.relative_to(results).as_posix() for p in results.rglob("*") if p.is_file() and p.name != ".lock")


def assert_refused(archive: Path, config: Config, code: str, **fields: object) -> None:
    with refused(code, **fields):
        imported(archive, config)
    assert left(Path(config.paths.results)) == []


def assert_mentions(archive: Path, config: Config, place: str) -> None:
    """Assert that an archive is refused in one line that names a place in it."""
    with pytest.raises(ResauditError) as error:
        imported(archive, config)
    assert place in str(error.value)
    assert error.value.line.isprintable()
    assert left(Path(config.paths.results)) == []


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
    ("name", "change", "code"),
    [
        ("results/plan/{}.json", another_seed, "changed-plan"),
        ("results/plan/{}.json", lambda plan: plan.update(id="x"), "changed-plan"),
        ("results/{}/settings.json", lambda settings: settings.update(precision="float16"), "changed-job"),
        ("results/{}/provenance.json", another_input, "changed-inputs"),
        ("results/{}/provenance.json", no_inputs, "changed-inputs"),
        ("results/{}/provenance.json", not_a_number, "invalid-json"),
        ("results/{}/provenance.json", code_of_another, "other-code"),
    ],
)
def test_a_forged_job_is_refused(
    name: str, change: Callable[[Any], None], code: str, archive: Path, config: Config, tmp_path: Path
) -> None:
    bad = with_json(archive, tmp_path / "bad.zip", {name.format(a_job(archive)): change})
    assert_refused(bad, config, code)


def test_a_provenance_without_its_code_is_refused(archive: Path, config: Config, tmp_path: Path) -> None:
    name = f"results/{a_job(archive)}/provenance.json"
    assert_mentions(
        with_json(archive, tmp_path / "bad.zip", {name: lambda ran: ran.pop("code")}), config, f"{name}.code"
    )


def test_other_bytes_are_refused_wherever_their_digest_is_not_redone(
    archive: Path, config: Config, tmp_path: Path
) -> None:
    table, spectra = f"figures/{FIGURE}.csv", f"results/{a_job(archive)}/spectra.npz"
    bad = tmp_path / "bad.zip"
    assert_refused(
        forged(archive, bad, {table: b"a,b\n1,2\n"}, listed=False), config, "changed-entry", name=repr(table)
    )
    assert_refused(forged(archive, bad, {table: b"a,b\n1,2\n"}), config, "changed-table", figure=FIGURE)
    assert_refused(forged(archive, bad, {spectra: b"1"}), config, "changed-job")
    assert_refused(forged(archive, bad, {spectra: None}, listed=False), config, "changed-entry")
    assert_refused(forged(archive, bad, {"figures/more.csv": b"1"}), config, "changed-entry", name="'figures/more.csv'")
    assert_refused(forged(archive, bad, {"evil/sitecustomize.py": b"1"}), config, "invalid-entry")


def test_a_forged_array_with_all_digests_redone_is_refused_before_it_is_read(
    archive: Path, config: Config, tmp_path: Path
) -> None:
    folder, bad = f"results/{a_job(archive)}", b"not an array"
    with zipfile.ZipFile(archive) as real:
        ran = json.loads(real.read(f"{folder}/provenance.json"))
    ran["sha256"]["spectra.npz"] = hashlib.sha256(bad).hexdigest()
    files = {f"{folder}/spectra.npz": bad, f"{folder}/provenance.json": json.dumps(ran).encode()}
    assert_refused(forged(archive, tmp_path / "bad.zip", files), config, "unreadable-arrays")


def test_a_run_of_another_seed_is_refused_with_its_overrides(archive: Path, tmp_path: Path) -> None:
    with refused("unplanned-results") as error:
        imported(archive, config_in(tmp_path, "seed=7"))
    assert " ".join(OVERRIDES) in str(error.value.fields["remedy"])
    assert error.value.fields["papers"] == ""


def another_paper(audit: Any) -> None:
    figure = next(figure for paper in audit["papers"] for figure in paper["figures"])
    figure["id"] = "beta/fig01"


def test_a_run_of_a_paper_outside_is_refused_with_papers_path(archive: Path, config: Config, tmp_path: Path) -> None:
    """Its figure, or the kind of its jobs, is known by nobody here; of a run of another seed both are."""
    outside = with_json(archive, tmp_path / "beta.zip", {"figures/audit.json": another_paper})
    with refused("unplanned-results") as error:
        imported(outside, config_in(tmp_path, "seed=7"))
    assert "papers_path=" in str(error.value.fields["papers"])
    with unpacked(archive) as packed:
        for key, is_outside in (("descend/beta", True), ("hessians/another", False)):
            other = replace(packed, jobs={key: set()}, audit={"overrides": ["figures=[beta]"]})
            with refused("unplanned-results", count=1, first=key) as error:
                check_jobs(other, make_plan(config), other_code=False)
            assert "figures=[beta]" in str(error.value.fields["remedy"])
            assert ("papers_path=" in str(error.value.fields["papers"])) == is_outside


def test_other_code_is_accepted_on_request_and_recorded(archive: Path, config: Config, tmp_path: Path) -> None:
    key = a_job(archive)
    other = with_json(archive, tmp_path / "other.zip", {f"results/{key}/provenance.json": code_of_another})
    imported(other, config, other_code=True)
    origin = read_json(tmp_path / "results" / key / "imported.json")
    assert (origin["code"], origin["by"]) == ("0" * 64, BY)
    assert origin["accepted_code"] not in ("0" * 64, None)


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


@pytest.mark.parametrize(
    ("place", "name", "call"),
    [(importing, "check_jobs", 0), (Packed, "copy", 7), (importing, "build_tables", 0), (Path, "chmod", 3),
     (Path, "rename", 1), (importing, "forget", 1), (importing, "write_json", -1)],
)  # fmt: skip
def test_a_killed_import_leaves_whole_jobs_and_the_next_one_goes_on(
    place: Any, name: str, call: int, archive: Path, config: Config, results: Path
) -> None:
    """Killed at a call of what it does on the way, by its number; at the last, the record of the import is written."""
    calls = iter(range(100_000))
    real: Callable[..., Any] = getattr(place, name)

    def dies(*arguments: Any) -> Any:
        is_last = call < 0 and Path(str(arguments[0])).parent.name == "imports"
        if is_last or next(calls) == call:
            os._exit(9)
        return real(*arguments)

    child = os.fork()
    if child == 0:
        setattr(place, name, dies)
        imported(archive, config)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not list(results.glob("imports/*"))
    for folder in (path.parent for path in results.glob("*/*/settings.json")):
        assert {"imported.json", "provenance.json", "settings.json"} < {path.name for path in folder.iterdir()}
    record = imported(archive, config)
    assert not list(results.glob(".import-*"))
    assert all((results / key / "imported.json").is_file() for key in record.jobs)
    assert not [path for path in results.glob("*/*/settings.json") if path.stat().st_mode & 0o222]


def test_an_import_is_whole_where_a_file_system_takes_no_modes(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(path: Path, _mode: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))

    monkeypatch.setattr(Path, "chmod", refuses)
    record = imported(archive, config_in(tmp_path))
    assert record.jobs
    assert [each.jobs for each in imports(tmp_path / "results")] == [record.jobs]
    assert len(capsys.readouterr().err.splitlines()) == 1
    modes = {path.stat().st_mode & 0o222 for path in (tmp_path / "results").glob("hessians/*/spectra.npz")}
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
    of_claim, of_table = differences(theirs, tmp_path / "audit.json")
    assert of_claim.startswith(f"{claim['id']}: ")
    assert of_claim.index(before) < of_claim.index(claim["verdict"])
    assert of_table.startswith(f"{FIGURE}: ")


def test_snakemake_draws_from_imported_results_without_data_or_computing(archive: Path, tmp_path: Path) -> None:
    def resaudit(*arguments: str) -> Completed:
        return run_command("resaudit", *arguments, cwd=tmp_path)

    def snakemake(*arguments: str) -> Completed:
        # A folder of data that is empty, and no source that could be reached.
        config = ("--config", f"overrides={json.dumps([*OVERRIDES, 'dataset.sources=[folder]'])}")
        return run_snakemake(*arguments, *config, cwd=tmp_path)

    shutil.copy(archive, tmp_path / "run.zip")
    # The mark of a job that was killed here, by which Snakemake would run it again.
    with chdir(tmp_path):
        FilePersistence().started(SimpleNamespace(output=[IOFile(f"results/{a_job(archive)}/spectra.npz")]))
    run = resaudit("import", "run.zip", *OVERRIDES, "dataset.sources=[folder]")
    assert run.returncode == 0, run.stderr
    assert BY in run.stdout
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
    assert BY.split(" <")[0] in drawing
    again = resaudit("import", "run.zip", *OVERRIDES, "dataset.sources=[folder]")
    assert again.returncode == 0, again.stderr
    (record,) = imports(tmp_path / "results")
    # Compared this time: the verdict line comes in place of the one that names the next command.
    assert (record.differences, "snakemake" in again.stdout) == ([], False)
    idle = snakemake("--dry-run")
    assert not RULES.findall(idle.stdout + idle.stderr)
    # Another edit of the code than the one that the results were accepted for.
    origin = tmp_path / "results" / part["jobs"][0] / "imported.json"
    write_json(origin, read_json(origin) | {"accepted_code": "0" * 64})
    assert_exits(snakemake("--dry-run"), "stale-imports", part["jobs"][0])
    forgotten = resaudit("import", "--forget", "run.zip", *OVERRIDES)
    assert forgotten.returncode == 0, forgotten.stderr
    assert not [path for key in part["jobs"] for path in tmp_path.glob(f"results/{key}")]
