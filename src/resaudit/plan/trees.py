"""The configuration's files as plain values, each read once, and what is wrong with them in one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from hydra.version import VersionBase
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.errors import OmegaConfBaseException

from resaudit.base.errors import ConfigError, listed, suggestion
from resaudit.base.models import shown
from resaudit.base.papers import config_folders, file_of_paper

# OmegaConf 2.3 parses with the SafeLoader of the module yaml, which is Python; its next version takes libyaml, which
# parses ten times faster (https://github.com/omry/omegaconf/pull/1150).
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # type: ignore[misc]

DEEPEST, LARGEST = 50, 100_000
"""Levels and values of a file of configuration with its aliases written out; ours have ten and a thousand."""
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
        size = sum(1 for _ in islice(_values(tree), LARGEST + 1))
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
    except RecursionError:
        size = LARGEST + 1
    if size > LARGEST:
        raise ConfigError(f"more than {DEEPEST} levels or {LARGEST} values, with what its aliases stand for", file=file)
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


def _values(tree: Any, level: int = 0) -> Iterator[Any]:
    """Every value of a tree, aliases written out; one that is an alias of what it is part of has no end of levels."""
    if level > DEEPEST:
        raise RecursionError
    yield tree
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _values(value, level + 1)


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
