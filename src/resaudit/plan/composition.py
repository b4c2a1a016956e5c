"""From Hydra's files and overrides to a checked :class:`~resaudit.plan.models.Config`, one figure at a time."""

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path

from resaudit.base.errors import ResauditError, figures_named, suggestion
from resaudit.base.models import shown, validated
from resaudit.base.papers import checkout, file_of_paper
from resaudit.data.dataset import Dataset
from resaudit.plan.claim import Claim, read_claim
from resaudit.plan.experiment import experiments_of
from resaudit.plan.models import CONTROLS, LARGEST_SEED, OTHER_SEED, Assumption, Config, Figure, Run
from resaudit.plan.overrides import (
    OF_FIGURES,
    Override,
    Tree,
    key_of,
    of_figure,
    parsed,
    resolved,
    set_in,
    with_full_keys,
)
from resaudit.plan.trees import Files, files_like, one_line_errors
from resaudit.runtime.devices import settled

NOT_FIGURES = ("paper", "claims")
"""Files of a paper's folder that are not figures; names that begin with an underscore are not either."""
SECTIONS = (*Run.model_fields, *OF_FIGURES, "protocol", "figure", "claims")
NAMED_UNDER = "; a figure names its columns under keys and tolerances"


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
        folder: of the configuration files, default :func:`config_folder`; or these, if several calls share them.
        only: the figures to compose, as ``paper/figure``, without the claims; default all.

    Raises:
        ResauditError: an unknown key, a wrong type or an impossible value, in one line.
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
        _check_protocol_keys(given, figures, run)
    claims = {} if only is not None else _claims(files, given, places)
    # Figures that are named are not left out, and asking torch for a GPU takes seconds.
    left_out = {} if only is not None else _left_out(figures, run)
    config = Config(**dict(run), figure=figures, claims=claims, left_out=left_out)
    _check_variants(config, whole=only is None)
    return config if only is None else config.model_copy(update={"figures": list(only)})


def files_of_figures(folder: Path) -> dict[str, Path]:
    """The file of every figure, by ``paper/figure``."""
    files = files_like(folder, "paper/*/[!_]*.yaml")
    return {f"{file.parent.name}/{file.stem}": file for file in files if file.stem not in NOT_FIGURES}


def claims_file(paper: str) -> Path | None:
    """The file of a paper's claims; None if it has none."""
    return next(iter(files_like(config_folder(), f"paper/{paper}/claims.yaml")), None)


def claims_as_written(file: Path) -> dict[str, Claim]:
    """The claims of a paper as their file has them, without overrides."""
    return _claims_in(Files(config_folder()), file, ())


def datasets(folder: Path | Files, overrides: Sequence[str] = ()) -> dict[str, Dataset]:
    """Every configured data set by name, with the overrides of ``dataset`` where they fit it."""
    given, found = [each for each in parsed(overrides) if each.key.startswith("dataset.")], {}
    files = files_in(folder)
    for file in files.like("dataset/*.yaml"):
        try:
            found[file.stem] = _dataset(files, file, given)
        except ResauditError:
            # The overrides do not fit, as a source that this data set lacks; composing its figures reports that.
            found[file.stem] = _dataset(files, file, ())
    _check_datasets(found)
    return found


