"""Overrides of the configuration, in Hydra's ``key=value`` syntax."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
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

    key: str  # dotted; one of a single figure begins with figure.<paper>.<figure>
    value: Any  # its value, parsed
    text: str  # as it was written

    @property
    def own(self) -> bool:
        """Whether it applies to one figure rather than to all."""
        return self.key.startswith("figure.")

    @property
    def setting(self) -> str:
        """The key within the figures that it applies to."""
        return self.key.split(".", 3)[-1] if self.own else self.key

    @property
    def chooses(self) -> bool:
        """Whether it chooses an option of a group."""
        return self.setting in GROUPS


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
    if read.is_sweep_override():
        raise _refusal(override, f"write several values as a list, {read.key_or_group}=[value,value]")
    if read.is_add() or read.is_delete() or read.package is not None:
        raise _refusal(override, "keys can be set (key=value), not added or deleted")
    return override


def _check_form(override: Override) -> None:
    """Check that an override sets what can be set, and not only a part of what is chosen as a whole."""
    section, *rest = override.key.split(".")
    setting = override.setting
    if len(rest) < {"figure": 3, "claims": 3, "protocol": 1}.get(section, 0):
        paths = "fig07.runs=3, protocol.runs=3 or claims.<paper>.<claim>.needs.runs=3"
        fault = f"name a setting, as in {paths}; figures=[…] chooses figures"
    elif setting.startswith("scale."):
        fault = "a scale is chosen as a whole, with scale=NAME or FIGURE.scale=NAME"
    elif override.chooses and not isinstance(override.value, str):
        fault = f"one is chosen by its name, as in {setting}=NAME"
    elif override.own and setting == "name":
        fault = "a figure's name is that of its file"
    elif setting == "dataset.name" or setting.startswith("dataset.files"):
        fault = "a data set is chosen as a whole, with dataset=NAME"
    else:
        return
    raise _refusal(override, fault)


def _refusal(override: Override, fault: str) -> ConfigError:
    return ConfigError(f"override {override.text!r}: {fault}")


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
    """Overrides with full keys, as ``figure.<paper>.fig07.protocol.runs`` for ``fig07.runs``, their form checked."""
    sections, full_keys = [f"figure.{name.replace('/', '.')}" for name in figures], []
    for override in overrides:
        keys = {
            section: override.key.removeprefix(prefix)
            for section in sections
            for prefix in (f"{section}.", f"{section.rpartition('.')[2]}.")
            if override.key.startswith(prefix)
        }
        if len(keys) > 1:
            raise _refusal(override, f"several papers have this figure; write one of {listed(list(keys))}")
        for section, key in keys.items():
            protocol = "" if key.split(".")[0] in Figure.model_fields else "protocol."
            override = replace(override, key=f"{section}.{protocol}{key}")
        _check_form(override)
        full_keys.append(override)
    return full_keys


def of_figure(overrides: Sequence[Override], name: str) -> list[Override]:
    """The overrides that apply to a figure, in order: its own, and those of all figures."""
    prefix = f"figure.{name.replace('/', '.')}."
    sections = (*OF_FIGURES, "protocol")
    return [each for each in overrides if each.key.startswith(prefix) or each.key.split(".")[0] in sections]


def set_in(tree: Tree, key: str, value: Any, text: str) -> Tree:
    """A section, which is not changed, with one key set; in a mapping only the keys that the value names.

    Args:
        tree: the section.
        key: the key within it, dotted.
        value: the key's value.
        text: the override, for messages.
    """
    first, _, rest = key.partition(".")
    if not rest:
        return tree | {first: merged(tree.get(first), value)}
    if not isinstance(tree.get(first), dict):
        known = sorted(str(key) for key, value in tree.items() if isinstance(value, dict))
        raise ConfigError(f"override {text!r}: there is no section {first!r}{suggestion(first, known)}")
    return tree | {first: set_in(tree[first], rest, value, text)}
