"""Oracle: the example audit, read in a browser. Sees a number, a claim or a figure that the page drops or misplaces."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from resaudit.figures.printed import Examined, examined_in_words
from tests.audit import example
from tests.audit.browsing import CONDITION, PHONE, Opened, comes_true, faults, in_browser
from tests.claims.made import mentions

FAILING = "demystifying_resnet/condition-smaller-at-every-loss"


@in_browser
def test_first_screen_says_how_far_the_claims_of_each_paper_held(read: Page, folder: Path) -> None:
    captions = read.locator(".all caption").all_inner_texts()
    assert mentions(captions[0], "3 supported", "2 contradicted", "2 inconclusive", "2 not run")
    assert mentions(captions[1], "1 not run")
    assert read.locator(".shares strong").all_inner_texts() == ["30 %", "62 %", "–"]
    assert mentions(read.locator(".shares").inner_text(), "3 of 10", "5 of 8", "1 are", "2 of 3", "0 of 0")
    top = read.locator("header.top").inner_text()
    audit = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    for text in (audit["scale"], audit["scale_summary"], audit["provenance"]["commit"]["id"][:12], "uncommitted"):
        assert text in top
    assert read.locator("header.top time").get_attribute("datetime") == audit["generated"]
    assert read.locator(".all [data-claim]").count() == read.locator(".claim").count() == 10


@in_browser
def test_a_row_says_what_was_asked_what_was_seen_and_how_sure(read: Page) -> None:
    """One row a check; the verdict of the repository's run at another scale beside this one's."""

    def rows(claim: str) -> list[list[str]]:
        lines = read.locator(f"[data-claim='{claim}'] tr").all()
        return [[" ".join(cell.split()) for cell in line.locator("td").all_inner_texts()] for line in lines]

    (verdict, paper, asked, seen, n, readings, rerun, figure), *none = rows(CONDITION)
    assert (verdict, paper, asked, n, readings, rerun, figure, none) == (
        "supported", "inconclusive", "ratio within a factor of 1.1", "10", "–", "13 %", "Figure 4", [],
    )  # fmt: skip
    assert seen == "+0.222 % (−4.78 to +5.22 %) 3 of 3 hold"
    of_checks = rows("demystifying_resnet/plain-condition-explodes")
    assert [len(row) for row in of_checks] == [8, 3]
    assert of_checks[0][1] == "not run"
    assert of_checks[0][2] == of_checks[1][0] == "ratio within a factor of 1.1"
    assert mentions(of_checks[0][3], "contradicted", "at most 1.2", "2 of 4 hold", "1 fail")
    (not_run,) = rows("other_paper/failure-falls")
    assert mentions(not_run[2], "The claim is not run", "0.5348", "0.5462", "CNN, k = 16")


@in_browser
def test_a_phone_reads_each_row_as_a_card(opened: Opened) -> None:
    page = opened(viewport={"width": 390, "height": 844})
    card = page.locator(f"[data-claim='{CONDITION}']")
    places = [cell.bounding_box() for cell in card.locator("th, td").all()]
    assert all(box["x"] >= 16 and box["x"] + box["width"] <= 374 for box in places)
    assert card.locator("[data-label=threshold]").evaluate("e => getComputedStyle(e, '::before').content") != "none"
    assert not page.locator(".all thead").first.is_visible()


@in_browser
def test_the_head_says_what_verdicts_and_columns_mean(read: Page) -> None:
    read.locator(".legend summary").click()
    assert [text.strip() for text in read.locator(".legend dt").all_inner_texts()] == [
        "supported", "contradicted", "depends", "inconclusive", "not run",
        "Our threshold", "Effect", "n", "Scale paper", "Other readings", "A rerun turns it",
    ]  # fmt: skip


@in_browser
def test_a_claim_answers_in_order(read: Page, folder: Path) -> None:
    """Place, paraphrase, verdict with its bound, where it turns, the author's reply, why, evidence, what else."""
    claim = read.locator(f"[id='{FAILING}']")
    kinds = claim.evaluate("claim => [...claim.children].map(each => each.className.split(' ')[0] || each.tagName)")
    assert kinds == [
        "HEADER",
        "why",
        "note",
        "what-if",
        "response",
        "finding",
        "H5",
        "result",
        "H5",
        "interpretation",
        "meaning",
        "DETAILS",
    ]
    said = claim.inner_text()
    made = next(each for each in example.audit(folder)["papers"][0]["claims"] if each["id"] == FAILING)
    for text in (made["where"], made["response"]["text"], made["finding"], made["interpretation"]):
        assert text in said
    assert mentions(claim.locator(".limit").inner_text(), made["checks"][0]["limit"]["at_most"])
    assert "docs/findings/demystifying_resnet.md#condition-smaller-at-every-loss" in said


@in_browser
def test_a_figure_enlarges_by_click_and_from_the_keyboard(opened: Opened) -> None:
    page = opened(**PHONE)
    card = page.locator(".card").first
    card.click()
    dialog = page.get_by_role("dialog")
    drawn = dialog.locator("svg[role=img]")
    # At its own size, to be scrolled.
    assert drawn.bounding_box()["width"] > card.bounding_box()["width"]
    assert faults(page) == []
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.locator(".enlarge").nth(1).focus()
    page.keyboard.press("Enter")
    assert drawn.get_attribute("id") == "demystifying_resnet-fig05"
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()


