"""Spot-checks of results that were really computed, marked as imported, and then forged with all digests redone.

Sees a forgery that passes, a statement that claims more than was compared, and a job dropped without a word. Jobs are
recomputed by real ``resaudit run`` processes.
"""

import math
import os
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from resaudit.audit.build import spot_checks
from resaudit.base.errors import ConfigError, Interrupted
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.origin import imported_among
from resaudit.jobs.plan_files import write_job
from resaudit.jobs.results import save_arrays
from resaudit.plan.claim import Needs
from resaudit.plan.composition import load
from resaudit.plan.models import Config, Paths
from resaudit.plan.plan import Plan, make_plan, with_inputs
from resaudit.share import spot_check as module
from resaudit.share.comparing import Compared, audited_table, judge_twice
from resaudit.share.spot_check import Imported, compared, drawn, evidence, redone, spot_check, weights
from tests.claims.made import result
from tests.conftest import CHECKOUT, first_of, in_process, made_once, run_command, run_planned
from tests.ran import RAN, ran_here
from tests.refusals import assert_exits, refused
from tests.share.imported import mark_imported

PAPER, NEAR_OPTIMAL = "demystifying_resnet", "final-loss-near-optimal"
FIGURE = f"{PAPER}/fig07"
TRAJECTORY = "trajectory.npz"
CUDA = {"device": "NVIDIA H100 80GB HBM3"}
OTHER = {"device": "cpu", "processor": "another one"}


@cache
def configured() -> Config:
    return load(["scale=smoke", f"figures=[{FIGURE},demystifying_resnet/fig08]"])


def plan_in(folder: Path) -> Plan:
    paths = {name: str(folder / name) for name in ("results", "figures")} | {"data": str(CHECKOUT / "data")}
    return make_plan(configured().model_copy(update={"paths": Paths(**paths)}))


def linear(plan: Plan) -> list[Job]:
    return [job for job in plan.jobs_of("train").values() if job.ensemble.network.is_linear][:3]


def with_activations(plan: Plan) -> Job:
    return next(job for job in plan.jobs_of("train").values() if not job.ensemble.network.is_linear)


