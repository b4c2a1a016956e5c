"""What the types of the schema cannot say: bounds, and what must fit together."""

import dataclasses
from pathlib import Path
from typing import Any

from resaudit.config import CONTROL, Config, Dataset, Experiment, Figure, Protocol, Source
from resaudit.errors import ResauditError
from resaudit.ledger import Check, Claim, GrowthExponent
from resaudit.networks.activations import ACTIVATIONS
from resaudit.networks.network import Network, base_name, network_named, period_of, shortcut_depth_of

_LISTS_NEEDED = {
    Experiment.initial_spectra: ("networks", "depths"),
    Experiment.rate_sweep: ("networks", "depths", "learning_rates"),
    Experiment.best_rate_spectra: ("networks", "depths", "learning_rates"),
    Experiment.theorem_1: ("widths", "steps", "samples_per_class"),
    Experiment.theorem_2: ("networks", "depths", "widths", "units", "activations", "samples_per_class"),
    Experiment.sphere_path: ("widths", "steps", "samples_per_class"),
    Experiment.zero_hessians: ("networks", "units"),
}
# Lemma 2 goes round obstacles on a sphere, so it needs a third dimension; Figure 10 can show no more than three.
_LEAST_WIDTH = {Experiment.theorem_1: 3, Experiment.sphere_path: 3}


def check(config: Config) -> None:
    """Hold a composed configuration against everything that the types cannot say.

    Raises:
        ResauditError: the first thing that is wrong, where, and what is allowed.
    """
    _check_bounds(config, "", {})
    _check_dataset(config.dataset)
    if config.whitening.components != config.dataset.classes:
        raise ResauditError(
            f"whitening.components is {config.whitening.components}; the networks' layers are square, so it must be "
            f"{config.dataset.classes}, the number of classes of {config.dataset.title}"
        )
    for wanted in config.figures:
        config.named(wanted)
    for name, figure in config.every_figure():
        _check_figure(f"figure.{name.replace('/', '.')}", figure, config.whitening.components)
    _check_variants(config)
    for paper in config.claims:
        for name, claim in config.claims_of(paper).items():
            _check_claim(f"claims.{paper}.{name}", claim, [f for f, _ in config.every_figure()], paper)


def _check_bounds(value: Any, where: str, bounds: Any) -> None:
    """Walk the dataclasses and hold every number against the bounds in its field's metadata."""
    if dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            _check_bounds(getattr(value, f.name), f"{where}.{f.name}".lstrip("."), f.metadata)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_bounds(item, f"{where}.{key}", bounds)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _check_bounds(item, f"{where}[{position}]", bounds)
    else:
        _check_number(value, where, bounds)


