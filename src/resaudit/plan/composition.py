"""From Hydra's files and overrides to a checked :class:`~resaudit.plan.models.Config`, one figure at a time."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from resaudit.base.errors import ConfigError, ResauditError, figures_named, listed, suggestion
from resaudit.base.models import ID, validated
from resaudit.base.papers import LONGEST_NAME, file_of_paper, root
from resaudit.data.dataset import Dataset
from resaudit.data.fetch import fetch
from resaudit.plan.claim import Claim, read_claim
from resaudit.plan.experiment import Experiment, experiments_of
from resaudit.plan.figure import LARGEST_SEED, Assumption, Figure
from resaudit.plan.models import CONTROLS, OTHER_SEED, Config, Run, Scale
from resaudit.plan.overrides import (
    OF_FIGURES,
    Files,
    Override,
    Tree,
    files_like,
    key_of,
    of_figure,
    parsed,
    resolved,
    set_in,
    with_full_keys,
)
from resaudit.plan.plan import fetch_of
from resaudit.runtime.devices import settled

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST_NAME - 1}}}")
SECTIONS = (*Run.model_fields, *OF_FIGURES, "protocol", "figure", "claims")
NOT_FIGURES = ("paper", "claims", "sentences")
"""Files of a paper's folder that are not figures; names that begin with an underscore are not either."""


def config_folder() -> Path:
    """The folder of configuration files."""
    return root() / "config"


def files_in(folder: Path | Files | None) -> Files:
    """The configuration's files in a folder, by default :func:`config_folder`."""
    return folder if isinstance(folder, Files) else Files(folder or config_folder())


def load(
    overrides: Sequence[str] = (), folder: Path | Files | None = None, only: Sequence[str] | None = None
) -> Config:
    """Compose and validate the configuration.

    Args:
        overrides: Hydra overrides, such as ``scale=paper``, ``fig07.runs=3`` for one figure or ``protocol.runs=3`` for
            all chosen ones that have the key; for a protocol they take precedence over the scale.
        folder: folder of the configuration files, default :func:`config_folder`; or the files, if several calls share
            them.
        only: the figures to compose, as ``paper/figure``, without the claims; default all.
    """
    files = files_in(folder)
    places = files_of_figures(files.folder)
    known = list(places)
    given = with_full_keys(parsed(overrides), known)
    _check_sections(given, known)
    run = _run(files, given)
    for wanted in run.figures if only is None else ():
        figures_named(wanted, known)
    chosen = [name for name in known if only is None or name in only]
    figures = {name: _figure(files, places[name], name, of_figure(given, name), run) for name in chosen}
    # The papers that have a variant may not have a key that other figures have.
    if only is None or (figures and run.variant is None):
        _check_protocol_keys(given, [figure for name, figure in figures.items() if _is_chosen(name, run)])
    if only is not None:
        config = Config(**dict(run) | {"figures": list(only)}, figure=figures)
    else:
        # Figures that are named are not left out, and asking torch for a GPU takes seconds.
        gpu = cache(lambda: settled(run.device) == "cuda")
        scale = cache(lambda name: validated(Scale, files.option("scale", name), "scale"))
        reasons = {name: scale(f.scale).left_out(type(f.protocol).needs_gpu, gpu) for name, f in figures.items()}
        left_out = {name: reason for name, reason in reasons.items() if reason}
        config = Config(**dict(run), figure=figures, claims=_claims(files, given, places), left_out=left_out)
    _check_variants(config, whole=only is None)
    return config


def files_of_figures(folder: Path) -> dict[str, Path]:
    """The file of every figure, by ``paper/figure``."""
    files = [file for file in files_like(folder, "paper/*/[!_]*.yaml") if file.stem not in NOT_FIGURES]
    for file in files:
        if not all(map(_NAME.fullmatch, (file.parent.name, file.stem))):
            raise ConfigError(
                f"{file} has no name of a figure (up to {LONGEST_NAME} letters, digits, - and _); rename it, or "
                "remove it if it is a copy"
            )
    return {f"{file.parent.name}/{file.stem}": file for file in files}


