"""Spot-checks of results that were really computed, marked as imported, and then forged with all digests redone.

Sees a forgery that passes, a statement that claims more than was compared, and a job dropped without a word. Jobs are
recomputed by real ``resaudit run`` processes.
"""

import json
import os
import shutil
import signal
import subprocess
import threading
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resaudit.audit.spot_check_words import spot_checks
from resaudit.audit.spot_checks import TEST_RESULT, Recomputed, SpotCheck, as_statement, statements, write_statement
from resaudit.base.errors import ConfigError, Interrupted
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.jobs.job import Cost, Execution, Job
from resaudit.jobs.origin import Origin, imported_among
from resaudit.jobs.plan_files import code_of, write_job
from resaudit.jobs.results import save_arrays
from resaudit.plan.claim import Needs
from resaudit.plan.composition import load
from resaudit.plan.models import Config, Paths
from resaudit.plan.plan import Plan, make_plan, with_inputs
from resaudit.share.comparing import Compared
from resaudit.share.judging import audited_table, judge_twice
from resaudit.share.spot_check import frame
from resaudit.share.spot_check.check import _compared, spot_check
from resaudit.share.spot_check.frame import Imported, sampling_frame
from resaudit.share.spot_check.recomputing import _Processes, folder_of, recompute
from tests.claims.made import result
from tests.conftest import CHECKOUT, first_of, in_process, made_once, run_command, run_planned
from tests.ran import RAN, ran_here
from tests.refusals import assert_exits, refused
from tests.share.imported import ARCHIVE, mark_imported

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
def run(computed: Path, tmp_path: Path) -> tuple[Plan, list[Job], Path]:
    """The plan, three jobs whose results can be marked as imported, and the folder of results."""
    for kind in ("train", "whiten"):
        shutil.copytree(computed / "results" / kind, tmp_path / "results" / kind)
    plan = plan_in(tmp_path)
    return plan, linear(plan), tmp_path / "results"


@pytest.fixture
def drawn(run: tuple[Plan, list[Job], Path], monkeypatch: pytest.MonkeyPatch) -> tuple[Plan, list[Job], Path]:
    """The same with all three imported, of which none is so short that it is always checked."""
    monkeypatch.setattr(frame, "SECONDS_ALWAYS", -np.inf)
    mark_imported(run[1], run[2])
    return run


def forge(job: Job, results: Path, content: Any) -> None:
    """Replace a result; redo the digest in its provenance."""
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