def _check_number(value: Any, where: str, bounds: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    at_least, above = bounds.get("at_least"), bounds.get("above")
    # Written so that NaN fails too.
    if at_least is not None and not at_least <= value < float("inf"):
        raise ResauditError(f"{where} is {value}; allowed: finite numbers of at least {at_least}")
    if above is not None and not above < value < float("inf"):
        raise ResauditError(f"{where} is {value}; allowed: finite numbers above {above}")


def _check_dataset(dataset: Dataset) -> None:
    if not dataset.sources:
        raise ResauditError(f"dataset.sources is empty; allowed: {', '.join(s.value for s in Source)}")
    for source in dataset.sources:
        if source is not Source.folder and getattr(dataset, source.value) is None:
            raise ResauditError(f"dataset.sources names {source.value}, but {dataset.name} is not to be had there")
    if dataset.folder is not None and not Path(dataset.folder).expanduser().is_dir():
        raise ResauditError(f"dataset.folder {dataset.folder!r} is not a folder; give one that holds the IDX files")


def _check_figure(where: str, figure: Figure, most: int) -> None:
    protocol = figure.protocol
    known = {f.name for f in dataclasses.fields(Protocol)}
    for scale, changes in figure.scales.items():
        for key in changes.keys() - known:
            raise ResauditError(f"unknown configuration key '{where}.scales.{scale}.{key}'; allowed: {sorted(known)}")
    for key in _LISTS_NEEDED[figure.experiment]:
        if not getattr(protocol, key):
            raise ResauditError(f"{where}.protocol.{key} is empty; give at least one")
        _check_list(f"{where}.protocol.{key}", getattr(protocol, key))
    if not figure.experiment.trains:
        _check_theorem(f"{where}.protocol", figure.experiment, protocol, most)
        return
    if figure.experiment is not Experiment.initial_spectra and protocol.epochs < 1:
        raise ResauditError(f"{where}.protocol.epochs is {protocol.epochs}; allowed: at least 1")
    if figure.experiment is Experiment.best_rate_spectra and len(protocol.depths) > 1:
        raise ResauditError(f"{where}.protocol.depths is {protocol.depths}; allowed: one depth")
    names = [other.network for other in protocol.otherwise]
    for name in names:
        # It may be of a network that is not drawn here: a user may draw fewer than those that the scale speaks of.
        _check_name(f"{where}.protocol.otherwise", name)
        if names.count(name) > 1:
            raise ResauditError(f"{where}.protocol.otherwise names {name!r} twice; say all of it in one place")
    if names and figure.experiment is not Experiment.rate_sweep:
        raise ResauditError(f"{where}.protocol.otherwise is of {names[0]}; allowed in sweeps of learning rates only")
    for other in protocol.otherwise:
        for key in ("depths", "learning_rates"):
            _check_list(f"{where}.protocol.otherwise of {other.network}: {key}", getattr(other, key))
    for name in protocol.networks:
        for depth in protocol.depths_of(name):
            network = _check_network(f"{where}.protocol", name, depth)
            if figure.experiment is not Experiment.rate_sweep and not network.is_linear:
                raise ResauditError(
                    f"{where}.protocol.networks has {name!r}; allowed where Hessians are wanted: linear networks"
                )


def _check_list(where: str, given: list[Any]) -> None:
    values = [str(value) for value in given]
    if len(set(values)) < len(values):
        raise ResauditError(f"{where} names a value twice: [{', '.join(values)}]")


def _check_variants(config: Config) -> None:
    """A variant that several figures have must be the same one."""
    summaries: dict[str, str] = {CONTROL: ""}
    for name, figure in config.every_figure():
        for assumption in figure.assumptions.values():
            for key, variant in assumption.variants.items():
                if summaries.setdefault(key, variant.summary) != variant.summary:
                    raise ResauditError(
                        f"figure {name}: variant {key!r} is {variant.summary!r}, elsewhere {summaries[key]!r}; "
                        "give another variant another id"
                    )


def _check_claim(where: str, claim: Claim, figures: list[str], paper: str) -> None:
    known = f"{paper}/{claim.evidence}" in figures
    if not known and not claim.not_yet:
        allowed = ", ".join(name.split("/")[1] for name in figures if name.startswith(f"{paper}/"))
        raise ResauditError(
            f"{where}.evidence is {claim.evidence!r}, which is no figure; allowed: {allowed}; or say in not_yet why it "
            "is not here"
        )
    if known and claim.not_yet:
        raise ResauditError(f"{where}.not_yet says {claim.not_yet!r}, but {claim.evidence} is here; remove not_yet")
    if not claim.checks:
        raise ResauditError(f"{where}.checks is empty; give at least one")
    for name, check in claim.checks.items():
        _check_check(f"{where}.checks.{name}", check)


def _check_check(where: str, check: Check) -> None:
    given = [key for key in ("at_least", "at_most", "within_factor") if getattr(check, key) is not None]
    if not given or ("within_factor" in given and len(given) > 1):
        raise ResauditError(
            f"{where} has {' and '.join(given) or 'no threshold'}; give at_least, at_most or both, or within_factor"
        )
    low, high = check.region
    if low is not None and high is not None and low > high:
        raise ResauditError(f"{where}: at_least {low} lies above at_most {high}")
    for key in ("networks", "others", "properties"):
        if not getattr(check, key, ["any"]) and not isinstance(check, GrowthExponent):
            raise ResauditError(f"{where}.{key} is empty; give at least one")


def _check_network(where: str, name: str, depth: int) -> Network:
    try:
        return network_named(name, depth, width=1)
    except ValueError as error:
        hint = "" if " network " in f" {error}" else f"; allowed for {name}: multiples of {period_of(name)}"
        raise ResauditError(f"{where}: {error}{hint}") from None


def _check_theorem(where: str, experiment: Experiment, protocol: Protocol, most: int) -> None:
    for name in protocol.networks:
        _check_shortcut(where, name, protocol.depths)
    least = _LEAST_WIDTH.get(experiment, 1)
    for width in protocol.widths:
        if not least <= width <= most:
            raise ResauditError(f"{where}.widths has {width}; allowed: {least} to {most} (whitening.components)")
    for activations in protocol.activations:
        for position in ("pre", "mid", "post"):
            _check_activation(f"{where}.activations", position, getattr(activations, position))
    if experiment is Experiment.sphere_path:
        for key in ("widths", "steps", "samples_per_class"):
            if len(getattr(protocol, key)) > 1:
                raise ResauditError(f"{where}.{key} is {getattr(protocol, key)}; allowed: one value")
        if protocol.widths != [3]:
            raise ResauditError(f"{where}.widths is {protocol.widths}; allowed: [3], which can be drawn")


def _check_name(where: str, name: str) -> int:
    """The shortcut depth of a network by its name."""
    try:
        return shortcut_depth_of(name)
    except ValueError as error:
        raise ResauditError(f"{where}: {error}") from None


def _check_shortcut(where: str, name: str, depths: list[int]) -> None:
    if not _check_name(where, name) or base_name(name) != name:
        raise ResauditError(f"{where}.networks has {name!r}; allowed: 'N-shortcut' with N >= 1, as in 2-shortcut")
    if name == "2-shortcut":
        for depth in depths:
            _check_network(where, name, depth)


def _check_activation(where: str, position: str, name: str) -> None:
    # Assumption 3 of Demystifying ResNet: sigma_mid(0) = sigma_post(0) = 0.
    allowed = [known for known, at_zero in ACTIVATIONS.items() if position == "pre" or at_zero.value == 0]
    if name not in allowed:
        raise ResauditError(f"{where} has {position} {name!r}; allowed: {', '.join(allowed)}")
