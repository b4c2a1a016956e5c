"""From Hydra's files and overrides to a checked :class:`~resaudit.config.models.Config`, one figure at a time."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from resaudit.claims.claim import Claim, read_claim
from resaudit.config.models import CONTROL, Config, Figure, Run
from resaudit.config.overrides import OF_FIGURES, Override, of_figure, parsed, powers_of_ten, set_in
from resaudit.datasets.dataset import Dataset
from resaudit.errors import ResauditError
from resaudit.schema import validated

NOT_FIGURES = ("paper", "claims")
"""Files of a paper's folder that are not figures; names that begin with an underscore are not either."""
SECTIONS = (*Run.model_fields, *OF_FIGURES, "figure", "claims")


def config_folder() -> Path:
    """The folder of configuration files: in the working directory, else in this module's checkout.

    Raises:
        ResauditError: neither has one.
    """
    for checkout in (Path.cwd(), Path(__file__).resolve().parents[3]):
        # Other projects have a config/config.yaml too, but not this package beside it.
        if (checkout / "config" / "config.yaml").is_file() and (checkout / "src" / "resaudit").is_dir():
            return checkout / "config"
    raise ResauditError(
        "no config/config.yaml here; run resaudit in a checkout of the project, installed with 'pip install -e .'"
    )


def load(overrides: Sequence[str] = (), folder: Path | None = None, only: Sequence[str] | None = None) -> Config:
    """Compose and validate the configuration.

    Args:
        overrides: Hydra overrides, such as ``scale=paper``; for a figure's protocol they take precedence over the
            scale.
        folder: of the configuration files; default :func:`config_folder`.
        only: the figures to compose, as ``paper/figure``, without the claims; default all.

    Raises:
        ResauditError: an unknown key, a wrong type or an impossible value, in one line.
    """
    folder = (folder or config_folder()).resolve()
    given = parsed(overrides)
    for override in given:
        if override.key.split(".")[0] not in SECTIONS:
            raise ResauditError(f"unknown configuration key {override.key!r}; allowed: {', '.join(sorted(SECTIONS))}")
    run = _run(folder, given)
    known = list(files_of_figures(folder))
    _check_figures_named(given, known)
    claims = {} if only is not None else _claims(folder, given, known)
    figures = {name: _figure(folder, name, given, run) for name in known if only is None or name in only}
    config = Config(**dict(run), figure=figures, claims=claims)
    _check_variants(config, whole=only is None)
    for wanted in config.figures if only is None else ():
        config.named(wanted)
    return config if only is None else config.model_copy(update={"figures": list(only)})


def files_of_figures(folder: Path) -> dict[str, Path]:
    """The file of every figure, by ``paper/figure``."""
    files = sorted(folder.glob("paper/*/[!_]*.yaml"))
    return {f"{file.parent.name}/{file.stem}": file for file in files if file.stem not in NOT_FIGURES}


def datasets(folder: Path, overrides: Sequence[str] = ()) -> dict[str, Dataset]:
    """Every configured data set by name, with the overrides of ``dataset`` where they fit it."""
    given, found = [each for each in parsed(overrides) if each.key.startswith("dataset.")], {}
    for file in sorted(folder.glob("dataset/*.yaml")):
        try:
            found[file.stem] = _dataset(file, given)
        except ResauditError:
            # The overrides do not fit, as a source that this data set lacks; composing its figures reports that.
            found[file.stem] = _dataset(file, ())
    return found


def _dataset(file: Path, given: Sequence[Override]) -> Dataset:
    with _one_line_errors():
        tree = OmegaConf.create({"dataset": OmegaConf.load(file)})
        for override in given:
            set_in(tree, override)
        plain: Any = OmegaConf.to_container(tree, resolve=True)
    return validated(Dataset, plain["dataset"], "dataset")


def _run(folder: Path, given: Sequence[Override]) -> Run:
    """The settings shared by all figures."""
    with _one_line_errors():
        tree = _composed(folder, None, _choices(given))
        for override in given:
            if override.key.split(".")[0] in Run.model_fields and not override.chooses:
                set_in(tree, override)
        plain = OmegaConf.to_container(tree, resolve=True)
    assert isinstance(plain, dict)
    return validated(Run, {str(key): value for key, value in plain.items() if key not in OF_FIGURES}, "")


