"""What the tests of the page ask a browser.

Oracle: a real browser. Sees a page that loads something, a dead link, a filter that hides the wrong claim. The example
holds every verdict and texts that try to break out; its figures are drawn from a smoke run's tables.
"""

import shutil
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

CHROMIUM = shutil.which("chromium")
PHONE = {"viewport": {"width": 360, "height": 740}}
CONDITION = "demystifying_resnet/depth-invariant-condition"
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
Opened = Callable[..., Page]


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


def faults(page: Page) -> list[str]:
    """All that axe finds, of every impact."""
    return [
        f"{fault['id']}: {[node['html'][:200] for node in fault['nodes']]}"
        for fault in Axe().run(page).response["violations"]
    ]
