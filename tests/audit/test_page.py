"""The page as a file, without a browser. Oracle: the example audit with one thing changed.

Sees a page that hides the change, that loads something, or whose files are not those of its audit.
"""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from resaudit.audit.page import write_page
from resaudit.audit.schema import check_audit, read_audit
from resaudit.audit.terminal import verdict_table
from resaudit.base.errors import ResultsError, TableError
from resaudit.base.files import sha256_of
from tests.audit import example
from tests.audit.example import render
from tests.claims.made import mentions
from tests.refusals import refused


def test_the_same_audit_gives_the_same_page(folder: Path) -> None:
    audit = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    again = render(audit, folder)
    assert render(audit, folder) == again == (folder / "audit.html").read_text(encoding="utf-8")


def test_the_page_names_nothing_that_would_be_loaded(folder: Path) -> None:
    page = (folder / "audit.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert not re.search(r"<(?:img|iframe|object|embed|audio|video|source|base)\b|\bsrc=|@import", page)
    assert all(url.startswith("#") for url in re.findall(r"url\((.*?)\)", page))
    assert set(re.findall(r"https?://[^\s\"<]*", page)) == {
        "https://arxiv.org/abs/1611.01186v2", "https://arxiv.org/abs/1909.04653",
    }  # fmt: skip


def test_every_id_is_there_once_and_every_inner_link_has_its_end(folder: Path) -> None:
    page = (folder / "audit.html").read_text(encoding="utf-8")
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    places = {place for place in re.findall(r'href="#([^"]*)"', page) if "=" not in place}
    assert places | set(re.findall(r"url\(#(.*?)\)", page)) <= set(ids)


def test_every_link_works_when_the_page_is_sent_alone(folder: Path) -> None:
    page = (folder / "audit.html").read_text(encoding="utf-8")
    links = re.findall(r'\shref="([^"]*)"', page)
    assert [link for link in links if not re.match("#|data:|https://arxiv.org/", link)] == []


@pytest.mark.parametrize(("chance", "is_said"), [(0.23, True), (0.07, False)])
def test_a_supported_verdict_that_a_rerun_may_turn_says_so(folder: Path, chance: float, is_said: bool) -> None:
    audit = example.audit(folder)
    turns = {"chance": chance, "error": 0.01, "verdicts": {"supported": 1 - chance, "inconclusive": chance}}
    for claim in audit["papers"][0]["claims"]:
        claim["turns_on_rerun"] = turns
    told = check_audit(audit)
    words = f"chance of {100 * chance:.0f} %"
    supported = sum(claim.verdict == "supported" for claim in told.papers[0].claims)
    assert supported > 0
    assert render(audit, folder).count(words) == is_said * supported
    assert sum(words in line for line in verdict_table(told, told.papers[0].claims)) == is_said * supported


def test_a_claim_whose_settings_were_fitted_to_it_is_not_shown_as_supported(folder: Path) -> None:
    audit = example.audit(folder)
    assert "fitted" not in re.findall(r'name="verdict" value="([^"]*)"', render(audit, folder))
    claim = audit["papers"][0]["claims"][0] | {"fitted": "Tuned to table four."}
    audit["papers"][0]["claims"][0] = claim
    audit["papers"][0]["counts"] |= {"supported": 2, "fitted": 1}
    page = render(audit, folder)
    (article,) = re.findall(rf'<article[^>]* id="{claim["id"]}".*?</article>', page, re.DOTALL)
    assert 'data-verdict="fitted"' in article
    assert claim["fitted"] in article
    assert 'class="verdict fitted"' in article.split("<h5>")[0]
    assert 'class="verdict supported"' not in article.split("<h5>")[0]
    (row,) = re.findall(rf'<tbody data-claim="{claim["id"]}" .*?</tbody>', page, re.DOTALL)
    assert 'class="verdict fitted"' in row
    assert "fitted" in re.findall(r'name="verdict" value="([^"]*)"', page)


def test_only_a_claim_whose_sentences_were_found_is_checked_against_the_text(folder: Path) -> None:
    audit = example.audit(folder)
    assert "checked against the text" not in render(audit, folder)
    claim = audit["papers"][0]["claims"][1]["id"]
    audit["papers"][0]["in_text"] = [claim.split("/")[1]]
    articles = re.findall(r'<article[^>]* id="([^"]+)"(.*?)</header>', render(audit, folder), re.DOTALL)
    assert [name for name, header in articles if "checked against the text" in header] == [claim]


@pytest.mark.parametrize("remark", ["Reconstructed: the teacher is not the paper's.", ""])
@pytest.mark.parametrize("deviations", [["runs 5 (protocol: 10)"], []])
def test_no_figure_is_said_to_have_the_papers_protocol(remark: str, deviations: list[str], folder: Path) -> None:
    """What the paper does not state is ours, in some figures all of it."""
    audit = example.audit(folder)
    audit["papers"][0]["figures"][0] |= {"remark": remark, "deviations": deviations}
    page = unescape(render(audit, folder))
    assert remark in page
    assert "paper's protocol" not in page
    first, *_ = re.findall(r'<p class="differs">(.*?)</p>', page, re.DOTALL)
    assert ["protocol" in first, *(deviation in first for deviation in deviations)].count(True) == 2 * len(deviations)
    assert '<dl class="assumptions">' in page


def test_a_claim_without_a_figure_is_not_said_to_wait_for_its_drawing(folder: Path) -> None:
    audit = example.audit(folder)
    name = "demystifying_resnet/no-figure"
    lacking = example.claim("no-figure", "not run", "nowhere", checks=[], why="there is no figure of it yet: lost")
    audit["papers"][0]["claims"].append(lacking | {"command": None})
    page = render(audit, folder)
    (group,) = re.findall(
        r'<section class="group without" id="demystifying_resnet/nowhere">.*?</section>', page, re.DOTALL
    )
    (row,) = re.findall(rf'<tbody data-claim="{name}" .*?</tbody>', page, re.DOTALL)
    for part in (group, row):
        assert "figure yet" in part
        assert "not drawn" not in part
    assert lacking["why"] in group
    assert 'class="command"' not in group
    (not_run,) = re.findall(r'<section id="not-run".*?</section>', page, re.DOTALL)
    assert re.findall(r'href="#(demystifying_resnet/[^"]*)"', not_run) == [name]
    # Its figure can be drawn.
    assert 'href="#demystifying_resnet/relu-final-loss"' not in not_run


def test_smoke_is_said_to_be_no_evidence(folder: Path) -> None:
    warning = 'class="warning test-run"'
    assert warning in render(example.audit(folder) | {"evidence": False}, folder)
    assert warning not in render(example.audit(folder), folder)


def test_a_best_rate_at_the_edge_of_the_grid_is_said(folder: Path) -> None:
    audit = example.audit(folder)
    at_edge = [figure["at_edge"] for figure in audit["papers"][0]["figures"] if figure["at_edge"]]
    edges = re.findall(r'<span class="at-edge">(.*?)</span>', render(audit, folder))
    assert len(edges) == len(at_edge) > 0
    assert all(mentions(edge, *networks) for edge, networks in zip(edges, at_edge, strict=True))


def test_a_matrix_of_the_reference_run_is_said_to_be_one(folder: Path) -> None:
    audit = example.audit(folder)
    assert "reference run" not in render(audit, folder).lower()
    audit["papers"][0]["robustness"] |= {"reference": True, "files": None}
    page = render(audit, folder)
    assert re.search(r"<summary>Under 3 [^<]*\(reference run", page)
    (commit,) = re.findall(r'<strong class="reference">.*?</strong> commit <code>([0-9a-f]+)', page)
    assert commit == "b7bd04156ee2"


def test_large_tables_keep_the_page_under_eight_megabytes(folder: Path, tmp_path: Path) -> None:
    """Three tables of 2.5 MB, of numbers with every digit."""
    copy = tmp_path / "figures"
    shutil.copytree(folder, copy)
    digits = example.TABLES.joinpath("fig07.csv").read_text(encoding="utf-8").splitlines()[1:]
    for name in example.DRAWN:
        rows = [f"{line},{i * 0.7390851332151607!r},{i / 7!r}" for i in range(1100) for line in digits]
        copy.joinpath(f"demystifying_resnet/{name}.csv").write_text("\n".join(rows)[:2_500_000], encoding="utf-8")
    assert len(render(example.audit(copy), copy)) < 8e6


@pytest.mark.parametrize("file", ["fig04.svg", "fig04.csv"])
def test_a_missing_file_is_named_in_one_line(file: str, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "figures"
    shutil.copytree(folder, copy)
    (copy / "demystifying_resnet" / file).unlink()
    with refused(ResultsError, copy / "demystifying_resnet" / file):
        write_page(read_audit(copy / "audit.json"), copy / "new.html")
    assert not (copy / "new.html").exists()


def test_a_table_that_is_not_the_audits_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "figures"
    shutil.copytree(folder, copy)
    with (copy / "demystifying_resnet/fig04.csv").open("a") as table:
        table.write("2-shortcut,9,0,1,1,1,1,True\n")
    with refused(TableError, copy / "demystifying_resnet/fig04.csv"):
        write_page(read_audit(copy / "audit.json"), copy / "new.html")


def test_a_drawing_that_was_changed_since_it_was_drawn_is_refused(folder: Path) -> None:
    audit, svg = example.audit(folder), folder / "demystifying_resnet" / "fig04.svg"
    figure = next(figure for figure in audit["papers"][0]["figures"] if figure["files"]["svg"].endswith(svg.name))
    figure["drawings"] = {"svg": sha256_of(svg)}
    render(audit, folder)
    figure["drawings"] = {"svg": "0" * 64}
    with refused(TableError, svg):
        render(audit, folder)


def test_a_table_of_mixed_code_is_a_warning(folder: Path) -> None:
    audit = example.audit(folder)
    figures = audit["papers"][0]["figures"]
    for figure, of_train in zip(figures, ({}, {"0" * 64: 2}, {"0" * 64: 3, "1" * 64: 1}), strict=True):
        figure["codes"] = {"train": of_train, "whiten": {"2" * 64: 1}}
    warnings = re.findall(r'<p class="warning"><strong>Results of mixed code:</strong>(.*?)</p>', render(audit, folder))
    assert len(warnings) == 1
    assert mentions(warnings[0], "3 and 1", "train")
    assert figures[2]["command"] in unescape(warnings[0])
    assert "mixed code" not in render(example.audit(folder), folder)


def test_a_failed_spot_check_is_a_warning_and_without_one_the_page_says_how(folder: Path) -> None:
    audit = example.audit(folder)
    statement = "NOT REPRODUCED: train/depth16."
    audit["spot_checks"][0] |= {"equal": 34, "failed": 2, "statement": [statement]}
    assert f'<p class="warning"><strong>{statement}</strong>' in render(audit, folder)
    alone = render(audit | {"spot_checks": []}, folder)
    # Imported results that nobody recomputed.
    assert "resaudit spot-check --minutes 10" in alone
