"""Overrides of the configuration, in Hydra's ``key=value`` syntax."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException

from resaudit.base.commands import is_number
from resaudit.base.errors import ConfigError, MachineError, least_name, listed, suggestion
from resaudit.base.models import Model
from resaudit.plan.figure import Figure
from resaudit.plan.trees import Tree, merged

GROUPS = ("dataset", "scale")
OF_FIGURES = ("seed", "dataset", "whitening")
"""Sections shared by all figures unless a figure has its own."""

# Users type figures=fig07,fig08; Hydra needs brackets around a list.
_FIGURES = re.compile(r"^figures=([^\[].*)$")
# The name of a folder may have what Hydra takes for its own syntax, or cannot read, as ~ and ü.
_FOLDER = re.compile(r"""^(paths\.\w+=|(?:[\w.]+\.)?dataset\.folder=)(?!['"\[{]|null$)(.+)$""")


@dataclass(frozen=True)
class Override:
    """One override, as parsed."""

    key: str  # dotted
    value: Any  # its value, parsed
    text: str = ""  # its text; empty for a setting of a figure's scale
    own: bool = False  # it applies to one figure rather than to all

    @property
    def chooses(self) -> bool:
        """Whether it chooses an option of a group."""
        return self.key in GROUPS


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Parse overrides."""
    if not __debug__:
        raise MachineError("Python was started with -O or PYTHONOPTIMIZE, which Hydra does not allow; unset it")
    return [_parse(_FOLDER.sub(_quoted, _FIGURES.sub(r"figures=[\1]", override))) for override in overrides]


def _quoted(folder: re.Match[str]) -> str:
    """An override of a folder, quoted, so that it may have any character."""
    return folder[1] + QuotedString(folder[2], Quote.single).with_quotes()


@cache
def _parse(text: str) -> Override:
    """An override; figures share variants, whose overrides need be parsed but once, for Hydra takes milliseconds."""
    try:
        read = OverridesParser.create().parse_overrides([text])[0]
        override = Override(read.key_or_group, read.value(), text)
    except (HydraException, ValueError) as error:
        form = "write key=value or key=[value,value], without a space in the key"
        if "=" not in text:
            form += "; a folder with a comma is given as --config \"paths={results: 'a,b'}\""
        elif text.startswith("overrides="):
            form = "overrides= is a key of snakemake's --config alone; give here what is in its list, each by itself"
        elif "/" in text.split("=")[0]:
            form = f"write figure.{text.removeprefix('figure.').replace('/', '.', 1)}: keys have dots and no /"
        raise ConfigError(f"override {text!r} does not parse; {form}") from error
    fault = None
    if read.is_sweep_override():
        fault = f"write several values as a list, {read.key_or_group}=[value,value]"
    elif read.is_add() or read.is_delete() or read.package is not None:
        fault = "keys can be set (key=value), not added or deleted"
    _check_form(override, fault)
    return override


def _check_form(override: Override, fault: str | None = None) -> None:
    """Check that an override sets what can be set, and not only a part of what is chosen as a whole."""
    section, *rest = override.key.split(".")
    if section == "figure" and len(rest) < 3:
        fault = "name a setting, as in figure.<paper>.<figure>.protocol.runs=3, or choose with figures=[…]"
    elif section == "protocol" and not rest and not override.own:
        fault = "name a setting, as in protocol.runs=3"
    elif section == "claims" and len(rest) < 3:
        fault = "name a setting, as in claims.<paper>.<claim>.needs.runs=3"
    elif section == "scale" and rest:
        fault = "a scale is chosen as a whole, with scale=NAME or FIGURE.scale=NAME"
    elif override.chooses and not isinstance(override.value, str):
        fault = f"one is chosen by its name, as in {override.key}=NAME"
    elif override.own and override.key == "name":
        fault = "a figure's name is that of its file"
    elif override.key == "dataset.name" or override.key.startswith("dataset.files"):
        fault = "a data set is chosen as a whole, with dataset=NAME"
    if fault:
        raise ConfigError(f"override {override.text!r}: {fault}")


def in_hydra(value: Any) -> str:
    """A value as an override has it; of a section only the keys that are set.

    >>> in_hydra({"runs": [0.000177827941004, True, None], "folder": "/my data"})
    '{runs:[0.000177827941004,true,null],folder:"/my data"}'
    """
    if isinstance(value, Model):
        return in_hydra({key: item for key, item in value if item not in (None, [])})
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{in_hydra(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(in_hydra, value))}]"
    if isinstance(value, str):
        plain = re.fullmatch(r"\w[\w./-]*", value, re.ASCII) and value.lower() not in ("true", "false", "null")
        return value if plain and not is_number(value) else QuotedString(value, Quote.double).with_quotes()
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def key_of(figure: str, figures: Sequence[str]) -> str:
    """``paper/figure`` as overrides name it: in short, unless several papers have the short name.

    >>> key_of("a/fig06", ["a/fig06", "b/fig07"]), key_of("a/fig06", ["a/fig06", "b/fig06"])
    ('fig06', 'figure.a.fig06')
    """
    least = least_name(figure, figures)
    return f"figure.{figure.replace('/', '.')}" if "/" in least else least


def with_full_keys(overrides: Sequence[Override], figures: Sequence[str]) -> list[Override]:
    """Overrides with full keys, as ``figure.<paper>.fig07.protocol.runs`` for ``fig07.runs``."""
    sections, full_keys = [f"figure.{name.replace('/', '.')}" for name in figures], []
    for override in overrides:
        keys = {
            section: override.key.removeprefix(prefix)
            for section in sections
            for prefix in (f"{section}.", f"{section.rpartition('.')[2]}.")
            if override.key.startswith(prefix)
        }
        if len(keys) > 1:
            raise ConfigError(
                f"override {override.text!r}: several papers have this figure; write one of {listed(list(keys))}"
            )
        for section, key in keys.items():
            protocol = "" if key.split(".")[0] in Figure.model_fields else "protocol."
            override = replace(override, key=f"{section}.{protocol}{key}")
        full_keys.append(override)
    return full_keys


def of_figure(overrides: Sequence[Override], name: str) -> list[Override]:
    """The overrides that apply to a figure, in order, with keys relative to it."""
    prefix = f"figure.{name.replace('/', '.')}."
    relative = [
        replace(override, key=override.key.removeprefix(prefix), own=override.key.startswith(prefix))
        for override in overrides
        if override.key.startswith(prefix) or override.key.split(".")[0] in (*OF_FIGURES, "protocol")
    ]
    for override in relative:
        _check_form(override)
    return relative


def set_in(tree: Tree, override: Override, where: str = "") -> Tree:
    """A section with one key set; in a mapping only the keys that the override names.

    Args:
        tree: the section, which is not changed.
        override: the override, with a key relative to the section.
        where: name of the section, for messages.
    """
    sections, node = override.key.split("."), tree
    for part in sections[:-1]:
        if not isinstance(node.get(part), dict):
            known = sorted(str(key) for key, value in node.items() if isinstance(value, dict))
            raise ConfigError(
                f"unknown configuration key {where + override.key!r}, there is no section "
                f"{part!r}{suggestion(part, known)}"
            )
        node = node[part]
    changed: Tree = merged(tree, reduce(lambda value, part: {part: value}, reversed(sections), override.value))
    return changed
