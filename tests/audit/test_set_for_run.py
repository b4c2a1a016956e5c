"""Oracle: the override given. Sees a setting of a run pass for the repository's, a digest that nobody can compute."""

import hashlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from resaudit.audit.build import make_audit
from resaudit.audit.schema import check_audit
from resaudit.plan.composition import claims_as_written, claims_file, load
from resaudit.plan.plan import make_plan
from tests.audit import example
from tests.audit.example import render
from tests.conftest import CHECKOUT, in_process

PAPER, CLAIM = "demystifying_resnet", "depth-invariant-condition"
WHERE = f"claims.{PAPER}.{CLAIM}"
PLACE = (f"paths.figures={CHECKOUT / 'figures' / 'reference'}", "device=cpu", "scale=laptop")
SETTINGS = {
    f"{WHERE}.checks.constant.within_factor=1.005": "threshold set for this run: within a factor of 1.005; "
    "the repository's: within a factor of 1.1",
    f"{WHERE}.checks.constant.within_factor=1.1000001": '{"within_factor": 1.1000001}; the repository',
    f"{WHERE}.checks.constant.networks=[xavier]": "networks set for this run: xavier; the repository's: 2-shortcut",
    f"{WHERE}.needs.runs=7": "needs runs set for this run: 7; ",
    f"{WHERE}.needs.scales=[smoke]": "needs scales set for this run: smoke; the repository's: laptop, paper",
    f"{WHERE}.interpretation=Otherwise": "interpretation set for this run: Otherwise; ",
}
"""By override: what must be said of it."""


def audited(*overrides: str) -> dict[str, Any]:
    given = (*PLACE, *overrides)
    return make_audit(make_plan(load(given)), given, only={f"{PAPER}/fig04"}).as_json()


def marked(audit: dict[str, Any]) -> dict[str, list[str]]:
    return {claim.id: claim.settings_of_run for claim in check_audit(audit).claims if claim.settings_of_run}


def test_without_settings_of_claims_nothing_is_marked() -> None:
    assert marked(audited()) == {}
    # Set to the repository's value.
    assert marked(audited(f"{WHERE}.checks.constant.within_factor=1.1")) == {}


@pytest.mark.parametrize("override", SETTINGS)
def test_what_is_set_is_marked_with_both_values(override: str) -> None:
    (only,) = marked(audited(override)).items()
    assert only[0] == f"{PAPER}/{CLAIM}"
    assert [SETTINGS[override] in text for text in only[1]] == [True]


def test_every_setting_is_on_the_page_and_in_the_terminal(folder: Path) -> None:
    first, second = (key for key in SETTINGS if key.endswith(("=1.005", "runs=7")))
    own = audited(first, second)["papers"]
    set_here = next(claim for claim in own[0]["claims"] if claim["id"] == f"{PAPER}/{CLAIM}")
    audit = example.audit(folder)
    audit["papers"][0]["claims"][0] |= {key: set_here[key] for key in ("checks", "set_for_run")}
    page = render(audit, folder)
    said = re.sub(r"\s+", " ", in_process("audit", "--claim", CLAIM, *PLACE, first, second, cwd=CHECKOUT).stdout)
    for text in (SETTINGS[first], SETTINGS[second]):
        assert text in page.replace("&#39;", "'")
        assert text in said
    assert re.findall(r'<p class="warning set-here"><strong>.*?</strong> ([0-9]+) ', page) == ["2"]
    assert said.startswith("2 set ")
    assert 'class="warning set-here"' not in render(example.audit(folder), folder)


@pytest.mark.parametrize("overrides", [(), (next(iter(SETTINGS)),), (f"{WHERE}.interpretation='two words'",)])
def test_the_command_on_the_page_prints_the_digest_of_the_claims(overrides: tuple[str, ...], folder: Path) -> None:
    ledgers = {paper["id"]: paper["ledger"] for paper in audited(*overrides)["papers"]}
    program, *words = shlex.split(ledgers[PAPER]["command"])
    assert program == "resaudit"
    printed = dict(reversed(line.split("  ")) for line in in_process(*words, cwd=CHECKOUT).stdout.splitlines())
    assert printed == {paper: ledger["sha256"] for paper, ledger in ledgers.items()}
    audit = example.audit(folder)
    audit["papers"][0]["ledger"] = ledgers[PAPER]
    page = render(audit, folder)
    assert ledgers[PAPER]["sha256"] in page
    assert "resaudit audit --claims-sha256" in page


def test_the_files_digest_is_that_of_its_bytes() -> None:
    for paper in audited()["papers"]:
        file = CHECKOUT / paper["ledger"]["file"]
        assert paper["ledger"]["file_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_claims_as_written_are_those_composed_without_settings() -> None:
    composed = load(["device=cpu"]).claims
    files = {paper: claims_file(paper) for paper in composed}
    assert {paper: claims_as_written(file) for paper, file in files.items() if file} == composed
    assert claims_file("no_paper") is None
