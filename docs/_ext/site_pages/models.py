"""The keys of the configuration, from the pydantic models.

Types, bounds and defaults are those of their JSON Schema, meanings those of their docstrings.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from resaudit.base.models import Untitled, meanings, summary
from resaudit.base.papers import KEY
from resaudit.data.dataset import CifarDataset, Dataset, IdxDataset, ImageFolderDataset
from resaudit.plan.claim import Check, Claim, checks_by_name
from resaudit.plan.experiment import Experiment, experiments_of
from resaudit.plan.figure import Figure, Whitening
from resaudit.plan.models import Paths, Run, Scale
from site_pages.ledgers import configuration
from site_pages.links import CHECKOUT

Kind = type[BaseModel]
Schema = Mapping[str, Any]
_BOUNDS = {
    "minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}",
    "minItems": "at least {}", "maxItems": "at most {}", "minProperties": "at least {}", "pattern": "matches `{}`",
}  # fmt: skip
_HEAD = ("| key | type and bounds | default | meaning |", "|---|---|---|---|")


def run_keys() -> Iterator[str]:
    """Keys of config/config.yaml and config/scale/."""
    yield from _sections([Run, Paths, Scale])


def figure_keys() -> Iterator[str]:
    """Keys of a figure and of its paper."""
    yield from _sections(_with_parts([Figure], but=(Dataset, Experiment)))


def dataset_keys() -> Iterator[str]:
    """Keys of config/dataset/, by format."""
    yield from _sections(_with_parts([Dataset, IdxDataset, CifarDataset, ImageFolderDataset]))


def experiment_keys() -> Iterator[str]:
    """Keys of ``protocol``, by experiment."""
    figures: dict[str, list[str]] = {}
    for name, figure in configuration().figure.items():
        figures.setdefault(figure.experiment, []).append(f"`{name}`")
    for kind in _experiments():
        used = ", ".join(figures.get(kind.name, ["no figure"]))
        yield from _section(kind, f"`{kind.name}`", f"Figures: {used}.")
    yield from _sections(part for part in _with_parts(_experiments()) if not issubclass(part, Experiment))


def claim_keys() -> Iterator[str]:
    """Keys of a claim in claims.yaml."""
    yield from _sections(_with_parts([Claim], but=(Check,)))


def check_keys() -> Iterator[str]:
    """Parameters of every check."""
    used: dict[str, list[str]] = {}
    for paper, claims in configuration().claims.items():
        for key, claim in claims.items():
            for name in {check.name for check in claim.checks.values()}:
                used.setdefault(name, []).append(f"[`{key}`](#claim-{paper}-{key})")
    yield from _section(Check, "Every check")
    for name, kind in sorted(checks_by_name().items()):
        own = [field for field in kind.model_fields if field not in Check.model_fields]
        yield from _section(kind, f"`{name}`", f"Claims: {', '.join(used.get(name, ['none']))}.", own)


def config_schema() -> Schema:
    """The JSON Schema of what Snakemake's ``--config`` accepts, for editors; a run refuses more, in words."""
    text, texts = {"type": "string"}, {"type": ["array", "string"], "items": {"type": "string"}}
    run, known = _section_schema(Run)["properties"], meanings(Run)
    names = {key: sorted(file.stem for file in CHECKOUT.glob(f"config/{key}/*.yaml")) for key in ("scale", "dataset")}
    keys = {
        **{key: text | {"description": known[key]} for key in ("scale", "variant")},  # no key can be null in --config
        "figures": texts | {"description": known["figures"]},
        "overrides": texts | {"description": "other settings, each KEY=VALUE, such as fig07.runs=3."},
        KEY: text | {"description": "folder of papers from outside this repository."},
        "dataset": text | {"description": "data set of all figures without one of their own."},
        "seed": _section_schema(Figure)["properties"]["seed"],
        "rung": run["rung"]["anyOf"][0] | {"description": known["rung"]},
        "whitening": _section_schema(Whitening) | {"description": "how the data of networks are whitened."},
        "paths": _section_schema(Paths) | {"description": known["paths"]},
    }
    for key in names:
        keys[key] |= {"examples": names[key], "default": _defaults()[Run][key]}
    head = {"$schema": Untitled.schema_dialect, "title": "Settings of a run of resaudit, as given with --config"}
    return head | _section_schema(Run) | {"properties": run | keys}


