"""Overrides of the configuration, in Hydra's ``key=value`` syntax."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import OmegaConf

from resaudit.base.commands import is_number
from resaudit.base.errors import ResauditError, least_name, suggestion
from resaudit.base.models import Model
from resaudit.plan.models import Figure

GROUPS = ("dataset", "scale")
OF_FIGURES = ("seed", "dataset", "whitening")
"""Sections shared by all figures unless a figure has its own."""

Tree = dict[str, Any]
"""Composed configuration: plain values, with interpolations not resolved."""

# Users type figures=fig07,fig08; Hydra needs brackets around a list.
_FIGURES = re.compile(r"^figures=([^\[].*)$")
# The name of a folder may have what Hydra takes for its own syntax, or cannot read, as ~ and ü.
_FOLDER = re.compile(r"""^(paths\.\w+=|(?:[\w.]+\.)?dataset\.folder=)(?!['"\[{]|null$)(.+)$""")


@dataclass(frozen=True)
class Override:
    """One override, as parsed.

    Attributes:
        key: dotted.
        value: as parsed.
        text: as given.
        own: whether it applies to one figure rather than to all.
    """

    key: str
    value: Any
    text: str
    own: bool = False

    @property
    def chooses(self) -> bool:
        """Whether it chooses an option of a group."""
        return self.key in GROUPS


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Parse overrides.

    Raises:
        ResauditError: one is not ``key=value``, or sets part of what can only be chosen as a whole.
    """
    return [_parse(_FOLDER.sub(_quoted, _FIGURES.sub(r"figures=[\1]", override))) for override in overrides]


def _quoted(folder: re.Match[str]) -> str:
    """An override of a folder, quoted, so that it may have any character."""
    return folder[1] + QuotedString(folder[2], Quote.single).with_quotes()


def _parse(text: str) -> Override:
    try:
        found = OverridesParser.create().parse_overrides([text])[0]
        override = Override(found.key_or_group, found.value(), text)
    except (HydraException, ValueError) as error:
        form = "write key=value or key=[value,value], without a space in the key"
        if "=" not in text:
            form += "; a folder with a comma is given as --config \"paths={results: 'a,b'}\""
        elif "/" in text.split("=")[0]:
            form = f"write figure.{text.removeprefix('figure.').replace('/', '.', 1)}: keys have dots and no /"
        raise ResauditError(f"override {text!r} does not parse; {form}") from error
    if found.is_sweep_override():
        raise ResauditError(f"override {text!r}: write several values as a list, {found.key_or_group}=[value,value]")
    if found.is_add() or found.is_delete() or found.package is not None:
        raise ResauditError(f"override {text!r}: keys can be set (key=value), not added or deleted")
    _check_form(override)
    return override


def _check_form(override: Override) -> None:
    section, *rest = override.key.split(".")
    whole = {
        "figure": (len(rest) < 3, "figure.<paper>.<figure>.protocol.runs=3, or choose with figures=[…]"),
        "protocol": (len(rest) < 1 and not override.own, "protocol.runs=3"),
        "claims": (len(rest) < 3, "claims.<paper>.<claim>.needs.runs=3"),
    }
    if section in whole and whole[section][0]:
        raise ResauditError(f"override {override.text!r}: name a setting, as in {whole[section][1]}")
    if section == "scale" and (rest or override.own):
        raise ResauditError(f"override {override.text!r}: a scale is chosen as a whole, with scale=NAME")
    if override.chooses and not isinstance(override.value, str):
        raise ResauditError(f"override {override.text!r}: one is chosen by its name, as in {override.key}=NAME")
    if override.own and override.key == "name":
        raise ResauditError(f"override {override.text!r}: a figure's name is that of its file")
    if override.key == "dataset.name" or override.key.startswith("dataset.files"):
        raise ResauditError(f"override {override.text!r}: a data set is chosen as a whole, with dataset=NAME")


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
        return value if _reads_as_text(value) else QuotedString(value, Quote.double).with_quotes()
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _reads_as_text(value: str) -> bool:
    """Whether Hydra reads it as it stands as text."""
    plain = re.fullmatch(r"\w[\w./-]*", value, re.ASCII) is not None
    return plain and value.lower() not in ("true", "false", "null") and not is_number(value)


def key_of(figure: str, figures: Sequence[str]) -> str:
    """``paper/figure`` as overrides name it: in short, unless several papers have the short name.

    >>> key_of("a/fig06", ["a/fig06", "b/fig07"]), key_of("a/fig06", ["a/fig06", "b/fig06"])
    ('fig06', 'figure.a.fig06')
    """
    least = least_name(figure, figures)
    return f"figure.{figure.replace('/', '.')}" if "/" in least else least


def with_full_keys(overrides: Sequence[Override], figures: Sequence[str]) -> list[Override]:
    """Overrides with full keys: for ``fig07.runs`` ``figure.<paper>.fig07.protocol.runs``, for ``fig07.seed`` likewise.

    Args:
        overrides: all.
        figures: every ``paper/figure``.

    Raises:
        ResauditError: figures of several papers have that short name.
    """
    return [_with_full_key(override, figures) for override in overrides]


def _with_full_key(override: Override, figures: Sequence[str]) -> Override:
    found = {
        full: override.key.removeprefix(prefix)
        for full in (f"figure.{name.replace('/', '.')}" for name in figures)
        for prefix in (f"{full}.", f"{full.rpartition('.')[2]}.")
        if override.key.startswith(prefix)
    }
    if len(found) > 1:
        raise ResauditError(f"override {override.text!r}: several papers have this figure; write {' or '.join(found)}")
    for full, key in found.items():
        section = "" if key.split(".")[0] in Figure.model_fields else "protocol."
        return replace(override, key=f"{full}.{section}{key}")
    return override


def of_figure(overrides: Sequence[Override], name: str) -> list[Override]:
    """The overrides that apply to a figure, in order, with keys relative to it.

    Args:
        overrides: all.
        name: ``paper/figure``.

    Raises:
        ResauditError: one sets of the figure what can only be chosen as a whole.
    """
    prefix = f"figure.{name.replace('/', '.')}."
    found = [
        replace(each, key=each.key.removeprefix(prefix), own=each.key.startswith(prefix))
        for each in overrides
        if each.key.startswith(prefix) or each.key.split(".")[0] in (*OF_FIGURES, "protocol")
    ]
    for each in found:
        _check_form(each)
    return found


def set_in(tree: Tree, override: Override, where: str = "") -> Tree:
    """A section with one key set; of a mapping the keys that are named, the others stay.

    Args:
        tree: the section, which is not changed.
        override: its key is relative to the section.
        where: the section, for messages.

    Raises:
        ResauditError: a section of the key does not exist.
    """
    sections, node = override.key.split("."), tree
    for part in sections[:-1]:
        if not isinstance(node.get(part), dict):
            known = sorted(str(key) for key, value in node.items() if isinstance(value, dict))
            raise ResauditError(
                f"unknown configuration key {where + override.key!r}, there is no section {part!r}"
                + suggestion(part, known)
            )
        node = node[part]
    changed: Tree = merged(tree, reduce(lambda value, part: {part: value}, reversed(sections), override.value))
    return changed


def merged(below: Any, above: Any) -> Any:
    """Two values of a key: mappings are merged key by key, any other value replaces the one below.

    >>> merged({"a": {"b": 1, "c": [2]}}, {"a": {"c": [3]}, "d": None})
    {'a': {'b': 1, 'c': [3]}, 'd': None}
    """
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: merged(below[key], value) if key in below else value for key, value in above.items()}


def resolved(tree: Tree) -> Tree:
    """A tree with its interpolations, such as ``${oc.env:HOME}``, resolved."""
    if "${" not in repr(tree):
        return tree
    plain: Tree = OmegaConf.to_container(OmegaConf.create(tree), resolve=True)  # type: ignore[assignment]
    return plain
