"""Oracle: a paper's skeleton, run as it is; its run is packed, and imported in another folder.

Sees a folder of papers that reaches only some of a run's processes.
"""

import json
from pathlib import Path

import pytest

from tests.conftest import Command, run_command


def test_the_skeleton_runs_at_once_and_supports_its_claim(
    resaudit: Command, snakemake: Command, tmp_path: Path
) -> None:
    written = resaudit("new", "paper", "coins", "--into", "my papers")
    assert written.returncode == 0, written.stderr
    run = snakemake("--config", "papers_path=my papers", "figures=[coins]")
    assert run.returncode == 0, run.stderr[-3000:]
    audit = (tmp_path / "figures" / "audit.json").read_text(encoding="utf-8")
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
    given = ("run.zip", "papers_path=../my papers", "figures=[coins]")
    imported = run_command("resaudit", "import", *given, cwd=elsewhere)
    assert imported.returncode == 0, imported.stderr
    assert len(list(elsewhere.glob("results/coins_toss/*/imported.json"))) == 3
    assert list(elsewhere.glob("results/imports/*.json"))
