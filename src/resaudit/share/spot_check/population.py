"""The imported results that verdicts rest on: by this checkout's plan, claims and predictions, never the sender's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from resaudit.audit.sampling import normalized, weights
from resaudit.base.errors import ResauditError, one_named
from resaudit.jobs.job import SECONDS_TO_START, Cost, Execution, Job
from resaudit.jobs.origin import Origin, origin_of
from resaudit.jobs.plan_files import code_of
from resaudit.plan.plan import Plan, with_inputs
from resaudit.runtime.extensions import vector_lanes

SECONDS_ALWAYS = 2.0
"""Jobs predicted to work for less, beyond starting, are always recomputed."""


@dataclass(frozen=True)
class Imported:
    """One imported result.

    Attributes:
        job: whose it is.
        origin: where it comes from.
        execution: how to recompute it here: on a GPU if it was made on one, by the kernel that computed it.
        cost: predicted for this execution.
        weight: its share of what all verdicts of the population rest on.
    """

    job: Job
    origin: Origin
    execution: Execution
    cost: Cost
    weight: float


@dataclass(frozen=True)
class Population:
    """What a spot-check draws from.

    Attributes:
        claims: by ``paper/claim``, the keys of the imported results that its verdict rests on.
        jobs: all of these, by key.
        always: keys of those that are recomputed in any case.
        out_of_reach: by key, why the result cannot be recomputed here.
        drawn: weights of all others, with the sum 1.
    """

    claims: Mapping[str, Sequence[str]]
    jobs: Mapping[str, Imported]
    always: Sequence[str]
    out_of_reach: Mapping[str, str]
    drawn: Mapping[str, float]


def evidence(plan: Plan, results: Path, wanted: str | None = None) -> tuple[dict[str, list[str]], dict[str, Origin]]:
    """The imported results under each claim, and where each comes from.

    Args:
        plan: of this checkout.
        results: folder of all results.
        wanted: only this claim, by its id or an unmistakable part of it.

    Raises:
        ResauditError: there is no such claim, or nothing that it rests on is imported.
    """
    names = [f"{paper}/{claim}" for paper in plan.config.claims for claim in plan.config.claims_of(paper)]
    chosen = names if wanted is None else [one_named("claim", wanted, names)]
    origins: dict[str, Origin] = {}
    found: dict[str, list[str]] = {}
    for name in chosen:
        paper, _, short = name.partition("/")
        claim = plan.config.claims_of(paper)[short]
        part = plan.figures.get(f"{paper}/{claim.evidence}")
        jobs = with_inputs(part.jobs.values()) if part and claim.not_yet is None else {}
        origins |= {key: o for key in jobs if key not in origins and (o := origin_of(results, key))}
        if keys := sorted(key for key in jobs if key in origins):
            found[name] = keys
    if not found:
        of_what = f"{chosen[0]} rests on" if wanted else f"the figures of this plan need in {results}"
        raise ResauditError(f"no result that {of_what} is imported; import a run first (resaudit import RUN.zip)")
    return found, origins


def population(
    plan: Plan, results: Path, here: Execution, seconds: float | None, cores: int, wanted: str | None = None
) -> Population:
    """What a spot-check draws from.

    Args:
        plan: of this checkout.
        results: folder of all results.
        here: how jobs run here; its device says whether there is a GPU.
        seconds: time for the check; None: as long as it takes.
        cores: of this machine.
        wanted: only what this claim rests on.

    Raises:
        ResauditError: as of :func:`evidence`.
    """
    claims, origins = evidence(plan, results, wanted)
    jobs = {key: _imported(plan.jobs[key], origins[key], here, weight) for key, weight in weights(claims).items()}
    out = {key: reason for key, one in jobs.items() if (reason := _out_of_reach(one, here, seconds, cores))}
    short = SECONDS_TO_START + SECONDS_ALWAYS
    always = [key for key, one in jobs.items() if key not in out and one.cost.seconds < short]
    drawn = {key: one.weight for key, one in jobs.items() if key not in out and key not in always}
    return Population(claims, jobs, always, out, normalized(drawn))


def _imported(job: Job, origin: Origin, here: Execution, weight: float) -> Imported:
    can_use_gpu = job.cost(replace(here, device="cuda")).wants_gpu
    device = "cuda" if can_use_gpu and origin.cpu_platform.get("device") != "cpu" else "cpu"
    kernel = {"torch": "torch", "fused kernel": "fused"}.get(family(origin.kernel), here.kernel)
    execution = replace(here, device=device, kernel=kernel)
    return Imported(job, origin, execution, job.cost(execution).on(device), weight)


def family(kernel: str | None) -> str:
    """A kernel without the reason for it and the width of its vectors, which the CPU platform has.

    >>> family("torch, as configured"), family("fused kernel, vectors of 8 floats")
    ('torch', 'fused kernel')
    """
    return (kernel or "").partition(",")[0]


def _out_of_reach(one: Imported, here: Execution, seconds: float | None, cores: int) -> str | None:
    if one.origin.accepted_code != code_of(one.job):
        return "it was imported for other code than today's"
    if one.execution.device != "cpu" and here.device == "cpu":
        return f"it was made on {one.origin.cpu_platform.get('device')}, and torch can use no GPU here"
    lanes = {name: number for name, number in vector_lanes().items() if number}
    here_are = [family(kernel) for kernel in one.job.kernels(one.execution.device, lanes)]
    if here_are and family(one.origin.kernel) not in here_are:
        return f"it was computed by the {family(one.origin.kernel)}, which is not here (pip install -e . builds it)"
    predicted = one.cost.seconds / min(one.cost.threads, cores)
    if seconds is not None and predicted > seconds:
        return f"it takes about {predicted:.0f} s here"
    return None