def _figure(folder: Path, name: str, given: Sequence[Override], run: Run) -> Figure:
    overrides, where = of_figure(given, name), f"figure.{name.replace('/', '.')}"
    with _one_line_errors(where):
        tree = _figure_tree(folder, name, overrides, run)
        changes = [] if run.variant is None else _overrides_of_variant(tree, run.variant)
        if changes:
            tree = _figure_tree(folder, name, [*overrides, *(replace(each, own=True) for each in parsed(changes))], run)
        plain = OmegaConf.to_container(tree, resolve=True)
    assert isinstance(plain, dict)
    try:
        return validated(Figure, plain | {"name": name}, where)
    except ResauditError as error:
        # Shared settings keep the name under which the user set them.
        everywhere = "|".join(OF_FIGURES)
        raise ResauditError(re.sub(rf"^{re.escape(where)}\.(?=({everywhere})\b)", "", str(error))) from error


def _figure_tree(folder: Path, name: str, overrides: Sequence[Override], run: Run) -> DictConfig:
    """A figure's section with its data and seed, reduced by its scale, with overrides applied."""
    composed = _composed(folder, name, _choices(overrides))
    given, scale = composed.figure, run.scale.name
    if any(override.chooses and override.own for override in overrides):
        given.pop("dataset", None)
    elif isinstance(given.get("dataset"), str):
        # dataset=NAME for all figures does not replace a figure's own data set.
        given.dataset = _composed(folder, None, (f"dataset={given.dataset}",)).dataset
    for section in OF_FIGURES:
        given.setdefault(section, composed[section])
    reductions = [given.get("scales", {}).get(scale)]
    reductions += [given.get("variant_scales", {}).get(scale)] if run.variant is not None else []
    # Merged inside the root: an interpolation may name its settings.
    composed.figure = OmegaConf.merge(given, *({"protocol": reduced} for reduced in reductions if reduced))
    tree: DictConfig = composed.figure
    for override in overrides:
        if not override.chooses and (override.own or tree.get(override.key.split(".")[0]) is not None):
            set_in(tree, override, f"figure.{name.replace('/', '.')}." if override.own else "")
            _set_for_all_networks(tree, override)
    return tree


def _set_for_all_networks(tree: DictConfig, override: Override) -> None:
    """A user's setting also replaces the scale's settings of single networks."""
    section, _, key = override.key.partition(".")
    if section == "protocol" and key != "per_network":
        for each in tree.protocol.get("per_network", []):
            each.pop(key, None)


def _overrides_of_variant(tree: DictConfig, variant: str) -> list[str]:
    assumptions = tree.get("assumptions", {}).values()
    found = (each.get("variants", {}).get(variant) for each in assumptions if isinstance(each, DictConfig))
    return [str(override) for each in found if each is not None for override in each.get("overrides", [])]


def _check_variants(config: Config, whole: bool) -> None:
    """Check that a variant id means the same in all figures of a paper, and that the chosen variant exists."""
    summaries: dict[tuple[str, str], str] = {}
    for name, figure in config.figure.items():
        for key, variant in figure.variants.items():
            known = summaries.setdefault((name.split("/")[0], key), variant.summary)
            if known != variant.summary or key == CONTROL:
                raise ResauditError(
                    f"figure {name}: variant {key!r} is {variant.summary!r}, elsewhere {known!r}; give it another id"
                )
    if whole and config.variant not in (None, CONTROL, *config.variants()):
        allowed = ", ".join((CONTROL, *config.variants()))
        raise ResauditError(f"unknown variant {config.variant!r}; allowed: {allowed}")


def _check_figures_named(given: Sequence[Override], known: Sequence[str]) -> None:
    for override in given:
        section, *names = override.key.split(".")
        if section == "figure" and "/".join(names[:2]) not in known:
            raise ResauditError(
                f"unknown figure {'/'.join(names[:2])!r} in {override.text!r}; known: {', '.join(known)}"
            )


