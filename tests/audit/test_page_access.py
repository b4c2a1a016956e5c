"""Oracle: a real browser and axe.

Sees a page that a keyboard, a phone, a printer or a reader without scripts cannot use, and a hostile text that runs.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.audit import example
from tests.audit.browsing import CONDITION, PHONE, Opened, comes_true, faults, in_browser, in_view, shown, status


@in_browser
def test_the_page_is_worked_from_the_keyboard(opened: Opened) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("href") == "#claims"
    page.keyboard.press("Enter")
    # The browser follows the link in its own time; a Tab before it has would go on from the link.
    assert comes_true(page, "document.querySelector('#claims').matches(':focus')")
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("value") == "supported"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert len(shown(page)) == 2
    outline = page.locator("label:has(:focus)").evaluate("label => getComputedStyle(label).outlineStyle")
    assert outline == "solid"
    while page.locator(":focus").evaluate("element => !element.closest('[data-claim]')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert in_view(page, "demystifying_resnet/plain-condition-explodes")
    while page.locator(":focus").evaluate("element => element.tagName !== 'SUMMARY'"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1


@in_browser
@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        pytest.param({}, "light", id="wide-light"),
        pytest.param(PHONE, "dark", id="phone-dark"),
        pytest.param({}, "dark", id="wide-dark", marks=pytest.mark.slow),
        pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_fault(size: dict[str, Any], scheme: str, opened: Opened) -> None:
    page = opened(color_scheme=scheme, **size)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert faults(page) == []
    page.get_by_role("checkbox", name="inconclusive").check()
    assert faults(page) == []


@in_browser
def test_axe_would_find_one(opened: Opened) -> None:
    page = opened("#verdict=inconclusive&q=the")
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
    assert page.locator(".all [data-claim]:visible").count() == 2
    assert page.get_by_role("status").is_visible()
    assert status(page) == [2, 10]
    page = opened()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 1000})
    # A4 between its margins.
    assert page.evaluate("document.documentElement.scrollWidth") == 680
    assert page.locator(".drawing svg").last.bounding_box()["height"] > 50
    assert len(shown(page)) == 10
    assert page.locator(".all [data-claim]:visible").count() == 10
    assert not page.locator("#filters fieldset").first.is_visible()
    assert not page.locator("details:not([open]) .assumptions").first.is_visible()
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    provenance = page.locator(".evidence details").last.inner_text()
    assert "Jobs\n2" in provenance
    # Ids are printed as a count.
    assert "depth16-3f9a1c2b" not in provenance


@in_browser
def test_the_page_takes_few_sheets(opened: Opened) -> None:
    """Ten claims, one of sixty comparisons."""
    assert len(re.findall(rb"/Type\s*/Page\b", opened().pdf(prefer_css_page_size=True))) <= 9


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
    assert page.locator(".card").locator("svg:visible").count() == len(example.DRAWN)
    assert not page.locator("#filters").is_visible()
    # No button that does nothing.
    assert page.locator("button:visible").count() == 0


@in_browser
def test_hostile_texts_are_shown_and_not_run(opened: Opened) -> None:
    page = opened("#demystifying_resnet/hostile")
    assert "10 claims" in page.title()
    text = page.locator("[id='demystifying_resnet/hostile']").inner_text()
    assert "<script>document.title='owned'</script> \"quoted\" & 'single' {{ 7 * 7 }}" in text
    assert page.locator("[id='demystifying_resnet/hostile'] .copy").get_attribute("data-copy") == example.HOSTILE
    assert page.locator("script:not([type])").count() == 1


LOOKS = """parts => parts.map(part => {
    const { fill, stroke, strokeWidth, strokeLinecap, strokeLinejoin, strokeDasharray } = getComputedStyle(part);
    return [part.tagName, fill, stroke, strokeWidth, strokeLinecap, strokeLinejoin, strokeDasharray];
})"""


def looks(browser: Browser, page_file: Path, policy: str) -> list[list[str]]:
    """How the drawings look on a server of this policy, where pictures have their size and colours in any case."""
    with browser.new_context() as context:
        page, headers = context.new_page(), {"Content-Security-Policy": policy, "Content-Type": "text/html"}
        page.route("**/*", lambda route: route.fulfill(path=page_file, headers=headers))
        page.goto("http://localhost/audit.html")
        styled = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 251)"
        assert styled == (not policy)
        assert page.locator("h1 ~ * .icon").first.bounding_box()["width"] <= 20
        region = page.locator(".points .region").first
        assert region.evaluate("part => getComputedStyle(part).fill") == "rgb(219, 238, 230)"
        return page.locator(".drawing svg, .drawing svg *").evaluate_all(LOOKS)


@in_browser
def test_a_server_that_forbids_styles_changes_no_drawing(browser: Browser, folder: Path) -> None:
    """The policy is that of a server of continuous integration (Jenkins)."""
    strict = "sandbox; default-src 'none'; img-src 'self'; style-src 'self';"
    free = looks(browser, folder / "audit.html", "")
    assert len(free) > 100
    assert looks(browser, folder / "audit.html", strict) == free
