"""Trees: what Hydra composes of the configuration's files, as plain values, and its errors in one line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from resaudit.config.overrides import Override, Tree
from resaudit.errors import ResauditError
from resaudit.outside import config_folders

# OmegaConf 2.3 parses with the SafeLoader of the module yaml, which is Python; its next version takes libyaml, which
# parses ten times faster (https://github.com/omry/omegaconf/pull/1150).
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # type: ignore[misc]

AT_ONCE = 5
"""Figures in one call of Hydra: for each file, OmegaConf visits all that it has merged before."""
DEEPEST, LARGEST = 50, 100_000
"""Levels and values of a file of configuration with its aliases written out; ours have ten and a thousand."""
NO_MAPPING = "is no mapping; write KEY: VALUE, or {} for none"
_OF_MAPPINGS = (None, "!", "tag:yaml.org,2002:map")
"""Tags; a set is written like a mapping."""


def files_like(folder: Path, pattern: str) -> list[Path]:
    """Files of configuration, here and of papers outside; hidden ones, as an editor's or macOS's, are none."""
    found = ((each, file) for each in (folder, *config_folders()) for file in sorted(each.glob(pattern)))
    return [file for each, file in found if not any(part.startswith(".") for part in file.relative_to(each).parts)]


def content_of(file: Path) -> bytes:
    """A file of configuration, which can be composed without end neither of depth nor of memory.

    Raises:
        ResauditError: it cannot be read, is no mapping, too deep or too large, or has an alias of what it is part of.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ResauditError(f"{file} cannot be read ({error.strerror})") from error
    wrong = _wrong_in(content)
    if wrong:
        raise ResauditError(f"{file} {wrong}")
    return content


def loaded(file: Path) -> Any:
    """What a file of configuration holds, without interpolation; raises as :func:`content_of`."""
    content_of(file)
    return OmegaConf.to_container(OmegaConf.load(file))


@cache
def _wrong_in(content: bytes) -> str | None:
    """What is wrong with YAML before it is composed; what is no YAML is said by who composes it."""
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
    size = 0
    with suppress(yaml.YAMLError, UnicodeDecodeError):
        for event in yaml.parse(content, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.NodeEvent):
                if not opened and not (isinstance(event, yaml.MappingStartEvent) and event.tag in _OF_MAPPINGS):
                    return NO_MAPPING
                if isinstance(event, yaml.AliasEvent) and event.anchor in [anchor for anchor, _ in opened]:
                    return f"has *{event.anchor} inside &{event.anchor}, which has no end"
                size += sizes.get(str(event.anchor), 1) if isinstance(event, yaml.AliasEvent) else 1
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append((event.anchor, size))
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = opened.pop()
                if anchor:
                    sizes[anchor] = size - before + 1
            if len(opened) > DEEPEST or size > LARGEST:
                return f"has more than {DEEPEST} levels or {LARGEST} values, with what its aliases stand for"
        return None if size else NO_MAPPING
    return None


def choices_of(given: Iterable[Override]) -> tuple[str, ...]:
    """What is chosen of each group, as Hydra's overrides."""
    chosen = {override.key: override.value for override in given if override.chooses}
    return tuple(f"{group}={option}" for group, option in chosen.items())


def tree_of(folder: Path, figure: str | None, choices: tuple[str, ...]) -> Tree:
    """The composed files: the root and, under ``figure``, one figure."""
    return deepcopy(shared_tree_of(folder, figure, choices))


def shared_tree_of(folder: Path, figure: str | None, choices: tuple[str, ...]) -> Tree:
    """The same, to be read only."""
    composed = _files_of(folder, figure.split("/")[0] if figure else None), figure, choices
    if composed not in _COMPOSED:
        mount = [f"+paper/{figure.replace('/', '@figure=')}"] if figure else []
        _COMPOSED[composed] = _compose(folder, [*mount, *choices])
    return _COMPOSED[composed]


def compose_together(folder: Path, figures: Iterable[str], choices: tuple[str, ...]) -> None:
    """Compose a paper's figures few at a time, so that Hydra reads the files that they share once, not for each.

    A figure that cannot be composed reports that when it is composed alone.
    """
    for paper, of_paper in groupby(figures, lambda name: name.split("/")[0]):
        files = _files_of(folder, paper)
        missing = [name for name in of_paper if (files, name, choices) not in _COMPOSED]
        for first in range(0, len(missing), AT_ONCE):
            mounts = {name: name.split("/")[1] for name in missing[first : first + AT_ONCE]}
            with suppress(*_WRONG):
                mounted = [f"+paper/{paper}@figure.{mount}={mount}" for mount in mounts.values()]
                tree = _compose(folder, [*mounted, *choices])
                for name, mount in mounts.items():
                    _COMPOSED[files, name, choices] = tree | {"figure": tree["figure"][mount]}


@dataclass(frozen=True)
class _Files:
    """What a figure is composed from; a copy of the folder composes alike."""

    folder: Path = field(compare=False)
    content: tuple[tuple[str, bytes], ...]


# Variants compose the same files many times.
_COMPOSED: dict[tuple[_Files, str | None, tuple[str, ...]], Tree] = {}
_WRONG = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, AttributeError)


def _files_of(folder: Path, paper: str | None) -> _Files:
    parts = ["", "dataset", "scale", *([f"paper/{paper}"] if paper else [])]
    return _Files(
        folder,
        tuple(
            (f"{part}/{file.name}", content_of(file))
            for part in parts
            for file in files_like(folder, f"{part}/*.yaml".lstrip("/"))
            if file.stem != "claims"
        ),
    )


def _compose(folder: Path, overrides: Sequence[str]) -> Tree:
    searched = ",".join(QuotedString(f"file://{outside}", Quote.single).with_quotes() for outside in config_folders())
    search = [f"hydra.searchpath=[{searched}]"] if searched else []
    with initialize_config_dir(str(folder), version_base="1.3"):
        composed = compose("config", [*search, *overrides])
    # Plain values: OmegaConf takes ten times longer to copy and to read.
    tree: Tree = OmegaConf.to_container(composed)  # type: ignore[assignment]
    return tree


@contextmanager
def one_line_errors(figure: str = "figure") -> Iterator[None]:
    """What is wrong with what is composed under ``figure``, in one line that gives that its name."""
    try:
        yield
    except _WRONG as error:
        raise ResauditError(_in_one_line(error, figure)) from error


def _in_one_line(error: BaseException, figure: str) -> str:
    """Hydra's or OmegaConf's message with its cause, without the lines of context."""
    text = f"{error}\n{error.__cause__ or error.__context__ or ''}"
    options = re.search(r"Available options in '(\w+)':\n((?:\s+\S+\n?)+)", text)
    missing = re.search(r"Could not find '([^']+)'", text)
    if missing and options:
        return f"unknown {options[1]} {missing[1].split('/')[-1]!r}; allowed: {', '.join(options[2].split())}"
    lines = [line.strip() for line in text.splitlines()]
    kept = [
        line
        for line in lines
        if line
        and not re.match(
            r"(full_key:|Config search path|provider=|object_type|reference_type|See https|To append to your)", line
        )
    ]
    key = re.search(r"full_key: (\S+)", text)
    return "; ".join(dict.fromkeys(kept)) + (f" (at {re.sub('^figure', figure, key[1])})" if key else "")
