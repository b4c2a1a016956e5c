"""What the tests of the page ask a browser.

Oracle: a real browser. Sees a page that loads something, a dead link, a filter that hides the wrong claim. The example
holds every verdict and texts that try to break out; its figures are drawn from a smoke run's tables.
"""

import re
import shutil
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium")
PHONE = {"viewport": {"width": 360, "height": 740}}
CONDITION = "demystifying_resnet/depth-invariant-condition"
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
Opened = Callable[..., Page]


def shown(page: Page) -> list[str]:
    return [claim.get_attribute("id").split("/")[1] for claim in page.locator(".claim:visible").all()]


def status(page: Page) -> list[int]:
    """The numbers in the sentence that says how many claims are shown: all, or so many of all."""
    return [int(number) for number in re.findall("[0-9]+", page.get_by_role("status").inner_text())]


def comes_true(page: Page, script: str, argument: Any = None) -> bool:
    """Whether a script comes to be true within 5 s; the browser may take its time.

    Playwright's wait_for_function looks a second time by eval, which the page's own policy forbids.
    """
    for _ in range(100):
        if page.evaluate(script, argument):
            return True
        page.wait_for_timeout(50)
    return False


def hidden(page: Page, count: int) -> bool:
    """Whether so many claims come to be hidden."""
    return comes_true(page, "count => document.querySelectorAll('.claim[hidden]').length === count", count)


def in_view(page: Page, claim: str) -> bool:
    """Whether a claim comes to stand in the upper half of the window."""
    script = """id => {
        const top = document.getElementById(id).getBoundingClientRect();
        return top.height > 0 && -5 <= top.y && top.y < innerHeight / 2;
    }"""
    return comes_true(page, script, claim)


def chosen(page: Page) -> dict[str, list[str]]:
    """What the address says is chosen."""
    return parse_qs(urlsplit(page.url).fragment)


def faults(page: Page) -> list[str]:
    """All that axe finds, of every impact."""
    return [
        f"{fault['id']}: {[node['html'][:200] for node in fault['nodes']]}"
        for fault in Axe().run(page).response["violations"]
    ]