def _section_schema(kind: Kind) -> Schema:
    """The JSON Schema of a section of which a user may give some keys."""
    given, known = _defaults().get(kind, {}), meanings(kind)
    keys = {
        key: part | {"description": known[key]} | ({"default": given[key]} if key in given else {})
        for key, part in kind.model_json_schema(schema_generator=Untitled)["properties"].items()
    }
    return {"type": "object", "properties": keys, "additionalProperties": False}


@cache
def _experiments() -> list[type[Experiment]]:
    """Every experiment of every paper, the general ones first."""
    papers = configuration().claims
    return list(dict.fromkeys(kind for paper in papers for kind in experiments_of(paper).values()))


def _with_parts(kinds: Iterable[Kind], but: tuple[Kind, ...] = ()) -> list[Kind]:
    """Models, each followed by those of its keys."""
    found: dict[Kind, None] = {}

    def add(kind: Kind) -> None:
        if kind not in found and not issubclass(kind, but):
            found[kind] = None
            for field in kind.model_fields.values():
                for part in _models_in(field.annotation):
                    add(part)

    for kind in kinds:
        add(kind)
    return list(found)


def _models_in(annotation: Any) -> Iterator[Kind]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _sections(kinds: Iterable[Kind]) -> Iterator[str]:
    for kind in kinds:
        yield from _section(kind, kind.__name__)


def _section(kind: Kind, title: str, remark: str = "", keys: list[str] | None = None) -> Iterator[str]:
    """A model: heading with a link's target, its summary, its keys."""
    schema, defaults, known = _schema(kind), _defaults().get(kind, {}), meanings(kind)
    yield from ("", f"(keys-{kind.__name__.lower()})=", f"### {title}", "", _markdown(summary(kind)), "", remark, "")
    chosen = [key for key in schema.get("properties", {}) if keys is None or key in keys]
    yield from _HEAD if chosen else ()
    for key in chosen:
        part = schema["properties"][key]
        default = defaults.get(key, part.get("default", "–" if key in schema.get("required", []) else ""))
        default = default if default == "–" else f"`{_in_yaml(default)}`"
        yield f"| `{key}` | {_in_words(part)} | {default} | {_markdown(known.get(key, ''))} |".replace("\n", " ")
    yield ""


def _schema(kind: Kind) -> Schema:
    """The JSON Schema of a model, with references to other models by their class."""
    schema: Schema = kind.model_json_schema()
    return schema if "$ref" not in schema else schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]


@cache
def _defaults() -> dict[Kind, dict[str, Any]]:
    """Defaults that config/config.yaml holds, not the models."""
    given = yaml.safe_load((CHECKOUT / "config" / "config.yaml").read_text(encoding="utf-8"))
    chosen = {key: value for part in given["defaults"] if isinstance(part, dict) for key, value in part.items()}
    return {Run: given | chosen, Figure: given | chosen, Paths: given["paths"], Whitening: given["whitening"]}


def _in_words(schema: Schema) -> str:
    """A JSON Schema as a reader of YAML says it.

    >>> _in_words({"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1}})
    'list of whole numbers (≥ 1), at least 1'
    """
    bounds = ", ".join(words.format(schema[key]) for key, words in _BOUNDS.items() if key in schema)
    around = ", {}" if schema.get("type") in ("array", "object") else " ({})"
    return _kind_in_words(schema) + (around.format(bounds).replace("|", "\\|") if bounds else "")


def _kind_in_words(schema: Schema) -> str:
    match schema:
        case {"$ref": reference}:
            name = reference.rsplit("/", 1)[1].rsplit("__", 1)[-1]
            return f"[{name}](#keys-{name.lower()})"
        case {"anyOf": options} | {"oneOf": options}:
            return " or ".join(map(_in_words, options))
        case {"enum": values}:
            return " or ".join(f"`{_in_yaml(value)}`" for value in values)
        case {"const": value}:
            return f"`{_in_yaml(value)}`"
        case {"type": "array", "prefixItems": items}:
            return f"list of {', '.join(map(_in_words, items))}"
        case {"type": "array", "items": items}:
            return f"list of {_in_words(items).replace('number', 'numbers', 1)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"section, each entry {_in_words(values)}"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    return names.get(schema.get("type", ""), {"null": "`null`", "object": "section"}.get(schema.get("type", ""), "any"))


def _in_yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()


def _markdown(text: str) -> str:
    """A docstring's markup in Markdown."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", re.sub(r"\s+", " ", text)).replace("``", "`")
    return text.replace("|", "\\|").replace(" < ", " \\< ")