@in_browser
def test_the_gallery_enlarges_and_says_what_was_not_drawn(opened: Opened, folder: Path) -> None:
    page = opened()
    page.locator(".gallery .thumb").nth(1).click()
    dialog = page.get_by_role("dialog")
    assert dialog.locator("svg[role=img]").get_attribute("id") == "demystifying_resnet-fig05"
    assert mentions(dialog.inner_text(), "Figure 5")
    page.keyboard.press("Escape")
    missing = page.locator(".gallery li[id='other_paper/fig02']").inner_text()
    (other,) = (paper for paper in example.audit(folder)["papers"] if paper["id"] == "other_paper")
    assert next(figure["why"] for figure in other["not_drawn"] if figure["id"] == "other_paper/fig02") in missing
    assert "figures=[other_paper/fig02]" in missing
    rows = page.locator("#not-run tbody tr:not(.of)")
    assert [row.locator("a").get_attribute("href") for row in rows.all()] == [
        "#other_paper/fig02",
        "#other_paper/table1",
        "#other_paper/fig01_of_another_data_set_yet",
    ]
    alone = opened(java_script_enabled=False)
    alone.locator(".gallery .thumb").nth(1).click()
    # Without scripts a link to the figure.
    assert urlsplit(alone.url).fragment == "demystifying_resnet/fig05"


@in_browser
def test_printed_numbers_stand_beside_ours(read: Page) -> None:
    rows = read.locator("[id='other_paper/printed'] tbody tr:not(.of)").all()
    cells = [[cell.strip().split("\n")[0] for cell in row.inner_text().split("\t")] for row in rows]
    assert cells == [
        ["CNN, k = 16", "0.5348 (0.5200–0.5500)", "0.5462 (0.5300–0.5600) n = 5000", "+0.0114"],
        ["CNN, k = 25", "0.5528", "not run", "–"],
    ]
    notes = rows[0].locator(".note")
    assert notes.all_inner_texts() == [examined_in_words(Examined.as_share("0.5348", 1, of, "")) for of in (5000, 999)]
    assert rows[0].locator(".impossible").all_inner_texts() == notes.all_inner_texts()[1:]
    without = read.locator("[id='demystifying_resnet/printed']")
    assert (without.locator("table").count(), without.locator("p").count()) == (0, 1)


@in_browser
def test_the_page_says_which_evidence_is_imported_and_what_was_recomputed(read: Page, folder: Path) -> None:
    (run,) = read.locator("#evidence .imports tbody tr").all()
    assert mentions(run.inner_text(), "abababababab", "Ada Example", "Figure 5", "1 of 2")
    (check,) = example.audit(folder)["spot_checks"]
    said = " ".join(read.locator("#evidence").inner_text().split())
    assert [sentence for sentence in check["statement"] if sentence not in said] == []
    figure = read.locator("[id='demystifying_resnet/fig05'] .evidence .imported")
    assert mentions(figure.inner_text(), "1 of 2", "Ada Example", "abababababab")
    assert read.locator("[id='demystifying_resnet/fig04'] .evidence .imported").count() == 0


@in_browser
def test_the_table_can_be_saved_from_the_page_alone(opened: Opened, folder: Path, tmp_path: Path) -> None:
    page = opened()
    with page.expect_download() as saved:
        page.locator("a[download='demystifying_resnet-fig04.csv']").click()
    saved.value.save_as(tmp_path / "saved.csv")
    assert (tmp_path / "saved.csv").read_bytes() == (folder / "demystifying_resnet/fig04.csv").read_bytes()


@in_browser
def test_the_command_is_copied(opened: Opened) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.locator(f"[id='{CONDITION}'] summary", has_text="Reproduce").click()
    button = page.locator(f"[id='{CONDITION}'] .copy")
    button.click()
    assert comes_true(page, "button => button.innerText.startsWith('Copied')", button.element_handle())
    assert page.evaluate("navigator.clipboard.readText()") == 'snakemake --cores all --config "figures=[fig04]"'


@in_browser
def test_the_shaded_region_and_the_marks_lie_where_their_numbers_say(read: Page) -> None:
    """On a logarithmic axis 0.909 and 1.1 are as far from 1, and depth 0's effect is 1."""
    plot = read.locator(f"[id='{CONDITION}'] .points tbody .plot > svg").first
    band, dot = plot.locator(".region").bounding_box(), plot.locator(".dot use").bounding_box()
    assert dot["x"] + dot["width"] / 2 == pytest.approx(band["x"] + band["width"] / 2, abs=1.5)
    read.locator(".result summary", has_text="All 60 comparisons, 20 fail").click()
    fails = read.locator("[id='demystifying_resnet/condition-smaller-at-every-loss'] .plot > svg.contradicted").first
    assert fails.locator(".dot use").bounding_box()["x"] > sum(
        fails.locator(".region").bounding_box()[key] for key in ("x", "width")
    )


@in_browser
def test_every_verdict_is_a_word_with_a_sign_of_its_own(read: Page, folder: Path) -> None:
    for name in ("supported", "contradicted", "inconclusive", "not run"):
        badge = read.locator(".claim .verdict", has_text=name).first
        assert badge.locator("use").get_attribute("href") == f"#icon-{name.replace(' ', '-')}"
    read.locator(".robustness summary", has_text="whole matrix").click()
    matrix = read.locator(".matrix tbody tr").first.locator("td .unseen").all_inner_texts()
    assert matrix == ["supported", "not touched", "supported", "inconclusive"]
    # A stale matrix says no change.
    assert read.locator(".changed dd").count() == 0
    matrix = example.audit(folder)["papers"][0]["robustness"]
    assert matrix["stale"] in read.locator(".robustness .warning").inner_text()
    assert "Not run" in read.locator("[id='other_paper/robustness']").inner_text()
