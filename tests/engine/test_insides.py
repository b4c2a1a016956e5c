"""Each name of Snakemake's that no public means replaces. Oracle: Snakemake itself, in runs of a workflow of two rules.

Sees a version in which a name is gone or means something else; the Snakefile would say nothing, or end in a traceback.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Completed, run_command
from tests.forked import snakemake

TOY = """
import json
from pathlib import Path
from resaudit.cli.insides import Insides

inside = Insides(workflow)
MODE = config.get("mode", "")
seen = {"is_users": inside.is_users, "gpus": inside.gpus}
inside.bound_gpus(3)
seen.update(bound=inside.gpus, on_cluster=inside.on_cluster, cores=inside.cores)


rule all:
    input: "second"


def of_first(wildcards):
    if MODE == "again":
        inside.make_again([Path("first")])
    if MODE == "forget":
        inside.forget([Path("first")])
    return []


rule first:
    input: of_first
    output: "first"
    log: "first.log"
    params: job="first/1", changing=config.get("changing", 0)
    shell: "test ! -e broken && touch {output}"


rule second:
    input: "first"
    output: "second"
    shell: "touch {output}"


def write():
    Path("seen.json").write_text(json.dumps(seen))


onstart:
    files = [Path(name) for name in ("first", "nowhere")]
    seen.update(in_storage=inside.in_storage, copies=str(inside.copies), exist=[inside.exists(file) for file in files])
    seen["here"] = [inside.here(file).is_file() for file in files]
    seen.update(compares_params=inside.compares_params, targets=sorted(inside.targets))
    seen.update(unknown=inside.made_at(Path("nowhere")), made_at=inside.made_at(Path("first")))
    seen["waiting"] = sorted([job.rule.name, job.params.get("job"), sorted(other.rule.name for other in others)]
                             for job, others in inside.waiting().items())
    seen["has"] = [inside.has(rule) for rule in ("first", "third")]
    seen["limited"] = workflow.scheduler.job_rate_limiter is not None
    inside.unbound_rate()
    seen["limited_then"] = workflow.scheduler.job_rate_limiter is not None
    write()


onerror:
    seen["failed"] = [[job.rule.name, *job.log] for job in inside.failed()]
    write()
"""


def run(folder: Path, *arguments: str) -> Completed:
    (folder / "Snakefile").write_text(TOY)
    return snakemake("--cores", "1", *arguments, cwd=folder)


def seen(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "seen.json").read_text())
    return found


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the workflow ran."""
    folder = tmp_path_factory.mktemp("toy")
    assert run(folder, "second", "first").returncode == 0
    return folder


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("is_users", True),
        ("compares_params", True),
        ("targets", ["first", "second"]),
        ("gpus", None),
        ("bound", 3),
        ("on_cluster", None),
        ("cores", 1),
        ("unknown", None),
        ("waiting", [["first", "first/1", []], ["second", None, ["first"]]]),
        ("has", [True, False]),
        ("in_storage", False),
        ("copies", "."),
        ("exist", [False, False]),
        ("limited", True),
        ("limited_then", False),
    ],
)
def test_what_snakemake_knows_of_a_run(name: str, value: object, once: Path) -> None:
    assert seen(once)[name] == value


def test_what_a_user_bounds_or_leaves_out_is_known(tmp_path: Path) -> None:
    assert run(tmp_path, "--resources", "gpu=2", "--rerun-triggers", "mtime").returncode == 0
    found = seen(tmp_path)
    assert (found["gpus"], found["bound"], found["compares_params"]) == (2, 2, False)


def test_a_file_is_made_again_or_its_past_forgotten(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 0

    def waiting(*config: str) -> list[str]:
        (tmp_path / "seen.json").unlink(missing_ok=True)
        assert run(tmp_path, "--config", *config).returncode == 0
        return [rule for rule, *_ in seen(tmp_path)["waiting"]] if (tmp_path / "seen.json").is_file() else []

    assert waiting("mode=none") == []
    assert waiting("mode=again") == ["all", "first", "second"]
    began = (tmp_path / "first").stat().st_mtime
    assert abs(seen(tmp_path)["made_at"] - began) < 60
    assert waiting("mode=forget", "changing=1") == []
    assert waiting("changing=2") == []
    assert run(tmp_path, "--touch", "--forceall").returncode == 0
    assert waiting("changing=3") == ["all", "first", "second"]


def test_what_a_storage_holds_is_known_and_copied(tmp_path: Path) -> None:
    pytest.importorskip("snakemake_storage_plugin_fs")
    storage = ("--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "store"))
    assert run(tmp_path, *storage).returncode == 0
    assert not (tmp_path / "first").exists()
    assert run(tmp_path, *storage, "--forcerun", "second").returncode == 0
    found = seen(tmp_path)
    assert (found["in_storage"], found["exist"], found["here"]) == (True, [True, False], [True, False])
    assert found["copies"].startswith(".snakemake/storage/fs/")
    assert abs(found["made_at"] - (tmp_path / "store" / "first").stat().st_mtime) < 60
    assert run(tmp_path, *storage, "--config", "mode=again").returncode == 0
    assert [rule for rule, *_ in seen(tmp_path)["waiting"]] == ["all", "first", "second"]


def test_jobs_that_failed_are_known_with_their_logs(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    assert run(tmp_path).returncode == 1
    assert seen(tmp_path)["failed"] == [["first", "first.log"]]


def test_without_this_package_one_line_says_what_to_install(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "resaudit.py").write_text("raise ModuleNotFoundError")
    command = ("snakemake", "--snakefile", str(CHECKOUT / "Snakefile"), "--lint")
    run = run_command(*command, cwd=tmp_path, environment={"PYTHONPATH": str(elsewhere)})
    assert run.returncode == 1
    assert "pip install" in (run.stdout + run.stderr).strip().splitlines()[-1]
    assert "Traceback" not in run.stdout + run.stderr
