"""Trees: what Hydra composes of the configuration's files, as plain values, and its errors in one line."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from resaudit.config.overrides import Override, Tree
from resaudit.errors import ResauditError
from resaudit.outside import config_folders


def files_like(folder: Path, pattern: str) -> list[Path]:
    """Files of configuration, here and of papers outside."""
    return [file for each in (folder, *config_folders()) for file in sorted(each.glob(pattern))]


def choices_of(given: Iterable[Override]) -> tuple[str, ...]:
    """What is chosen of each group, as Hydra's overrides."""
    chosen = {override.key: override.value for override in given if override.chooses}
    return tuple(f"{group}={option}" for group, option in chosen.items())


def tree_of(folder: Path, figure: str | None, choices: tuple[str, ...]) -> Tree:
    """The composed files: the root and, under ``figure``, one figure."""
    return deepcopy(shared_tree_of(folder, figure, choices))


def shared_tree_of(folder: Path, figure: str | None, choices: tuple[str, ...]) -> Tree:
    """The same, to be read only."""
    parts = ["", "dataset", "scale", *([f"paper/{figure.split('/')[0]}"] if figure else [])]
    content = tuple(
        (f"{part}/{file.name}", file.read_bytes())
        for part in parts
        for file in files_like(folder, f"{part}/*.yaml".lstrip("/"))
        if file.stem != "claims"
    )
    return _compose_once(_Files(folder, content), figure, choices)


@dataclass(frozen=True)
class _Files:
    """What a figure is composed from; a copy of the folder composes alike."""

    folder: Path = field(compare=False)
    content: tuple[tuple[str, bytes], ...]


# Variants compose the same files many times.
@lru_cache(maxsize=256)
def _compose_once(files: _Files, figure: str | None, choices: tuple[str, ...]) -> Tree:
    paper, _, name = (figure or "").partition("/")
    mount = [f"+paper/{paper}@figure={name}"] if figure else []
    searched = ",".join(f"'file://{outside}'" for outside in config_folders())
    search = [f"hydra.searchpath=[{searched}]"] if searched else []
    with initialize_config_dir(str(files.folder), version_base="1.3"):
        composed = compose("config", [*search, *mount, *choices])
    # Plain values: OmegaConf takes ten times longer to copy and to read.
    tree: Tree = OmegaConf.to_container(composed)  # type: ignore[assignment]
    return tree


@contextmanager
def one_line_errors(figure: str = "figure") -> Iterator[None]:
    """What is wrong with what is composed under ``figure``, in one line that gives that its name."""
    try:
        yield
    except (HydraException, OmegaConfBaseException, YAMLError, ValueError, AttributeError) as error:
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
