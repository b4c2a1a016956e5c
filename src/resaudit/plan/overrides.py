"""The configuration's files as plain values, each read once, and overrides in Hydra's ``key=value`` syntax."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from hydra.version import VersionBase
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.errors import OmegaConfBaseException

from resaudit.base.commands import is_number
from resaudit.base.errors import ConfigError, MachineError, least_name, listed, suggestion
from resaudit.base.models import Model, shown
from resaudit.base.papers import config_folders, file_of_paper
from resaudit.plan.figure import Figure

# OmegaConf 2.3 parses with the SafeLoader of the module yaml, which is Python; its next version takes libyaml, which
# parses ten times faster (https://github.com/omry/omegaconf/pull/1150).
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # type: ignore[misc]

Tree = dict[str, Any]
"""Composed configuration: plain values, with interpolations not resolved."""


def files_like(folder: Path, pattern: str) -> list[Path]:
    """Files of configuration, here and of papers outside; hidden ones, as an editor's or macOS's, are none."""
    files = ((root, file) for root in (folder, *config_folders()) for file in sorted(root.glob(pattern)))
    return [file for root, file in files if not any(part.startswith(".") for part in file.relative_to(root).parts)]


class Files:
    """The files of a configuration, each read once. Their trees are shared: change none.

    A figure is merged here and not by Hydra or OmegaConf, which take 40 and 10 ms a figure instead of one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.like = cache(partial(files_like, self.folder))
        self.read, self.root, self.option = cache(_read), cache(self._root), cache(self._option)
        self.figure = cache(self._figure)

    def _option(self, group: str, name: str) -> Tree:
        """A data set or scale, as Hydra's groups have it."""
        known = {file.stem: file for file in reversed(self.like(f"{group}/*.yaml"))}
        if name not in known:
            raise ConfigError(f"unknown {group} {name!r}; allowed: {listed(sorted(known))}")
        return self.read(known[name])

    def _root(self, *choices: tuple[str, str]) -> Tree:
        """All but the figures, composed by Hydra with choices such as ``("scale", "paper")``."""
        for group, name in choices:
            self.option(group, name)
        for file in (self.folder / "config.yaml", *self.like("dataset/*.yaml"), *self.like("scale/*.yaml")):
            self.read(file)
        outside = ",".join(QuotedString(f"file://{root}", Quote.single).with_quotes() for root in config_folders())
        search = [f"hydra.searchpath=[{outside}]"] if outside else []
        with one_line_errors(), _beside_another_hydra(), initialize_config_dir(str(self.folder), version_base="1.3"):
            composed = compose("config", [*search, *("=".join(choice) for choice in choices)])
            tree: Tree = OmegaConf.to_container(composed)  # type: ignore[assignment]
        return tree

    def _figure(self, file: Path, *above: Path) -> Tree:
        """A figure's or base file, merged with the files beside it that its list ``defaults`` names."""
        tree, own = dict[str, Any](), dict(self.read(file))
        names = own.pop("defaults", [])
        if not isinstance(names, list):
            raise ConfigError(f"defaults of {file.stem} is {shown(names)}; allowed: a list, as [paper, _self_]")
        others = {other.stem: other for other in file.parent.glob("[!.]*.yaml") if other not in (file, *above)}
        # As in Hydra's lists, a file that does not say where it comes is put last.
        for name in names if "_self_" in names else [*names, "_self_"]:
            if name != "_self_" and str(name) not in others:
                raise ConfigError(
                    f"defaults of {file.stem} lists {shown(name)}, which is no other file of its "
                    f"folder{suggestion(str(name), sorted(others))}"
                )
            tree = merged(tree, own if name == "_self_" else self.figure(others[str(name)], file, *above))
        return tree


def _read(file: Path) -> Tree:
    try:
        tree = yaml.load(file.read_bytes(), Loader=_LOADER)  # noqa: S506  (a SafeLoader)
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", file=file) from error
    except yaml.MarkedYAMLError as error:
        # A figure's file is read with those that it names, so only here is it known which one is wrong.
        of_paper = file.parents[1].name == "paper"
        fault = "; ".join(dict.fromkeys(filter(None, (error.context, error.problem))))
        raise ConfigError(
            f"{fault} (line {error.problem_mark.line + 1 if error.problem_mark else 'unknown'})",
            file=file_of_paper(file.parent.name, file.name) if of_paper else file,
        ) from error
    if not isinstance(tree, dict):
        raise ConfigError("no mapping; write KEY: VALUE, or {} for none", file=file)
    return tree


@contextmanager
def _beside_another_hydra() -> Iterator[None]:
    """Set aside what a script under ``@hydra.main`` has initialised: a process has one."""
    state, version = GlobalHydra.instance(), VersionBase.instance()
    before = state.hydra, version.version_base
    state.clear()
    try:
        yield
    finally:
        GlobalHydra.set_instance(state)  # Hydra leaves a copy
        state.hydra, version.version_base = before


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
    with one_line_errors():
        plain: Tree = OmegaConf.to_container(OmegaConf.create(tree), resolve=True)  # type: ignore[assignment]
    return plain


_LOADER = get_yaml_loader()
_CONTEXT = re.compile(
    r"(full_key:|Config search path|provider=|object_type|reference_type|See https|To append to your)"
)
"""Lines of Hydra's and OmegaConf's messages that say where an error is and what to read."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Raise Hydra's and OmegaConf's errors in one line."""
    try:
        yield
    except (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, AttributeError) as error:
        text = f"{error}\n{error.__cause__ or error.__context__ or ''}"
        lines = filter(None, map(str.strip, text.splitlines()))
        fault = "; ".join(dict.fromkeys(line for line in lines if not _CONTEXT.match(line)))
        key = re.search(r"full_key: (\S+)", text)
        raise ConfigError(f"{fault} (at {key[1]})" if key else fault) from error


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
