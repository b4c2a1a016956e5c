"""From Hydra's files and overrides to a checked :class:`~resaudit.config.Config`, or to one line that says why not."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import fields
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from resaudit import config as configuration
from resaudit.claims.claim import read_claim
from resaudit.config import CONTROL, Config, Figure, Protocol
from resaudit.errors import ResauditError
from resaudit.layout import Layout
from resaudit.validation import check

LARGEST_POWER = 300
"""Of ten; double precision ends at 308."""
MOST_POWERS = 1000

# figures=fig04,fig05 is what one types; a list needs its brackets in Hydra.
_ONE_FIGURE = re.compile(r"^figures=([^\[].*)$")


def config_folder() -> Path:
    """The folder of configuration files: of the working directory, else of the checkout this module lies in.

    Raises:
        ResauditError: neither has one.
    """
    for checkout in (Path.cwd(), Path(__file__).resolve().parents[2]):
        # Other projects have a config/config.yaml too; only a checkout of this one has the package beside it.
        if (checkout / "config" / "config.yaml").is_file() and (checkout / "src" / "resaudit").is_dir():
            return checkout / "config"
    raise ResauditError(
        "no config/config.yaml here; run resaudit in a checkout of the project, installed with 'pip install -e .'"
    )


def load(overrides: Sequence[str] = (), folder: Path | None = None, only: Sequence[str] | None = None) -> Config:
    """Compose the configuration and check it.

    Args:
        overrides: Hydra overrides, such as ``scale=paper``; what they say of a figure's protocol goes before what
            the scale says of it.
        folder: of the configuration files; default :func:`config_folder`.
        only: the figures to compose, as ``paper/figure``, without the claims; default all. It is what a job needs whose
            workflow has checked the whole, in a fraction of the time; overrides that concern the rest are left out.

    Raises:
        ResauditError: an unknown key, a wrong type or an impossible value, in one line.
    """
    folder = (folder or config_folder()).resolve()
    overrides = [_ONE_FIGURE.sub(r"figures=[\1]", override) for override in overrides]
    with _one_line_errors():
        parsed = [_parse(override) for override in overrides]
        _check_forms(parsed)
        variant = next((str(o.value()) for o in reversed(parsed) if o.key_or_group == "variant" and o.value()), None)
        if variant is not None:
            # What it stands for is what the whole configuration without it says.
            without = [o for o in parsed if o.key_or_group != "variant"]
            changes = _overrides_of_variant(variant, _composed(folder, without, None))
            parsed = [*without, _parse(f"variant={variant}"), *map(_parse, changes)]
        if only is not None:
            parsed = [o for o in parsed if _concerns(o.key_or_group, only)]
        composed = deepcopy(_composed(folder, parsed, only))
        if only is not None:
            composed.figures = list(only)
        if variant is not None:
            composed.paths.figures = str(Layout(composed.paths).variant(composed.variant))
        _apply_scale(composed, {o.key_or_group for o in parsed})
        config = OmegaConf.to_object(composed)
    assert isinstance(config, Config)
    _read_claims(config, sorted(file.stem for file in folder.glob("scale/*.yaml")))
    check(config)
    return config


def _concerns(key: str, figures: Sequence[str]) -> bool:
    """Whether a key is of one of these figures, or of none and of no claim."""
    section, *names = key.split(".")
    return section not in ("figures", "claims") and (section != "figure" or "/".join(names[:2]) in figures)


def files_of_figures(folder: Path) -> dict[str, Path]:
    """The file of every figure, by ``paper/figure``."""
    return {f"{file.parent.name}/{file.stem}": file for file in sorted(folder.glob("figure/*/[!_]*.yaml"))}


def _composed(folder: Path, overrides: list[Override], only: Sequence[str] | None) -> DictConfig:
    """The files with overrides, not to be changed; each override must set a key that the files have."""
    lines, figures = tuple(str(o.input_line) for o in overrides), only if only is None else tuple(only)
    # OmegaConf fails with an AttributeError at a section put where there is none, and makes one for a key that is set
    # in it; of a data set's sections some may be none.
    plain = not any(isinstance(o.value(), dict) or o.key_or_group.startswith("dataset.") for o in overrides)
    try:
        composed = _compose_once(folder, lines, figures, _state(folder)) if plain else None
    except Exception:  # it is composed again below, where that is said in one line
        composed = None
    if composed is None or any(_deepest_known(o.key_or_group, composed)[1] is not None for o in overrides):
        # Only where a key is in doubt is all composed without the overrides too: it takes a good part of a second.
        _check_keys(overrides, _compose_once(folder, _data_set_chosen(overrides), figures, _state(folder)))
        composed = _compose_once(folder, lines, figures, _state(folder))
    return composed


def _state(folder: Path) -> tuple[tuple[str, int], ...]:
    return tuple((str(file), file.stat().st_mtime_ns) for file in sorted(folder.rglob("*.yaml")))


# Variants compose the same again and again.
@lru_cache(maxsize=32)
def _compose_once(
    folder: Path, overrides: tuple[str, ...], only: tuple[str, ...] | None, _state: tuple[tuple[str, int], ...]
) -> DictConfig:
    _register()
    wanted = [file for name, file in files_of_figures(folder).items() if only is None or name in only]
    mounts = [mount for file in wanted for mount in _mount(file)]
    if only is None:
        mounts += [f"+claims@claims.{file.stem}={file.stem}" for file in sorted(folder.glob("claims/*.yaml"))]
    with initialize_config_dir(str(folder), version_base="1.3"):
        return compose("config", [*mounts, *overrides])


def _overrides_of_variant(wanted: str, composed: DictConfig) -> list[str]:
    config = OmegaConf.to_object(composed)
    assert isinstance(config, Config)
    known = config.variants()
    if wanted not in (CONTROL, *known):
        raise ResauditError(f"unknown variant {wanted!r}; allowed: {', '.join((CONTROL, *known))}")
    return known[wanted].overrides if wanted in known else []


def dataset_files(folder: Path) -> dict[str, list[str]]:
    """The names of every data set's raw files, by its name."""
    ledgers = (OmegaConf.load(file) for file in sorted(folder.glob("dataset/*.yaml")))
    return {str(ledger.name): [str(file.name) for file in ledger.files.values()] for ledger in ledgers}


