"""Oracle: Python's own judging. Sees a page that judges otherwise, or takes a reader's verdict for the audit's.

The claims are those of the committed tables, and made ones of runs that diverge.
"""

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

from resaudit.audit.build import drawn_figures, judgements_of, make_audit
from resaudit.audit.models import JudgedClaim, standing_of
from resaudit.audit.page import to_judge_again
from resaudit.claims.checks.runs import MedianOfRuns
from resaudit.claims.decision import Threshold, verdict_of_all
from resaudit.claims.records import Judgement
from resaudit.claims.verdicts import judge, region_of, verdict_at
from resaudit.plan.claim import Check
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from tests.audit import example
from tests.audit.browsing import Opened, chosen, in_browser
from tests.audit.example import PAPER, judged
from tests.claims.made import claim

REFERENCE = Path(__file__).parents[2] / "figures" / "reference"
SETTINGS = ("device=cpu", f"paths.figures={REFERENCE}")
RANDOM_THRESHOLDS = 1000
Thresholds = dict[str, dict[str, float]]

Claims = tuple[dict[str, Judgement], dict[str, str | None], dict[str, Any]]


@pytest.fixture(scope="module")
def claims() -> Claims:
    """Judgements and reasons why they are no evidence, by claim, and what the page knows of them."""
    plan = make_plan(load(SETTINGS))
    every = make_plan(plan.config.with_every_figure())
    audit = make_audit(plan, SETTINGS, refuse_others=False)
    judgements = {
        f"{paper}/{name}": judgement
        for paper in plan.config.claims
        for name, judgement in judgements_of(
            plan.config, paper, *drawn_figures(plan, every, paper, refuse_others=False)
        ).items()
    }
    return judgements, {claim.id: claim.fitted for claim in audit.claims}, to_judge_again(audit.claims)


def ours(parameters: dict[str, Any]) -> dict[str, float]:
    """The thresholds of a check."""
    return {key: value for key, value in parameters.items() if key in get_args(Threshold)}


def judged_again(judgement: Judgement, fitted: str | None, thresholds: Mapping[str, Mapping[str, float]]) -> str:
    """The standing at other thresholds, by the functions that judge."""
    verdicts = []
    for result in judgement.checks:
        region = region_of(Check.model_construct(**ours(result.check.parameters) | thresholds.get(result.name, {})))
        places = [
            verdict_at([choice.verdict(region) for choice in point.choices], bool(result.spread))
            for point in result.points
        ]
        verdicts.append(verdict_of_all([*places, *["inconclusive"] * result.lacking]))
    return standing_of(verdict_of_all(verdicts), fitted)


def made_up(known: dict[str, Any], chance: random.Random) -> Thresholds:
    """One threshold of each check moved: anywhere, or to an end of an interval, or just beside one."""
    thresholds: Thresholds = {}
    for name, check in known["checks"].items():
        choices = [choice for point in check["points"] for choice in point["choices"]]
        ends = [end for choice in choices for end in (*choice["own"], *choice["shared"]) if isinstance(end, float)]
        here = ours(check["check"]["parameters"])
        ends += here.values()
        key, end = chance.choice(sorted(here)), chance.choice(ends)
        value = chance.choice(
            [end, math.nextafter(end, math.inf), math.nextafter(end, -math.inf), end * chance.uniform(-1, 3)]
        )
        if key == "within_factor":
            value = max(abs(value), 1 / abs(value)) if value else 2.0
            value = max(value, math.nextafter(1, 2))
        if chance.random() < 0.8:
            thresholds[name] = {key: value}
    return thresholds


@in_browser
def test_browser_and_python_agree_on_every_claim_and_at_random_thresholds(opened: Opened, claims: Claims) -> None:
    judgements, fitted, known = claims
    assert len(known) > 20
    chance = random.Random(1)
    asked: list[tuple[str, Thresholds]] = [(claim, {}) for claim in known]
    asked += [(claim, made_up(known[claim], chance)) for claim in chance.choices(sorted(known), k=RANDOM_THRESHOLDS)]
    expected = [judged_again(judgements[claim], fitted[claim], thresholds) for claim, thresholds in asked]
    script = "([asked, known]) => asked.map(([claim, thresholds]) => judgeAgain(claim, thresholds, known))"
    assert opened().evaluate(script, [asked, known]) == expected
    # As it is, that is the audit's; and every verdict was among them.
    assert expected[: len(known)] == [standing_of(judgements[each].verdict, fitted[each]) for each in known]
    assert {"supported", "contradicted", "inconclusive"} <= set(expected)


