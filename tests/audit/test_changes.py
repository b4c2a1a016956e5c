"""Oracle: made matrices. Sees a control that is counted, a variant that is compared with this run, a stale count."""

import re
from pathlib import Path
from typing import Any

import pytest

from resaudit.audit.changes import CONTROLS, change_counts, changes_of, moved, opposed, shares_of
from resaudit.audit.schema import check_audit
from resaudit.audit.terminal import under_variants
from resaudit.plan import models
from tests.audit import example
from tests.audit.example import render

GOOD, BAD, OPEN = "supported", "contradicted", "inconclusive"
IDS = ("first", "second", "third")


def claim(verdict: str, control: str | None, *variants: str | None, **more: Any) -> dict[str, Any]:
    """A claim with its verdict as configured, under control, and under variants; ``seed`` under other-seed."""
    under = {"control": control} if control != "none" else {}
    under |= {"other-seed": more.pop("seed")} if "seed" in more else {}
    under |= dict(zip(IDS, variants, strict=False))
    nothing = {"why": None, "effect": None, "low": None, "high": None}
    made = [{"id": key, "verdict": verdict, **nothing} for key, verdict in under.items()]
    return example.claim("a", verdict, "fig04", checks=[], variants=made, **more)


@pytest.mark.parametrize(
    ("made", "of", "changed", "as_seed", "untouched"),
    [
        (claim(GOOD, OPEN, OPEN, OPEN, GOOD), 3, 1, 0, 0),
        (claim(GOOD, GOOD, OPEN, BAD, None), 3, 2, 0, 1),
        (claim(GOOD, None, GOOD, BAD), 2, 1, 0, 0),
        (claim(GOOD, None, OPEN, BAD, configured=OPEN), 2, 1, 0, 0),
        (claim(GOOD, OPEN, None, None), 2, 0, 0, 2),
        (claim(GOOD, "none", GOOD, OPEN), 2, 1, 0, 0),
        (claim(GOOD, OPEN, BAD, GOOD, OPEN, seed=BAD), 3, 2, 1, 0),
        (claim(GOOD, OPEN, BAD, GOOD, OPEN, seed=OPEN), 3, 2, 0, 0),
        (claim(GOOD, GOOD, BAD, OPEN, None, seed=None), 3, 2, 0, 1),
        (claim(GOOD, OPEN), 0, 0, 0, 0),
    ],
)
def test_variants_are_compared_with_the_control_and_controls_are_not_counted(
    made: dict[str, Any], of: int, changed: int, as_seed: int, untouched: int
) -> None:
    found = change_counts(example.judged(made))
    assert (found.of, found.changed, found.as_seed, found.untouched) == (of, changed, as_seed, untouched)


def test_a_fitted_claim_is_fitted_under_variants_too() -> None:
    made = example.judged(claim(GOOD, GOOD, GOOD, BAD, fitted="to it"))
    assert [(change.before, change.after) for change in changes_of(made).values()] == [
        ("fitted", "fitted"),
        ("fitted", "fitted"),
        ("fitted", BAD),
    ]
    assert not any(GOOD in line for line in under_variants(made, None))


def test_the_control_of_a_matrix_is_one_of_the_controls() -> None:
    # The page knows every control by its id.
    assert set(CONTROLS) == set(models.CONTROLS)


@pytest.mark.parametrize(("control", "changes"), [(GOOD, False), (OPEN, True), (None, False)])
def test_the_control_is_compared_with_the_verdict_as_configured_in_its_own_run(
    control: str | None, changes: bool
) -> None:
    assert changes_of(example.judged(claim(GOOD, control)))["control"].changes is changes
    assert changes_of(example.judged(claim(BAD, control, configured=GOOD)))["control"].changes is changes