def _claims(folder: Path, given: Sequence[Override], figures: Sequence[str]) -> dict[str, dict[str, Claim]]:
    scales = sorted(file.stem for file in folder.glob("scale/*.yaml"))
    found: dict[str, dict[str, Claim]] = {}
    for file in sorted(folder.glob("paper/*/claims.yaml")):
        paper = file.parent.name
        with _one_line_errors():
            tree = OmegaConf.create({"claims": {paper: OmegaConf.load(file)}})
            for override in given:
                if override.key.startswith(f"claims.{paper}."):
                    set_in(tree, override)
            plain: Any = OmegaConf.to_container(tree, resolve=True)
        found[paper] = {str(name): read_claim(paper, str(name), each) for name, each in plain["claims"][paper].items()}
        for name, claim in found[paper].items():
            _check_claim(f"claims.{paper}.{name}", claim, paper, figures, scales)
    return found


def _check_claim(where: str, claim: Claim, paper: str, figures: Sequence[str], scales: Sequence[str]) -> None:
    """Check that a claim's figure and scales exist in the configuration."""
    known = f"{paper}/{claim.evidence}" in figures
    if not known and not claim.not_yet:
        allowed = ", ".join(name.split("/")[1] for name in figures if name.startswith(f"{paper}/"))
        raise ResauditError(
            f"{where}.evidence is {claim.evidence!r}, which is no figure; allowed: {allowed}; or say in not_yet why it "
            "is not here"
        )
    if known and claim.not_yet:
        raise ResauditError(f"{where}.not_yet says {claim.not_yet!r}, but {claim.evidence} is here; remove not_yet")
    for scale in claim.needs.scales:
        if scale not in scales:
            raise ResauditError(f"{where}.needs.scales has {scale!r}; allowed: {', '.join(scales)}")


def _choices(given: Sequence[Override]) -> tuple[str, ...]:
    chosen = {override.key: override.value for override in given if override.chooses}
    return tuple(f"{group}={option}" for group, option in chosen.items())


def _composed(folder: Path, figure: str | None, choices: tuple[str, ...]) -> DictConfig:
    """The composed files: the root and, under ``figure``, one figure; keys may be added."""
    state = tuple((str(file), file.stat().st_mtime_ns) for file in _files(folder, figure))
    return deepcopy(_compose_once(folder, figure, choices, state))


def _files(folder: Path, figure: str | None) -> list[Path]:
    of_paper = sorted((folder / "paper" / figure.split("/")[0]).glob("*.yaml")) if figure else []
    return [
        folder / "config.yaml",
        *sorted(folder.glob("dataset/*.yaml")),
        *sorted(folder.glob("scale/*.yaml")),
        *of_paper,
    ]


# Variants compose the same files many times.
@lru_cache(maxsize=256)
def _compose_once(folder: Path, figure: str | None, choices: tuple[str, ...], _state: Any) -> DictConfig:
    _register()
    paper, _, name = (figure or "").partition("/")
    mount = [f"+paper/{paper}@figure={name}"] if figure else []
    with initialize_config_dir(str(folder), version_base="1.3"):
        composed = compose("config", [*mount, *choices])
    OmegaConf.set_struct(composed, False)
    return composed


@cache
def _register() -> None:
    OmegaConf.register_new_resolver("powers_of_ten", powers_of_ten, replace=True)


@contextmanager
def _one_line_errors(figure: str = "figure") -> Iterator[None]:
    """What is wrong with what is composed under ``figure``, in one line that gives that its name."""
    try:
        yield
    except (HydraException, OmegaConfBaseException, YAMLError, ValueError, AttributeError) as error:
        raise ResauditError(_in_one_line(error, figure)) from error


def _in_one_line(error: BaseException, figure: str) -> str:
    """Hydra's or OmegaConf's message with its cause, without the lines of context."""
    text = f"{error}\n{error.__cause__ or error.__context__ or ''}"
    options = re.search(r"Available options in '(\w+)':\n((?:\s+\S+\n?)+)", text)
    missing = re.search(r"Could not find '([^']+)'", text)
    if missing and options:
        return f"unknown {options[1]} {missing[1].split('/')[-1]!r}; allowed: {', '.join(options[2].split())}"
    lines = [line.strip() for line in text.splitlines()]
    kept = [
        line
        for line in lines
        if line and not re.match(r"(full_key:|object_type|reference_type|See https|To append to your)", line)
    ]
    key = re.search(r"full_key: (\S+)", text)
    return "; ".join(dict.fromkeys(kept)) + (f" (at {re.sub('^figure', figure, key[1])})" if key else "")
