"""The sampling frame of a spot-check: imported results that verdicts rest on.

By this checkout's plan, claims and predictions, never the sender's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from resaudit.audit.sampling import normalized, weights
from resaudit.base.errors import ConfigError, one_named
from resaudit.jobs.job import Cost, Execution, Job
from resaudit.jobs.origin import Origin, origin_of
from resaudit.jobs.plan_files import code_of
from resaudit.plan.estimates import Estimates
from resaudit.plan.plan import Plan, with_inputs
from resaudit.runtime.extensions import vector_lanes

SECONDS_ALWAYS = 2.0
"""Jobs predicted to work for less, beyond starting, are always recomputed."""


@dataclass(frozen=True)
class Imported:
    """One imported result."""

    job: Job  # the job whose result it is
    origin: Origin  # where it comes from
    execution: Execution  # how to recompute it here: on a GPU if it was made on one, by the kernel that computed it
    cost: Cost  # the cost predicted for this execution
    weight: float  # its share of what all verdicts of the frame rest on


@dataclass(frozen=True)
class Frame:
    """The imported results of a spot-check, by whether and how they can be drawn.

    Attributes:
        claims: by ``paper/claim``, the keys of the imported results that its verdict rests on.
        jobs: the imported results, by key.
        always: keys of those that are recomputed in any case.
        out_of_reach: by key, why the result cannot be recomputed here.
        sampled: weights of all others, with the sum 1.
    """

    claims: Mapping[str, Sequence[str]]
    jobs: Mapping[str, Imported]
    always: Sequence[str]
    out_of_reach: Mapping[str, str]
    sampled: Mapping[str, float]


def sampling_frame(
    plan: Plan, results: Path, here: Execution, seconds: float | None, cores: int, claim: str | None = None
) -> Frame:
    """The imported results that a spot-check draws from.

    Args:
        plan: the plan of this checkout.
        results: folder of all results.
        here: how jobs run here; its device says whether there is a GPU.
        seconds: time for the check; None: as long as it takes.
        cores: number of cores of this machine.
        claim: the only claim to check, by its id or an unmistakable part of it; None: all.
    """
    names = [f"{paper}/{claim_id}" for paper in plan.config.claims for claim_id in plan.config.claims_of(paper)]
    chosen = names if claim is None else [one_named("claim", claim, names)]
    origins: dict[str, Origin] = {}
    claims: dict[str, list[str]] = {}
    for name in chosen:
        paper, _, claim_id = name.partition("/")
        entry = plan.config.claims_of(paper)[claim_id]
        figure_plan = plan.figures.get(f"{paper}/{entry.evidence}")
        keys = with_inputs(figure_plan.jobs.values()) if figure_plan and entry.not_yet is None else {}
        origins |= {key: origin for key in keys if key not in origins and (origin := origin_of(results, key))}
        if imported := sorted(key for key in keys if key in origins):
            claims[name] = imported
    if not claims:
        user = f"the figures of this plan need in {results}" if claim is None else f"{chosen[0]} rests on"
        raise ConfigError(f"no result that {user} is imported; import a run first (resaudit import RUN.zip)")
    jobs, estimates = dict[str, Imported](), Estimates.of(plan.config, here)
    for key, weight in weights(claims).items():
        job, origin = plan.jobs[key], origins[key]
        can_use_gpu = job.cost(replace(here, device="cuda")).wants_gpu
        device = "cuda" if can_use_gpu and origin.cpu_platform.get("device") != "cpu" else "cpu"
        kernel = {"torch": "torch", "fused kernel": "fused"}.get(family(origin.kernel), here.kernel)
        execution = replace(here, device=device, kernel=kernel)
        cost = replace(estimates, execution=execution).here(job)
        jobs[key] = Imported(job, origin, execution, cost, weight)
    out = {key: reason for key, one in jobs.items() if (reason := _out_of_reach(one, here, seconds, cores))}
    short = Cost.START.seconds + SECONDS_ALWAYS
    always = [key for key, one in jobs.items() if key not in out and one.cost.seconds < short]
    sampled = {key: one.weight for key, one in jobs.items() if key not in out and key not in always}
    return Frame(claims, jobs, always, out, normalized(sampled))


def _out_of_reach(one: Imported, here: Execution, seconds: float | None, cores: int) -> str | None:
    if one.origin.accepted_code != code_of(one.job):
        return "it was imported for other code than today's"
    if one.execution.device != "cpu" and here.device == "cpu":
        return f"it was made on {one.origin.cpu_platform.get('device')}, and torch can use no GPU here"
    lanes = {name: number for name, number in vector_lanes().items() if number}
    kernels = [family(kernel) for kernel in one.job.kernels(one.execution.device, lanes)]
    if kernels and family(one.origin.kernel) not in kernels:
        return f"it was computed by the {family(one.origin.kernel)}, which is not here (pip install -e . builds it)"
    predicted = one.cost.seconds / min(one.cost.threads, cores)
    if seconds is not None and predicted > seconds:
        return f"it takes about {predicted:.0f} s here"
    return None


def family(kernel: str | None) -> str:
    """A kernel without the reason for it and the width of its vectors, which the CPU platform has.

    >>> family("torch, as configured"), family("fused kernel, vectors of 8 floats")
    ('torch', 'fused kernel')
    """
    return (kernel or "").partition(",")[0]