def test_page_and_terminal_count_the_same_and_say_what_another_seed_does(folder: Path) -> None:
    made = claim(GOOD, OPEN, BAD, GOOD, OPEN, seed=BAD)
    page = _page(folder, made, stale=None)
    said, counted = list(under_variants(example.judged(made), None)), change_counts(example.judged(made))
    (of_variants,) = re.findall(r'<dl class="assumptions changed">(.*?)</dl>', page)
    assert of_variants.count("<dt>") == counted.changed == 2
    assert re.findall(r'<p class="alone"><strong>[^<]*</strong> \((.*?)\)', page) == list(CONTROLS)
    changing = re.findall(r'<tr class="changes">.*?</tr>', page, re.DOTALL)
    assert ["seed does" in row for row in changing].count(True) == counted.as_seed == 1
    for text in (page, "\n".join(said)):
        assert re.search(rf"nder 3 .*: {re.escape(str(counted))}", text)
    assert [line.split(":")[0] for line in said if "seed does)" in line] == ["under first"]
    assert [control for control in CONTROLS for line in said if f"({control})" in line] == list(CONTROLS)


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (claim(GOOD, GOOD, BAD, OPEN, BAD), ("2 of 3", "first", "third")),
        (claim(BAD, OPEN, None, GOOD, BAD), ("1 of 2", "second")),
        (claim(GOOD, GOOD, BAD, fitted="to it"), ("1 of 1", "first")),
        (claim(GOOD, BAD, GOOD, OPEN, seed=BAD), ()),
        (claim(OPEN, OPEN, GOOD, BAD), ()),
        (claim(GOOD, BAD, BAD, BAD), ()),  # as the reduction alone makes it
    ],
)
def test_the_readings_with_the_opposite_verdict_stand_beside_it(
    made: dict[str, Any], named: tuple[str, ...], folder: Path
) -> None:
    judged = example.judged(made)
    said = opposed(judged, example.matrix(folder, stale=None))
    assert bool(said) == bool(named)
    assert all(text in said for text in named)
    assert all(name.title() in moved(judged, example.matrix(folder, stale=None)).title() for name in named[1:])
    assert opposed(judged, example.matrix(folder, stale="old")) == opposed(judged, None) == ""


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (claim(GOOD, GOOD, GOOD, GOOD, None), "none of 2"),
        (claim(GOOD, GOOD, BAD, OPEN, GOOD), "2 of 3: 1 opposite (first), 1 inconclusive"),
        (claim(OPEN, GOOD, OPEN, OPEN, GOOD), "2 of 3 inconclusive"),
        (claim(GOOD, GOOD, None), "–"),
    ],
)
def test_the_table_says_how_many_readings_move_a_verdict(made: dict[str, Any], words: str, folder: Path) -> None:
    assert moved(example.judged(made), example.matrix(folder, stale=None)) == words
    assert moved(example.judged(made), example.matrix(folder, stale="old")) == "–"
    (row,) = re.findall(r"<tbody data-claim=.*?</tbody>", _page(folder, made, stale=None), re.DOTALL)[:1]
    assert f"<td>{words}</td>" in re.sub(r"<td [^>]*>", "<td>", row)


def test_the_shares_count_what_the_rows_say(folder: Path) -> None:
    """Controls are no readings; of the seed's verdict the control's is the measure; a stale matrix gives nothing."""
    made = [claim(GOOD, GOOD, BAD, OPEN, GOOD, seed=GOOD), claim(BAD, OPEN, OPEN, None, GOOD, seed=BAD)]
    made += [claim(GOOD, None, None, GOOD, None, seed=None, fitted="to it"), claim(GOOD, GOOD)]
    made += [claim(GOOD, GOOD, OPEN), claim(GOOD, BAD, BAD)]
    whole = check_audit(example.audit(folder))
    fresh = [example.judged(each | {"id": f"x/c{i}"}) for i, each in enumerate(made)]
    of = [
        whole.papers[0].model_copy(update={"claims": fresh, "robustness": example.matrix(folder, stale=stale)})
        for stale in (None, "old")
    ]
    shares = shares_of(of[:1])
    assert (shares.reproducible.count, shares.reproducible.of) == (4, 6)
    assert (shares.robust.count, shares.robust.of, shares.opposite) == (4, 8, 2)
    assert (shares.unmoved.count, shares.unmoved.of) == (2, 5)
    assert (shares.replicable.count, shares.replicable.of) == (1, 2)
    assert shares_of(of[:1], {"x/c3"}).reproducible.of == 1
    assert (shares_of(of[1:]).robust.of, shares_of(of[1:]).replicable.of) == (0, 0)


def test_a_stale_matrix_counts_and_marks_nothing(folder: Path) -> None:
    made = claim(GOOD, OPEN, BAD, GOOD, OPEN, seed=BAD)
    page = _page(folder, made, stale="fig04 has been drawn anew since")
    said = "\n".join(
        under_variants(example.judged(made), example.matrix(folder, stale="fig04 has been drawn anew since"))
    )
    page = page[page.index("<body>") : page.index("<script>")]
    for text in (page, said):
        assert "stale" in text
        counting = ("the verdict;", "variants change", "(changes", "change a verdict", "another seed does")
        assert [word for word in counting if word in text] == []


def _page(folder: Path, made: dict[str, Any], stale: str | None) -> str:
    audit = example.audit(folder)
    paper = audit["papers"][0]
    made |= {"id": paper["claims"][0]["id"]}
    paper["claims"] = [made, *(claim | {"variants": []} for claim in paper["claims"][1:])]
    runs = [{"id": each["id"], "summary": f"what {each['id']} is", "overrides": [], "scale": "laptop", "deviations": []}
            for each in made["variants"]]  # fmt: skip
    paper["robustness"] |= {"stale": stale, "variants": runs}
    return render(audit, folder)