def diverging(sign: float, runs: int) -> tuple[Judgement, JudgedClaim]:
    """A claim on the medians of 20 runs at 20 depths, and the same as audit.json has it; so many runs are infinite."""
    values = sign * np.where(np.arange(20) < 20 - runs, np.linspace(1.0, 1.19, 20), np.inf)
    table = pd.concat([pd.DataFrame({"depth": depth, "run": range(20), "x": values}) for depth in range(20)])
    median = MedianOfRuns(column="x", per=["depth"], **{"at_most" if sign > 0 else "at_least": 2.0 * sign})
    judgement = judge(claim(median, runs=20), table, "laptop")
    name, written = f"{'plus' if sign > 0 else 'minus'}-{runs}", json.loads(judgement.model_dump_json())
    return judgement, judged(example.claim(name, judgement.verdict, "fig04", checks=written["checks"]))


DIVERGING = [(sign, runs) for sign in (1.0, -1.0) for runs in (2, 3, 5, 6, 14, 15, 17, 18, 20)]
"""The sign of infinity, and how many of 20 runs are infinite: for each end of both intervals the most of them with
which it is finite, and one more."""


@in_browser
def test_browser_and_python_agree_where_one_of_two_intervals_is_infinite(opened: Opened) -> None:
    made = {found.id: (judgement, found) for judgement, found in (diverging(*each) for each in DIVERGING)}
    known, chance = to_judge_again(found for _, found in made.values()), random.Random(1)
    asked: list[tuple[str, Thresholds]] = [(name, {}) for name in made]
    asked += [(name, made_up(known[name], chance)) for name in chance.choices(sorted(known), k=RANDOM_THRESHOLDS)]
    expected = [judged_again(made[name][0], None, thresholds) for name, thresholds in asked]
    script = "([asked, known]) => asked.map(([claim, thresholds]) => judgeAgain(claim, thresholds, known))"
    assert opened().evaluate(script, [asked, known]) == expected
    assert expected[: len(made)] == [judgement.verdict for judgement, _ in made.values()]
    assert [made[f"{PAPER}/{sign}-17"][0].verdict for sign in ("plus", "minus")] == ["inconclusive"] * 2


@pytest.mark.parametrize("each", DIVERGING)
def test_the_audit_has_every_end_of_both_intervals(each: tuple[float, int]) -> None:
    judgement, written = diverging(*each)
    assert written.checks == judgement.checks


CLAIM = "demystifying_resnet/depth-invariant-condition"


@in_browser
def test_a_threshold_of_the_readers_is_marked_kept_in_the_address_and_not_printed(opened: Opened) -> None:
    page = opened("#" + CLAIM)
    box = page.locator(f'.what-if[data-if="{CLAIM}"]')
    before = page.locator(f'[id="{CLAIM}"] .why').inner_text()
    box.locator("summary").click()
    ours = box.locator("[type=number]").input_value()
    box.locator("[type=number]").fill("1.000001")
    said = box.locator(".yours").inner_text()
    assert "not the audit's" in said
    assert page.locator(f'[id="{CLAIM}"] .why').inner_text() == before
    assert chosen(page)["if"] == [f"{CLAIM} constant within_factor 1.000001"]
    again = opened("#" + urlsplit(page.url).fragment)
    assert again.locator(f'.what-if[data-if="{CLAIM}"] .yours').inner_text() == said
    again.emulate_media(media="print")
    assert not again.locator(f'.what-if[data-if="{CLAIM}"]').is_visible()
    box.get_by_role("button", name="Back").click()
    assert (box.locator("[type=number]").input_value(), "if" in chosen(page)) == (ours, False)
    box.locator("[type=range]").fill("0")
    assert float(box.locator("[type=number]").input_value()) < float(ours)


@in_browser
@pytest.mark.parametrize("fragment", ["if=nonsense", f"if={CLAIM} constant within_factor x", "if=a/b c d 1"])
def test_an_address_that_makes_no_sense_changes_nothing(opened: Opened, fragment: str) -> None:
    said = opened("#" + fragment).locator(f'.what-if[data-if="{CLAIM}"] .yours').inner_text()
    assert said == opened().locator(f'.what-if[data-if="{CLAIM}"] .yours').inner_text()