@pytest.fixture(scope="session")
def computed(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a figure and of a training with ReLUs, and of what they need."""
    assert mnist_config

    def compute(folder: Path) -> None:
        plan = plan_in(folder)
        for job in with_inputs([*plan.figures[FIGURE].jobs.values(), with_activations(plan)]).values():
            run_planned(job, folder / "results")

    return made_once(tmp_path_factory, "every-training", compute)


@pytest.fixture
def run(computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Plan, list[Job], Path]:
    """The plan, three jobs whose results can be marked as imported, and the folder of results."""
    for kind in ("train", "whiten"):
        shutil.copytree(computed / "results" / kind, tmp_path / "results" / kind)
    monkeypatch.chdir(tmp_path)
    plan = plan_in(tmp_path)
    return plan, linear(plan), tmp_path / "results"


@pytest.fixture
def imported(run: tuple[Plan, list[Job], Path]) -> tuple[Plan, list[Job], Path]:
    """The same with all three imported."""
    mark_imported(run[1], run[2])
    return run


def in_reach(jobs: dict[str, Imported]) -> set[str]:
    return {key for key, one in jobs.items() if one.obstacle is None}


def outcomes(results: Path) -> dict[str, str]:
    """By key, the outcomes of the only check."""
    (check,) = spot_checks(results)
    return check.jobs


def forge(job: Job, results: Path, content: Any, at_hand: bool = True) -> None:
    """Replace a result; redo the digest in its provenance. The honest one is ``at_hand``, as if recomputed before."""
    if at_hand:
        shutil.copytree(job.folder(results), redone(job, results))
    file, provenance = job.folder(results) / TRAJECTORY, job.folder(results) / "provenance.json"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        save_arrays(file, content)
    ran = read_json(provenance)
    write_json(provenance, ran | {"sha256": ran["sha256"] | {TRAJECTORY: sha256_of(file)}})


def scaled(job: Job, results: Path, factor: float) -> Any:
    with np.load(job.folder(results) / TRAJECTORY) as file:
        arrays = dict(file)
    return job.files[TRAJECTORY](**arrays | {"excess_loss": arrays["excess_loss"] * factor})


def test_forged_and_swapped_results_are_caught_and_honest_ones_agree(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (forged, swapped, honest), results = run
    forge(forged, results, scaled(forged, results, 0.99), at_hand=False)
    forge(swapped, results, (honest.folder(results) / TRAJECTORY).read_bytes(), at_hand=False)
    mark_imported((forged, swapped, honest), results)
    said: list[str] = []
    assert not spot_check(plan, said.append, minutes=None)
    words = "\n".join(said)
    for key in (forged.key, swapped.key):
        assert f"NOT REPRODUCED: {key}: {TRAJECTORY}: " in words
    (check,) = spot_checks(results)
    assert check.jobs == {forged.key: "failed", swapped.key: "failed", honest.key: "equal"}
    assert (check.checked, check.of, check.equal, check.failed) == (3, 3, 1, 2)
    assert check.doubted
    assert not check.covered


@pytest.fixture
def one_core() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("one_core")
def test_an_interrupted_check_says_what_it_found_and_the_same_seed_goes_on(
    imported: tuple[Plan, list[Job], Path],
) -> None:
    plan, jobs, results = imported
    records = {job.key: redone(job, results) / "provenance.json" for job in jobs}

    def stop_after_the_second() -> None:
        # By then Snakemake knows of the first.
        while sum(file.is_file() for file in records.values()) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop_after_the_second).start()
    with pytest.raises(Interrupted):
        spot_check(plan, lambda _line: None, minutes=None, seed="a seed")
    (first,) = spot_checks(results)
    assert (first.seed, first.equal, first.of) == ("a seed", 2, 3)
    order = drawn("a seed", evidence(plan, results, Execution(), None, 1)[1])
    assert (first.covered, list(first.jobs)) == ([], order[:2])
    made = records[order[0]].stat().st_mtime_ns
    said: list[str] = []
    assert spot_check(plan, said.append, minutes=None, seed="a seed")
    assert any(line.startswith("3 of 3 jobs under ") and "all equal in every byte" in line for line in said)
    # What was recomputed is not computed again, and the record replaced.
    assert records[order[0]].stat().st_mtime_ns == made
    (second,) = spot_checks(results)
    assert (second.equal, bool(second.covered)) == (3, True)
    assert spot_check(plan, said.append, minutes=None, seed="another")
    assert records[order[0]].stat().st_mtime_ns == made


def test_what_other_code_recomputed_does_not_count_and_is_made_again(imported: tuple[Plan, list[Job], Path]) -> None:
    plan, (job, *_), results = imported
    (one,) = (one for key, one in evidence(plan, results, Execution(), None, 2)[1].items() if key == job.key)
    shutil.copytree(job.folder(results), redone(job, results))
    assert compared(one, results) == Compared("equal")
    record = redone(job, results) / "provenance.json"
    write_json(record, read_json(record) | {"code": "0" * 64})
    assert compared(one, results) is None


def test_in_no_time_nothing_is_compared(imported: tuple[Plan, list[Job], Path]) -> None:
    plan, _, results = imported
    assert not spot_check(plan, lambda _line: None, minutes=0)
    assert outcomes(results) == {}


def test_a_job_that_fails_here_is_not_confirmed_and_stops_no_other(imported: tuple[Plan, list[Job], Path]) -> None:
    """One whose input is damaged here."""
    plan, (job, *others), results = imported
    other = with_activations(plan)
    mark_imported([other], results)
    (other.data.folder(results) / "samples.npz").write_bytes(b"")
    said: list[str] = []
    spot_check(plan, said.append, minutes=None)
    (check,) = spot_checks(results)
    assert check.jobs == {other.key: "not confirmed"} | {each.key: "equal" for each in (job, *others)}
    assert any(line.startswith(f"Not confirmed: {other.key} (it failed here: ") for line in said)
    assert (check.checked, check.equal) == (3, 3)


def test_what_is_not_here_is_computed_before(imported: tuple[Plan, list[Job], Path]) -> None:
    """As whitened data, which an archive may lack."""
    plan, jobs, results = imported
    shutil.rmtree(results / "whiten")
    assert spot_check(plan, lambda _line: None, minutes=None)
    assert outcomes(results).keys() == {job.key for job in jobs}
    assert not (results / "whiten").exists()


def test_a_result_of_another_class_of_machine_is_held_to_tolerances(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (near, far, _), results = run
    forge(near, results, scaled(near, results, 1 + 1e-9))
    forge(far, results, scaled(far, results, 1 + 1e-4))
    mark_imported((near, far), results, cpu_platform=OTHER)
    assert not spot_check(plan, lambda _line: None, minutes=None)
    assert outcomes(results) == {near.key: "within tolerance", far.key: "failed"}


def with_other_inputs(job: Job, results: Path) -> None:
    """As whitened data of another CPU platform."""
    provenance = job.folder(results) / "provenance.json"
    ran = read_json(provenance)
    assert ran["inputs"]
    write_json(provenance, ran | {"inputs": dict.fromkeys(ran["inputs"], "0" * 64)})


@pytest.mark.parametrize("same_inputs", [True, False])
def test_rounding_is_no_agreement_where_equal_bytes_were_expected(
    same_inputs: bool, run: tuple[Plan, list[Job], Path]
) -> None:
    """From other inputs they were not, whatever made both."""
    plan, (near, _, honest), results = run
    forge(near, results, scaled(near, results, 1 + 1e-12))
    if not same_inputs:
        with_other_inputs(near, results)
    mark_imported((near, honest), results)
    assert spot_check(plan, lambda _line: None, minutes=None) is not same_inputs
    outcome = "warned" if same_inputs else "within tolerance"
    assert outcomes(results) == {near.key: outcome, honest.key: "equal"}
    assert not spot_checks(results)[0].doubted


def test_another_kernel_confirms_nothing_on_the_same_machine(run: tuple[Plan, list[Job], Path]) -> None:
    """On another one results are apart anyway, and held to tolerances."""
    plan, _, results = run
    job = with_activations(plan)
    run_planned(job, results, Execution(kernel="torch"))
    mark_imported([job], results, kernel="fused kernel, vectors of 8 floats")
    one = evidence(plan, results, Execution(), None, 2)[1][job.key]
    shutil.copytree(job.folder(results), redone(job, results))
    here = compared(one, results)
    assert here is not None
    assert (here.outcome, "fused kernel" in here.difference) == ("not confirmed", True)
    elsewhere = replace(one, origin=one.origin.model_copy(update={"cpu_platform": OTHER}))
    assert compared(elsewhere, results) == Compared("equal")


def threshold_at(plan: Plan, name: str, threshold: float) -> Plan:
    """The plan with a claim of one check that takes what a smoke test has, and has its threshold there."""
    claims = plan.config.claims_of(PAPER)
    (check,), claim = claims[name].checks.values(), claims[name]
    changed = claim.model_copy(
        update={
            "checks": {"it": check.model_copy(update={"at_most": threshold})},
            "needs": Needs(runs=1, scales=["smoke"]),
        }
    )
    return make_plan(plan.config.model_copy(update={"claims": {PAPER: claims | {name: changed}}}))


@pytest.mark.parametrize(
    ("within", "margin"),
    [(5e-7, 1e-7), *(pytest.param(*each, marks=pytest.mark.workflow) for each in [(5e-7, 1e-3), (0.0, 1e-7)])],
)
def test_a_verdict_that_a_forger_turns_within_all_tolerances_fails_and_another_is_agreed(
    run: tuple[Plan, list[Job], Path], within: float, margin: float
) -> None:
    plan, _, results = run
    claim, jobs = f"{PAPER}/{NEAR_OPTIMAL}", list(plan.figures[FIGURE].jobs.values())
    check = next(iter(plan.config.claims_of(PAPER)[NEAR_OPTIMAL].checks.values()))
    points = result(check, audited_table(plan.figures[FIGURE], results), runs=1).points
    plan = threshold_at(
        plan, NEAR_OPTIMAL, max(choice.own[1] for point in points for choice in point.choices) * (1 + margin)
    )
    honest = judge_twice(plan, results, [claim], {})[claim]
    for job in jobs:
        forge(job, results, scaled(job, results, 1 + within))
    mark_imported(jobs, results, cpu_platform=OTHER)
    said: list[str] = []
    passed = spot_check(plan, said.append, minutes=None, claim=NEAR_OPTIMAL)
    (found,) = spot_checks(results)
    # No job looks forged.
    assert (found.jobs.keys(), found.failed) == ({job.key for job in jobs}, 0)
    turned = within > margin
    assert honest.imported == "supported"
    assert passed is not turned
    assert (found.doubted, found.covered) == (([claim], []) if turned else ([], [claim]))
    assert any(line.startswith(f"ANOTHER VERDICT: {claim}: ") for line in said) is turned


def test_a_claim_whose_table_is_not_whole_is_not_agreed(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (honest, *_), results = run
    missing = next(job for job in plan.figures[FIGURE].jobs.values() if job != honest)
    shutil.rmtree(missing.folder(results))
    mark_imported([honest], results)
    said: list[str] = []
    assert spot_check(plan, said.append, minutes=None)
    (found,) = spot_checks(results)
    assert (found.jobs, found.covered, found.doubted) == ({honest.key: "equal"}, [], [])
    assert any(line.startswith("Not judged again: ") and missing.key in line for line in said)


def test_results_of_a_gpu_are_named_as_not_covered_where_there_is_none(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (honest, *_), results = run
    job, said = with_activations(plan), list[str]()
    with_no_gpu = make_plan(plan.config.model_copy(update={"device": "cpu"}))
    mark_imported([job], results, cpu_platform=CUDA)
    # What compared nothing confirms nothing.
    assert not spot_check(with_no_gpu, said.append, minutes=10)
    assert outcomes(results) == {}
    assert any(line.startswith("Out of reach, with 100%") and job.key in line for line in said)
    mark_imported([honest], results)
    assert spot_check(with_no_gpu, said.append, minutes=10)


def test_a_job_that_uses_no_gpu_is_recomputed_whatever_its_record_says(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (forged, *_), results = run
    forge(forged, results, scaled(forged, results, 0.99))
    mark_imported([forged], results, cpu_platform=CUDA)
    assert not spot_check(plan, lambda _line: None, minutes=None)
    assert outcomes(results) == {forged.key: "failed"}


def test_a_job_is_recomputed_by_the_kernel_that_its_record_names(run: tuple[Plan, list[Job], Path]) -> None:
    """Here the compiled one is chosen if none is named."""
    plan, _, results = run
    job = with_activations(plan)
    run_planned(job, results, Execution(kernel="torch"))
    mark_imported([job], results, kernel="torch, since there was no compiler")
    assert spot_check(plan, lambda _line: None, minutes=None)
    assert outcomes(results) == {job.key: "equal"}


def test_a_kernel_that_no_job_of_its_kind_has_confirms_nothing(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (job, *_), results = run
    mark_imported([job], results, kernel="another")
    assert "another" in str(evidence(plan, results, Execution(), None, 2)[1][job.key].obstacle)


def test_a_job_of_a_kernel_that_was_not_built_here_is_out_of_reach(
    run: tuple[Plan, list[Job], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, _, results = run
    job = with_activations(plan)
    mark_imported([job], results, kernel="fused kernel, vectors of 8 floats")
    assert evidence(plan, results, Execution(), None, 2)[1][job.key].obstacle is None
    monkeypatch.setattr(module, "vector_lanes", dict)
    assert "fused kernel" in str(evidence(plan, results, Execution(), None, 2)[1][job.key].obstacle)


def test_digests_of_raw_data_are_the_senders_words_and_loosen_nothing(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (job, *_), results = run
    # In a process of its own, as a spot-check does it: here torch is loaded, which changes the CPU platform.
    write_job(job.data, Execution(), results)
    run_command("resaudit", "run", job.data.key, "--results", str(results), cwd=results.parent)
    provenance = job.data.folder(results) / "provenance.json"
    ran = read_json(provenance)
    assert ran["inputs"]
    write_json(provenance, ran | {"inputs": dict.fromkeys(ran["inputs"], "0" * 64)})
    mark_imported([job.data], results)
    # On this platform, from the same inputs: equal bytes are expected, and rounding is no agreement.
    moved = job.data.folder(results) / "moments.npz"
    with np.load(moved) as file:
        arrays = {name: array * (1 + 1e-15) if array.dtype.kind == "f" else array for name, array in file.items()}
    save_arrays(moved, job.data.files["moments.npz"](**arrays))
    ran = read_json(provenance)
    write_json(provenance, ran | {"sha256": ran["sha256"] | {"moments.npz": sha256_of(moved)}})
    mark_imported([job.data], results)
    assert not spot_check(plan, lambda _line: None, minutes=None)
    assert outcomes(results)[job.data.key] == "warned"


def test_what_was_imported_for_other_code_is_out_of_reach(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (today, other, _), results = run
    mark_imported([today], results)
    mark_imported([other], results, accepted_code="0" * 64)
    found = evidence(plan, results, Execution(), None, 2)[1]
    assert (set(found), in_reach(found)) == ({today.key, other.key}, {today.key})


@pytest.mark.parametrize(("here", "made_on", "is_in_reach"), [("cpu", CUDA, False), ("cuda", CUDA, True)])
def test_what_a_gpu_made_is_in_reach_of_a_gpu_alone(
    here: str, made_on: dict[str, str], is_in_reach: bool, run: tuple[Plan, list[Job], Path]
) -> None:
    plan, (linear_one, *_), results = run
    job = with_activations(plan)
    mark_imported([job, linear_one], results, cpu_platform=made_on)
    mark_imported([job], results, cpu_platform=made_on, kernel="torch, since it is on a GPU")
    found = evidence(plan, results, Execution(device=here), None, 2)[1]
    assert in_reach(found) == {linear_one.key, *([job.key] if is_in_reach else [])}
    assert (CUDA["device"] in str(found[job.key].obstacle)) is not is_in_reach
    # A job that no GPU makes faster never ran on one.
    devices = {key: one.execution.device for key, one in found.items()}
    assert devices == {job.key: "cuda", linear_one.key: "cpu"}


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ([], 10.0),
        (["--minutes", "3"], 3.0),
        (["--claim", "relu-final-loss"], None),
        (["--claim", "relu-final-loss", "--minutes", "3"], 3.0),
    ],
)
def test_the_command_fails_if_nothing_agrees_and_takes_its_time(
    words: list[str], minutes: float | None, run: tuple[Plan, list[Job], Path]
) -> None:
    plan, _, results = run
    mark_imported([with_activations(plan)], results, cpu_platform=CUDA, kernel="torch, since it is on a GPU")
    paths = [f"paths.results={results}", f"paths.data={CHECKOUT / 'data'}"]
    given = ["scale=smoke", f"figures=[{FIGURE},demystifying_resnet/fig08]", "device=cpu", *paths]
    asked = mock.Mock(side_effect=spot_check)
    with mock.patch.object(module, "spot_check", asked):
        assert_exits(in_process("spot-check", *words, *given, cwd=results.parent), "results were not reproduced")
    assert asked.call_args[0][2:] == (minutes, "relu-final-loss" if "--claim" in words else None, None)


def write_empty(job: Job, results: Path) -> None:
    """Results without values, for what no test recomputes."""
    folder, digests = job.folder(results), {}
    for name, arrays in job.files.items():
        save_arrays(folder / name, arrays(*[np.empty(0)] * len(fields(arrays))))
        digests[name] = sha256_of(folder / name)
    write_json(folder / "settings.json", job.identity)
    write_json(folder / "provenance.json", RAN | {"sha256": digests})


def test_the_command_finds_what_was_imported_of_figures_that_are_left_out_here(tmp_path: Path) -> None:
    """Unless it is asked for others: whoever ran them had a GPU."""
    config, name = load(["device=cpu"]), "stable_scaling/fig06"
    assert name in config.left_out
    job = first_of(make_plan(config.model_copy(update={"figures": [name]})), "train_images")
    write_empty(job, tmp_path / "results")
    mark_imported([job], tmp_path / "results", cpu_platform=CUDA)
    others = in_process("spot-check", "device=cpu", f"figures=[{FIGURE}]", cwd=tmp_path)
    assert_exits(others, "is imported; import a run first")
    assert_exits(in_process("spot-check", "device=cpu", cwd=tmp_path), "results were not reproduced")
    (check,) = spot_checks(tmp_path / "results")
    assert (check.of, check.jobs) == (1, {})
    assert f"{job.key} (it was made on {CUDA['device']}" in check.statement[-1]


def test_a_claim_is_checked_with_all_that_it_rests_on(run: tuple[Plan, list[Job], Path]) -> None:
    plan, jobs, results = run
    mark_imported(jobs, results)
    for claim in evidence(plan, results, Execution(), 600, 2)[0]:
        claims, found = evidence(plan, results, Execution(), None, 2, claim)
        figure = plan.figures[FIGURE]
        under = {key for key in with_inputs(figure.jobs.values()) if key in {job.key for job in jobs}}
        assert (list(claims), in_reach(found)) == ([claim], under)
        assert set(drawn("a seed", found)) == under


def test_what_a_job_takes_here_is_as_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, results = plan_in(tmp_path), tmp_path / "results"
    job = linear(plan)[0]
    write_empty(job, results)
    mark_imported([job], results, kernel=job.kernels("cpu", {})[0])
    seconds = 1.5 * job.cost(Execution()).seconds
    assert in_reach(evidence(plan, results, Execution(), seconds, 1)[1]) == {job.key}
    monkeypatch.setattr("resaudit.plan.estimates.LEAST", 0)
    ran_here(job, results, 2)
    assert in_reach(evidence(plan, results, Execution(), seconds, 1)[1]) == set()


def test_a_job_over_the_budget_is_out_of_reach(imported: tuple[Plan, list[Job], Path]) -> None:
    plan, jobs, results = imported
    dearest = max(jobs, key=lambda job: job.cost(Execution()).seconds)
    found = evidence(plan, results, Execution(), dearest.cost(Execution()).seconds - 1e-9, 2)[1]
    assert dearest.key in found.keys() - in_reach(found)


def test_a_job_is_weighted_by_the_claims_that_rest_on_it() -> None:
    claims = {"a": ["x", "y"], "b": ["x"], "c": ["y", "z", "x"]}
    exact = {job: sum(Fraction(1, 3 * len(jobs)) for jobs in claims.values() if job in jobs) for job in "xyz"}
    assert weights(claims) == pytest.approx({job: float(weight) for job, weight in exact.items()})
    assert sum(exact.values()) == 1


def test_each_next_job_is_drawn_with_a_chance_in_proportion_to_its_weight(
    imported: tuple[Plan, list[Job], Path],
) -> None:
    """But for short ones, which come first. Oracle: the probability of each order, for 4000 seeds."""
    plan, _, results = imported
    one = next(iter(evidence(plan, results, Execution(), None, 2)[1].values()))
    weight = {"a": 0.5, "b": 0.3, "c": 0.2}
    long, seeds = replace(one, cost=replace(one.cost, seconds=1e3)), range(4000)
    jobs = {key: replace(long, weight=each) for key, each in weight.items()}
    found = Counter(tuple(drawn(str(seed), jobs)) for seed in seeds)
    for order in permutations(weight):
        chance = weight[order[0]] * weight[order[1]] / (1 - weight[order[0]])
        assert abs(found[order] / 4000 - chance) < 3.5 * math.sqrt(chance * (1 - chance) / 4000)
    short = replace(one, cost=replace(one.cost, seconds=0.0), weight=1e-9)
    assert {drawn(str(seed), jobs | {"short": short})[0] for seed in range(9)} == {"short"}
    assert drawn("s", jobs) == drawn("s", dict(reversed(jobs.items())))


def test_without_imported_results_there_is_nothing_to_check(run: tuple[Plan, list[Job], Path]) -> None:
    plan, _, results = run
    with refused(ConfigError, "is imported; import a run first"):
        spot_check(plan, print, minutes=10)
    assert not (results / "spot-checks").exists()


def test_a_result_that_was_computed_again_is_no_longer_an_imported_one(run: tuple[Plan, list[Job], Path]) -> None:
    _, (one, other, _), results = run
    mark_imported((one, other), results)
    forge(one, results, scaled(one, results, 1 + 1e-9))
    assert [archive["jobs"] for archive in imported_among([one.key, other.key], results)] == [[other.key]]
