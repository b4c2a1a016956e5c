"""Oracle: a paper's skeleton, run as it is; its run is packed, and imported in another folder.

Sees a folder of papers that reaches only some of a run's processes.
"""

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from resaudit.base.papers import Place
from tests.conftest import Command, Completed, run_command
from tests.refusals import assert_exits


def told(run: Completed) -> str:
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout + run.stderr


@pytest.mark.parametrize(("package", "holds"), [("mine", "src/lab/mine"), ("lab.mine", "src/lab")])
def test_a_papers_sources_hold_what_it_shares_with_others(package: str, holds: str, tmp_path: Path) -> None:
    (source := tmp_path / "src" / "lab" / "mine").mkdir(parents=True)
    assert Place(tmp_path, source, package).sources == [tmp_path / holds]


def test_the_skeleton_runs_at_once_and_supports_its_claim(
    resaudit: Command, snakemake: Command, tmp_path: Path
) -> None:
    written = resaudit("new", "paper", "coins", "--into", "my papers")
    assert written.returncode == 0, written.stderr
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "coins"]):
        done = run_command("git", "-c", "user.name=x", "-c", "user.email=x", *arguments, cwd=tmp_path / "my papers")
        assert done.returncode == 0, done.stderr
    run = snakemake("--config", "papers_path=my papers", "figures=[coins]")
    assert run.returncode == 0, run.stderr[-3000:]
    audit = (tmp_path / "figures" / "audit.json").read_text(encoding="utf-8")
    commit = run_command("git", "rev-parse", "HEAD", cwd=tmp_path / "my papers").stdout.strip()
    assert [paper["commit"] for paper in json.loads(audit)["papers"]] == [{"id": commit, "clean": True}]
    assert commit[:10] in (tmp_path / "figures" / "audit.html").read_text(encoding="utf-8")
    claims = {claim["id"]: claim["verdict"] for paper in json.loads(audit)["papers"] for claim in paper["claims"]}
    assert claims == {"coins/law-of-large-numbers": "supported"}  # figures=[PAPER] is an audit of that paper alone
    assert len(list((tmp_path / "results" / "coins_toss").iterdir())) == 3
    assert "my papers" not in audit
    # Without a variant of its own it has the controls.
    assert "rule robustness_matrix:" in told(
        snakemake("--dry-run", "robustness", "--config", "papers_path=my papers", "figures=[coins]")
    )
    assert not any("my papers" in file.read_text() for file in (tmp_path / "results" / "plan").rglob("*.json"))
    # Raw data is known by its SHA-256, results by date and content, also where the folder of data holds all others.
    around = ("--dry-run", "--config", "papers_path=my papers", "figures=[coins]", "overrides=[paths.data=.]")
    assert "rule draw:" not in told(snakemake(*around))
    changed = next(tmp_path.glob("results/coins_toss/*/provenance.json"))
    changed.write_text(changed.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert "rule draw:" in told(snakemake(*around))
    pytest.importorskip("rocrate", reason="the extra crate is not installed")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    packing = ("crate", str(elsewhere / "run.zip"), "papers_path=my papers", "figures=[coins]")
    (odd := tmp_path / "my papers" / "coins" / "notes (1).md").touch()
    assert_exits(resaudit(*packing), odd)
    odd.rename(odd.with_name("figures.py~"))
    packed = resaudit(*packing)
    assert packed.returncode == 0, packed.stderr
    # Nothing but the archive is needed.
    with ZipFile(elsewhere / "run.zip") as archive:
        archive.extractall(elsewhere, [name for name in archive.namelist() if name.startswith("papers/")])
    shutil.rmtree(tmp_path / "my papers")
    given = ("run.zip", "papers_path=papers", "figures=[coins]")
    imported = run_command("resaudit", "import", *given, cwd=elsewhere)
    assert imported.returncode == 0, imported.stderr
    assert len(list(elsewhere.glob("results/coins_toss/*/imported.json"))) == 3
    assert list(elsewhere.glob("results/imports/*.json"))
