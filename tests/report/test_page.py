"""Oracle: a real browser. Sees a page that loads something, a dead link, a filter that hides the wrong claim.

The example holds every verdict and texts that try to break out; its figures are drawn from a smoke run's tables.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from resaudit.errors import ResauditError
from resaudit.report.page import render, write_page
from tests.report import example

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PHONE = {"viewport": {"width": 360, "height": 740}}
CONDITION = "demystifying_resnet/depth-invariant-condition"
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example's figures, audit.json and page lie."""
    folder = tmp_path_factory.mktemp("audit") / "figures"
    example.draw(folder)
    (folder / "audit.json").write_text(json.dumps(example.audit(folder)), encoding="utf-8")
    write_page(folder / "audit.json", folder / "audit.html")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, folder: Path) -> Iterator[Opened]:
    """Opens the page; at the end nothing must have been said on the console, nor asked of anyone."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_page(address: str = "", **settings: Any) -> Page:
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((folder / "audit.html").as_uri() + address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    own = (folder / "audit.html").as_uri()
    assert [url for url in asked if url.split("#")[0].split("?")[0] != own and not url.startswith("data:")] == []


def shown(page: Page) -> list[str]:
    return [claim.get_attribute("id").split("/")[1] for claim in page.locator(".claim:visible").all()]


def status(page: Page) -> str:
    return page.get_by_role("status").inner_text()


def in_view(page: Page, claim: str) -> bool:
    """Whether a claim stands in the upper half of the window; the browser may take its time to go there."""
    script = """id => {
        const top = document.getElementById(id).getBoundingClientRect();
        return top.height > 0 && -5 <= top.y && top.y < innerHeight / 2;
    }"""
    try:
        page.wait_for_function(script, arg=claim, timeout=5000)
    except PlaywrightTimeout:
        return False
    return True


def chosen(page: Page) -> dict[str, list[str]]:
    """What the address says is chosen."""
    return parse_qs(urlsplit(page.url).fragment)


@in_browser
def test_first_screen_says_how_many_claims_of_each_paper_held(opened: Opened) -> None:
    page = opened()
    rows = [row.inner_text().split("\t") for row in page.locator(".summary tr").all()]
    assert [[cell.split()[0] for cell in row[1:]] for row in rows[1:]] == [
        ["3", "2", "2", "2", "9"],
        ["0", "0", "0", "1", "1"],
        ["3", "2", "2", "3", "10"],
    ]
    top = page.locator("header.top").inner_text()
    assert "Scale laptop: all data, epochs and learning rates" in top
    assert "b7bd04156ee2, with uncommitted changes · 21 November 2026, 06:00 UTC" in top
    assert page.locator(".all tr[data-claim]").count() == page.locator(".claim").count() == 10


@in_browser
def test_the_head_says_what_verdicts_mean_and_what_was_checked(opened: Opened) -> None:
    top = opened().locator("header.top")
    assert [text.strip() for text in top.locator(".legend dt").all_inner_texts()] == [
        "supported", "contradicted", "inconclusive", "not run", "Intervals",
    ]  # fmt: skip
    said = top.inner_text()
    assert "241 passed, 0 failed, 6 skipped, commit b7bd04156ee2" in said
    assert "1 of 2 tables agree with the references, not Figure 7" in said


@in_browser
def test_a_claim_answers_in_order(opened: Opened) -> None:
    """Place, paraphrase, verdict with its bound, the author's reply, why, evidence, what else it could mean."""
    claim = opened().locator("[id='demystifying_resnet/condition-smaller-at-every-loss']")
    said, places = claim.inner_text(), ["The paper, abstract; section 5.1", "What the paper says of",
        "contradicted Constant: contradicted at depth 96. Theory allows at most 1.05 at this size.",
        "A. Author, an author of the paper, 2026-11-20: We plotted", "Why, as far as tested. At one rate",
        "Evidence: Figure 5", "What else it could mean", "Our interpretation", "Reproduce"]  # fmt: skip
    said = " ".join(said.split())
    assert [place for place in places if place not in said] == []
    assert sorted(places, key=said.index) == places
    assert "docs/findings.md#condition-smaller-at-every-loss" in said


def first_rows(page: Page) -> list[str]:
    return [row.get_attribute("data-claim").split("/")[1] for row in page.locator("tr[data-claim]").all()[:3]]


