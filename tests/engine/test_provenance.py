"""Oracle: another checkout, another process, made descriptions. Sees a machine taken for one of another platform."""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from resaudit.base.files import write_json
from resaudit.jobs.provenance import commit_of, provenance
from resaudit.jobs.results import codes, cpu_platforms
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan, with_inputs
from resaudit.runtime.machine import cpu_platform, processor
from tests.conftest import CHECKOUT, run_command
from tests.ran import RAN

INTEL = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\nstepping\t: 8\n\n"
ARM = "processor\t: 0\nBogoMIPS\t: 2100.00\nCPU part\t: 0xd4f\n\n"


def test_the_lock_file_is_named_by_its_bytes() -> None:
    found = provenance()["constraints_sha256"]
    assert found == hashlib.sha256((CHECKOUT / "constraints.txt").read_bytes()).hexdigest()


def test_outside_a_checkout_no_lock_file_and_no_commit_is_named(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "src" / "resaudit", tmp_path / "site" / "resaudit")
    code = "import json; from resaudit.jobs.provenance import provenance; print(json.dumps(provenance()))"
    run = run_command(sys.executable, "-c", code, cwd=tmp_path, environment={"PYTHONPATH": str(tmp_path / "site")})
    found = json.loads(run.stdout)
    assert (found["constraints_sha256"], found["commit"]) == (None, None)


@pytest.mark.parametrize("tracked", [False, True])
def test_a_copy_inside_another_repository_has_no_commit(tracked: bool, tmp_path: Path) -> None:
    inner = tmp_path / "inner" / "src" / "resaudit" / "jobs"
    inner.mkdir(parents=True)
    for name in (inner.parent / "__init__.py", inner / "__init__.py", tmp_path / "README.md"):
        name.touch()
    shutil.copy(CHECKOUT / "src/resaudit/jobs/provenance.py", inner)
    for arguments in (["init", "-q"], ["add", "." if tracked else "README.md"], ["commit", "-qm", "all"]):
        assert run_command("git", "-c", "user.name=x", "-c", "user.email=x", *arguments, cwd=tmp_path).returncode == 0
    code = "from resaudit.jobs.provenance import commit; print(commit())"
    environment = {"PYTHONPATH": str(tmp_path / "inner" / "src")}
    assert run_command(sys.executable, "-c", code, cwd=tmp_path, environment=environment).stdout == "None\n"


def test_asking_for_the_commit_does_not_write_the_users_index(tmp_path: Path) -> None:
    """Sees the lock of an index that is written again, for which the user's own commit fails."""
    (tmp_path / "a.py").touch()
    for arguments in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", "all"]):
        assert run_command("git", "-c", "user.name=x", "-c", "user.email=x", *arguments, cwd=tmp_path).returncode == 0
    os.utime(tmp_path / "a.py", (1, 1))
    before = (tmp_path / ".git" / "index").read_bytes()
    assert commit_of(tmp_path, ["a.py"]) is not None
    assert (tmp_path / ".git" / "index").read_bytes() == before


