"""What a figure is drawn from, in words: deviations from the paper, assumptions, jobs and their cost."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from enum import Enum
from typing import Any

from resaudit.config.models import Assumption, Config, Experiment, Figure, Otherwise, Protocol
from resaudit.layout import Layout
from resaudit.plan.job import content_id
from resaudit.plan.plan import FigurePlan, Plan, execution_of

_INITIAL = {"networks", "depths", "runs", "otherwise", "zero_scale", "xavier"}
_TRAINED = _INITIAL | {"epochs", "learning_rates", "rate"}
_ON_SPHERE = {"widths", "steps", "samples_per_class", "min_distance", "label_noise", "runs"}
_SETTINGS_OF = {
    Experiment.initial_spectra: _INITIAL | {"hessian_precision", "hessian_method"},
    Experiment.rate_sweep: _TRAINED,
    Experiment.best_rate_spectra: _TRAINED
    | {"hessian_epochs", "hessian_precision", "hessian_method", "negative_eigenvalues"},
    Experiment.theorem_1: _ON_SPHERE,
    Experiment.theorem_2: {"networks", "depths", "widths", "units", "activations", "samples_per_class", "runs"},
    Experiment.sphere_path: _ON_SPHERE,
    Experiment.zero_hessians: {"networks", "units"},
}
"""The keys of the protocol that each experiment depends on."""


def deviations(config: Config, paper: Config, name: str) -> list[str]:
    """Where a figure's settings differ in value from the paper's protocol, as ``key value (protocol: value)``."""
    here, there = settings_of(config, name), settings_of(paper, name)
    said, protocol = settings_in_words(config, name), settings_in_words(paper, name)
    return [
        f"{key} {said.get(key, 'none')} (protocol: {protocol.get(key, 'as the others')})"
        if said.get(key) != protocol.get(key)
        # Two long lists may be shortened to the same words.
        else f"{key} {here[key]} (protocol: {there[key]})"
        for key in here
        if here[key] != there[key]
    ]


def about(config: Config, paper: Config, name: str) -> dict[str, Any]:
    """What a drawn figure is of, to stand in a file beside it."""
    return {
        "figure": name,
        "scale": config.scale.name,
        "variant": config.variant,
        "settings": settings_in_words(config, name),
        "values": settings_of(config, name),
        "differs from the protocol in": deviations(config, paper, name),
    }


def settings_of(config: Config, name: str) -> dict[str, Any]:
    """Every setting that a figure depends on, by its name in words, exactly and as JSON has it: to be compared."""
    figure = config.by_name(name)
    values = {"data": config.dataset.title, "seed": config.seed}
    values |= dataclasses.asdict(config.whitening) | dataclasses.asdict(figure.protocol)
    values["runs"] = {"everywhere": figure.protocol.runs, "at": values.pop("runs_at")}
    used = {key: value for key, value in values.items() if key not in _unused(figure.experiment)}
    plain: dict[str, Any] = json.loads(json.dumps(used, default=_words))
    return {key.replace("_", " "): value for key, value in plain.items()}


def _unused(experiment: Experiment) -> set[str]:
    return {f.name for f in dataclasses.fields(Protocol)} - _SETTINGS_OF[experiment]


def settings_in_words(config: Config, name: str) -> dict[str, str]:
    """The same in a few words each, without what is empty: to be read."""
    figure = config.by_name(name)
    protocol = figure.protocol
    values = {"data": config.dataset.title, "seed": str(config.seed)}
    for section in (config.whitening, protocol):
        values |= {f.name.replace("_", " "): _words(getattr(section, f.name)) for f in dataclasses.fields(section)}
    fewer = [f"{thinned.runs} at depth {thinned.depth}" for thinned in protocol.runs_at]
    values["runs"] = ", ".join([values["runs"], *fewer])
    values["otherwise"] = "; ".join(map(_otherwise, protocol.otherwise))
    unused = _unused(figure.experiment)
    return {key: value for key, value in values.items() if value and key.replace(" ", "_") not in unused}


def _otherwise(otherwise: Otherwise) -> str:
    given = {f.name: getattr(otherwise, f.name) for f in dataclasses.fields(otherwise)}
    network = given.pop("network")
    return f"{network}: " + ", ".join(
        f"{key.replace('_', ' ')} {_words(value)}" for key, value in given.items() if value
    )


def assumed(config: Config, figure: Figure) -> list[str]:
    """Every assumption with its value, in a few words each."""
    return [f"{name.replace('_', ' ')} {value_of(a, config, figure)}" for name, a in figure.assumptions.items()]


def value_of(assumption: Assumption, config: Config, figure: Figure) -> str:
    """The value that an assumption has here."""
    if assumption.setting is None:
        return str(assumption.value)
    node: Any = figure if assumption.setting.startswith("protocol.") else config
    for part in assumption.setting.split("."):
        node = getattr(node, part)
    return _words(node)


def _words(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        if len(value) > 8:
            return f"{_words(value[0])} … {_words(value[-1])} ({len(value)} values)"
        return ", ".join(map(_words, value)) or "none"
    if value is None:
        return "all"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def explain(plan: Plan, paper: Config, name: str) -> Iterator[str]:
    """Lines that say all about a figure: protocol, assumptions, ensembles, cost and files."""
    part, layout = plan.figures[name], Layout(plan.config.paths)
    figure = part.figure
    yield f"{name}: {figure.title}"
    yield f"  {figure.paper.short}, {figure.paper.title!r} (arXiv {figure.paper.arxiv})"
    yield f"  {figure.full_caption}"
    yield f"\nprotocol at scale {plan.config.scale.name} ({plan.config.scale.summary})"
    for key, value in settings_in_words(plan.config, name).items():
        yield f"  {key}: {value}"
    changed = deviations(plan.config, paper, name)
    yield "  differs from the paper's protocol in: " + ("; ".join(changed) or "nothing")
    yield "\nassumptions"
    for key, assumption in figure.assumptions.items():
        assumed_value, here = (
            value_of(assumption, paper, paper.by_name(name)),
            value_of(assumption, plan.config, figure),
        )
        yield f"  {key}: {assumed_value}" + (f" (here: {here})" if here != assumed_value else "")
        yield f"    why: {assumption.reason}"
        for variant_id, variant in assumption.variants.items():
            yield f"    variant {variant_id}: {variant.summary}: {' '.join(variant.overrides)}"
    yield from _jobs(part, plan.config)
    yield "\nfiles"
    yield f"  {layout.figure(name, 'csv')}, .pdf, .svg, .png; reference: figures/reference/{name}.csv"


def _jobs(part: FigurePlan, config: Config) -> Iterator[str]:
    yield "\njobs (results/KIND/ID; what each is stands in results/plan/KIND/ID.json)"
    execution, seconds = execution_of(config), 0.0
    for job in {job.key: job for job in part.jobs}.values():
        cost = job.cost(execution)
        seconds += cost.seconds
        where = "on a GPU" if cost.wants_gpu and execution.device == "cuda" else f"on {cost.threads} of the CPU's cores"
        yield f"  {job.key}: {cost.seconds:.0f} s of one core, {cost.megabytes:.0f} MB, {where}"
    yield f"  in all about {seconds / 60:.0f} min of one core, less what other figures or earlier runs share"


def ledger_sha256(config: Config, paper: str) -> str:
    """SHA-256 of a paper's claims, with all defaults filled in and each check's name, as canonical JSON."""
    claims = {name: claim.model_dump(mode="json") for name, claim in config.claims_of(paper).items()}
    return hashlib.sha256(json.dumps(claims, sort_keys=True).encode()).hexdigest()


def fingerprint(plan: Plan, name: str) -> str:
    """Changes with whatever a figure's words or settings are, so that it is drawn again then."""
    figure = plan.figures[name].figure
    settings = {
        "figure": json.loads(json.dumps(dataclasses.asdict(figure), default=_words)),
        "scale": dataclasses.asdict(plan.config.scale),
        "data": plan.data.id,
        "seed": plan.config.seed,
    }
    return content_id(name, settings)