@in_browser
def test_the_table_is_sorted_by_any_column_and_the_address_keeps_it(opened: Opened) -> None:
    page = opened("#verdict=contradicted")
    order = first_rows(page)
    page.get_by_role("button", name="Verdict").click()
    assert first_rows(page)[:2] == ["plain-condition-explodes", "condition-smaller-at-every-loss"]
    assert chosen(page) == {"verdict": ["contradicted"], "sort": ["verdict ascending"]}
    assert page.locator("th[aria-sort=ascending]").inner_text() == "Verdict"
    assert first_rows(opened("#" + urlsplit(page.url).fragment))[0] == "plain-condition-explodes"
    page.get_by_role("button", name="Verdict").click()
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Verdict").click()
    assert (first_rows(page), page.locator("th[aria-sort]").count()) == (order, 0), "as in the paper"
    page.get_by_role("button", name="Meets").click()
    assert first_rows(page)[0] == "plain-condition-explodes", "the least share of comparisons meets the threshold"
    assert first_rows(opened("#sort=nonsense")) == order


@in_browser
def test_a_figure_enlarges_by_click_and_from_the_keyboard(opened: Opened) -> None:
    page = opened(**PHONE)
    card = page.locator(".card").first
    card.click()
    dialog = page.get_by_role("dialog")
    drawn = dialog.locator("svg[role=img]")
    assert drawn.bounding_box()["width"] > card.bounding_box()["width"], "at its own size, to be scrolled"
    assert faults(page) == []
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.locator(".enlarge").nth(1).focus()
    page.keyboard.press("Enter")
    assert drawn.get_attribute("id") == "demystifying_resnet-fig05"
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()


@in_browser
def test_filters_narrow_what_is_shown_and_stand_in_the_address(opened: Opened) -> None:
    page = opened()
    assert status(page) == "All 10 claims are shown."
    page.get_by_role("checkbox", name="contradicted").check()
    assert shown(page) == ["plain-condition-explodes", "condition-smaller-at-every-loss"]
    assert status(page) == "2 of 10 claims are shown."
    page.get_by_role("checkbox", name="not run").check()
    page.get_by_role("checkbox", name="Importance").check()
    assert shown(page) == ["failure-falls"]
    assert page.locator(".all tr[data-claim]:visible").count() == 1
    assert not page.locator("[id='demystifying_resnet']").is_visible()
    assert chosen(page) == {"verdict": ["contradicted", "not run"], "paper": ["other_paper"]}
    again = opened("#" + urlsplit(page.url).fragment)
    assert shown(again) == ["failure-falls"]
    assert again.get_by_role("checkbox", name="not run").is_checked()
    again.get_by_role("button", name="Clear").click()
    assert len(shown(again)) == 10
    assert chosen(again) == {}


