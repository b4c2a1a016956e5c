"""Oracle: small tables with one thing amiss. Sees a table that is judged although its runs are no evidence."""

import io
import json
from pathlib import Path

import pandas as pd
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
        (("--at-most", "1", "--paired"), None, "123456", ("pairs", "--seed")),
        (("--at-most", "1"), with_value(4, "-inf"), "123123", ("-inf", "line 6", "inf where")),
        (("--at-most", "1"), [(method, f"{value},") for method, value in RUNS], "123123", ("more values",)),
        (
            ("--at-most", "1", "--compare", "1.1:1.2"),
            [("1.1", 0.5), ("1.10", 0.6), ("1.2", 0.7)],
            "123",
            ("1.1, 1.10",),
        ),
        (("--at-most", "1", "--where", "seed=1", "--where", "seed=2"), None, "123123", ("--where",)),
        (("--at-most", "1", "--compare", "a_ms:b_s"), [("a_ms", 1.5)] * 3 + [("b_s", 2.5)] * 3, "123123", ("ms", "s")),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(
    options: tuple[str, ...], runs: list[tuple[str, object]] | None, seeds: str, facts: tuple[str, ...], tmp_path: Path
) -> None:
    assert_exits(judged(tmp_path, *GROUPS, *options, runs=runs, seeds=seeds), *facts)


@pytest.mark.parametrize(
    ("old", "new", "options", "facts"),
    [
        (",", ";", (), ("';'", "commas")),
        (",", "\t", (), ("commas",)),
        ("method,", "# my runs\nmethod,", (), ("more values", "names")),
        ("0.81", "0,81", (), ("more values", "names")),
        ("seed,error", "error,error", (), ("two columns 'error'",)),
        ("ours,2", "Ours ,2", (), ("'ours'", "'Ours '")),
        ("base", "b\udce4se", (), ("UTF-8",)),
        ("", "", ("--where", "method=ours"), ("'base'", "method ours")),
        ("", "", ("--where", "method"), ("COLUMN=VALUE",)),
        ("", "", ("--compare", "ours:ours"), ("itself",)),
        ("", "", ("--per", "data"), ("allowed: method, seed, error",)),
        ("seed", "try", ("--paired",), ("--seed",)),
        ("", "", ("--check", "monotone_runs"), ("direction", "--claims")),
        ("", "", ("--claims", "claims.yaml"), ("--value", "--compare")),
    ],
)
def test_slips_of_a_table_or_of_options_are_refused(
    old: str, new: str, options: tuple[str, ...], facts: tuple[str, ...], tmp_path: Path
) -> None:
    judged(tmp_path)
    table = tmp_path / "runs.csv"
    slip = table.read_text(encoding="utf-8").replace(old, new) if old else table.read_text(encoding="utf-8")
    table.write_bytes(slip.encode("utf-8", "surrogateescape"))
    (tmp_path / "claims.yaml").write_text("better: {checks: {}}", encoding="utf-8")
    given = (*GROUPS, "--at-most", "0.95", *options)
    assert_exits(in_process("judge", "runs.csv", *given, cwd=tmp_path), *facts)


def test_a_claim_whose_name_is_no_id_is_refused(tmp_path: Path) -> None:
    claim = {"checks": {"mean": {"check": "mean_of_runs", "column": "error", "per": ["method"], "at_most": 1}}}
    (tmp_path / "claims.yaml").write_text(json.dumps({"My claim": claim}), encoding="utf-8")
    assert_exits(judged(tmp_path, "--claims", "claims.yaml"), "'My claim'")


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
        ("0.95", [*RUNS, *[("oracle", 0.1)] * 3], "supported", ["our threshold: ≤ 0.95. ours against base"]),
    ],
)
def test_verdicts_and_what_they_rest_on(
    threshold: str, runs: list[tuple[str, object]], verdict: str, facts: list[str], tmp_path: Path
) -> None:
    seeds = "23123" if len(runs) == 5 else "123123123"
    said = judged(tmp_path, *GROUPS, "--at-most", threshold, runs=runs, seeds=seeds)
    assert said.returncode == 0, said.stderr
    text = " ".join(said.stdout.split())
    assert text.startswith(f"ratio-of-means: {verdict} ")
    assert [fact for fact in facts if fact not in text] == []
    strict = judged(tmp_path, *GROUPS, "--at-most", threshold, "--strict", runs=runs, seeds=seeds)
    assert strict.returncode == (verdict != "supported")


CURVES = """method,network,depth,step,tokens,run,error
""" + "".join(
    f"{name},{name},{depth},{step},{100 * step},{run},{(depth + 0.01 * run * (1 + len(name))) / (1 + step):.6f}\n"
    for name in ("a", "bb")
    for depth in (2, 4)
    for step in (0, 1, 3)
    for run in (1, 2, 3)
)


