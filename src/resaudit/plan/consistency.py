"""Whether the parts of a configuration fit each other: figures, scales, networks and columns that are named exist.

What a section holds is checked by its model. Every check raises :class:`ResauditError`, in one line.
"""

from collections.abc import Iterable, Mapping, Sequence

from resaudit.base.errors import ConfigError, listed, suggestion
from resaudit.base.models import shown
from resaudit.plan.claim import Claim
from resaudit.plan.experiment import experiments_of
from resaudit.plan.figure import Figure
from resaudit.plan.models import CONTROLS, Config, Run
from resaudit.plan.overrides import OF_FIGURES, Override, key_of
from resaudit.plan.trees import Tree

SECTIONS = (*Run.model_fields, *OF_FIGURES, "protocol", "figure", "claims")


def check_sections(given: Sequence[Override], figures: Sequence[str]) -> None:
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
            hint = meant if any(section in protocol for protocol in protocols) else near
            raise ConfigError(f"unknown configuration key {override.key!r}{hint}")
        figure = "/".join(names[:2])
        if section == "figure" and figure not in figures:
            raise ConfigError(f"unknown figure {figure!r} in {override.text!r}{suggestion(figure, figures)}")


def check_mappings(figure: Tree, where: str) -> None:
    """Check that sections which are read before the figure is validated are mappings."""
    sections = {key: figure.get(key, {}) for key in ("protocol", "assumptions", "scales", "variant_scales")}
    for key in ("scales", "variant_scales"):
        if isinstance(sections[key], dict):
            sections |= {f"{key}.{scale}": each for scale, each in sections[key].items()}
    for key, each in sections.items():
        if not isinstance(each, dict):
            raise ConfigError(f"is {shown(each)}; allowed: a section", place=f"{where}{key}")


def check_scales(figure: Tree, where: str, known: Sequence[str]) -> None:
    """Check that reductions are those of scales that exist: others would be ignored without a word."""
    for key in ("scales", "variant_scales"):
        for scale in figure.get(key, {}):
            if scale not in known:
                place = f"{where}{key}"
                raise ConfigError(f"{place}: no scale {scale!r}; allowed: {listed(known)}")


def check_protocol_keys(given: Sequence[Override], chosen: Iterable[Figure]) -> None:
    """Check that each ``protocol.KEY`` is a key of at least one chosen figure."""
    known = sorted({key for figure in chosen for key in type(figure.protocol).model_fields})
    for override in given:
        section, _, key = override.key.partition(".")
        if section == "protocol" and key.split(".")[0] not in known:
            raise ConfigError(f"no chosen figure has the key {override.key!r}{suggestion(key.split('.')[0], known)}")


def check_variants(config: Config, whole: bool) -> None:
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


def check_claim(
    where: str, claim: Claim, paper: str, figures: Sequence[str], known: Mapping[str, Sequence[str]]
) -> None:
    """Check that a claim's figure, scales and data sets exist in the configuration."""
    exists = f"{paper}/{claim.evidence}" in figures
    if not exists and not claim.not_yet:
        allowed = [name.split("/")[1] for name in figures if name.startswith(f"{paper}/")]
        raise ConfigError(
            f"is {claim.evidence!r}, which is not a figure; allowed: {listed(allowed)}; or give in not_yet the reason "
            "why it does not exist",
            place=f"{where}.evidence",
        )
    if exists and claim.not_yet:
        figure = f"{paper}/{claim.evidence}"
        raise ConfigError(f"is {claim.not_yet!r}, but {figure} exists; remove not_yet", place=f"{where}.not_yet")
    for key, names in known.items():
        for name in getattr(claim.needs, f"{key}s"):
            if name not in names:
                raise ConfigError(f"has {name!r}; allowed: {listed(names)}", place=f"{where}.needs.{key}s")


def check_names(where: str, claim: Claim, name: str, figure: Tree) -> None:
    """Check that the figure ``name``, without overrides, has the networks and columns that the claim's checks name."""
    scales, protocol = (figure.get(key) or {} for key in ("scales", "protocol"))
    reduced = [scales.get(scale) or {} for scale in claim.needs.scales]
    networks = sorted({name for scale in reduced for name in scale.get("networks", protocol.get("networks", []))})
    columns = sorted({*figure.get("keys", []), *figure.get("tolerances", {})})
    for key, check in claim.checks.items():
        unknown = [network for network in check.named if network not in networks]
        if unknown and networks:
            raise ConfigError(
                f"names the network {unknown[0]!r}, but {name} has none of that name{suggestion(unknown[0], networks)}",
                place=f"{where}.checks.{key}",
            )
        unknown = [column for column in (*check.columns, *check.reads) if column not in columns]
        if unknown and columns:
            raise ConfigError(
                f"({check.name}) reads the column {unknown[0]!r}, but {name} lists none of that name under keys or "
                f"tolerances{suggestion(unknown[0], columns)}; 'resaudit checks' lists other checks",
                place=f"{where}.checks.{key}",
            )
