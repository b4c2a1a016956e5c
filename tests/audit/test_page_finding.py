"""Oracle: a real browser. Sees filters, search, sorting and links that show another claim, or an address that lies."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from tests.audit.browsing import CONDITION, Opened, chosen, comes_true, hidden, in_browser, in_view, shown, status


def first_rows(page: Page) -> list[str]:
    return [row.get_attribute("data-claim").split("/")[1] for row in page.locator("[data-claim]").all()[:3]]


@in_browser
def test_the_table_is_sorted_by_any_column_and_the_address_keeps_it(opened: Opened) -> None:
    page = opened("#verdict=contradicted")
    order = first_rows(page)
    page.get_by_role("button", name="Verdict").first.click()
    assert first_rows(page)[:2] == ["plain-condition-explodes", "condition-smaller-at-every-loss"]
    assert chosen(page) == {"verdict": ["contradicted"], "sort": ["verdict ascending"]}
    assert page.locator("th[aria-sort=ascending]").first.inner_text() == "Verdict at scale laptop"
    assert first_rows(opened("#" + urlsplit(page.url).fragment))[0] == "plain-condition-explodes"
    page.get_by_role("button", name="Verdict").first.click()
    assert page.locator("th[aria-sort]").first.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Verdict").first.click()
    # As in the paper.
    assert (first_rows(page), page.locator("th[aria-sort]").count()) == (order, 0)
    page.get_by_role("button", name="Effect").first.click()
    # The least share of comparisons meets the threshold.
    assert first_rows(page)[0] == "plain-condition-explodes"
    assert first_rows(opened("#sort=nonsense")) == order


@in_browser
def test_filters_narrow_what_is_shown_and_stand_in_the_address(opened: Opened) -> None:
    page = opened()
    assert status(page) == [10]
    page.get_by_role("checkbox", name="contradicted").check()
    assert shown(page) == ["plain-condition-explodes", "condition-smaller-at-every-loss"]
    assert status(page) == [2, 10]
    page.get_by_role("checkbox", name="not run").check()
    page.locator(".more summary").click()
    page.get_by_role("checkbox", name="Importance").check()
    assert shown(page) == ["failure-falls"]
    assert page.locator(".all [data-claim]:visible").count() == 1
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
    page.locator(".more summary").click()
    page.get_by_label("Search", exact=True).fill("CONDITION  converges")
    assert shown(page) == ["condition-converges"]
    assert chosen(page) == {"q": ["CONDITION  converges"]}
    page.get_by_label("Search", exact=True).fill("rarer filters")
    # The statement is searched.
    assert shown(page) == ["failure-falls"]
    page.get_by_label("Search", exact=True).fill("no such words")
    assert shown(page) == []
    assert status(page) == [0, 10]


@in_browser
@pytest.mark.parametrize(
    "claim", [CONDITION, "demystifying_resnet/theorem-2-stationarity", "other_paper/failure-falls"]
)
def test_a_link_leads_to_its_claim(claim: str, opened: Opened) -> None:
    assert in_view(opened(f"#{claim}"), claim)
    page = opened()
    page.locator(f"[data-claim='{claim}'] th a").click()
    assert in_view(page, claim)
    assert urlsplit(page.url).fragment == claim


@in_browser
def test_a_link_to_a_claim_that_a_filter_hides_clears_the_filter(opened: Opened) -> None:
    page = opened("#verdict=contradicted")
    page.evaluate(f"location.hash = '{CONDITION}'")
    assert hidden(page, 0)
    assert in_view(page, CONDITION)
    assert len(shown(page)) == 10
    assert not page.get_by_role("checkbox", name="contradicted").is_checked()
    page.get_by_role("checkbox", name="inconclusive").check()
    # An address never names a claim that its own filter hides.
    assert chosen(page) == {"verdict": ["inconclusive"]}
    page.go_back()
    # Back brings the choice back.
    assert comes_true(page, "document.querySelector('[value=contradicted]').checked")
    assert hidden(page, 8)


@in_browser
def test_claims_are_filtered_by_kind_and_data_set(opened: Opened) -> None:
    page = opened()
    page.locator(".more summary").click()
    page.get_by_role("checkbox", name="counted").check()
    assert "failure-falls" in shown(page)
    page.get_by_role("checkbox", name="CIFAR-10").check()
    assert shown(page) == ["failure-falls"]
    assert chosen(page) == {"kind": ["count"], "data": ["CIFAR-10"]}
    assert shown(opened("#" + urlsplit(page.url).fragment)) == ["failure-falls"]


@in_browser
def test_a_hash_that_names_nothing_does_no_harm(opened: Opened) -> None:
    for address in ("#%E0%A4%A", "#no/such-claim", "#verdict=nonsense"):
        assert len(shown(opened(address))) == 10
