"""Oracle: an audit and a copy of it with known changes. Sees a verdict or a cause that the comparison misses."""

import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resaudit.audit.changes import ONLY_TABLES, pairs, side_by_side
from resaudit.base.errors import ArchiveError, ConfigError, ResauditError
from resaudit.share.finished_runs import IN_RUN, audit_of, read_run
from resaudit.share.packed import LARGEST_JSON, METADATA
from tests.audit import example
from tests.conftest import in_process
from tests.refusals import refused

CLAIM = f"{example.PAPER}/depth-invariant-condition"
FIG04 = f"{example.PAPER}/fig04"

Change = Callable[[dict[str, Any], dict[str, Any]], Any]


def threshold(claim: dict[str, Any], _figure: dict[str, Any]) -> None:
    claim["checks"][0]["check"]["parameters"] |= {"within_factor": 1.001}


def needs(claim: dict[str, Any], _figure: dict[str, Any]) -> None:
    claim["set_for_run"] = [{"what": "needs runs", "here": "2", "repository": "5", "check": None}]


def limit(claim: dict[str, Any], _figure: dict[str, Any]) -> None:
    name = claim["checks"][0]["name"]
    claim["set_for_run"] = [{"what": "limit", "here": "none", "repository": "at most 1", "check": name}]


def setting(_claim: dict[str, Any], figure: dict[str, Any]) -> None:
    figure["settings"] |= {"seed": "2"}
    figure["sha256"] = "e" * 64


def code(_claim: dict[str, Any], figure: dict[str, Any]) -> None:
    figure["provenance"]["commit"] = {"id": "f" * 40, "clean": True}
    figure["sha256"] = "e" * 64


def numbers(_claim: dict[str, Any], figure: dict[str, Any]) -> None:
    figure["sha256"] = "e" * 64


def rules(_claim: dict[str, Any], _figure: dict[str, Any]) -> None:
    """Nothing that the audit records."""


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Callable[[Change | None], Path]:
    """Writes the audit with the claim contradicted, and a change of its claim and figure, or its figure left out."""

    def write(change: Change | None) -> Path:
        audit = json.loads((folder / "audit.json").read_text())
        (paper,) = (paper for paper in audit["papers"] if paper["id"] == example.PAPER)
        (claim,) = (claim for claim in paper["claims"] if claim["id"] == CLAIM)
        (figure,) = (figure for figure in paper["figures"] if figure["id"] == FIG04)
        claim["verdict"] = "contradicted"
        if change is None:
            paper["figures"].remove(figure)
        else:
            change(claim, figure)
        file = tmp_path / "other.json"
        file.write_text(json.dumps(audit))
        return file

    return write


def test_an_audit_is_read_from_a_file_a_folder_a_clone_and_an_archive(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "clone" / "figures")
    archived((folder / "audit.json").read_bytes(), tmp_path / "run.zip")
    places = [folder / "audit.json", folder, tmp_path / "clone", tmp_path / "run.zip"]
    first, *others = map(audit_of, places)
    assert all(other == first for other in others)
    assert all(pair.agrees for pair in pairs(first, first))
    assert not any(" | " in line for line in side_by_side(first, first))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (threshold, ["check ", "within_factor", "1.001", "the same table"]),
        (needs, ["rule needs runs: the repository's | 2", "the same table"]),
        (limit, [" limit: the repository's | none", "the same table"]),
        (setting, ["setting seed: 1 | 2"]),
        (code, ["made by commit: ", f"| {'f' * 10}"]),
        (numbers, [ONLY_TABLES]),
        (rules, ["the same table"]),
        (None, ["drawn | not drawn"]),
    ],
)
def test_another_verdict_is_found_with_what_differs(
    folder: Path, changed: Callable[[Change | None], Path], change: Change | None, said: list[str]
) -> None:
    first, second = audit_of(folder), audit_of(changed(change))
    assert [pair.claims[0].id for pair in pairs(first, second) if not pair.agrees] == [CLAIM]
    text = "\n".join(side_by_side(first, second))
    of_claim = text.split(f"\n{CLAIM}: supported | contradicted\n")[1]
    for each in said:
        assert each in " ".join(of_claim.split())
    differences = [line for line in of_claim.splitlines() if line.startswith("  - ")]
    assert len(differences) == (2 if change in (threshold, needs, limit) else 1)


def archived(audit: bytes, to: Path) -> Path:
    """An archive that has these bytes as its audit."""
    listed = {"@id": IN_RUN, "@type": "File", "sha256": hashlib.sha256(audit).hexdigest()}
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(IN_RUN, audit)
        archive.writestr(METADATA, json.dumps({"@graph": [listed]}))
    return to