def _parse(override: str) -> Override:
    try:
        return OverridesParser.create().parse_overrides([override])[0]
    except (HydraException, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ResauditError(f"override {override!r} does not parse as key=value without spaces: {reason}") from error


def _mount(file: Path) -> list[str]:
    """Put a figure's file over the schema of figures, under ``figure.<paper>.<figure>``."""
    paper, name = file.parent.name, file.stem
    return [f"+schema@figure.{paper}.{name}=figure", f"+figure/{paper}@figure.{paper}.{name}={name}"]


def _register() -> None:
    ConfigStore.instance().store(name="schema", node=Config)
    ConfigStore.instance().store(group="schema", name="figure", node=Figure)
    if not OmegaConf.has_resolver("powers_of_ten"):
        OmegaConf.register_new_resolver("powers_of_ten", powers_of_ten)


def powers_of_ten(first: float, last: float, step: float) -> list[float]:
    """10^first … 10^last, rounded to 12 digits so that they are the same numbers on every machine.

    >>> powers_of_ten(-1, 0, 0.5)
    [0.1, 0.316227766017, 1.0]
    """
    if not (0 < step < inf and -LARGEST_POWER <= first <= last <= LARGEST_POWER and last - first <= MOST_POWERS * step):
        raise ValueError(
            f"powers_of_ten:{first},{last},{step} takes first <= last within ±{LARGEST_POWER} and a step that gives at "
            f"most {MOST_POWERS} of them"
        )
    count = round((last - first) / step) + 1
    return [float(f"{10 ** (first + i * step):.12g}") for i in range(count)]


def _apply_scale(composed: DictConfig, overridden: set[str]) -> None:
    """Let each figure's section for this scale change its protocol, except where the user has set a key."""
    for paper, figures in composed.figure.items():
        for name, figure in figures.items():
            prefix = f"figure.{paper}.{name}.protocol"
            set_by_user = {k[len(prefix) + 1 :].split(".")[0] for k in overridden if k.startswith(prefix)}
            reduced = dict(figure.scales.get(composed.scale.name) or {})
            if composed.variant is not None:
                reduced |= figure.variant_scales.get(composed.scale.name) or {}
            changes = {key: value for key, value in reduced.items() if key not in set_by_user}
            if "otherwise" in changes:
                changes["otherwise"] = _others(changes["otherwise"], set_by_user)
            figure.protocol = OmegaConf.merge(OmegaConf.structured(Protocol), figure.protocol, changes)
            if "networks" in set_by_user and "otherwise" not in set_by_user:
                # A user may draw fewer networks than those that the files speak of.
                drawn = figure.protocol.networks
                figure.protocol.otherwise = [o for o in figure.protocol.otherwise if o.network in drawn]


def _others(given: Any, set_by_user: set[str]) -> list[dict[Any, Any]]:
    """What a scale says of single networks, less what the user has set."""
    others = OmegaConf.to_container(given, resolve=True) if OmegaConf.is_config(given) else given
    if not isinstance(others, list) or not all(isinstance(other, dict) for other in others):
        raise ResauditError(f"otherwise is {others!r}; allowed: a list of {{network: NAME, …}}")
    return [{key: value for key, value in other.items() if key not in set_by_user} for other in others]


def _read_claims(config: Config, scales: list[str]) -> None:
    """Replace each claim's section with its model."""
    for paper, sections in config.claims.items():
        config.claims[paper] = {name: read_claim(paper, name, given) for name, given in sections.items()}
        for name, claim in config.claims_of(paper).items():
            for scale in claim.needs.scales:
                if scale not in scales:
                    raise ResauditError(
                        f"claims.{paper}.{name}.needs.scales has {scale!r}; allowed: {', '.join(scales)}"
                    )


def _data_set_chosen(overrides: list[Override]) -> tuple[str, ...]:
    """Those overrides that choose the data set by name, which decides what sections there are."""
    chosen = [o for o in overrides if o.key_or_group == "dataset" and not (o.is_add() or o.is_delete())]
    return tuple(str(o.input_line) for o in chosen if isinstance(o.value(), str))


def _check_forms(overrides: list[Override]) -> None:
    """Refuse what Hydra would take but cannot be meant here: new or deleted keys, and whole sections."""
    for override in overrides:
        key, said = override.key_or_group, override.input_line
        if override.is_add() or override.is_delete():
            raise ResauditError(f"override {said!r}: keys can be set (key=value), not added or deleted")
        if key.split(".")[0] == "figure" and key.count(".") < 3:
            raise ResauditError(
                f"override {said!r}: name a setting, as in figure.<paper>.<figure>.protocol.runs=3, "
                "or choose with figures=[…]"
            )
        if key.split(".")[0] == "claims" and key.count(".") < 3:
            raise ResauditError(f"override {said!r}: name a setting, as in claims.<paper>.<claim>.needs.runs=3")
        if key.startswith("scale."):
            raise ResauditError(f"override {said!r}: a scale is chosen as a whole, with scale=NAME")
        if key in ("scale", "dataset") and isinstance(override.value(), list | dict):
            raise ResauditError(f"override {said!r}: one is chosen by its name, as in {key}=NAME")
        if key == "dataset.name" or key.startswith("dataset.files"):
            raise ResauditError(f"override {said!r}: a data set is chosen as a whole, with dataset=NAME")


def _check_keys(overrides: list[Override], defaults: DictConfig) -> None:
    """Refuse keys that the files do not have."""
    for override in overrides:
        key, said = override.key_or_group, override.input_line
        parent, leaf = _deepest_known(key, defaults)
        if leaf is not None:
            allowed = ", ".join(sorted(str(k) for k in parent)) if isinstance(parent, DictConfig) else ""
            raise ResauditError(f"unknown configuration key {key!r}; allowed in place of {leaf!r}: {allowed or 'none'}")
        if isinstance(override.value(), dict) and OmegaConf.select(defaults, key) is None:
            # OmegaConf would fail at it with an AttributeError.
            raise ResauditError(f"override {said!r}: {key} is null here, and nothing can be put under it")


def _deepest_known(key: str, config: DictConfig) -> tuple[object, str | None]:
    """The deepest section on the way to ``key``, and the first part of the key that it does not have, if any."""
    node: object = config
    for part in key.split("."):
        if not isinstance(node, DictConfig) or part not in node.keys():  # noqa: SIM118  (missing values count)
            return node, part
        node = node._get_node(part)
    return node, None


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (HydraException, OmegaConfBaseException, YAMLError, ValueError) as error:
        raise ResauditError(_unknown_key(error) or _in_one_line(error)) from error


def _unknown_key(error: BaseException) -> str | None:
    """Our own line for a key within a value, as in ``otherwise=[{network:xavier,runz:3}]``, that its schema lacks."""
    text = f"{error}\n{error.__cause__ or error.__context__ or ''}"
    found, override = re.search(r"Key '(.*)' not in '(\w+)'", text), re.search(r"Could not override '(.+)'\.", text)
    schema = found and getattr(configuration, found[2], None)
    if not (found and schema):
        return None
    where = override[1] if override else found[2]
    return f"unknown key {found[1]!r} in {where}; allowed: {', '.join(f.name for f in fields(schema))}"


def _in_one_line(error: BaseException) -> str:
    """What Hydra or OmegaConf says, with the cause, without their several lines of context."""
    text = f"{error}\n{error.__cause__ or error.__context__ or ''}"
    options = re.search(r"Available options in '(\w+)':\n((?:\s+\S+\n?)+)", text)
    missing = re.search(r"Could not find '([^']+)'", text)
    if missing and options:
        return f"unknown {options[1]} {missing[1].split('/')[-1]!r}; allowed: {', '.join(options[2].split())}"
    lines = [line.strip() for line in text.splitlines()]
    said = [
        line
        for line in lines
        if line and not re.match(r"(full_key:|object_type|reference_type|See https|To append to your)", line)
    ]
    key = re.search(r"full_key: (\S+)", text)
    return "; ".join(dict.fromkeys(said)) + (f" (at {key[1]})" if key else "")
