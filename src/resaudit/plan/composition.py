"""From Hydra's files and overrides to a checked :class:`~resaudit.plan.models.Config`, one figure at a time."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path

from resaudit.base.errors import ConfigError, ResauditError, figures_named
from resaudit.base.models import validated
from resaudit.base.papers import LONGEST_NAME, checkout, file_of_paper
from resaudit.data.dataset import Dataset
from resaudit.plan.claim import Claim, read_claim
from resaudit.plan.consistency import (
    check_claim,
    check_mappings,
    check_names,
    check_protocol_keys,
    check_scales,
    check_sections,
    check_variants,
)
from resaudit.plan.experiment import experiments_of
from resaudit.plan.figure import LARGEST_SEED, Assumption, Figure
from resaudit.plan.models import OTHER_SEED, Config, Run, Scale
from resaudit.plan.overrides import OF_FIGURES, Override, of_figure, parsed, set_in, with_full_keys
from resaudit.plan.trees import Files, Tree, files_like, one_line_errors, resolved
from resaudit.runtime.devices import settled

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST_NAME - 1}}}")
NOT_FIGURES = ("paper", "claims")
"""Files of a paper's folder that are not figures; names that begin with an underscore are not either."""


def config_folder() -> Path:
    """The checkout's folder of configuration files; raises as :func:`resaudit.base.papers.checkout`."""
    return checkout() / "config"


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
    check_sections(given, known)
    run = _run(files, given)
    for wanted in run.figures if only is None else ():
        figures_named(wanted, known)
    chosen = [name for name in known if only is None or name in only]
    figures = {name: _figure(files, places[name], name, of_figure(given, name), run) for name in chosen}
    # The papers that have a variant may not have a key that other figures have.
    if only is None or (figures and run.variant is None):
        check_protocol_keys(given, [figure for name, figure in figures.items() if _is_chosen(name, run)])
    claims = {} if only is not None else _claims(files, given, places)
    left_out = {}
    # Figures that are named are not left out, and asking torch for a GPU takes seconds.
    if only is None:
        gpu = cache(lambda: settled(run.device) == "cuda")
        scale = cache(lambda name: validated(Scale, files.option("scale", name), "scale"))
        reasons = {
            name: scale(each.scale).left_out(type(each.protocol).needs_gpu, gpu) for name, each in figures.items()
        }
        left_out = {name: reason for name, reason in reasons.items() if reason}
    config = Config(**dict(run), figure=figures, claims=claims, left_out=left_out)
    check_variants(config, whole=only is None)
    return config if only is None else config.model_copy(update={"figures": list(only)})


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


def _dataset(files: Files, file: Path, given: Sequence[Override]) -> Dataset:
    with one_line_errors():
        plain = resolved(reduce(set_in, given, {"dataset": files.read(file)}))
    return validated(Dataset, plain["dataset"], "dataset")


def _run(files: Files, given: Sequence[Override]) -> Run:
    """The settings shared by all figures."""
    with one_line_errors():
        settings = [each for each in given if each.key.split(".")[0] in Run.model_fields and not each.chooses]
        choices = {each.key: each.value for each in given if each.chooses}
        root = files.root(*(f"{group}={name}" for group, name in choices.items()))
        plain = resolved(reduce(set_in, settings, root))
    return validated(Run, {key: value for key, value in plain.items() if key not in OF_FIGURES}, "")


@contextmanager
def _naming(file: Path, where: str, overrides: Sequence[Override]) -> Iterator[None]:
    """Name the file of a section in an error, unless overrides or shared settings may be wrong or a file is named."""
    try:
        yield
    except ConfigError as error:
        if not overrides and error.file is None and re.split(r"[.\[]", error.place)[0] not in OF_FIGURES:
            error.file, error.place = file_of_paper(file.parent.name, file.name), error.place.removeprefix(f"{where}.")
        raise


def _figure(files: Files, file: Path, name: str, overrides: Sequence[Override], run: Run) -> Figure:
    where = f"figure.{name.replace('/', '.')}"
    with _naming(file, where, overrides):
        with one_line_errors(where):
            tree = _figure_tree(files, file, name, overrides, run)
            assumptions = tree["figure"].get("assumptions", {}) if run.variant is not None else {}
            variants = [
                validated(Assumption, each, f"{where}.assumptions.{key}").variants.get(str(run.variant))
                for key, each in assumptions.items()
            ]
            changes = [change for variant in variants if variant for change in variant.overrides]
            if changes:
                of_variant = [replace(override, own=True) for override in parsed(changes)]
                tree = _figure_tree(files, file, name, [*overrides, *of_variant], run)
            plain = resolved(tree)["figure"]
            if run.rung is not None:
                plain = plain | {"protocol": _climbed(plain["protocol"], 4 ** (run.rung - 1))}
        try:
            figure = validated(Figure, plain | {"name": name}, where)
        except ConfigError as error:
            # Shared settings keep the name under which the user set them.
            place = error.place.removeprefix(f"{where}.")
            if re.split(r"[.\[]", place)[0] in OF_FIGURES:
                error.place = place
            raise
    return figure.model_copy(update={"seed": (figure.seed + 1) % LARGEST_SEED}) if run.variant == OTHER_SEED else figure


