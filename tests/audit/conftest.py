"""The example's page, written once, and a browser that opens it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from resaudit.audit.page import write_page
from resaudit.audit.schema import check_audit
from tests.audit import example
from tests.audit.browsing import CHROMIUM, Opened

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example's figures, audit.json and page lie."""
    folder = tmp_path_factory.mktemp("audit") / "figures"
    example.draw(folder)
    (folder / "audit.json").write_text(json.dumps(example.audit(folder)), encoding="utf-8")
    write_page(check_audit(example.audit(folder)), folder / "audit.html")
    return folder


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opening(browser: Browser, folder: Path) -> Iterator[Opened]:
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


@pytest.fixture
def opened(browser: Browser, folder: Path) -> Iterator[Opened]:
    """Opens pages of a test's own."""
    with opening(browser, folder) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def read(browser: Browser, folder: Path) -> Iterator[Page]:
    """One page for all tests that only read it, or unfold what no other of them looks at."""
    with opening(browser, folder) as open_page:
        yield open_page()
