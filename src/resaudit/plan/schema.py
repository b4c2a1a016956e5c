"""The published JSON Schema of what Snakemake's ``--config`` accepts, for editors and the catalogue of workflows.

``python -m resaudit.plan.schema > workflow/schemas/config.schema.yaml`` makes it anew. No run reads it: the models, of
which it is made, refuse the same in one line, and more, such as a figure that does not exist.
"""

import yaml
from pydantic import BaseModel

from resaudit.base.models import Untitled, meanings
from resaudit.base.papers import KEY
from resaudit.plan.composition import config_folder
from resaudit.plan.figure import Figure, Whitening
from resaudit.plan.models import Paths, Run
from resaudit.plan.overrides import GROUPS
from resaudit.plan.trees import Files, Tree

_HEAD = "# Made by `python -m resaudit.plan.schema`; a test keeps it in step with the models.\n"


def config_schema() -> Tree:
    """The schema, made from the models, their docstrings and the defaults of config/config.yaml."""
    files = Files(config_folder())
    given = files.read(files.folder / "config.yaml")
    chosen = {key: name for part in given["defaults"] if isinstance(part, dict) for key, name in part.items()}
    known = {group: sorted(file.stem for file in files.like(f"{group}/*.yaml")) for group in GROUPS}
    run = _keys(Run, given)
    texts = {"type": "array", "items": {"type": "string"}}
    keys = {
        "scale": _text(run["scale"]["description"]) | {"default": chosen["scale"]},
        "figures": _text_or(run["figures"]),
        "overrides": _text_or(texts | {"description": "Other settings, each KEY=VALUE, such as fig07.runs=3."}),
        KEY: _text("Folder of papers from outside this repository."),
        "dataset": _text("Data set of all figures without one of their own.") | {"default": chosen["dataset"]},
        "seed": _keys(Figure, given)["seed"] | {"description": "Seed of all random draws."},
        **{key: run[key] for key in ("device", "kernel", "checkpoint_seconds")},
        # No key can be null in --config.
        "variant": _text(run["variant"]["description"]),
        "rung": run["rung"]["anyOf"][0] | {"description": run["rung"]["description"]},
        "whitening": _section(Whitening, "How the data of networks are whitened.", given["whitening"]),
        "paths": _section(Paths, run["paths"]["description"], given["paths"]),
    }
    return {
        "$schema": Untitled.schema_dialect,
        "title": "Settings of a run of resaudit, as given with --config",
        "type": "object",
        "properties": keys,
        "additionalProperties": False,
        # Papers from outside may bring scales and data sets of their own.
        "if": {"not": {"required": [KEY]}},
        "then": {"properties": {group: {"enum": names} for group, names in known.items()}},
    }


def config_schema_in_yaml() -> str:
    """The file workflow/schemas/config.schema.yaml."""
    return _HEAD + yaml.safe_dump(config_schema(), sort_keys=False, allow_unicode=True, width=120)


def _keys(kind: type[BaseModel], defaults: Tree) -> Tree:
    """The keys of a model, with their meanings and defaults."""
    known = meanings(kind)
    return {
        key: part
        | {"description": known.get(key, "").replace("``", "`")}
        | ({"default": defaults[key]} if key in defaults else {})
        for key, part in kind.model_json_schema(schema_generator=Untitled)["properties"].items()
    }


def _section(kind: type[BaseModel], description: str, defaults: Tree) -> Tree:
    """A section, of which a user may give some keys."""
    keys = _keys(kind, defaults)
    return {"description": description, "type": "object", "properties": keys, "additionalProperties": False}


def _text(description: str) -> Tree:
    return {"description": description, "type": "string"}


def _text_or(listed: Tree) -> Tree:
    """A list, or one text that Hydra reads as such."""
    return listed | {"type": [listed["type"], "string"]}


if __name__ == "__main__":
    print(config_schema_in_yaml(), end="")