def test_a_folder_that_no_repository_tracks_has_no_commit(tmp_path: Path) -> None:
    """Sees ignored or untracked sources that are said to be as committed."""
    for name in ("kept/a.py", "ignored/a.py", "untracked/a.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("ignored/\n", encoding="utf-8")
    assert commit_of(tmp_path, ["kept"]) is None
    for arguments in (["init", "-q"], ["add", ".gitignore", "kept"], ["commit", "-qm", "all"]):
        assert run_command("git", "-c", "user.name=x", "-c", "user.email=x", *arguments, cwd=tmp_path).returncode == 0
    kept = commit_of(tmp_path, ["kept"])
    assert kept is not None
    assert (len(kept["id"]), kept["clean"]) == (40, True)
    assert commit_of(tmp_path, ["ignored"]) is commit_of(tmp_path, ["untracked"]) is None
    (tmp_path / "kept" / "__pycache__").mkdir()
    (tmp_path / "kept" / "__pycache__" / "a.cpython-311.pyc").touch()
    assert commit_of(tmp_path, ["kept"]) == kept
    (tmp_path / "kept" / "b.py").touch()
    assert commit_of(tmp_path, ["kept"]) == kept | {"clean": False}


def test_untracked_sources_are_changes_and_edited_site_profiles_are_not(tmp_path: Path) -> None:
    site = "profiles/slurm/config.yaml"
    for name in ("src/resaudit/__init__.py", "src/resaudit/jobs/__init__.py", site, "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shutil.copy(CHECKOUT / "src/resaudit/jobs/provenance.py", tmp_path / "src/resaudit/jobs")
    (tmp_path / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")

    def git(*arguments: str) -> None:
        run = run_command("git", "-c", "user.name=x", "-c", "user.email=x", *arguments, cwd=tmp_path)
        assert run.returncode == 0, run.stderr

    def clean() -> bool:
        code = "from resaudit.jobs.provenance import commit; print(commit()['clean'])"
        run = run_command(sys.executable, "-c", code, cwd=tmp_path, environment={"PYTHONPATH": str(tmp_path / "src")})
        return {"True\n": True, "False\n": False}[run.stdout]

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    assert clean()
    for harmless in (site, "profiles/mine/config.yaml", "README.md", "notes.txt"):
        (tmp_path / harmless).parent.mkdir(exist_ok=True)
        (tmp_path / harmless).write_text("changed", encoding="utf-8")
    assert clean()
    for source in ("src/resaudit/new.py", "config/paper/new/claims.yaml", "workflow/rules/new.smk"):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).touch()
        assert not clean(), source
        (tmp_path / source).unlink()
    (tmp_path / "src/resaudit/__init__.py").write_text("changed = 1", encoding="utf-8")
    assert not clean()


@pytest.mark.parametrize(
    ("described", "said"),
    [
        (INTEL + INTEL.replace("143", "999"), "Intel(R) Xeon(R), cpu family 6, model 143, stepping 8"),
        (ARM, "CPU part 0xd4f"),
    ],
)
def test_a_processor_is_named_by_its_model_and_numbers(described: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(described, encoding="utf-8")
    assert said in processor(tmp_path / "cpuinfo")


def test_where_linux_does_not_describe_the_processor_it_is_named_still(tmp_path: Path) -> None:
    assert processor(tmp_path / "cpuinfo")


def class_with(environment: dict[str, str], folder: Path, loaded: str = "torch") -> dict[str, Any]:
    imported = (
        f"import json, {loaded}, residual.demystifying_resnet.jobs; from resaudit.runtime.machine import cpu_platform"
    )
    code = f"{imported}; print(json.dumps(cpu_platform('cpu')))"
    path = {"PYTHONPATH": str(CHECKOUT / "src")}
    return json.loads(run_command(sys.executable, "-c", code, cwd=folder, environment=path | environment).stdout)


def test_a_machine_made_to_compute_as_an_older_one_is_of_another_class(tmp_path: Path) -> None:
    older = class_with({"ATEN_CPU_CAPABILITY": "default", "RESAUDIT_VECTOR_BITS": "128"}, tmp_path)
    assert older == class_with({"ATEN_CPU_CAPABILITY": "default", "RESAUDIT_VECTOR_BITS": "128"}, tmp_path)
    here = cpu_platform("cpu")
    assert older["processor"] == here["processor"]
    switched = {"ATEN_CPU_CAPABILITY": "default", "RESAUDIT_VECTOR_BITS": "128"}
    assert older["switches"] == here["switches"] | switched
    assert older["instruction set"] in ("DEFAULT", "default", "NO AVX")
    assert older["vector lanes"]["training"] in (4, None)


SWITCHED = {
    "DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_DEFAULT_FPMATH_MODE": "BF16", "MKL_CBWR": "AUTO", "OPENBLAS_CORETYPE": "ZEN",
    "BLIS_ARCH_TYPE": "zen", "OMP_DYNAMIC": "true", "KMP_FORCE_REDUCTION": "tree", "NPY_DISABLE_CPU_FEATURES": "AVX2",
    "NVIDIA_TF32_OVERRIDE": "1", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1", "CUBLAS_WORKSPACE_CONFIG": ":16:8",
    "MKL_DOMAIN_NUM_THREADS": "MKL_BLAS=2", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2", "PYTORCH_NEW_SWITCH": "1",
}  # fmt: skip
NOT_SWITCHED = {
    "OMP_NUM_THREADS": "7", "MKL_NUM_THREADS": "7", "OMP_PLACES": "cores", "OMP_PROC_BIND": "true", "DNNL_VERBOSE": "1",
    "KMP_AFFINITY": "compact", "TORCH_HOME": "/home/me", "PYTORCH_VERSION": "2.9", "NVIDIA_API_KEY": "nvapi-7",
    "NVIDIA_VISIBLE_DEVICES": "all", "TORCH_TOKEN": "7", "MKL_CBWR": "", "HOME": "/home/me",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}  # fmt: skip


def test_any_variable_of_a_library_that_may_change_digits_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sees a switch of another name than those known when this was written."""
    before = cpu_platform("cpu")["switches"]
    for name, value in NOT_SWITCHED.items():
        monkeypatch.setenv(name, value)
    assert cpu_platform("cpu")["switches"] == before
    for name, value in SWITCHED.items():
        monkeypatch.setenv(name, value)
    assert cpu_platform("cpu")["switches"] == before | SWITCHED


def test_a_job_without_torch_is_of_a_class_without_torch(tmp_path: Path) -> None:
    without = class_with({}, tmp_path, loaded="numpy")
    here = cpu_platform("cpu")
    assert without == {
        **{key: here[key] for key in ("device", "processor", "switches")},
        "BLAS": {"numpy": here["BLAS"]["numpy"]},
    }


def test_a_figure_lists_each_class_that_its_results_were_computed_on_once(tmp_path: Path) -> None:
    (part,) = make_plan(load(["scale=smoke", "figures=[fig07]"])).figures.values()
    jobs = list(part.jobs.values())
    first, *others = (job.folder(tmp_path) for job in jobs)
    assert others
    one, another = ({"device": "cpu", "processor": name} for name in ("one", "another"))
    for folder in (first, *others[:-1]):
        write_json(folder / "provenance.json", RAN | {"machine class": one})
    write_json(others[-1] / "provenance.json", RAN | {"machine class": another})
    assert cpu_platforms(jobs, tmp_path) == [one, another]


def test_a_figure_counts_the_results_of_each_code_by_kind(tmp_path: Path) -> None:
    (part,) = make_plan(load(["scale=smoke", "figures=[fig07]"])).figures.values()
    jobs = with_inputs(part.jobs.values()).values()
    there = {job.key: job for job in jobs if job.files and job.kind != "whiten"}
    assert {job.kind for job in jobs} > {job.kind for job in there.values()} == {"train"}
    first, *others = there.values()
    write_json(first.record(tmp_path), RAN | {"code": "1" * 64})
    for job in others:
        write_json(job.record(tmp_path), RAN)
    assert codes(jobs, tmp_path) == {"train": {"0" * 64: len(others), "1" * 64: 1}}