def test_on_one_core_one_job_is_at_work_at_a_time(
    drawn: tuple[Plan, list[Job], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, _, _ = drawn
    begun: list[subprocess.Popen[bytes]] = []

    class Started(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            if "resaudit" in arguments[0]:
                assert all(process.returncode is not None for process in begun)
                begun.append(self)

    monkeypatch.setattr(subprocess, "Popen", Started)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert spot_check(plan, lambda _: None, minutes=None)
    finally:
        os.sched_setaffinity(0, before)
    assert len(begun) == 3


def test_a_job_of_two_threads_leaves_the_other_cores_to_narrow_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On three cores, where the first two of three jobs end only when both are at work."""
    jobs, together, begun = linear(plan_in(tmp_path)), threading.Barrier(2, timeout=20), list[tuple[str, int]]()
    first, second, last = (job.key for job in jobs)
    digests = dict.fromkeys(("archive", "code", "accepted_code"), ARCHIVE)
    origin = Origin(**digests, by=None, cpu_platform=OTHER, kernel=None, sha256={})
    imported = [Imported(job, origin, Execution(), Cost(1, 1, 2 - bool(n)), 1 / 3) for n, job in enumerate(jobs)]

    def run(_processes: object, job: Job, threads: int) -> None:
        begun.append((job.key, threads))
        if job.key != last:
            together.wait()

    monkeypatch.setattr(_Processes, "prepare", lambda *_: None)
    monkeypatch.setattr(_Processes, "run", run)
    assert [done.error for done in recompute(imported, 0, tmp_path, 3, 60)] == [None] * 3
    assert (begun[2], set(begun[:2])) == ((last, 1), {(first, 2), (second, 1)})
    assert list(recompute(imported, 0, tmp_path, 3, 0)) == []


def test_forged_and_swapped_results_are_caught_and_honest_ones_agree(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (forged, swapped, honest), results = run
    forge(forged, results, scaled(forged, results, 0.99))
    forge(swapped, results, (honest.folder(results) / TRAJECTORY).read_bytes())
    mark_imported((forged, swapped, honest), results)
    said: list[str] = []
    assert not spot_check(plan, said.append, minutes=None)
    (file,) = (results / "spot-checks").glob("*.json")
    statement = json.loads(file.read_text(encoding="utf-8"))
    assert statement["subject"] == [{"name": "run.zip", "digest": {"sha256": ARCHIVE}}]
    predicate = statement["predicate"]
    assert (statement["predicateType"], predicate["result"]) == (TEST_RESULT, "FAILED")
    assert (set(predicate["failedTests"]), predicate["passedTests"]) == ({forged.key, swapped.key}, [honest.key])
    words = "\n".join(said)
    for key in (forged.key, swapped.key):
        assert f"NOT REPRODUCED: {key}: {TRAJECTORY}: " in words
    # No probability is told of a check that found something.
    assert "Λ" not in words
    (in_audit,) = spot_checks(results)
    assert in_audit.failed == 2
    assert in_audit.doubted
    assert not in_audit.covered


def test_an_interrupted_check_says_what_it_found_and_the_same_seed_goes_on(
    drawn: tuple[Plan, list[Job], Path],
) -> None:
    plan, _, results = drawn
    said: list[str] = []

    def stop_after_the_first(line: str) -> None:
        said.append(line)
        if ": equal (" in line:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        spot_check(plan, stop_after_the_first, minutes=None, seed="a seed")
    (first,) = statements(results)
    assert (first.source, first.keys("equal")) == ("given", list(first.jobs))
    assert (first.seed, len(first.jobs), len(first.population)) == ("a seed", 1, 3)
    assert not first.covered
    assert spot_check(plan, said.append, minutes=None, seed="a seed")
    second = max(statements(results), key=lambda check: len(check.jobs))
    assert second.clocks == first.clocks
    # What was compared is not computed again.
    assert second.jobs.items() > first.jobs.items()
    assert (second.reach, set(second.covered)) == (np.inf, set(second.claims))
    (in_audit,) = spot_checks(results)
    assert in_audit.equal == 3


def test_a_result_of_another_class_of_machine_is_held_to_tolerances(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (near, far, _), results = run
    forge(near, results, scaled(near, results, 1 + 1e-9))
    forge(far, results, scaled(far, results, 1 + 1e-4))
    mark_imported((near, far), results, cpu_platform=OTHER)
    assert not spot_check(plan, lambda _line: None, minutes=None)
    (check,) = statements(results)
    assert {key: job.outcome for key, job in check.jobs.items()} == {near.key: "within tolerance", far.key: "failed"}
    assert not any(job.same_class for job in check.jobs.values())


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
    (check,) = statements(results)
    outcome = "warned" if same_inputs else "within tolerance"
    assert {key: job.outcome for key, job in check.jobs.items()} == {near.key: outcome, honest.key: "equal"}
    assert {key: job.same_class for key, job in check.jobs.items()} == {near.key: same_inputs, honest.key: True}
    assert (check.turned, check.keys("failed")) == ([], [])


def as_compared(job: Job, results: Path, **changed: Any) -> Recomputed:
    """The record of a comparison, as of results that agree."""
    fields: dict[str, Any] = {
        "outcome": "equal",
        "difference": "",
        "same_class": True,
        "imported": {name: sha256_of(job.folder(results) / name) for name in job.files},
        "code": code_of(job),
        "seconds": 9.0,
    }
    return Recomputed(**fields | changed)


@pytest.mark.parametrize(
    ("changed", "kept", "counts"),
    [
        ({}, False, True),
        ({"code": "0" * 64}, True, False),
        ({"imported": {TRAJECTORY: "0" * 64}}, True, False),
        ({"outcome": "not confirmed"}, True, False),
        ({"outcome": "failed"}, True, True),
        ({"outcome": "failed"}, False, False),
        ({"outcome": "within tolerance"}, True, True),
        ({"outcome": "within tolerance"}, False, False),
    ],
)
def test_of_an_earlier_check_counts_what_is_of_this_code_and_these_results(
    changed: dict[str, Any], kept: bool, counts: bool, drawn: tuple[Plan, list[Job], Path]
) -> None:
    """Of what was not equal, only if the other result is still there to judge by. In no time nothing is compared."""
    plan, (one, other, _), results = drawn

    def checked(seed: str, *before: SpotCheck) -> SpotCheck:
        shutil.rmtree(results / "spot-checks", ignore_errors=True)
        for check in before:
            write_statement(check, results)
        spot_check(plan, lambda _line: None, minutes=0, seed=seed)
        return statements(results)[-1]

    first = checked("a seed")
    assert first.jobs == {}
    if kept:
        shutil.copytree(one.folder(results), one.folder(folder_of(results, one)))
    jobs = {one.key: as_compared(one, results, **changed), other.key: as_compared(other, results)}
    jobs |= {"train/not-imported": jobs[other.key]}
    earlier = first.model_copy(update={"started": "2026-01-02T03:04:05+00:00", "jobs": jobs})
    assert checked("a seed", earlier).jobs == {key: jobs[key] for key in ([one.key] if counts else []) + [other.key]}
    assert checked("another seed", earlier).jobs == {}


def test_another_kernel_confirms_nothing_on_the_same_machine(run: tuple[Plan, list[Job], Path]) -> None:
    """On another one results are apart anyway, and held to tolerances."""
    plan, _, results = run
    job = with_activations(plan)
    run_planned(job, results, Execution(kernel="torch"))
    mark_imported([job], results, kernel="fused kernel, vectors of 8 floats")
    one = sampling_frame(plan, results, Execution(), None, 2).jobs[job.key]
    (done,) = recompute([replace(one, execution=Execution(kernel="torch"))], 1, results, 2, None)
    here, is_same = _compared(done, results)
    assert (here.outcome, is_same, "fused kernel" in here.difference) == ("not confirmed", True, True)
    elsewhere = replace(one, origin=one.origin.model_copy(update={"cpu_platform": OTHER}))
    assert _compared(replace(done, one=elsewhere), results) == (Compared("equal"), False)


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
    (found,) = statements(results)
    # No job looks forged.
    assert set(found.keys("equal", "within tolerance")) == {job.key for job in jobs}
    twice, turned = found.judged[claim], within > margin
    assert twice.recomputed == honest.imported == "supported"
    assert (twice.imported != twice.recomputed) is turned
    assert passed is not turned
    assert (found.doubted, found.covered) == (([claim], []) if turned else ([], [claim]))
    assert as_statement(found)["predicate"]["result"] == ("FAILED" if turned else "PASSED")
    stopped = found.model_copy(update={"judged": {}})
    assert as_statement(stopped)["predicate"]["result"] == "WARNED"
    assert any(line.startswith(f"ANOTHER VERDICT: {claim}: ") for line in said) is turned


def test_a_claim_whose_table_is_not_whole_is_not_agreed(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (honest, *_), results = run
    missing = next(job for job in plan.figures[FIGURE].jobs.values() if job != honest)
    shutil.rmtree(missing.folder(results))
    mark_imported([honest], results)
    said: list[str] = []
    assert spot_check(plan, said.append, minutes=None)
    (found,) = statements(results)
    assert (found.keys("equal"), found.covered, found.turned) == ([honest.key], [], [])
    assert as_statement(found)["predicate"]["result"] == "WARNED"
    assert [missing.key in twice.obstacle for twice in found.judged.values()] == [True] * len(found.judged)
    assert found.judged
    assert any(missing.key in line for line in said)


def test_results_of_a_gpu_are_named_as_not_covered_where_there_is_none(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (honest, *_), results = run
    job, said = with_activations(plan), list[str]()
    with_no_gpu = make_plan(plan.config.model_copy(update={"device": "cpu"}))
    mark_imported([job], results, cpu_platform=CUDA)
    # What compared nothing confirms nothing.
    assert not spot_check(with_no_gpu, said.append, minutes=10)
    (check,) = statements(results)
    assert (check.jobs, list(check.out_of_reach), check.out_of_reach_weight) == ({}, [job.key], 1.0)
    assert any(job.key in line and "100%" in line for line in said)
    assert "Λ" not in "".join(said)
    mark_imported([honest], results)
    assert spot_check(with_no_gpu, said.append, minutes=10)
    # Whatever else agrees.
    assert {as_statement(check)["predicate"]["result"] for check in statements(results)} == {"WARNED"}


def test_a_job_that_uses_no_gpu_is_recomputed_whatever_its_record_says(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (forged, *_), results = run
    forge(forged, results, scaled(forged, results, 0.99))
    mark_imported([forged], results, cpu_platform=CUDA)
    assert not spot_check(plan, lambda _line: None, minutes=None)
    assert statements(results)[0].keys("failed") == [forged.key]


def test_a_job_is_recomputed_by_the_kernel_that_its_record_names(run: tuple[Plan, list[Job], Path]) -> None:
    """Here the compiled one is chosen if none is named."""
    plan, _, results = run
    job = with_activations(plan)
    run_planned(job, results, Execution(kernel="torch"))
    mark_imported([job], results, kernel="torch, since there was no compiler")
    assert spot_check(plan, lambda _line: None, minutes=None)
    assert statements(results)[0].keys("equal") == [job.key]


def test_a_kernel_that_no_job_of_its_kind_has_confirms_nothing(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (job, *_), results = run
    mark_imported([job], results, kernel="another")
    assert not spot_check(plan, lambda _line: None, minutes=None)
    (check,) = statements(results)
    assert (list(check.out_of_reach), check.covered) == ([job.key], [])
    assert "another" in check.out_of_reach[job.key]


def test_a_job_of_a_kernel_that_was_not_built_here_is_out_of_reach(
    run: tuple[Plan, list[Job], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, _, results = run
    job = with_activations(plan)
    mark_imported([job], results, kernel="fused kernel, vectors of 8 floats")
    assert not sampling_frame(plan, results, Execution(), None, 2).out_of_reach
    monkeypatch.setattr(frame, "vector_lanes", dict)
    assert "fused kernel" in sampling_frame(plan, results, Execution(), None, 2).out_of_reach[job.key]


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
    spot_check(plan, lambda _line: None, minutes=None)
    assert statements(results)[0].jobs[job.data.key].same_class


def test_what_was_imported_for_other_code_is_out_of_reach(run: tuple[Plan, list[Job], Path]) -> None:
    plan, (today, other, _), results = run
    mark_imported([today], results)
    mark_imported([other], results, accepted_code="0" * 64)
    found = sampling_frame(plan, results, Execution(), None, 2)
    assert (set(found.jobs), list(found.out_of_reach)) == ({today.key, other.key}, [other.key])


@pytest.mark.parametrize(("here", "made_on", "in_reach"), [("cpu", CUDA, False), ("cuda", CUDA, True)])
def test_what_a_gpu_made_is_in_reach_of_a_gpu_alone(
    here: str, made_on: dict[str, str], in_reach: bool, run: tuple[Plan, list[Job], Path]
) -> None:
    plan, (linear_one, *_), results = run
    job = with_activations(plan)
    mark_imported([job, linear_one], results, cpu_platform=made_on)
    mark_imported([job], results, cpu_platform=made_on, kernel="torch, since it is on a GPU")
    found = sampling_frame(plan, results, Execution(device=here), None, 2)
    assert list(found.out_of_reach) == ([] if in_reach else [job.key])
    assert [CUDA["device"] in reason for reason in found.out_of_reach.values()] == [True] * (not in_reach)
    # A job that no GPU makes faster never ran on one.
    devices = {key: one.execution.device for key, one in found.jobs.items()}
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
    assert_exits(in_process("spot-check", *words, *given, cwd=results.parent), "results were not reproduced")
    (check,) = statements(results)
    assert (check.minutes, check.wanted) == (minutes, f"{PAPER}/relu-final-loss" if "--claim" in words else None)


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
    (check,) = statements(tmp_path / "results")
    assert list(check.out_of_reach) == [job.key]


def test_a_claim_is_checked_with_all_that_it_rests_on(run: tuple[Plan, list[Job], Path]) -> None:
    plan, jobs, results = run
    mark_imported(jobs, results)
    for claim in sampling_frame(plan, results, Execution(), 600, 2).claims:
        found = sampling_frame(plan, results, Execution(), None, 2, claim)
        figure = plan.figures[FIGURE]
        under = {key for key in with_inputs(figure.jobs.values()) if key in {job.key for job in jobs}}
        assert (set(found.jobs), found.out_of_reach) == (under, {})
        assert {*found.always, *found.sampled} == under


def test_what_a_job_takes_here_is_as_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, results = plan_in(tmp_path), tmp_path / "results"
    job = linear(plan)[0]
    write_empty(job, results)
    mark_imported([job], results, kernel=job.kernels("cpu", {})[0])
    seconds = 1.5 * job.cost(Execution()).seconds
    assert sampling_frame(plan, results, Execution(), seconds, 1).out_of_reach == {}
    monkeypatch.setattr("resaudit.plan.estimates.LEAST", 0)
    ran_here(job, results, 2)
    assert list(sampling_frame(plan, results, Execution(), seconds, 1).out_of_reach) == [job.key]


def test_a_job_over_the_budget_is_out_of_reach_with_its_weight(drawn: tuple[Plan, list[Job], Path]) -> None:
    plan, jobs, results = drawn
    dearest = max(jobs, key=lambda job: job.cost(Execution()).seconds)
    found = sampling_frame(plan, results, Execution(), dearest.cost(Execution()).seconds - 1e-9, 2)
    assert dearest.key in found.out_of_reach
    assert sum(found.sampled.values()) == pytest.approx(1 if found.sampled else 0)


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
