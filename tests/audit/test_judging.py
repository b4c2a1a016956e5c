"""Oracle: small tables with one thing amiss. Sees a table that is judged although its runs are no evidence."""

import json
from pathlib import Path

import pytest

from resaudit.audit.judging import JudgedTable
from tests.conftest import Completed, in_process
from tests.refusals import assert_exits

RUNS = [("ours", 0.81), ("ours", 0.78), ("ours", 0.84), ("base", 0.97), ("base", 1.04), ("base", 0.95)]
GROUPS = ("--group", "method", "--compare", "ours:base", "--value", "error")


def judged(
    folder: Path, *options: str, runs: list[tuple[str, object]] | None = None, seeds: str = "123123"
) -> Completed:
    lines = [f"{method},{seed},{value}" for (method, value), seed in zip(runs or RUNS, seeds, strict=False)]
    (folder / "runs.csv").write_text("\n".join(["method,seed,error", *lines, ""]), encoding="utf-8")
    return in_process("judge", "runs.csv", *options, cwd=folder)


def with_value(place: int, value: object) -> list[tuple[str, object]]:
    return [*RUNS[:place], (RUNS[place][0], value), *RUNS[place + 1 :]]


@pytest.mark.parametrize(
    ("options", "runs", "seeds", "facts"),
    [
        (("--at-most", "1", "--value", "eror"), None, "123123", ("eror", "error")),
        (("--at-most", "1", "--compare", "our:base"), None, "123123", ("our", "ours")),
        (("--at-most", "1", "--check", "ratio_of_mean"), None, "123123", ("ratio_of_means",)),
        (("--at-most", "1", "--seed", "run"), None, "123123", ("run",)),
        ((), None, "123123", ("at_least", "at_most")),
        (("--at-most", "1"), with_value(1, "12ms"), "123123", ("'12ms'", "line 3")),
        (("--at-most", "1"), with_value(2, "3%"), "123123", ("'3%'", "line 4")),
        (("--at-most", "1"), with_value(2, ""), "123123", ("line 4",)),
        (("--at-most", "1"), None, "113123", ("ours", "run 1", "2, 3")),
        (
            ("--at-most", "1"),
            [*with_value(0, 0.123456789)[:1], *with_value(1, 0.123456789)[1:]],
            "123123",
            ("2 and 3",),
        ),
        (("--at-most", "1", "--paired"), None, "123124", ("3", "4")),
        (("--at-most", "1", "--compare", "a_ms:b_s"), [("a_ms", 1.5)] * 3 + [("b_s", 2.5)] * 3, "123123", ("ms", "s")),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(
    options: tuple[str, ...], runs: list[tuple[str, object]] | None, seeds: str, facts: tuple[str, ...], tmp_path: Path
) -> None:
    assert_exits(judged(tmp_path, *GROUPS, *options, runs=runs, seeds=seeds), *facts)


@pytest.mark.parametrize(
    ("threshold", "runs", "verdict", "facts"),
    [
        ("0.95", RUNS, "supported", ["n = 3"]),
        ("0.5", RUNS, "contradicted", ["n = 3"]),
        ("0.85", RUNS, "inconclusive", ["would decide it"]),
        ("0.95", RUNS[1:], "inconclusive", ["2 runs, 3 are needed"]),
        ("0.95", [("ours", 0.8)] * 3 + [("base", 1.0)] * 3, "inconclusive", ["all 3 runs of method ours"]),
        ("0.95", [("ours", 0.8)] * 3 + RUNS[3:], "supported", ["note: all 3 runs of method ours"]),
        ("0.95", with_value(5, "inf"), "inconclusive", ["1 of 6 runs", "diverged"]),
    ],
)
def test_verdicts_and_what_they_rest_on(
    threshold: str, runs: list[tuple[str, object]], verdict: str, facts: list[str], tmp_path: Path
) -> None:
    seeds = "23123" if len(runs) == 5 else "123123"
    said = judged(tmp_path, *GROUPS, "--at-most", threshold, runs=runs, seeds=seeds)
    assert said.returncode == 0, said.stderr
    text = " ".join(said.stdout.split())
    assert text.startswith(f"ratio-of-means: {verdict} ")
    assert [fact for fact in facts if fact not in text] == []
    strict = judged(tmp_path, *GROUPS, "--at-most", threshold, "--strict", runs=runs, seeds=seeds)
    assert strict.returncode == (verdict != "supported")


def test_a_file_of_claims_says_the_same_as_options(tmp_path: Path) -> None:
    statement = "Better <script>than</script> the baseline."
    check = {"check": "ratio_of_means", "column": "error", "by": "method", "above": "ours", "below": "base"}
    claim = {"statement": statement, "checks": {"effect": check | {"at_most": 0.95}}}
    (tmp_path / "claims.yaml").write_text(json.dumps({"ratio-of-means": claim}), encoding="utf-8")
    given = judged(tmp_path, *GROUPS, "--at-most", "0.95", "--json")
    written = judged(tmp_path, "--claims", "claims.yaml", "--json", "--page", "page.html")
    one, other = (JudgedTable.model_validate_json(each.stdout).claims[0] for each in (given, written))
    assert one.model_copy(update={"statement": statement}) == other
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;than" in page
    assert "<script" not in page