def _figure_tree(files: Files, file: Path, name: str, overrides: Sequence[Override], run: Run) -> Tree:
    """The shared settings and, under ``figure``, a figure's: its files, its scale's overrides, then all others."""
    figure, where = files.figure(file), f"figure.{name.replace('/', '.')}."
    # A figure's data set and scale are those chosen for it, else its own, else those chosen for all.
    own = figure | {override.key: override.value for override in overrides if override.own and override.chooses}
    for_all = [f"dataset={override.value}" for override in overrides if override.key == "dataset" and not override.own]
    own_data = figure.get("dataset") is not None
    if isinstance(own.get("dataset"), str):
        figure = figure | {"dataset": files.option("dataset", own["dataset"])}
    scale = str(own.get("scale", run.scale.name))
    files.option("scale", scale)
    root = files.root(*for_all[-1:])
    figure = {section: root[section] for section in OF_FIGURES} | {"protocol": {}} | figure | {"scale": scale}
    check_mappings(figure, where)
    reduced = [figure.get(key, {}).get(scale) or {} for key in ("scales", "variant_scales")]
    reductions = {**reduced[0], **(reduced[1] if run.variant is not None else {})}
    of_scale = [Override(f"protocol.{key}", value, own=True) for key, value in reductions.items()]
    for override in (*of_scale, *overrides):
        if not override.chooses and (override.own or _concerns(override, figure, name, run, own_data)):
            figure = set_in(figure, override, where if override.own else "")
            check_mappings(figure, where)
            if override.text:
                figure = _set_for_all_networks(figure, override)
    check_scales(figure, where, [file.stem for file in files.like("scale/*.yaml")])
    return root | {"figure": figure}


def _climbed(section: Tree, times: int) -> Tree:
    """A protocol, or its part for a network, with more fresh runs; a number of them that is none is refused later.

    Whatever number ``confirm`` has is one of runs.
    """
    confirm, networks = section.get("confirm"), section.get("per_network")
    if isinstance(confirm, dict):
        more = {key: times * runs for key, runs in confirm.items() if isinstance(runs, int)}
        section = section | {"confirm": confirm | more}
    if isinstance(networks, list):
        climbed = [_climbed(network, times) if isinstance(network, dict) else network for network in networks]
        section = section | {"per_network": climbed}
    return section


def _concerns(override: Override, tree: Tree, name: str, run: Run, own_data: bool) -> bool:
    """Whether a setting of all figures is one of this figure's."""
    section, *keys = override.key.split(".")
    if section == "dataset" and own_data and keys != ["folder"]:
        # Another data set has other sources.
        return False
    if section != "protocol":
        return tree.get(section) is not None
    experiment = experiments_of(name.split("/")[0]).get(str(tree.get("experiment")))
    return _is_chosen(name, run) and experiment is not None and keys[0] in experiment.model_fields


def _is_chosen(name: str, run: Run) -> bool:
    return not run.figures or not {name, *name.split("/")}.isdisjoint(run.figures)


def _set_for_all_networks(tree: Tree, override: Override) -> Tree:
    """A user's setting also replaces the scale's settings of single networks."""
    section, _, key = override.key.partition(".")
    networks, key = tree["protocol"].get("per_network"), key.split(".")[0]
    if section != "protocol" or key == "per_network" or not isinstance(networks, list):
        return tree
    others = [
        {k: v for k, v in network.items() if k != key} if isinstance(network, dict) else network for network in networks
    ]
    return tree | {"protocol": tree["protocol"] | {"per_network": others}}


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
            for name, claim in claims[paper].items():
                check_claim(f"claims.{paper}.{name}", claim, paper, list(figures), known)
                if not claim.not_yet:
                    figure = f"{paper}/{claim.evidence}"
                    check_names(f"claims.{paper}.{name}", claim, figure, files.figure(figures[figure]))
    return claims


def _claims_in(files: Files, file: Path, overrides: Sequence[Override]) -> dict[str, Claim]:
    paper = file.parent.name
    with one_line_errors():
        plain = resolved(reduce(set_in, overrides, {"claims": {paper: files.read(file)}}))
    return {str(name): read_claim(paper, str(name), each) for name, each in plain["claims"][paper].items()}
