"""What ``resaudit explain`` prints of a figure and of the whole run, and ``resaudit checks``."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from inspect import formatannotation
from typing import get_type_hints

from resaudit.audit.job import AuditJob
from resaudit.base.models import meanings, summary
from resaudit.base.papers import as_words, papers
from resaudit.base.text import duration as in_units
from resaudit.base.text import folded, in_minutes, number
from resaudit.figures.draw import draw_job, references
from resaudit.jobs.job import Cost, Execution
from resaudit.plan.claim import Check, check_named, checks_by_name
from resaudit.plan.estimates import Estimates, duration, effort_in_words, left_out_in_words, time_in_words
from resaudit.plan.figure import Figure
from resaudit.plan.models import Config, Layout
from resaudit.plan.overrides import in_hydra, key_of
from resaudit.plan.plan import FigurePlan, Plan
from resaudit.plan.words import command_for, deviations, value_of
from resaudit.runtime.devices import cuda_is_usable
from resaudit.runtime.limits import processors


def explain_figure(plan: Plan, of_paper: Figure, name: str, overrides: Sequence[str] = ()) -> Iterator[str]:
    """Describe a figure line by line: settings as overrides, deviations, assumptions, jobs, cost and files.

    Args:
        plan: the plan that has the figure.
        of_paper: the figure with the paper's protocol.
        name: ``paper/figure``.
        overrides: the overrides as they were given.
    """
    part, (paper, short) = plan.figures[name], name.split("/")
    figure, in_overrides = part.figure, key_of(name, list(plan.config.figure))
    yield f"{name}: {figure.title}"
    yield from _wrapped(f"{figure.paper.short}, {figure.paper.title!r} ({figure.paper.cited})")
    yield from _wrapped(f"{figure.full_caption} {figure.remark}")
    if (place := papers().get(paper)) and (place.source / "plain.py").is_file():
        yield from _wrapped(f"on one page, without this engine: python -m {place.package}.plain")
        yield f"  {place.source / 'plain.py'}"
    yield f"\ndraw it: {command_for([name], overrides, as_words())}"
    yield from _wrapped(f"{time_in_words(plan.config, [name])}; {effort_in_words(plan.config, name)}")
    yield f"\nsettings at scale {figure.scale}"
    yield f"  in full figure.{name.replace('/', '.')}.protocol.KEY; protocol.KEY=VALUE sets it in all chosen figures"
    settings = [
        ("scale", figure.scale),
        ("seed", figure.seed),
        *([("dataset", figure.dataset.name)] if figure.dataset else []),
    ]
    settings += [(f"whitening.{key}", value) for key, value in figure.whitening or ()]
    for key, value in [*settings, *figure.protocol]:
        yield f"  {shlex.quote(f'{in_overrides}.{key}={in_hydra(value)}')}"
    changed = deviations(figure, of_paper)
    yield "\ndiffers from the full protocol in" + ("" if changed else " nothing")
    for change in changed:
        yield from _wrapped(change)
    yield "\nassumptions" if figure.assumptions else "\nassumptions: none"
    for key, assumption in figure.assumptions.items():
        assumed, here = value_of(assumption, of_paper), value_of(assumption, figure)
        yield from _wrapped(f"{key}: {assumed}" + (f" (here: {here})" if here != assumed else ""))
        yield from _wrapped(f"why: {assumption.reason}", 4)
        for variant_id, variant in assumption.variants.items():
            yield from _wrapped(f"variant={variant_id}: {variant.summary}: {' '.join(variant.overrides)}", 4)
    yield from _jobs(part, Estimates.of(plan.config))
    claims = [f"{paper}/{key}" for key, claim in plan.config.claims_of(paper).items() if claim.evidence == short]
    yield from ["\nclaims (resaudit explain CLAIM)", *(f"  {claim}" for claim in claims)] if claims else []
    yield "\nfiles"
    yield from _wrapped(f"{Layout(plan.config.paths).figure(name, 'csv')}, .pdf, .svg, .png")
    yield from _wrapped(f"reference: {references(plan)[name]}")


def _jobs(part: FigurePlan, estimates: Estimates) -> Iterator[str]:
    yield "\njobs (results in results/KIND/ID, settings in results/plan/KIND/ID.json)"
    execution, costs = estimates.execution, {job.key: estimates.cost(job) for job in part.jobs.values()}
    for key, cost in costs.items():
        where = "on a GPU" if cost.wants_gpu and execution.device == "cuda" else _threads(cost)
        on_gpu = f"; on a GPU {in_units(cost.gpu_seconds)}, {cost.gpu_megabytes / 1000:.1f} GB of its memory"
        yield (
            f"  {key}: {in_units(cost.seconds)} of one core, {cost.megabytes:.0f} MB, {where}"
            f"{on_gpu if cost.gpu_seconds else ''}"
        )
    yield from _without_gpu(execution, list(costs.values()))
    yield from _wrapped(estimates.origin)


def _threads(cost: Cost) -> str:
    return "on one core" if cost.threads == 1 else f"on {cost.threads} cores"


def _gpu_hours(costs: Collection[Cost]) -> Iterator[str]:
    """What the jobs with an estimate for a GPU need of one, in a line."""
    known = [cost for cost in costs if cost.gpu_seconds]
    if known:
        hours, most = sum(cost.gpu_seconds for cost in known) / 3600, max(cost.gpu_megabytes for cost in known)
        yield f"  on a GPU: {number(hours, 2)} GPU hours and at most {most / 1000:.1f} GB of its memory, by estimate"


def _without_gpu(execution: Execution, costs: list[Cost]) -> Iterator[str]:
    if execution.device == "cuda" and any(cost.wants_gpu for cost in costs) and not cuda_is_usable():
        yield "  device=cuda, but torch finds no CUDA device here: jobs on a GPU would fail on this machine"


def explain_checks(config: Config, names: Sequence[str] = ()) -> Iterator[str]:
    """Describe these checks, or all, line by line: meaning, parameters with types and defaults, the claims by it."""
    described = {name: check_named(name) for name in names or checks_by_name()}
    used: dict[str, list[str]] = {}
    for paper, claims in config.claims.items():
        for key, claim in claims.items():
            for name in {check.name for check in claim.checks.values()}:
                used.setdefault(name, []).append(f"{paper}/{key}")
    yield "every check takes a threshold: at_least, at_most or both, or within_factor"
    for name, kind in sorted(described.items()):
        hints, known = get_type_hints(kind), meanings(kind)
        yield ""
        yield from _wrapped(f"{name}: {summary(kind).replace('``', '')}", 0)
        for field, info in kind.model_fields.items():
            if field not in Check.model_fields:
                words = formatannotation(hints[field]).replace("typing.", "")
                default = "" if info.is_required() else f" = {in_hydra(info.default)}"
                yield from _wrapped(f"{field}: {words}{default}; {known.get(field, '')}".rstrip("; "))
        if kind.reads:
            yield from _wrapped(f"reads also the columns: {', '.join(kind.reads)}")
        yield from _wrapped(f"used by: {', '.join(used.get(name, ['no claim']))}")


@dataclass(frozen=True)
class _Step:
    """A job of the whole run: its kind, cost, the jobs that it waits for, and whether its files exist."""

    kind: str
    cost: Cost
    waits: list[str]
    done: bool


def explain_run(plan: Plan, overrides: Sequence[str]) -> Iterator[str]:
    """Describe the whole run line by line: jobs, core-hours, the longest job, done and to do, time left."""
    scale, estimates, cores = plan.config.scale, Estimates.of(plan.config), processors()
    execution, steps = estimates.execution, _steps(plan, estimates)
    costs = {key: step.cost.on(execution.device) for key, step in steps.items()}
    left = {key: (costs[key], step.waits) for key, step in steps.items() if not step.done}
    gpus = int(execution.device == "cuda")
    on_gpu = [steps[key].cost for key, cost in costs.items() if gpus and cost.wants_gpu]
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(step.kind for step in steps.values()).items())
    longest = max(costs, key=lambda key: costs[key].seconds / costs[key].threads)
    cost = costs[longest]
    yield f"scale {scale.name} ({scale.summary}), {len(plan.figures)} figures"
    yield from (f"  {name}: scale {x.figure.scale}" for name, x in plan.figures.items() if x.figure.scale != scale.name)
    yield f"  jobs: {len(steps)}: {kinds}"
    hours = sum(cost.seconds for cost in costs.values() if not (gpus and cost.wants_gpu)) / 3600
    yield f"  work: {hours:.1f} core-hours"
    yield f"  longest job: {longest}: {in_minutes(cost.seconds / cost.threads)} {_threads(cost)}"
    if gpus:
        unknown = sum(not cost.gpu_seconds for cost in on_gpu)
        yield f"  jobs on a GPU: {len(on_gpu)}, {unknown} of them without an estimate for it"
        yield from _gpu_hours(on_gpu)
        yield from _without_gpu(execution, on_gpu)
    yield f"  done: {len(steps) - len(left)}, by their files; snakemake -n says which of these are out of date"
    yield f"  to do: {len(left)}: " + (
        f"{in_minutes(duration(left, cores, gpus))} on {cores} cores{' and one GPU' * gpus}" if left else "nothing"
    )
    yield from _wrapped(estimates.origin)
    yield from (f"  {line}" for line in left_out_in_words(plan.config, overrides))


def _steps(plan: Plan, estimates: Estimates) -> dict[str, _Step]:
    """Every job of the workflow without variants, by ``kind/id``; inputs come first."""
    config, layout = plan.config, Layout(plan.config.paths)
    steps = {
        job.key: _Step(
            job.kind,
            estimates.cost(job),
            [needed.key for needed in job.inputs.values()],
            all(file.is_file() for file in job.written(layout.results)),
        )
        for job in plan.jobs.values()
    }
    for name, part in plan.figures.items():
        cost = estimates.cost(draw_job(part.figure, part.figure, config))
        needed = [job.key for job in part.jobs.values()]
        steps[f"draw {name}"] = _Step("draw", cost, needed, layout.figure(name, "json").is_file())
    drawn = [key for key in steps if key.startswith("draw")]
    cost = estimates.cost(AuditJob(config, ()))
    steps["audit"] = _Step("audit", cost, drawn, (layout.figures / "audit.html").is_file())
    return steps


def _wrapped(text: str, indent: int = 2) -> list[str]:
    margin = " " * indent
    return folded(text, margin, margin + "  ").splitlines()
