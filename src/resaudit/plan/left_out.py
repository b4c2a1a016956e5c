"""The figures that a run leaves out unless they are named: why, what they take, and how to draw them."""

from collections.abc import Iterator, Sequence

from resaudit.base.papers import as_words
from resaudit.base.text import in_minutes, number
from resaudit.plan.estimates import Estimates, duration
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from resaudit.plan.words import command_for
from resaudit.runtime.limits import processors


def left_out_in_words(config: Config, overrides: Sequence[str]) -> Iterator[str]:
    """Which of the figures asked for are left out, why, and how to draw them; two lines for each reason."""
    left_out = config.not_chosen()
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name, why in left_out.items() if why == reason]
        yield f"left out: {', '.join(names)}: {reason}"
        command = command_for(names, overrides, as_words())
        yield f"to draw {'them' if len(names) > 1 else 'it'}, {time_in_words(config, names)}: {command}"


def time_in_words(config: Config, names: Sequence[str]) -> str:
    """How long figures of one scale take here, by estimate and without results of earlier runs."""
    plan, estimates = make_plan(config.model_copy(update={"figures": list(names)})), Estimates.of(config)
    jobs = {
        key: (estimates.here(job), [needed.key for needed in job.inputs.values()]) for key, job in plan.jobs.items()
    }
    cores, gpus = processors(), int(estimates.execution.device == "cuda")
    seconds = duration(jobs, cores, gpus)
    return f"{in_minutes(seconds)} at scale {config.scale_of(names[0])} on {cores} cores{' and one GPU' * gpus}"


def hours_in_words(config: Config) -> str:
    """What the chosen figures take in all, of one GPU where jobs want it or of cores, by estimate.

    On cores and with a GPU the results are equally good evidence.
    """
    estimates = Estimates.of(config)
    costs = [estimates.cost(job) for job in make_plan(config).jobs.values()]
    cores, gpu = sum(cost.seconds for cost in costs) / 3600, sum(cost.gpu_seconds for cost in costs) / 3600
    return f"{number(gpu, 2)} GPU hours or {cores:.0f} core-hours" if gpu else f"{cores:.1f} core-hours"
