"""What the page says, seen in a browser."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from tests.report.browsing import CONDITION, PHONE, Opened, comes_true, faults, in_browser


@in_browser
def test_first_screen_says_how_many_claims_of_each_paper_held(read: Page) -> None:
    rows = [row.inner_text().split("\t") for row in read.locator(".summary tr").all()]
    assert [[cell.split()[0] for cell in row[1:]] for row in rows[1:]] == [
        ["3", "2", "2", "2", "9"],
        ["0", "0", "0", "1", "1"],
        ["3", "2", "2", "3", "10"],
    ]
    top = read.locator("header.top").inner_text()
    assert "Scale laptop: all data, epochs and learning rates" in top
    assert "b7bd04156ee2, with uncommitted changes · 21 November 2026, 06:00 UTC" in top
    assert read.locator(".all tr[data-claim]").count() == read.locator(".claim").count() == 10


@in_browser
def test_the_head_says_what_verdicts_mean(read: Page) -> None:
    top = read.locator("header.top")
    assert [text.strip() for text in top.locator(".legend dt").all_inner_texts()] == [
        "supported", "contradicted", "inconclusive", "not run", "Intervals",
    ]  # fmt: skip


@in_browser
def test_a_claim_answers_in_order(read: Page) -> None:
    """Place, paraphrase, verdict with its bound, the author's reply, why, evidence, what else it could mean."""
    claim = read.locator("[id='demystifying_resnet/condition-smaller-at-every-loss']")
    said, places = claim.inner_text(), ["The paper, abstract; section 5.1", "What the paper says of",
        "contradicted Constant: contradicted at depth 96. Theory allows at most 1.05 at this size.",
        "A. Author, an author of the paper, 2026-11-20: We plotted", "Why, as far as tested. At one rate",
        "Evidence: Figure 5", "What else it could mean", "Our interpretation", "Reproduce"]  # fmt: skip
    said = " ".join(said.split())
    assert [place for place in places if place not in said] == []
    assert sorted(places, key=said.index) == places
    assert "docs/findings.md#condition-smaller-at-every-loss" in said


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
def test_the_gallery_enlarges_and_says_what_was_not_drawn(opened: Opened) -> None:
    page = opened()
    page.locator(".thumb").nth(1).click()
    dialog = page.get_by_role("dialog")
    assert dialog.locator("svg[role=img]").get_attribute("id") == "demystifying_resnet-fig05"
    assert "Figure 5. Eigenvalues against loss, linear networks" in dialog.inner_text()
    page.keyboard.press("Escape")
    missing = page.locator(".gallery li[id='other_paper/fig02']").inner_text()
    assert "Not drawn: in full it takes days without a GPU: about 19 minutes" in missing
    assert "figures=[other_paper/fig02]" in missing
    rows = page.locator("#not-run tbody tr:not(.of)")
    assert [row.locator("a").get_attribute("href") for row in rows.all()] == [
        "#other_paper/fig02",
        "#other_paper/table1",
        "#other_paper/fig01_of_another_data_set_yet",
    ]
    alone = opened(java_script_enabled=False)
    alone.locator(".thumb").nth(1).click()
    # Without scripts a link to the figure.
    assert urlsplit(alone.url).fragment == "demystifying_resnet/fig05"


@in_browser
def test_printed_numbers_stand_beside_ours(read: Page) -> None:
    rows = read.locator("[id='other_paper/printed'] tbody tr:not(.of)").all()
    assert [[cell.strip() for cell in row.inner_text().split("\t")] for row in rows] == [
        ["CNN, k = 16", "0.5348 (0.5200–0.5500)", "0.5462 (0.5300–0.5600) n = 5000", "+0.0114"],
        ["CNN, k = 25", "0.5528", "not run", "–"],
    ]
    assert "No figure here repeats numbers" in read.locator("[id='demystifying_resnet/printed']").inner_text()


@in_browser
def test_the_page_says_which_evidence_is_imported_and_what_was_recomputed(read: Page) -> None:
    said = " ".join(read.locator("#evidence").inner_text().split())
    assert "abababababab Ada Example Demystifying ResNet, Figure 5 (1 of 2 jobs)" in said
    assert "36 of 63 jobs under 18 verdicts recomputed: 36 equal in every byte." in said
    assert "would have missed it with probability 32 % (10 %)" in said
    figure = read.locator("[id='demystifying_resnet/fig05'] .evidence").inner_text()
    assert "Imported, not computed here: 1 of 2 results, run by Ada Example, from archive abababababab" in figure
    assert "Imported," not in read.locator("[id='demystifying_resnet/fig04'] .evidence").inner_text()


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
def test_every_verdict_is_a_word_with_a_sign_of_its_own(read: Page) -> None:
    for name in ("supported", "contradicted", "inconclusive", "not run"):
        badge = read.locator(".claim .verdict", has_text=name).first
        assert badge.locator("use").get_attribute("href") == f"#icon-{name.replace(' ', '-')}"
    read.locator(".robustness summary", has_text="whole matrix").click()
    matrix = read.locator(".matrix tbody tr").first.locator("td .unseen").all_inner_texts()
    assert matrix == ["supported", "not touched", "supported", "inconclusive"]
    # A stale matrix says no change.
    assert read.locator(".changed dd").count() == 0
    assert read.locator(".robustness .warning").inner_text().startswith("Stale. The ledger has changed")
    assert "Not run" in read.locator("[id='other_paper/robustness']").inner_text()