def claims_file(paper: str) -> Path | None:
    """The file of a paper's claims; None if it has none."""
    return next(iter(files_like(config_folder(), f"paper/{paper}/claims.yaml")), None)


def claims_as_written(file: Path) -> dict[str, Claim]:
    """The claims of a paper as their file has them, without overrides."""
    return _claims_in(Files(config_folder()), file, ())


def scale_named(name: str) -> Scale:
    """A configured scale."""
    return validated(Scale, files_in(None).option("scale", name), "scale")


def datasets(folder: Path | Files, overrides: Sequence[str] = ()) -> dict[str, Dataset]:
    """Every configured data set by name, with the overrides of ``dataset`` where they fit it."""
    given = [override for override in parsed(overrides) if override.key.startswith("dataset.")]
    files, datasets, digests = files_in(folder), dict[str, Dataset](), dict[str, str]()
    for file in files.like("dataset/*.yaml"):
        try:
            dataset = _dataset(files, file, given)
        except ResauditError:
            # The overrides do not fit, as a source that this data set lacks; composing its figures reports that.
            dataset = _dataset(files, file, ())
        if dataset.name != file.stem:
            raise ConfigError(f"{file}: name is {dataset.name!r}; allowed: {file.stem}, the file's name")
        other = digests.setdefault(next(iter(dataset.files.values())).digest, file.stem)
        if other != file.stem:
            raise ConfigError(f"{file} has the checksums of {other}; 'resaudit hash FOLDER' prints yours")
        datasets[file.stem] = dataset
    return datasets


def training_set(name: str, folder: Path | str = "data") -> tuple[np.ndarray, np.ndarray]:
    """All training images and labels, unsigned bytes; fetched into ``folder`` if they are not there.

    Returns:
        MNIST's have the shapes (60000, 28, 28) and (60000,).
    """
    raw = fetch_of(datasets(config_folder())[name], str(folder))
    fetch(raw.dataset, Path(raw.raw))
    return raw.training_set()


def _dataset(files: Files, file: Path, given: Sequence[Override]) -> Dataset:
    return validated(Dataset, resolved(_changed({"dataset": files.read(file)}, given))["dataset"], "dataset")


def _changed(tree: Tree, overrides: Iterable[Override]) -> Tree:
    return reduce(lambda changed, each: set_in(changed, each.key, each.value, each.text), overrides, tree)


def _run(files: Files, given: Sequence[Override]) -> Run:
    """The settings shared by all figures."""
    settings = [each for each in given if each.key.split(".")[0] in Run.model_fields and not each.chooses]
    root = files.root(*{each.key: each.value for each in given if each.chooses and not each.own}.items())
    plain = resolved(_changed(root, settings))
    return validated(Run, {key: value for key, value in plain.items() if key not in OF_FIGURES}, "")


@contextmanager
def _naming(file: Path, where: str, overrides: Sequence[Override]) -> Iterator[None]:
    """Name the file of a section in an error if it alone can be wrong; shared settings keep the name that users set."""
    try:
        yield
    except ConfigError as error:
        place = error.place.removeprefix(f"{where}.")
        if re.split(r"[.\[]", place)[0] in OF_FIGURES:
            error.place = place
        elif not overrides and error.file is None:
            error.file, error.place = file_of_paper(file.parent.name, file.name), place
        raise


def _figure(files: Files, file: Path, name: str, overrides: Sequence[Override], run: Run) -> Figure:
    where = _key(name)
    with _naming(file, where, overrides):
        plain = _plain_figure(files, file, name, overrides, run)
        if changes := _variant_in(plain, where, run.variant):
            plain = _plain_figure(files, file, name, [*overrides, *changes], run)
        if run.rung is not None:
            plain = plain | {"protocol": _climbed(plain["protocol"], 4 ** (run.rung - 1), _parts_key(plain, name))}
        figure = validated(Figure, plain | {"name": name}, where)
    return figure.model_copy(update={"seed": (figure.seed + 1) % LARGEST_SEED}) if run.variant == OTHER_SEED else figure


