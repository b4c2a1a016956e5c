"""Imports of a real archive, of forged ones and of interrupted ones. Oracles: the archive's bytes, and Snakemake.

Sees a forged job that is taken, a refused archive that leaves something behind, an own result that is overwritten, a
kill after which the next import does not go on, and imported results that Snakemake computes again.
"""

import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import zipfile
from collections.abc import Callable
from contextlib import chdir, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.io import IOFile
from snakemake.persistence.file import FilePersistence

from resaudit.base.errors import ArchiveError, ConfigError, ResauditError
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.jobs.results import JobProvenance
from resaudit.plan.composition import load
from resaudit.plan.models import Config, Layout
from resaudit.plan.plan import make_plan, with_inputs
from resaudit.share import importing
from resaudit.share.checking import _check_inputs, check_jobs
from resaudit.share.importing import differences, import_run
from resaudit.share.packed import Packed, unpacked
from resaudit.share.records import Import, forget_import, imports
from tests.conftest import Completed, configured, first_of, in_process, run_command, run_snakemake
from tests.ran import RAN
from tests.refusals import assert_exits, refused
from tests.share.archives import BY, FIGURE, OVERRIDES, a_job, config_in, forged, with_json, with_paths
from tests.share.imported import ARCHIVE, mark_imported

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


def assert_refused(archive: Path, config: Config, kind: type[ResauditError], **fields: object) -> None:
    with refused(kind, *fields.values()):
        imported(archive, config)
    assert left(Path(config.paths.results)) == []


def assert_mentions(archive: Path, config: Config, place: str) -> None:
    """Assert that an archive is refused in one line that names a place in it."""
    with pytest.raises(ResauditError) as error:
        imported(archive, config)
    assert place in str(error.value)
    assert str(error.value).isprintable()
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