def _left_out(figures: Mapping[str, Figure], run: Run) -> dict[str, str]:
    """The figures that are drawn only if they are named, with the reason."""
    gpu = cache(lambda: settled(run.device) == "cuda")
    reasons = {name: run.scale.left_out(type(figure.protocol).needs_gpu, gpu) for name, figure in figures.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _check_datasets(found: Mapping[str, Dataset]) -> None:
    """Check that no data set is a copy of another's file with its name or checksums left as they were."""
    known: dict[str, str] = {}
    for stem, dataset in found.items():
        file = f"config/dataset/{stem}.yaml"
        if dataset.name != stem:
            raise ResauditError(f"{file}: name is {dataset.name!r}; allowed: {stem}, the file's name")
        other = known.setdefault(next(iter(dataset.files.values())).digest, stem)
        if other != stem:
            raise ResauditError(f"{file} has the checksums of {other}; 'resaudit hash FOLDER' prints yours")


def _dataset(files: Files, file: Path, given: Sequence[Override]) -> Dataset:
    with one_line_errors():
        plain = resolved(reduce(set_in, given, {"dataset": files.read(file)}))
    return validated(Dataset, plain["dataset"], "dataset")


def _run(files: Files, given: Sequence[Override]) -> Run:
    """The settings shared by all figures."""
    with one_line_errors():
        own = [each for each in given if each.key.split(".")[0] in Run.model_fields and not each.chooses]
        choices = {each.key: each.value for each in given if each.chooses}
        plain = resolved(reduce(set_in, own, files.root(*(f"{group}={name}" for group, name in choices.items()))))
    return validated(Run, {key: value for key, value in plain.items() if key not in OF_FIGURES}, "")


@contextmanager
def _naming(file: Path, where: str, overrides: Sequence[Override]) -> Iterator[None]:
    """Name the file of a section in an error, unless overrides may be wrong or a file is named."""
    try:
        yield
    except ResauditError as error:
        if overrides or str(error).startswith((*OF_FIGURES, str(file.parents[2]))):
            raise
        what = str(error).removeprefix(f"{where}.")
        raise ResauditError(f"{file_of_paper(file.parent.name, file.name)}: {what}") from error


def _figure(files: Files, file: Path, name: str, overrides: Sequence[Override], run: Run) -> Figure:
    where = f"figure.{name.replace('/', '.')}"
    with _naming(file, where, overrides):
        with one_line_errors(where):
            tree = _figure_tree(files, file, name, overrides, run)
            changes = [] if run.variant is None else _overrides_of_variant(tree["figure"], run.variant, where)
            if changes:
                of_variant = [replace(each, own=True) for each in parsed(changes)]
                tree = _figure_tree(files, file, name, [*overrides, *of_variant], run)
            plain = resolved(tree)["figure"]
        try:
            figure = validated(Figure, plain | {"name": name}, where)
        except ResauditError as error:
            # Shared settings keep the name under which the user set them.
            everywhere = "|".join(OF_FIGURES)
            raise ResauditError(re.sub(rf"^{re.escape(where)}\.(?=({everywhere})\b)", "", str(error))) from error
    return figure.model_copy(update={"seed": (figure.seed + 1) % LARGEST_SEED}) if run.variant == OTHER_SEED else figure


def _figure_tree(files: Files, file: Path, name: str, overrides: Sequence[Override], run: Run) -> Tree:
    """The shared settings and, under ``figure``, a figure's: its files, then its scale's and all other overrides."""
    given, where = files.figure(file), f"figure.{name.replace('/', '.')}."
    # A figure's data set is the one chosen for it, else its own, else the one chosen for all.
    data = {each.own: each.value for each in overrides if each.key == "dataset"}
    own_data = given.get("dataset") is not None
    if True in data or isinstance(given.get("dataset"), str):
        given = given | {"dataset": files.dataset(str(data.get(True, given.get("dataset"))))}
    root = files.root(*(f"dataset={chosen}" for own, chosen in data.items() if not own))
    given = {section: root[section] for section in OF_FIGURES} | {"protocol": {}} | given
    _check_mappings(given, where)
    scales = [given.get("scales", {}).get(run.scale.name)]
    scales += [given.get("variant_scales", {}).get(run.scale.name)] if run.variant is not None else []
    given["protocol"] = reduce(operator.or_, (scale for scale in scales if scale), given["protocol"])
    for override in overrides:
        if not override.chooses and (override.own or _concerns(override, given, name, run, own_data)):
            given = set_in(given, override, where if override.own else "")
            _check_mappings(given, where)
            given = _set_for_all_networks(given, override)
    return root | {"figure": given}


def _check_mappings(figure: Tree, where: str) -> None:
    """Check that sections which are read before the figure is validated are mappings."""
    sections = {key: figure.get(key, {}) for key in ("protocol", "assumptions", "scales", "variant_scales")}
    for key in ("scales", "variant_scales"):
        if isinstance(sections[key], dict):
            sections |= {f"{key}.{scale}": each for scale, each in sections[key].items()}
    for key, each in sections.items():
        if not isinstance(each, dict):
            raise ResauditError(f"{where}{key} is {shown(each)}; allowed: a section")


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


def _check_protocol_keys(given: Sequence[Override], figures: Mapping[str, Figure], run: Run) -> None:
    """Check that each ``protocol.KEY`` is a key of at least one chosen figure."""
    protocols = [type(figure.protocol) for name, figure in figures.items() if _is_chosen(name, run)]
    known = sorted({key for protocol in protocols for key in protocol.model_fields})
    for override in given:
        section, _, key = override.key.partition(".")
        if section == "protocol" and key.split(".")[0] not in known:
            raise ResauditError(f"no chosen figure has the key {override.key!r}{suggestion(key.split('.')[0], known)}")


def _set_for_all_networks(tree: Tree, override: Override) -> Tree:
    """A user's setting also replaces the scale's settings of single networks."""
    section, _, key = override.key.partition(".")
    networks = tree["protocol"].get("per_network")
    if section != "protocol" or key == "per_network" or not isinstance(networks, list):
        return tree
    kept = [{k: v for k, v in each.items() if k != key} if isinstance(each, dict) else each for each in networks]
    return tree | {"protocol": tree["protocol"] | {"per_network": kept}}


def _overrides_of_variant(tree: Tree, variant: str, where: str) -> list[str]:
    given = tree.get("assumptions", {})
    found = [validated(Assumption, each, f"{where}.assumptions.{key}").variants for key, each in given.items()]
    return [override for variants in found if variant in variants for override in variants[variant].overrides]


def _check_variants(config: Config, whole: bool) -> None:
    """Check that a variant id means the same in all figures of a paper, and that the chosen variant exists."""
    summaries: dict[tuple[str, str], str] = {}
    for name, figure in config.figure.items():
        for key, variant in figure.variants.items():
            known = summaries.setdefault((name.split("/")[0], key), variant.summary)
            if known != variant.summary or key in CONTROLS:
                raise ResauditError(
                    f"figure {name}: variant {key!r} is {variant.summary!r}, elsewhere {known!r}; give it another id"
                )
    known_variants = dict.fromkeys(key for figure in config.figure.values() for key in figure.variants)
    if whole and config.variant not in (None, *CONTROLS, *known_variants):
        allowed = ", ".join((*CONTROLS, *known_variants))
        raise ResauditError(f"unknown variant {config.variant!r}; allowed: {allowed}")


def _check_sections(given: Sequence[Override], figures: Sequence[str]) -> None:
    """Check that every override begins with a known section, or figure."""
    for override in given:
        section, *names = override.key.split(".")
        if section not in SECTIONS:
            papers = {name.split("/")[0] for name in figures}
            protocols = [kind.model_fields for paper in papers for kind in experiments_of(paper).values()]
            meant = f"; did you mean protocol.{section} (all figures), or FIGURE.{section} (one)?"
            near = suggestion(
                section,
                sorted([*SECTIONS, *(figures if names else ())], key=lambda name: name.rpartition("/")[2]),
                lambda name: key_of(name, figures),
            )
            raise ResauditError(
                f"unknown configuration key {override.key!r}{meant if any(section in p for p in protocols) else near}"
            )
        if section == "figure" and "/".join(names[:2]) not in figures:
            wanted = "/".join(names[:2])
            raise ResauditError(f"unknown figure {wanted!r} in {override.text!r}{suggestion(wanted, figures)}")


def _claims(files: Files, given: Sequence[Override], figures: Mapping[str, Path]) -> dict[str, dict[str, Claim]]:
    known = {key: sorted(file.stem for file in files.like(f"{key}/*.yaml")) for key in ("scale", "dataset")}
    found: dict[str, dict[str, Claim]] = {}
    for file in files.like("paper/*/claims.yaml"):
        paper = file.parent.name
        overrides = [override for override in given if override.key.startswith(f"claims.{paper}.")]
        with _naming(file, f"claims.{paper}", overrides):
            found[paper] = _claims_in(files, file, overrides)
            for name, claim in found[paper].items():
                _check_claim(f"claims.{paper}.{name}", claim, paper, list(figures), known)
                if not claim.not_yet:
                    figure = f"{paper}/{claim.evidence}"
                    _check_names(f"claims.{paper}.{name}", claim, figure, files.figure(figures[figure]))
    return found


def _claims_in(files: Files, file: Path, overrides: Sequence[Override]) -> dict[str, Claim]:
    paper = file.parent.name
    with one_line_errors():
        plain = resolved(reduce(set_in, overrides, {"claims": {paper: files.read(file)}}))
    return {str(name): read_claim(paper, str(name), each) for name, each in plain["claims"][paper].items()}


def _check_names(where: str, claim: Claim, name: str, figure: Tree) -> None:
    """Check that a claim's figure, without overrides, has the networks and columns that the claim's checks name.

    Args:
        where: the claim, for messages.
        claim: itself.
        name: ``paper/figure``.
        figure: as composed.
    """
    scales, protocol = (figure.get(key) or {} for key in ("scales", "protocol"))
    reduced = [scales.get(scale) or {} for scale in claim.needs.scales]
    networks = {name for part in reduced for name in part.get("networks", protocol.get("networks", []))}
    columns = {*figure.get("keys", []), *figure.get("tolerances", {})}
    for key, check in claim.checks.items():
        for what, named, known in (("network", check.named, networks), ("column", check.columns, columns)):
            unknown = [each for each in named if each not in known]
            if unknown and known:
                raise ResauditError(
                    f"{where}.checks.{key} has the {what} {unknown[0]!r}, which {name} has not"
                    + suggestion(unknown[0], sorted(known))
                    + (NAMED_UNDER if what == "column" else "")
                )
        lacking = [column for column in check.reads if column not in columns]
        if lacking and columns:
            raise ResauditError(
                f"{where}.checks.{key}: {check.name} reads the column{'s' * (len(lacking) > 1)} {', '.join(lacking)}, "
                f"which {name} has not{NAMED_UNDER}; or choose another check (resaudit checks)"
            )


def _check_claim(
    where: str, claim: Claim, paper: str, figures: Sequence[str], known: Mapping[str, Sequence[str]]
) -> None:
    """Check that a claim's figure, scales and data sets exist in the configuration."""
    here = f"{paper}/{claim.evidence}" in figures
    if not here and not claim.not_yet:
        allowed = ", ".join(name.split("/")[1] for name in figures if name.startswith(f"{paper}/"))
        raise ResauditError(
            f"{where}.evidence is {claim.evidence!r}, which is no figure; allowed: {allowed}; or say in not_yet why it "
            "is not here"
        )
    if here and claim.not_yet:
        raise ResauditError(
            f"{where}.not_yet says {claim.not_yet!r}, but {paper}/{claim.evidence} is here; remove not_yet"
        )
    for key, names in known.items():
        for name in getattr(claim.needs, f"{key}s"):
            if name not in names:
                raise ResauditError(f"{where}.needs.{key}s has {name!r}; allowed: {', '.join(names)}")