@in_browser
def test_search_wants_every_word(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Search").fill("CONDITION  converges")
    assert shown(page) == ["condition-converges"]
    assert chosen(page) == {"q": ["CONDITION  converges"]}
    page.get_by_label("Search").fill("rarer filters")
    assert shown(page) == ["failure-falls"], "the statement is searched"
    page.get_by_label("Search").fill("no such words")
    assert shown(page) == []
    assert status(page) == "0 of 10 claims are shown."


@in_browser
@pytest.mark.parametrize(
    "claim", [CONDITION, "demystifying_resnet/theorem-2-stationarity", "other_paper/failure-falls"]
)
def test_a_link_leads_to_its_claim(claim: str, opened: Opened) -> None:
    assert in_view(opened(f"#{claim}"), claim)
    page = opened()
    page.locator(f"tr[data-claim='{claim}'] a").click()
    assert in_view(page, claim)
    assert urlsplit(page.url).fragment == claim


@in_browser
def test_a_link_to_a_claim_that_a_filter_hides_clears_the_filter(opened: Opened) -> None:
    page = opened("#verdict=contradicted")
    page.evaluate(f"location.hash = '{CONDITION}'")
    page.wait_for_function("document.querySelectorAll('.claim[hidden]').length === 0")
    assert in_view(page, CONDITION)
    assert len(shown(page)) == 10
    assert not page.get_by_role("checkbox", name="contradicted").is_checked()
    page.get_by_role("checkbox", name="inconclusive").check()
    assert chosen(page) == {"verdict": ["inconclusive"]}, "an address never names a claim that its own filter hides"
    page.go_back()
    page.wait_for_function("document.querySelectorAll('.claim[hidden]').length === 8")
    assert page.get_by_role("checkbox", name="contradicted").is_checked(), "Back brings the choice back"


@in_browser
def test_a_number_of_the_summary_shows_its_claims(opened: Opened) -> None:
    page = opened()
    page.get_by_role("link", name="2 contradicted of Demystifying").click()
    page.wait_for_function("document.querySelectorAll('.claim[hidden]').length === 8")
    assert shown(page) == ["plain-condition-explodes", "condition-smaller-at-every-loss"]
    assert chosen(page) == {"verdict": ["contradicted"], "paper": ["demystifying_resnet"]}
    assert in_view(page, "claims")
    assert page.get_by_role("checkbox", name="contradicted").is_checked()
    page.get_by_role("link", name="3 not run of all papers").click()
    page.wait_for_function("document.querySelectorAll('.claim:not([hidden])').length === 3")
    assert chosen(page) == {"verdict": ["not run"]}


@in_browser
def test_claims_are_filtered_by_kind_and_data_set(opened: Opened) -> None:
    page = opened()
    page.get_by_role("checkbox", name="counted").check()
    assert "failure-falls" in shown(page)
    page.get_by_role("checkbox", name="CIFAR-10").check()
    assert shown(page) == ["failure-falls"]
    assert chosen(page) == {"kind": ["count"], "data": ["CIFAR-10"]}
    assert shown(opened("#" + urlsplit(page.url).fragment)) == ["failure-falls"]


@in_browser
def test_the_gallery_enlarges_and_says_what_was_not_drawn(opened: Opened) -> None:
    page = opened()
    page.locator(".thumb").nth(1).click()
    dialog = page.get_by_role("dialog")
    assert dialog.locator("svg[role=img]").get_attribute("id") == "demystifying_resnet-fig05"
    assert "Figure 5. Eigenvalues against loss, linear networks" in dialog.inner_text()
    page.keyboard.press("Escape")
    missing = page.locator(".gallery li[id='other_paper/fig02']").inner_text()
    assert "it needs a GPU" in missing
    assert "figures=[other_paper/fig02]" in missing
    rows = page.locator("#not-run tbody tr:not(.of)")
    assert [row.locator("a").get_attribute("href") for row in rows.all()] == [
        "#other_paper/fig02",
        "#other_paper/table1",
    ]
    alone = opened(java_script_enabled=False)
    alone.locator(".thumb").nth(1).click()
    assert urlsplit(alone.url).fragment == "demystifying_resnet/fig05", "without scripts a link to the figure"


@in_browser
def test_printed_numbers_stand_beside_ours(opened: Opened) -> None:
    page = opened()
    rows = page.locator("[id='other_paper/printed'] tbody tr:not(.of)").all()
    assert [[cell.strip() for cell in row.inner_text().split("\t")] for row in rows] == [
        ["CNN, k = 16", "0.5348 (0.5200–0.5500)", "0.5462 (0.5300–0.5600) n = 5000", "+0.0114"],
        ["CNN, k = 25", "0.5528", "not run", "–"],
    ]
    assert "No figure here repeats numbers" in page.locator("[id='demystifying_resnet/printed']").inner_text()


@in_browser
def test_the_page_says_which_evidence_is_imported_and_what_was_recomputed(opened: Opened) -> None:
    page = opened()
    said = " ".join(page.locator("#evidence").inner_text().split())
    assert "abababababab Ada Example Demystifying ResNet, Figure 5 (1 of 2 jobs)" in said
    assert "36 of 63 jobs under 18 verdicts recomputed: 36 equal in every byte." in said
    assert "would have missed it with probability 32 % (10 %)" in said
    figure = page.locator("[id='demystifying_resnet/fig05'] .evidence").inner_text()
    assert "Imported, not computed here: 1 of 2 results, run by Ada Example, from archive abababababab" in figure
    assert "Imported," not in page.locator("[id='demystifying_resnet/fig04'] .evidence").inner_text()


def test_a_failed_spot_check_is_a_warning_and_without_one_the_page_says_how(folder: Path) -> None:
    audit = example.audit(folder)
    audit["spot_checks"][0] |= {"equal": 34, "failed": 2, "statement": ["NOT REPRODUCED: train/depth16."]}
    assert '<p class="warning"><strong>NOT REPRODUCED: train/depth16.</strong>' in render(audit, folder)
    alone = render(audit | {"spot_checks": []}, folder)
    assert "resaudit spot-check --minutes 10" in alone, "imported results that nobody recomputed"


@in_browser
def test_a_hash_that_names_nothing_does_no_harm(opened: Opened) -> None:
    for address in ("#%E0%A4%A", "#no/such-claim", "#verdict=nonsense"):
        assert len(shown(opened(address))) == 10


@in_browser
def test_the_page_is_worked_from_the_keyboard(opened: Opened) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the claims"
    page.keyboard.press("Enter")
    # The browser follows the link in its own time; a Tab before it has would go on from the link.
    page.wait_for_function("document.querySelector('#claims').matches(':focus')")
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("value") == "supported"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert len(shown(page)) == 2
    outline = page.locator("label:has(:focus)").evaluate("label => getComputedStyle(label).outlineStyle")
    assert outline == "solid"
    while page.locator(":focus").evaluate("element => !element.closest('tr[data-claim]')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert in_view(page, "demystifying_resnet/plain-condition-explodes")
    while page.locator(":focus").evaluate("element => element.tagName !== 'SUMMARY'"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1


def faults(page: Page) -> list[str]:
    """All that axe finds, of every impact."""
    return [
        f"{fault['id']}: {[node['html'][:200] for node in fault['nodes']]}"
        for fault in Axe().run(page).response["violations"]
    ]


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{}, PHONE], ids=["wide", "phone"])
def test_axe_finds_no_fault(scheme: str, size: dict[str, Any], opened: Opened) -> None:
    page = opened(color_scheme=scheme, **size)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert faults(page) == []
    page.get_by_role("checkbox", name="contradicted").check()
    assert faults(page) == []


@in_browser
def test_axe_would_find_one(opened: Opened) -> None:
    page = opened()
    page.evaluate("document.querySelector('label[for=search]').remove()")
    assert "label" in faults(page)[0]


@in_browser
def test_dark_is_dark(opened: Opened) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    assert opened(color_scheme="dark").evaluate(background) == "rgb(23, 24, 27)"
    assert opened(color_scheme="light").evaluate(background) == "rgb(253, 253, 251)"


@in_browser
@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_the_page_never_scrolls_sideways(width: int, opened: Opened) -> None:
    page = opened(viewport={"width": width, "height": 740})
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width


@in_browser
def test_print_shows_what_is_chosen_says_how_much_and_leaves_folded_what_is_folded(opened: Opened) -> None:
    page = opened("#verdict=contradicted")
    page.emulate_media(media="print")
    assert len(shown(page)) == 2
    assert page.locator(".all tr[data-claim]:visible").count() == 2
    assert page.get_by_text("2 of 10 claims are shown.").is_visible()
    page = opened()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") == 680, "A4 between its margins"
    assert page.locator(".drawing svg").last.bounding_box()["height"] > 50
    assert len(shown(page)) == 10
    assert page.locator(".all tr[data-claim]:visible").count() == 10
    assert not page.locator("#filters fieldset").first.is_visible()
    assert not page.locator("details:not([open]) .assumptions").first.is_visible()
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    provenance = page.locator(".evidence details").last.inner_text()
    assert "Jobs\n2" in provenance
    assert "depth16-3f9a1c2b" not in provenance, "ids are printed as a count"


@in_browser
def test_the_page_takes_few_sheets(opened: Opened) -> None:
    """Ten claims, one of sixty comparisons."""
    assert len(re.findall(rb"/Type\s*/Page\b", opened().pdf(prefer_css_page_size=True))) <= 8


@in_browser
def test_paper_is_white_whatever_the_screen(opened: Opened) -> None:
    page = opened(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert faults(page) == []


@in_browser
def test_without_scripts_everything_is_readable(opened: Opened) -> None:
    page = opened(f"#{CONDITION}", java_script_enabled=False)
    assert page.locator(".claim:visible").count() == 10
    assert page.locator(".claim .why:visible").count() == 10
    assert page.locator(".card svg:visible").count() == len(example.DRAWN)
    assert not page.locator("#filters").is_visible()
    assert page.locator("button:visible").count() == 0, "no button that does nothing"


@in_browser
def test_hostile_texts_are_shown_and_not_run(opened: Opened) -> None:
    page = opened("#demystifying_resnet/hostile")
    assert "10 claims" in page.title()
    text = page.locator("[id='demystifying_resnet/hostile']").inner_text()
    assert "<script>document.title='owned'</script> \"quoted\" & 'single' {{ 7 * 7 }}" in text
    assert page.locator("[id='demystifying_resnet/hostile'] .copy").get_attribute("data-copy") == example.HOSTILE
    assert page.locator("script").count() == 1


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
    page.wait_for_function("button => button.innerText.startsWith('Copied')", arg=button.element_handle())
    assert page.evaluate("navigator.clipboard.readText()") == 'snakemake --cores all --config "figures=[fig04]"'


@in_browser
def test_the_shaded_region_and_the_marks_lie_where_their_numbers_say(opened: Opened) -> None:
    """On a logarithmic axis 0.909 and 1.1 are as far from 1, and depth 0's effect is 1."""
    page = opened()
    plot = page.locator(f"[id='{CONDITION}'] .points tbody .plot > svg").first
    band, dot = plot.locator(".region").bounding_box(), plot.locator(".dot use").bounding_box()
    assert dot["x"] + dot["width"] / 2 == pytest.approx(band["x"] + band["width"] / 2, abs=1.5)
    page.locator(".result summary", has_text="All 60 comparisons, 20 fail").click()
    fails = page.locator("[id='demystifying_resnet/condition-smaller-at-every-loss'] .plot > svg.contradicted").first
    assert fails.locator(".dot use").bounding_box()["x"] > sum(
        fails.locator(".region").bounding_box()[key] for key in ("x", "width")
    )


@in_browser
def test_every_verdict_is_a_word_with_a_sign_of_its_own(opened: Opened) -> None:
    page = opened()
    for name in ("supported", "contradicted", "inconclusive", "not run"):
        badge = page.locator(".claim .verdict", has_text=name).first
        assert badge.locator("use").get_attribute("href") == f"#icon-{name.replace(' ', '-')}"
    page.locator(".robustness summary", has_text="whole matrix").click()
    matrix = page.locator(".matrix tbody tr").first.locator("td .unseen").all_inner_texts()
    assert matrix == ["supported", "not touched", "supported", "inconclusive (changes)"]
    assert page.locator(".changed dd").all_inner_texts() == ["depth-invariant-condition: supported → inconclusive"]
    assert page.locator(".robustness .warning").inner_text().startswith("Stale. The ledger has changed")
    assert "Not run" in page.locator("[id='other_paper/robustness']").inner_text()


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


def test_smoke_is_said_to_be_no_evidence(folder: Path) -> None:
    assert "nothing on this page is evidence" in render(example.audit(folder) | {"scale": "smoke"}, folder)
    assert "nothing on this page is evidence" not in render(example.audit(folder), folder)


def test_a_matrix_of_the_reference_run_is_said_to_be_one(folder: Path) -> None:
    audit = example.audit(folder)
    assert "reference run" not in render(audit, folder).lower()
    audit["papers"][0]["robustness"] |= {"reference": True, "files": None}
    page = render(audit, folder)
    assert "Under 2 other assumptions (reference run, not this one): 1 changes the verdict, stale" in page
    assert "Reference run, not this one:" in page
    assert "b7bd04156ee2" in page[page.index("Reference run") :][:200]


def test_what_was_not_checked_is_said_with_its_command(folder: Path) -> None:
    page = render(example.audit(folder) | {"checked": {"oracle": None, "compare": None}}, folder)
    assert "oracle tests not run here (<code>pytest tests/oracle</code>)" in page
    assert "not compared with the references (<code>resaudit compare</code>)" in page


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
    with pytest.raises(ResauditError, match=rf"{file} \(No such file.*draw the figures") as error:
        write_page(copy / "audit.json", copy / "new.html")
    assert "\n" not in str(error.value)
    assert not (copy / "new.html").exists()


def test_a_table_that_is_not_the_audits_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "figures"
    shutil.copytree(folder, copy)
    with (copy / "demystifying_resnet/fig04.csv").open("a") as table:
        table.write("2-shortcut,9,0,1,1,1,1,True\n")
    with pytest.raises(ResauditError, match=r"fig04\.csv is not the table of this audit"):
        write_page(copy / "audit.json", copy / "new.html")