def damaged(archive: bytes, where: str, to: bytes) -> bytes:
    """An archive of one entry with other bytes in its data, or in both of its headers."""
    data = 30 + len("figures/audit.json")
    central = archive.index(b"PK\x01\x02")
    places = {
        "data": [data],
        "flags": [6, central + 8],
        "method": [8, central + 10],
        "size": [central + 20],
        "name": [central + 46],
    }
    content = bytearray(archive)
    for place in places[where]:
        content[place : place + len(to)] = to
    return bytes(content)


@pytest.mark.parametrize(
    ("where", "to"),
    [
        ("data", b"\xff" * 20),  # zlib.error
        ("data", b"PK"),
        ("flags", b"\x01\x00"),  # encrypted
        ("method", b"\x63\x00"),  # of no kind that Python has
        ("size", b"\x10\x00\x00\x00"),  # ends too early
        ("name", b"F"),
    ],
)
def test_a_damaged_archive_is_named_in_one_line(folder: Path, tmp_path: Path, where: str, to: bytes) -> None:
    whole = archived((folder / "audit.json").read_bytes(), tmp_path / "run.zip").read_bytes()
    for content in (damaged(whole, where, to), whole[: len(whole) // 2], b""):
        (tmp_path / "run.zip").write_bytes(content)
        with pytest.raises(ResauditError, match=re.escape(str(tmp_path / "run.zip"))):
            audit_of(tmp_path / "run.zip")


def test_an_archive_is_unpacked_within_the_bounds_of_an_import(tmp_path: Path) -> None:
    bomb = archived(b" " * (LARGEST_JSON + 1), tmp_path / "run.zip")
    assert bomb.stat().st_size < 2**20
    for read in (audit_of, read_run):
        with refused(ArchiveError, LARGEST_JSON):
            read(bomb)


@pytest.mark.parametrize("text", ["a\nB: scale paper", "\x1b[2J", "\u202ereppus", "\u2028", "\ud800"])
@pytest.mark.parametrize(
    "write",
    [
        lambda audit, text: audit.update(scale=text),
        lambda audit, text: audit.update(overrides=[text]),
        lambda audit, text: audit["papers"][0]["figures"][0]["settings"].update({text: "1"}),
        lambda audit, text: audit["papers"][0]["figures"][0]["provenance"].update(devices=[text]),
        lambda audit, text: audit["papers"][0]["figures"][0]["provenance"]["packages"].update(numpy=text),
        lambda audit, text: audit["papers"][0]["claims"][0].update(why=text),
    ],
)
def test_a_text_that_is_not_one_printable_line_is_refused(
    folder: Path, tmp_path: Path, write: Callable[[Any, str], None], text: str
) -> None:
    audit = json.loads((folder / "audit.json").read_text())
    write(audit, text)
    (tmp_path / "audit.json").write_text(json.dumps(audit))
    with refused(ConfigError, "audit.json") as error:
        audit_of(tmp_path)
    assert text not in str(error.value)


@pytest.mark.parametrize("part", ["figures", "claims"])
def test_a_figure_or_claim_that_is_there_twice_is_refused(folder: Path, tmp_path: Path, part: str) -> None:
    audit = json.loads((folder / "audit.json").read_text())
    audit["papers"][0][part] *= 2
    (tmp_path / "audit.json").write_text(json.dumps(audit))
    with refused(ConfigError, "audit.json"):
        audit_of(tmp_path)


def test_folders_with_an_equals_sign_are_runs(folder: Path, tmp_path: Path) -> None:
    for name in ("seed=1", "seed=2"):
        (tmp_path / name).symlink_to(folder)
    compared = in_process("compare", "seed=1", "seed=2", cwd=tmp_path)
    assert compared.returncode == 0
    assert compared.stdout.startswith("A: ")


def test_the_command_fails_where_verdicts_differ_and_names_what_cannot_be_read(
    folder: Path, changed: Callable[[Change | None], Path], tmp_path: Path
) -> None:
    other = str(changed(setting))
    assert in_process("compare", str(folder), str(folder), cwd=tmp_path).returncode == 0
    differing = in_process("compare", str(folder), other, cwd=tmp_path)
    assert differing.returncode == 1
    assert "claims have another verdict" in differing.stderr
    for missing in (tmp_path / "nothing", tmp_path):
        refused = in_process("compare", str(folder), str(missing), cwd=tmp_path)
        assert refused.returncode == 1
        assert str(missing) in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert in_process("compare", str(folder), cwd=tmp_path).returncode == 2