def test_results_of_which_a_part_lies_on_another_file_system_are_imported_and_forgotten(
    archive: Path, config: Config, results: Path
) -> None:
    """Sees an import that stops when only some results are there: none can be renamed to another file system."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == results.parent.stat().st_dev:
        pytest.skip("there is no second file system here")
    results.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=memory) as elsewhere:
        (results / "hessians").symlink_to(elsewhere)
        record = imported(archive, config)
        assert all((results / key / "imported.json").is_file() for key in record.jobs)
        with zipfile.ZipFile(archive) as packed:
            assert (results / a_job(archive) / "spectra.npz").read_bytes() == packed.read(
                f"results/{a_job(archive)}/spectra.npz"
            )
        forget_import(record.archive, Layout(config.paths))
        assert list(Path(elsewhere).iterdir()) == []
        assert not list(results.glob(".import-*"))


@pytest.mark.parametrize("name", ["run.zip", "my files/run (1).zip"])
def test_an_archive_in_an_archive_is_named(name: str, archive: Path, config: Config, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as outer:
        outer.write(archive, name)
    assert_refused(tmp_path / "outer.zip", config, ArchiveError, inner=[name])


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
    ("name", "change", "fact"),
    [
        ("results/plan/{}.json", another_seed, "is not the plan of this job"),
        ("results/plan/{}.json", lambda plan: plan.update(id="x"), "is not the plan of this job"),
        (
            "results/{}/settings.json",
            lambda settings: settings.update(precision="float16"),
            "not of one computation",
        ),
        ("results/{}/provenance.json", another_input, "was computed from another"),
        ("results/{}/provenance.json", no_inputs, "was computed from another"),
        ("results/{}/provenance.json", not_a_number, "is not valid JSON"),
        ("results/{}/provenance.json", code_of_another, "are of other code"),
    ],
)
def test_a_forged_job_is_refused(
    name: str, change: Callable[[Any], None], fact: str, archive: Path, config: Config, tmp_path: Path
) -> None:
    bad = with_json(archive, tmp_path / "bad.zip", {name.format(a_job(archive)): change})
    assert_refused(bad, config, ArchiveError, what=fact)


def one_more_input(provenance: Any) -> None:
    provenance["inputs"]["train/another/trajectory.npz"] = "0" * 64


def one_input_less(provenance: Any) -> None:
    provenance["inputs"].popitem()


@pytest.mark.parametrize(
    ("kind", "change", "name"),
    [
        ("whiten", another_input, "train-images-idx3-ubyte"),
        ("whiten", one_more_input, "trajectory.npz"),
        ("hessians", one_more_input, "trajectory.npz"),
        ("hessians", one_input_less, "moments.npz"),
    ],
)
def test_inputs_that_a_job_cannot_have_read_are_named(
    kind: str, change: Callable[[Any], None], name: str, archive: Path, config: Config, tmp_path: Path
) -> None:
    key = first_of(make_plan(config), kind).key
    bad = with_json(archive, tmp_path / "bad.zip", {f"results/{key}/provenance.json": change})
    with refused(ArchiveError, key, f"/{name} "):
        imported(bad, config)
    assert left(Path(config.paths.results)) == []


def test_a_job_may_leave_out_what_raw_data_it_read(archive: Path, config: Config, tmp_path: Path) -> None:
    key = first_of(make_plan(config), "whiten").key
    silent = with_json(archive, tmp_path / "silent.zip", {f"results/{key}/provenance.json": no_inputs})
    assert key in imported(silent, config).jobs


def test_digests_of_raw_data_that_are_known_by_sha1_alone_are_taken(archive: Path) -> None:
    plan = make_plan(load(["scale=smoke"], only=["demystifying_resnet/fig09"]))
    job = first_of(plan, "train_images")
    read = dict.fromkeys(job.data_read(Path()), "0" * 64)
    assert read
    with unpacked(archive) as packed:
        for inputs, is_taken in ((read, True), (read | {"fetch/another/test.bin": "0" * 64}, False)):
            provenances = {job.key: JobProvenance.model_validate(RAN | {"inputs": inputs})}
            with nullcontext() if is_taken else refused(ArchiveError, "fetch/another/test.bin"):
                _check_inputs(packed, job, provenances)


def test_a_job_whose_inputs_are_not_in_the_archive_is_refused(archive: Path, config: Config) -> None:
    plan = make_plan(config)
    key = first_of(plan, "whiten").key
    with unpacked(archive) as packed:
        rest = replace(packed, jobs={job: files for job, files in packed.jobs.items() if job != key})
        with refused(ArchiveError, key):
            check_jobs(rest, plan, other_code=False)


def test_a_table_that_was_judged_and_is_not_there_is_refused(archive: Path, config: Config) -> None:
    """Of an audit of another format it is not known which were."""
    plan, table = make_plan(config), f"figures/{FIGURE}.csv"
    with unpacked(archive) as packed:
        lacking = replace(packed, digests={name: each for name, each in packed.digests.items() if name != table})
        with refused(ArchiveError, FIGURE):
            check_jobs(lacking, plan, other_code=False)
        other_format = replace(lacking, audit=packed.audit | {"version": 99})
        assert check_jobs(other_format, plan, other_code=False).keys() == packed.jobs.keys()


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
    assert_refused(forged(archive, bad, {table: b"a,b\n1,2\n"}, listed=False), config, ArchiveError, name=repr(table))
    assert_refused(forged(archive, bad, {table: b"a,b\n1,2\n"}), config, ArchiveError, figure=FIGURE)
    assert_refused(forged(archive, bad, {spectra: b"1"}), config, ArchiveError)
    assert_refused(forged(archive, bad, {spectra: None}, listed=False), config, ArchiveError)
    assert_refused(forged(archive, bad, {"figures/more.csv": b"1"}), config, ArchiveError, name="'figures/more.csv'")
    assert_refused(forged(archive, bad, {"evil/sitecustomize.py": b"1"}), config, ArchiveError)


def test_a_forged_array_with_all_digests_redone_is_refused_before_it_is_read(
    archive: Path, config: Config, tmp_path: Path
) -> None:
    folder, bad = f"results/{a_job(archive)}", b"not an array"
    with zipfile.ZipFile(archive) as real:
        ran = json.loads(real.read(f"{folder}/provenance.json"))
    ran["sha256"]["spectra.npz"] = hashlib.sha256(bad).hexdigest()
    files = {f"{folder}/spectra.npz": bad, f"{folder}/provenance.json": json.dumps(ran).encode()}
    forgery = forged(archive, tmp_path / "bad.zip", files)
    assert_refused(forgery, config, ArchiveError, path=f"{forgery}: {folder}/spectra.npz")
    imported(archive, config)
    (Path(config.paths.results) / a_job(archive) / "imported.json").write_text("{", encoding="utf-8")
    before = left(Path(config.paths.results))
    with refused(ArchiveError, "get the archive again"):
        imported(forgery, config)
    assert left(Path(config.paths.results)) == before


def test_a_run_of_another_seed_is_refused_with_its_overrides(archive: Path, tmp_path: Path) -> None:
    with refused(ArchiveError, "…) are not planned here") as error:
        imported(archive, config_in(tmp_path, "seed=7"))
    assert shlex.join(OVERRIDES) in str(error.value)
    assert "papers_path" not in str(error.value)


@pytest.mark.parametrize(
    "overrides", [["seed=7"] * 100, ["seed=\x1b7"], ["seed=7\n"], 7, ["figures=[a, b]", "x=$HOME"]]
)
def test_overrides_that_are_long_or_odd_are_not_called_none(overrides: object, archive: Path, tmp_path: Path) -> None:
    other = with_json(
        archive, tmp_path / "odd.zip", {"figures/audit.json": lambda audit: audit.update(overrides=overrides)}
    )
    with refused(ArchiveError, "…) are not planned here") as error:
        imported(other, config_in(tmp_path, "seed=8"))
    remedy = str(error.value).partition("not planned here; ")[2]
    assert "no overrides" not in remedy
    assert ("figures/audit.json" in remedy) is ("$HOME" not in str(overrides))
    assert "x=$HOME" not in remedy or "'figures=[a, b]' 'x=$HOME'" in remedy


def another_paper(audit: Any) -> None:
    figure = next(figure for paper in audit["papers"] for figure in paper["figures"])
    figure["id"] = "beta/fig01"


def test_a_run_of_a_paper_outside_is_refused_with_papers_path(archive: Path, config: Config, tmp_path: Path) -> None:
    """Its figure, or the kind of its jobs, is known by nobody here; of a run of another seed both are."""
    outside = with_json(archive, tmp_path / "beta.zip", {"figures/audit.json": another_paper})
    with refused(ArchiveError, "…) are not planned here") as error:
        imported(outside, config_in(tmp_path, "seed=7"))
    assert "papers_path=" in str(error.value)
    with unpacked(archive) as packed:
        for key, is_outside in (("descend/beta", True), ("hessians/another", False)):
            other = replace(packed, jobs={key: set()}, audit={"overrides": ["figures=[beta]"]})
            with refused(ArchiveError, 1, key) as error:
                check_jobs(other, make_plan(config), other_code=False)
            assert "figures=[beta]" in str(error.value)
            assert ("papers_path=" in str(error.value)) == is_outside


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
    forget_import(record.archive[:8], Layout(config.paths))
    assert left(results) == sorted(f"{record.kept[0]}/{name}" for name in names)


def test_kept_results_are_counted_and_those_that_differ_named(archive: Path, config: Config, results: Path) -> None:
    def said() -> list[str]:
        lines: list[str] = []
        import_run(archive, config, OVERRIDES, False, lines.append)
        return lines

    first, own = said(), sorted((results / "hessians").iterdir())[:3]
    for folder in own:
        (folder / "imported.json").unlink()
    (own[1] / "spectra.npz").write_bytes(b"computed here")
    keys = [folder.relative_to(results).as_posix() for folder in own]
    again = said()
    assert [key for line in again for key in keys if key in line] == [keys[1]]
    assert [line for line in again if re.findall(r"\d+", line) == ["3", "2", "1"]]
    assert not [line for line in first if re.findall(r"\d+", line) == ["0", "0", "0"]]


def test_planned_results_that_are_not_in_the_archive_are_recorded(archive: Path, tmp_path: Path) -> None:
    """Of the figures that are asked for; nothing is missing that a fetch would store."""
    alone = with_paths(configured(*OVERRIDES), tmp_path / "alone")
    assert imported(archive, alone).missing == []
    more = "demystifying_resnet/fig07"
    both = with_paths(configured("scale=smoke", f"figures=[{FIGURE},{more}]"), tmp_path / "both")
    lines: list[str] = []
    record = import_run(archive, both, OVERRIDES, False, lines.append)
    jobs = with_inputs(make_plan(both).figures[more].jobs.values())
    assert record.missing == sorted(key for key, job in jobs.items() if job.files and key not in record.jobs)
    assert {key.split("/")[0] for key in record.missing} == {"train"}
    assert [line for line in lines if line.startswith(f"{len(record.missing)} ") and record.missing[0] in line]


def damage(folder: Path) -> None:
    (folder / "spectra.npz").write_bytes(b"damaged")


def accept_for_other_code(folder: Path) -> None:
    write_json(folder / "imported.json", read_json(folder / "imported.json") | {"accepted_code": "0" * 64})


@pytest.mark.parametrize(
    ("spoil", "is_moved"),
    [
        (lambda _folder: None, False),
        (damage, True),
        (accept_for_other_code, True),
        (lambda folder: (folder / "settings.json").unlink(), True),
        (lambda folder: (folder / "spectra.npz").unlink(), True),
        (lambda folder: (folder / "imported.json").write_text("{", encoding="utf-8"), True),
    ],
    ids=["whole", "damaged", ArchiveError, "no-settings", "no-result", "no-origin"],
)
def test_of_a_run_that_is_here_only_what_is_not_whole_is_moved_in_again(
    spoil: Callable[[Path], None], is_moved: bool, archive: Path, config: Config, results: Path
) -> None:
    def folders() -> dict[str, int]:
        return {key: (results / key).stat().st_ino for key in record.jobs}

    record, key = imported(archive, config), a_job(archive)
    before = folders()
    whole = {path.name: path.read_bytes() for path in (results / key).iterdir()}
    spoil(results / key)
    assert imported(archive, config) == record
    assert {each for each, number in folders().items() if number != before[each]} == ({key} if is_moved else set())
    assert {path.name: path.read_bytes() for path in (results / key).iterdir()} == whole


def test_what_was_drawn_from_a_forgotten_import_goes_and_a_matrix_of_it(config: Config) -> None:
    layout = Layout(config.paths)
    mark_imported([], layout.results)
    of_import = [{"archive": ARCHIVE, "by": BY, "jobs": []}]
    names = {
        "alpha/fig01": {"sha256": "1" * 64, "imported": of_import},
        "alpha/fig02": {"sha256": "2" * 64, "imported": []},
        "alpha/robustness": {"sha256": "3" * 64, "tables": {"alpha/fig01": "1" * 64, "alpha/fig02": "2" * 64}},
        "beta/robustness": {"sha256": "4" * 64, "tables": {"beta/fig02": "2" * 64}},
    }
    for name, about in names.items():
        write_json(layout.figure(name, "json"), about)
        layout.figure(name, "csv").touch()
    forget_import(ARCHIVE, layout)
    stay = ["alpha/fig02.csv", "alpha/fig02.json", "beta/robustness.csv", "beta/robustness.json"]
    assert left(layout.figures) == stay


def test_of_two_imports_the_one_that_is_forgotten_takes_its_own_results_alone(
    archive: Path, config: Config, results: Path, tmp_path: Path
) -> None:
    key = a_job(archive)
    slower = with_json(
        archive, tmp_path / "slower.zip", {f"results/{key}/provenance.json": lambda ran: ran.update(seconds=9.5)}
    )
    first = imported(archive, config)
    shutil.rmtree(results / key)
    second = imported(slower, config)
    assert (second.jobs, sorted([*second.jobs, *second.kept])) == ([key], first.jobs)
    # Computed here since.
    again = next(folder for folder in sorted((results / "hessians").iterdir()) if folder != results / key)
    ran = read_json(again / "provenance.json")
    write_json(again / "provenance.json", ran | {"sha256": dict.fromkeys(ran["sha256"], "0" * 64)})
    own = again.relative_to(results).as_posix()
    stays = [name for name in left(results) if name.startswith((f"{key}/", f"{own}/"))]
    for unknown in ("", "x", second.archive[:-1] + "g"):
        with refused(ConfigError, 0, unknown):
            forget_import(unknown, Layout(config.paths))
    twin = second.model_copy(update={"archive": second.archive[:-1] + ("0" if second.archive[-1] != "0" else "1")})
    write_json(results / "imports" / f"{twin.archive}.json", twin.model_dump(mode="json"))
    with refused(ConfigError, 2):
        forget_import(second.archive[:-1], Layout(config.paths))
    assert forget_import(twin.archive, Layout(config.paths)) == (twin.archive, [])
    assert forget_import(first.archive, Layout(config.paths)) == (first.archive, sorted({*first.jobs} - {key, own}))
    assert left(results) == sorted([*stays, f"imports/{second.archive}.json"])
    assert imports(results) == [second]
    assert forget_import(str(slower), Layout(config.paths)) == (second.archive, [key])
    assert left(results) == [name for name in stays if name.startswith(f"{own}/")]


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


@pytest.mark.parametrize(
    ("words", "status", "mentioned"),
    [
        ((), 2, "--forget"),
        (("nowhere.zip",), 1, "nowhere.zip is not a file"),
        (("results",), 1, "results is not a file"),
        (("--forget", "abc"), 1, "'abc' names 0 imports"),
    ],
)
def test_an_import_without_an_archive_is_one_line(
    words: tuple[str, ...], status: int, mentioned: str, tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    run = in_process("import", *words, cwd=tmp_path)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (status, "", 1)
    assert [word for word in mentioned.split() if word not in run.stderr] == []
    assert left(tmp_path / "results") == []


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
    assert_exits(snakemake("--dry-run"), part["jobs"][0])
    forgotten = resaudit("import", "--forget", "run.zip", *OVERRIDES)
    assert forgotten.returncode == 0, forgotten.stderr
    assert not [path for key in part["jobs"] for path in tmp_path.glob(f"results/{key}")]
    # What was drawn from them is gone too: Snakemake would go on showing it.
    assert not list((tmp_path / "figures").glob(f"{FIGURE}.*"))
    anew = snakemake("--dry-run")
    assert {"hessians", "draw", "show", "audit"} <= set(RULES.findall(anew.stdout + anew.stderr))