def _key(name: str) -> str:
    return f"figure.{name.replace('/', '.')}"


def _variant_in(figure: Tree, where: str, variant: str | None) -> list[Override]:
    """The overrides of a figure's variant."""
    assumptions = figure.get("assumptions", {}) if variant is not None else {}
    known = [validated(Assumption, each, f"{where}.assumptions.{key}").variants for key, each in assumptions.items()]
    texts = [text for variants in known if variant in variants for text in variants[variant].overrides]
    return [replace(each, key=f"{where}.{each.key}") for each in parsed(texts)]


class _Sections(BaseModel):
    """The sections of a figure that are read before it is validated."""

    protocol: dict[str, Any] = {}
    assumptions: dict[str, Any] = {}
    scales: dict[str, dict[str, Any]] = {}
    variant_scales: dict[str, dict[str, Any]] = {}


def _plain_figure(files: Files, file: Path, name: str, overrides: Sequence[Override], run: Run) -> Tree:
    """A figure as plain values: the shared settings, its files, its scale's reductions, then all overrides."""
    figure, where = files.figure(file), _key(name)
    # A figure's data set and scale are those chosen for it, else its own, else those chosen for all.
    own = figure | {override.setting: override.value for override in overrides if override.own and override.chooses}
    for_all = [(each.key, each.value) for each in overrides if each.key == "dataset"]
    own_data = figure.get("dataset") is not None
    if isinstance(own.get("dataset"), str):
        figure = figure | {"dataset": files.option("dataset", own["dataset"])}
    scale = str(own.get("scale", run.scale.name))
    files.option("scale", scale)
    root = files.root(*for_all[-1:])
    figure = {section: root[section] for section in OF_FIGURES} | {"protocol": {}} | figure | {"scale": scale}
    validated(_Sections, figure, where)
    reduced = [figure.get(key, {}).get(scale, {}) for key in ("scales", "variant_scales")]
    for key, value in (reduced[0] if run.variant is None else reduced[0] | reduced[1]).items():
        figure = set_in(figure, f"protocol.{key}", value, f"{where}.scales.{scale}.{key}")
    for override in overrides:
        if not override.chooses and (override.own or _concerns(override, figure, name, run, own_data)):
            figure = set_in(figure, override.setting, override.value, override.text)
            figure = _set_for_all_parts(figure, override.setting, _parts_key(figure, name))
    if overrides:
        validated(_Sections, figure, where)
    # Reductions of a scale that does not exist would be ignored without a word.
    scales = [file.stem for file in files.like("scale/*.yaml")]
    for key in ("scales", "variant_scales"):
        for other in figure.get(key, {}).keys() - scales:
            raise ConfigError(f"{where}.{key}: no scale {other!r}; allowed: {listed(scales)}")
    paper, short = name.split("/")
    plain: Tree = resolved(root | {"figure": {paper: {short: figure}}})["figure"][paper][short]
    return plain


def _climbed(section: Tree, times: int, parts: str | None = None) -> Tree:
    """A protocol, or one of its ``parts``, with more fresh runs; a number of them that is none is refused later.

    Whatever number ``confirm`` has is one of runs.
    """
    confirm = section.get("confirm")
    if isinstance(confirm, dict):
        more = {key: times * runs for key, runs in confirm.items() if isinstance(runs, int)}
        section = section | {"confirm": confirm | more}
    if parts and isinstance(each := section.get(parts), list):
        section = section | {parts: [_climbed(part, times) if isinstance(part, dict) else part for part in each]}
    return section


