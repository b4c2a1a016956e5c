"""Oracle: a paper's skeleton, run as it is; its run is packed, and imported in another folder.

Sees a folder of papers that reaches only some of a run's processes.
"""

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conftest import Command, run_command


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
    assert not any("my papers" in file.read_text() for file in (tmp_path / "results" / "plan").rglob("*.json"))
    pytest.importorskip("rocrate", reason="the extra crate is not installed")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    packed = resaudit("crate", str(elsewhere / "run.zip"), "papers_path=my papers", "figures=[coins]")
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
