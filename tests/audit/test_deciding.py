"""Oracle: the command itself, composed and planned. Sees hours of another plan, and a setting that changes no run."""

import re
import shlex
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from snakemake.cli import parse_config

from resaudit.audit.build import by_more_runs, make_audit, would_decide
from resaudit.claims.checks.rates import FinalLossRatio
from resaudit.claims.decision import MOST_RUNS
from resaudit.claims.verdicts import judge
from resaudit.cli.workflow import overrides_from
from resaudit.figures.draw import reference_file
from resaudit.figures.sweeps import Stage
from resaudit.jobs.job import Cost, Execution
from resaudit.plan.claim import checks_by_name
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from tests.claims.made import claim, sweep
from tests.conftest import CHECKOUT

ON_CPU = "device=cpu"
OPEN = sweep({"a": lambda *_: 0.1, "b": lambda *_: 1.0}, factor=3.0)
"""b ends ten times further than a, give or take a factor of three between runs."""


@pytest.fixture(autouse=True)
def nothing_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without results: measured times correct the predicted ones."""
    monkeypatch.chdir(tmp_path)


def costs_of(overrides: list[str], figure: str) -> dict[str, Cost]:
    return {key: job.cost(Execution()) for key, job in make_plan(load(overrides, only=[figure])).jobs.items()}


def overrides_of(command: str) -> list[str]:
    """What a printed ``snakemake`` command configures, beside the figures."""
    words = shlex.split(command)
    given = overrides_from(parse_config(words[words.index("--config") + 1 :]))
    return [override for override in given if not override.startswith("figures=")]


def hours(text: str, unit: str) -> float:
    (found,) = re.findall(rf"([\d.e+-]+) {unit}", text)
    return float(found)


@pytest.mark.parametrize("figure", ["demystifying_resnet/fig07", "demystifying_resnet/fig05", "stable_scaling/map"])
def test_more_runs_are_those_of_every_network_and_cost_what_they_add(figure: str) -> None:
    open_claim = claim(FinalLossRatio(network="a", others=["b"], at_least=8))
    judgement = judge(open_claim, OPEN, "laptop")
    words, command = would_decide(load([ON_CPU]), open_claim, figure, judgement, [ON_CPU])
    assert command
    overrides = overrides_of(command)
    after, before = costs_of(overrides, figure), costs_of([ON_CPU], figure)
    runs = int(hours(words, "runs"))
    protocol = load(overrides, only=[figure]).figure[figure].protocol
    assert runs > OPEN["run"].nunique()
    assert protocol.confirm.runs == runs  # type: ignore[attr-defined]
    assert not any(each.confirm for each in getattr(protocol, "per_network", []))
    added = sum(cost.seconds for key, cost in after.items() if key not in before) / 3600
    assert hours(words, "core-hours") == pytest.approx(added, rel=0.05)


def runs_planned(overrides: list[str], figure: str) -> dict[tuple[object, ...], int]:
    """How many measured runs there are of each kind: of equal jobs at equal places, but for their first run."""
    counts: Counter[tuple[object, ...]] = Counter()
    part = make_plan(load(overrides, only=[figure])).figures[figure]
    for where, job in part.jobs.items():
        runs = getattr(getattr(job, "ensemble", job), "runs", None)
        screens = part.figure.protocol.is_confirmed and {"sweep", Stage.SCREENING} & {value for _, value in where}
        if isinstance(runs, int) and not screens:
            kind = (job.kind, *(pair for pair in where if pair[0] != "first"), getattr(job, "snapshot_epochs", ()))
            counts[kind] += runs
    return counts


@pytest.mark.parametrize("rung", [None, pytest.param(1, marks=pytest.mark.workflow)])
def test_the_deciding_command_of_every_claim_raises_the_number_of_runs_that_it_reads(rung: int | None) -> None:
    """Each number of runs that a check of an empirical claim rests on in the committed tables."""
    kept = [ON_CPU, f"paths.figures={CHECKOUT}/figures/reference"]
    given = [ON_CPU, *([f"rung={rung}"] if rung else [])]
    config, looked = load(given), set()
    on_screening = {name for name, kind in checks_by_name().items() if kind.on_screening}
    for judged in make_audit(make_plan(load(kept)), kept).claims:
        if judged.kind != "empirical" or not judged.checks[0].points:
            continue
        figure = judged.evidence
        checks = [check for check in judged.checks if check.points and check.check.name not in on_screening]
        for read in {max(point.n or 0 for point in check.points) for check in checks}:
            wanted = min(4 * read, MOST_RUNS)
            command = by_more_runs(config, figure, read, wanted, given)[1]
            # A drawn trajectory is exact.
            if (figure, read) in looked or command is None or read == 1:
                continue
            looked.add((figure, read))
            before, after = runs_planned(given, figure), runs_planned(overrides_of(command), figure)
            least = min(runs for runs in before.values() if runs >= read)
            assert all(after[kind] >= wanted for kind, runs in before.items() if runs == least), (judged.id, command)
    assert {"demystifying_resnet/fig05", "demystifying_resnet/fig06"} <= {figure for figure, _ in looked}
    assert len(looked) >= (8 if rung else 14)


@pytest.mark.parametrize("figure", ["demystifying_resnet/fig05", "demystifying_resnet/fig06"])
def test_more_runs_at_the_end_leave_those_along_the_training(figure: str) -> None:
    protocol = load([ON_CPU], only=[figure]).figure[figure].protocol
    assert protocol.with_runs(60, 565) == {"confirm.runs": 565}


@pytest.mark.parametrize("figure", ["demystifying_resnet/fig07", "demystifying_resnet/fig08"])
def test_on_a_ladder_the_next_rung_is_the_next_look(figure: str) -> None:
    open_claim = claim(FinalLossRatio(network="a", others=["b"], at_least=8))
    judgement = judge(open_claim, OPEN, "laptop", rung=2)
    words, command = would_decide(load([ON_CPU, "rung=2"]), open_claim, figure, judgement, [ON_CPU, "rung=2"])
    assert command
    assert sorted(overrides_of(command)) == [ON_CPU, "rung=3"]
    after, before = costs_of([ON_CPU, "rung=3"], figure), costs_of([ON_CPU, "rung=2"], figure)
    added = sum(cost.seconds for key, cost in after.items() if key not in before) / 3600
    assert hours(words, "core-hours") == pytest.approx(added, rel=0.05)
    _, command = would_decide(load([ON_CPU, "rung=3"]), open_claim, figure, judgement, [ON_CPU, "rung=3"])
    assert command is None


def test_what_more_runs_alone_would_not_decide_is_said_with_the_reason() -> None:
    """The loss of b still falls at the edge of the grid: a rate beyond it may be better."""
    open_claim = claim(FinalLossRatio(network="a", others=["b"], at_least=8))
    table = sweep({"a": lambda *_: 0.1, "b": lambda _, rate: 1 / rate}, beyond=False)
    judgement = judge(open_claim, table, "laptop")
    (check,) = judgement.checks
    words, command = would_decide(load([ON_CPU]), open_claim, "demystifying_resnet/fig07", judgement, [ON_CPU])
    assert (judgement.verdict, command) == ("inconclusive", None)
    assert check.excluded[0] in words


def test_where_only_some_networks_have_fresh_runs_no_setting_is_named() -> None:
    open_claim = claim(FinalLossRatio(network="a", others=["b"], at_least=8))
    words, command = would_decide(
        load([ON_CPU]), open_claim, "demystifying_resnet/fig08", judge(open_claim, OPEN, "laptop"), [ON_CPU]
    )
    assert (hours(words, "runs") > 0, command) == (True, None)


@pytest.mark.parametrize(
    ("paper", "name", "figure", "scale"),
    [
        ("demystifying_resnet", "weights-shrink-with-depth-resnet", "demystifying_resnet/fig02", "gpu_hour"),
        ("identity_matters", "cifar10-error", "identity_matters/table2", "paper"),
    ],
)
def test_a_claim_that_was_not_run_names_where_evidence_begins_and_its_hours(
    paper: str, name: str, figure: str, scale: str
) -> None:
    config = load([ON_CPU])
    waiting = config.claims[paper][name]
    judgement = judge(waiting, None, "laptop")
    words, command = would_decide(config, waiting, figure, judgement, [ON_CPU])
    assert command
    assert {f"scale={scale}", ON_CPU} <= set(overrides_of(command))
    costs = costs_of(overrides_of(command), figure).values()
    assert hours(words, "GPU hours") == pytest.approx(sum(cost.gpu_seconds for cost in costs) / 3600, rel=0.05)
    assert hours(words, "core-hours") == pytest.approx(sum(cost.seconds for cost in costs) / 3600, rel=0.01)
    # At that scale there is nothing to add.
    enough, command = would_decide(load([ON_CPU, f"scale={scale}"]), waiting, figure, judgement, [f"scale={scale}"])
    assert (f"scale={scale}" in command, "no evidence" in enough) == (True, False)  # type: ignore[operator]


def test_runs_that_are_not_followed_are_asked_for() -> None:
    config, figure = load([ON_CPU]), "demystifying_resnet/fig06"
    asked = config.claims_of("demystifying_resnet")["index-always-smaller"]
    judgement = judge(asked, pd.read_csv(reference_file(figure)), "laptop")
    words, command = would_decide(config, asked, figure, judgement, [ON_CPU])
    assert command
    assert hours(words, "runs") == asked.needs.followed
    protocol = load(overrides_of(command), only=[figure]).figure[figure].protocol
    assert protocol.confirm.along == asked.needs.followed  # type: ignore[attr-defined]


def test_overrides_of_the_chosen_figures_are_not_those_of_another() -> None:
    overrides = [ON_CPU, "figures=[stable_scaling/backward]", "protocol.runs=10"]
    config, figure = load(overrides), "demystifying_resnet/fig10"
    other = config.claims_of("demystifying_resnet")["theorem-1-construction"]
    _, command = would_decide(config, other, figure, judge(other, None, "smoke"), overrides)
    assert command
    load(overrides_of(command), only=[figure])