def _concerns(override: Override, tree: Tree, name: str, run: Run, own_data: bool) -> bool:
    """Whether a setting of all figures is one of this figure's."""
    section, *keys = override.key.split(".")
    if section == "dataset" and own_data and keys != ["folder"]:
        # Another data set has other sources.
        return False
    if section != "protocol":
        return tree.get(section) is not None
    experiment = _experiment(tree, name)
    return _is_chosen(name, run) and experiment is not None and keys[0] in experiment.model_fields


def _experiment(figure: Tree, name: str) -> type[Experiment] | None:
    return experiments_of(name.split("/")[0]).get(str(figure.get("experiment")))


def _parts_key(figure: Tree, name: str) -> str | None:
    experiment = _experiment(figure, name)
    return experiment.parts if experiment else None


def _is_chosen(name: str, run: Run) -> bool:
    return not run.figures or not {name, *name.split("/")}.isdisjoint(run.figures)


def _set_for_all_parts(figure: Tree, setting: str, parts: str | None) -> Tree:
    """A figure in which a setting also replaces what the scale sets for single parts, such as networks."""
    section, key = [*setting.split("."), ""][:2]
    each = figure["protocol"].get(parts) if parts and section == "protocol" and key else None
    if key == parts or not isinstance(each, list):
        return figure
    others = [{k: v for k, v in one.items() if k != key} if isinstance(one, dict) else one for one in each]
    return figure | {"protocol": figure["protocol"] | {parts: others}}


def check_under_variants(config: Config, files: Files) -> None:
    """Compose each chosen figure, as its file has it, under each of its variants, most of which run much later."""
    run, places = Run(**{key: getattr(config, key) for key in Run.model_fields}), files_of_figures(files.folder)
    for name, figure in config.chosen_figures().items():
        for variant in figure.variants:
            try:
                _figure(files, places[name], name, (), run.model_copy(update={"variant": variant}))
            except ResauditError as error:
                raise ConfigError(f"under variant={variant}: {error!s}") from error


def _claims(files: Files, given: Sequence[Override], figures: Mapping[str, Path]) -> dict[str, dict[str, Claim]]:
    known = {key: sorted(file.stem for file in files.like(f"{key}/*.yaml")) for key in ("scale", "dataset")}
    claims: dict[str, dict[str, Claim]] = {}
    for file in files.like("paper/*/claims.yaml"):
        paper = file.parent.name
        overrides = [override for override in given if override.key.startswith(f"claims.{paper}.")]
        with _naming(file, f"claims.{paper}", overrides):
            claims[paper] = _claims_in(files, file, overrides)
            trees = {name: files.figure(figures[name]) for name in figures if name.startswith(f"{paper}/")}
            for name, claim in claims[paper].items():
                _check_claim(f"claims.{paper}.{name}", claim, f"{paper}/{claim.evidence}", trees, known)
    return claims


def _claims_in(files: Files, file: Path, overrides: Sequence[Override]) -> dict[str, Claim]:
    paper = file.parent.name
    plain = resolved(_changed({"claims": {paper: files.read(file)}}, overrides))["claims"][paper]
    for name in plain:
        if not re.fullmatch(ID, str(name)):
            raise ConfigError(f"{str(name)!r} is no id of a claim; allowed: letters, digits, _ and -, as final-loss-2")
    return {str(name): read_claim(paper, str(name), each) for name, each in plain.items()}


def _check_sections(given: Sequence[Override], figures: Sequence[str]) -> None:
    """Check that every override begins with a known section, or figure."""
    papers = list(dict.fromkeys(name.split("/")[0] for name in figures))
    for override in given:
        section, *names = override.key.split(".")
        figure = "/".join(names[:2])
        if section not in SECTIONS:
            known = sorted([*SECTIONS, *(figures if names else ())], key=lambda name: name.rpartition("/")[2])
            hint = suggestion(section, known, lambda name: key_of(name, figures))
            if any(section in kind.model_fields for paper in papers for kind in experiments_of(paper).values()):
                hint = f"; did you mean protocol.{section} (all figures), or FIGURE.{section} (one)?"
            raise ConfigError(f"unknown configuration key {override.key!r}{hint}")
        if section == "figure" and figure not in figures:
            raise ConfigError(f"unknown figure {figure!r} in {override.text!r}{suggestion(figure, figures)}")
        if section == "claims" and names[0] not in papers:
            raise ConfigError(f"unknown paper {names[0]!r} in {override.text!r}{suggestion(names[0], papers)}")


