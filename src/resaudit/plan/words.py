"""A figure in words: deviations from the paper's protocol, assumptions, jobs and their cost."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from resaudit.config.models import Assumption, Config, Figure
from resaudit.plan.layout import Layout
from resaudit.plan.plan import FigurePlan, Plan, execution_of
from resaudit.schema import in_words


def deviations(figure: Figure, of_paper: Figure) -> list[str]:
    """The settings that differ from the paper's protocol, as ``key value (protocol: value)``."""
    here, there = settings_of(figure), settings_of(of_paper)
    words, protocol = settings_in_words(figure), settings_in_words(of_paper)
    return [
        f"{key} {words.get(key, 'none')} (protocol: {protocol.get(key, 'as the others')})"
        if words.get(key) != protocol.get(key)
        # Two long lists may be abbreviated to the same words.
        else f"{key} {here[key]} (protocol: {there[key]})"
        for key in here
        if here[key] != there[key]
    ]


def note(figure: Figure, of_paper: Figure, scale: str) -> str:
    """The line under a drawing that says what differs from the paper's protocol, as "5 of 10 runs"; possibly empty."""
    here, there, words = settings_of(figure), settings_of(of_paper), settings_in_words(figure)
    changed = [key for key in here if here[key] != there[key]]
    sizes = {key: (_size(here[key]), _size(there[key])) for key in changed}
    parts = [
        f"{size} of {whole} {key}" if 0 < size < whole else f"{key} {words.get(key, 'none')}"
        for key, (size, whole) in sizes.items()
    ]
    if scale == "smoke":
        return "Test run: no evidence."
    return f"Differs from the protocol: {', '.join(parts)}." if parts else ""


def _size(value: Any) -> int:
    """A number of runs, epochs or listed values; 0 for others."""
    value = value["everywhere"] if isinstance(value, dict) else value
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def settings_of(figure: Figure) -> dict[str, Any]:
    """Every setting that a figure depends on, as exact JSON values by name, for comparison."""
    values: dict[str, Any] = {"data": figure.dataset.title} if figure.dataset else {}
    values |= {"seed": figure.seed, **(figure.whitening.model_dump() if figure.whitening else {})}
    values |= figure.protocol.model_dump()
    if "runs_at" in values:
        values["runs"] = {"everywhere": values["runs"], "at": values.pop("runs_at")}
    return {key.replace("_", " "): value for key, value in values.items()}


def settings_in_words(figure: Figure) -> dict[str, str]:
    """The same settings in a few words each, without empty ones, for people."""
    values: dict[str, str | None] = {"data": figure.dataset.title} if figure.dataset else {}
    values["seed"] = str(figure.seed)
    for section in filter(None, (figure.whitening, figure.protocol)):
        values |= {key: in_words(getattr(section, key)) for key in type(section).model_fields}
    values |= figure.protocol.in_words()
    return {key.replace("_", " "): value for key, value in values.items() if value}


def assumed(figure: Figure) -> list[str]:
    """Every assumption with its value, in words."""
    return [f"{name.replace('_', ' ')} {value_of(a, figure)}" for name, a in figure.assumptions.items()]


def value_of(assumption: Assumption, figure: Figure) -> str:
    """The value of an assumption in this figure, in words."""
    if assumption.setting is None:
        return str(assumption.value)
    node: Any = figure
    for part in assumption.setting.split("."):
        node = getattr(node, part)
    return in_words(node)


def explain(plan: Plan, of_paper: Figure, name: str) -> Iterator[str]:
    """Describe a figure line by line: protocol, assumptions, jobs, cost and files."""
    part, layout = plan.figures[name], Layout(plan.config.paths)
    figure = part.figure
    yield f"{name}: {figure.title}"
    yield f"  {figure.paper.short}, {figure.paper.title!r} (arXiv {figure.paper.arxiv})"
    yield f"  {figure.full_caption}"
    yield f"\nprotocol at scale {plan.config.scale.name} ({plan.config.scale.summary})"
    for key, value in settings_in_words(figure).items():
        yield f"  {key}: {value}"
    changed = deviations(figure, of_paper)
    yield "  differs from the paper's protocol in: " + ("; ".join(changed) or "nothing")
    yield "\nassumptions"
    for key, assumption in figure.assumptions.items():
        assumed_value, here = value_of(assumption, of_paper), value_of(assumption, figure)
        yield f"  {key}: {assumed_value}" + (f" (here: {here})" if here != assumed_value else "")
        yield f"    why: {assumption.reason}"
        for variant_id, variant in assumption.variants.items():
            yield f"    variant {variant_id}: {variant.summary}: {' '.join(variant.overrides)}"
    yield from _jobs(part, plan.config)
    yield "\nfiles"
    yield f"  {layout.figure(name, 'csv')}, .pdf, .svg, .png; reference: figures/reference/{name}.csv"


def _jobs(part: FigurePlan, config: Config) -> Iterator[str]:
    yield "\njobs (results in results/KIND/ID, settings in results/plan/KIND/ID.json)"
    execution, seconds = execution_of(config), 0.0
    for job in {job.key: job for job in part.jobs.values()}.values():
        cost = job.cost(execution)
        seconds += cost.seconds
        where = "on a GPU" if cost.wants_gpu and execution.device == "cuda" else f"on {cost.threads} of the CPU's cores"
        yield f"  {job.key}: {cost.seconds:.0f} s of one core, {cost.megabytes:.0f} MB, {where}"
    yield f"  in all about {seconds / 60:.0f} min of one core, less what other figures or earlier runs share"


def claims_sha256(config: Config, paper: str) -> str:
    """SHA-256 of a paper's claims, with all defaults filled in and each check's name, as canonical JSON."""
    claims = {name: claim.model_dump(mode="json") for name, claim in config.claims_of(paper).items()}
    return hashlib.sha256(json.dumps(claims, sort_keys=True).encode()).hexdigest()