@pytest.mark.parametrize(
    ("check", "lines", "effect"),
    [
        ({"check": "growth_exponent", "column": "error", "by": "depth", "per": ["method"]}, "step == 3", 1),
        ({"check": "growth_difference", "column": "error", "network": "a", "other": "bb"}, "step == 3", 0),
        ({"check": "ratio_across_depths", "column": "error", "networks": ["a", "bb"]}, "step == 3", 2),
        ({"check": "monotone_runs", "column": "error", "by": "tokens", "direction": "falls", "per": ["method"]}, "", 1),
        ({"check": "share_of_steps", "column": "error", "by": "step", "below": 0.9, "per": ["method"]}, "", 1 / 3),
        ({"check": "ratio_of_means", "column": "error", "by": "step", "above": 3, "below": 0}, "", 1 / 4),
    ],
    ids=lambda each: each["check"] if isinstance(each, dict) else None,
)
def test_checks_of_curves_and_depths_are_judged_where_a_run_has_a_line_for_each(
    check: dict[str, object], lines: str, effect: float, tmp_path: Path
) -> None:
    table = pd.read_csv(io.StringIO(CURVES))
    at = lines or "depth == 2"
    table = table.query(at if check["check"] != "ratio_of_means" else f"{at} and method == 'a'")
    table.to_csv(tmp_path / "runs.csv", index=False)
    (tmp_path / "claims.yaml").write_text(json.dumps({"it": {"checks": {"e": check | {"at_least": -9}}}}))
    said = in_process("judge", "runs.csv", "--claims", "claims.yaml", "--json", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    (claim,) = JudgedTable.model_validate_json(said.stdout).claims
    assert claim.verdict == "supported"
    assert [point.effect for point in claim.checks[0].points] == pytest.approx(
        [effect] * len(claim.checks[0].points), abs=0.03
    )


def test_runs_that_all_have_one_value_decide_nothing_whatever_tells_the_groups(tmp_path: Path) -> None:
    lines = [f"{rate},{run},{value}" for rate, value in ((0.1, 1.5), (0.01, 2.5)) for run in (1, 2, 3)]
    (tmp_path / "runs.csv").write_text("\n".join(["learning_rate,run,error", *lines, ""]), encoding="utf-8")
    options = ("--group", "learning_rate", "--compare", "0.1:0.01", "--value", "error", "--at-most", "0.9")
    assert "inconclusive" in in_process("judge", "runs.csv", *options, cwd=tmp_path).stdout.split("\n")[0]


def test_groups_in_the_column_that_numbers_runs_are_refused(tmp_path: Path) -> None:
    lines = [f"{method},{seed},{value}" for (method, value), seed in zip(RUNS, "123123", strict=True)]
    (tmp_path / "runs.csv").write_text("\n".join(["run,seed,error", *lines, ""]), encoding="utf-8")
    for seeds in ((), ("--seed", "seed")):
        refusal = in_process("judge", "runs.csv", "--group", "run", *GROUPS[2:], "--at-most", "1", *seeds, cwd=tmp_path)
        assert_exits(refusal, "column run", "another name")


@pytest.mark.parametrize("lines", [RUNS[::-1], [RUNS[i] for i in (1, 5, 0, 3, 2, 4)]])
def test_lines_are_in_any_order(lines: list[tuple[str, float]], tmp_path: Path) -> None:
    seeds = "".join(str(RUNS.index(line) % 3 + 1) for line in lines)
    said = [judged(tmp_path, *GROUPS, "--paired", "--at-most", "0.95", runs=runs, seeds=each).stdout
            for runs, each in ((RUNS, "123123"), (lines, seeds))]  # fmt: skip
    assert "n = 3" in said[0]
    assert said[0] == said[1]


def test_each_data_set_is_judged_and_only_the_lines_asked_for(tmp_path: Path) -> None:
    header, *lines = ["method,seed,data,error", *(f"{method},{seed},{data},{value * factor}" for data, factor in
                      (("x", 1), ("y", 2), ("z", 3)) for (method, value), seed in zip(RUNS, "123123", strict=True)
                      if (data, method) != ("z", "base"))]  # fmt: skip
    (tmp_path / "runs.csv").write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    asked = ("judge", "runs.csv", *GROUPS, "--at-most", "0.95", "--per", "data")
    every = in_process(*asked, cwd=tmp_path).stdout
    assert every.startswith("ratio-of-means: inconclusive")
    assert "ours against base, data z: 0 runs, 3 are needed" in every
    both = in_process(*asked[:-2], "--where", "data=y", cwd=tmp_path).stdout
    assert both.startswith("ratio-of-means: supported")
    assert "data x" not in both
    assert_exits(in_process(*asked[:-2], cwd=tmp_path), "ours, run 1", "2, 8")
    means = ("judge", "runs.csv", "--check", "mean_of_runs", *GROUPS[:2], *GROUPS[4:], *asked[6:])
    assert "method ours, data x: 0.81 " in in_process(*means, cwd=tmp_path).stdout


def test_a_file_of_claims_takes_no_options_of_a_claim(tmp_path: Path) -> None:
    (tmp_path / "claims.yaml").write_text("{}", encoding="utf-8")
    for option in (("--at-most", "1"), ("--paired",), ("--per", "seed"), ("--check", "ratio_of_means")):
        refusal = judged(tmp_path, "--claims", "claims.yaml", *option)
        assert refusal.returncode == 2
        assert_exits(refusal, option[0], "--claims")


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