def _check_protocol_keys(given: Sequence[Override], chosen: Iterable[Figure]) -> None:
    """Check that each ``protocol.KEY`` is a key of at least one chosen figure."""
    known = sorted({key for figure in chosen for key in type(figure.protocol).model_fields})
    for override in given:
        section, _, key = override.key.partition(".")
        if section == "protocol" and key.split(".")[0] not in known:
            raise ConfigError(f"no chosen figure has the key {override.key!r}{suggestion(key.split('.')[0], known)}")


def _check_variants(config: Config, whole: bool) -> None:
    """Check that a variant id means the same in all figures of a paper, and that the chosen variant exists."""
    summaries: dict[tuple[str, str], str] = {}
    for name, figure in config.figure.items():
        for key, variant in figure.variants.items():
            known = summaries.setdefault((name.split("/")[0], key), variant.summary)
            if known != variant.summary or key in CONTROLS:
                raise ConfigError(
                    f"figure {name}: variant {key!r} is {variant.summary!r}, elsewhere {known!r}; give it another id"
                )
    allowed = [*CONTROLS, *dict.fromkeys(key for figure in config.figure.values() for key in figure.variants)]
    if whole and config.variant not in (None, *allowed):
        raise ConfigError(f"unknown variant {config.variant!r}; allowed: {listed(allowed)}")


def _check_claim(
    where: str, claim: Claim, evidence: str, figures: Mapping[str, Tree], known: Mapping[str, Sequence[str]]
) -> None:
    """Check that what a claim names exists: its figure, scales, data sets, and its checks' networks and columns.

    Args:
        where: name of the claim's section.
        claim: the claim.
        evidence: ``paper/figure`` of its evidence.
        figures: the paper's figures, without overrides.
        known: names of scales and data sets.
    """
    if evidence not in figures and not claim.not_yet:
        allowed = listed(name.split("/")[1] for name in figures)
        fault = f"is {claim.evidence!r}, which is not a figure; allowed: {allowed}; or say in not_yet why there is none"
        raise ConfigError(fault, place=f"{where}.evidence")
    if evidence in figures and claim.not_yet:
        raise ConfigError(f"is {claim.not_yet!r}, but {evidence} exists; remove not_yet", place=f"{where}.not_yet")
    for key, names in known.items():
        for name in getattr(claim.needs, f"{key}s"):
            if name not in names:
                raise ConfigError(f"has {name!r}; allowed: {listed(names)}", place=f"{where}.needs.{key}s")
    figure = figures.get(evidence, {})
    scales, protocol = (figure.get(key) or {} for key in ("scales", "protocol"))
    reduced = [scales.get(scale) or {} for scale in claim.needs.scales]
    networks = sorted({name for scale in reduced for name in scale.get("networks", protocol.get("networks", []))})
    columns = sorted({*figure.get("keys", []), *figure.get("tolerances", {})})
    for key, check in claim.checks.items():
        for kind, named, names, hint in (
            ("network", check.named, networks, ""),
            ("column", (*check.columns, *check.reads), columns, "; 'resaudit checks' lists other checks"),
        ):
            unknown = [name for name in named if name not in names]
            if unknown and names:
                raise ConfigError(
                    f"({check.name}) names the {kind} {unknown[0]!r}, which {evidence} does not "
                    f"list{suggestion(unknown[0], names)}{hint}",
                    place=f"{where}.checks.{key}",
                )
