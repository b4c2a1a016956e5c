"""Papers outside this repository: ``papers_path=FOLDER`` holds their configuration and their packages.

``FOLDER/config/paper/NAME/`` is a paper's configuration, ``FOLDER/NAME/`` its package. Like ``sys.path``, the folder
belongs to the process: no plan, id or archive contains it.
"""

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from resaudit.base.errors import ResauditError

KEY = "papers_path"
_folders: dict[str, Path] = {}


def take_papers_path(words: Sequence[str]) -> list[str]:
    """Add the papers of ``papers_path=FOLDER`` to this process.

    Args:
        words: of a command line.

    Returns:
        The other words.

    Raises:
        ResauditError: as of :func:`add_papers`.
    """
    for word in words:
        if word.startswith(f"{KEY}="):
            add_papers(Path(word.removeprefix(f"{KEY}=")))
    return [word for word in words if not word.startswith(f"{KEY}=")]


def add_papers(folder: Path) -> None:
    """Add the papers of a folder to this process: their configuration is composed, their packages can be imported.

    Raises:
        ResauditError: the folder is missing or holds no paper, or a paper has no package or the name of another module.
    """
    with suppress(RuntimeError):  # of ~NAME, where NAME is no user: a folder of that name
        folder = folder.expanduser()
    folder = folder.resolve()
    names = sorted(file.name for file in folder.glob("config/paper/[!.]*") if file.is_dir())
    if not names:
        what = "holds no config/paper/NAME" if folder.is_dir() else "is no folder"
        raise ResauditError(f"{KEY}={folder} {what}; 'resaudit new paper NAME --into FOLDER' makes one")
    for name in names:
        _check_package(folder, name)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()
    _folders.update(dict.fromkeys(names, folder))


def check_name(name: str, package: Path | None = None) -> None:
    """Check that a paper can have this name.

    Args:
        name: of the paper and of its package.
        package: the ``__init__.py`` of that package, if there is one.

    Raises:
        ResauditError: it is no name of a package, or another module or paper has it.
    """
    if not name.isidentifier() or iskeyword(name) or name != name.lower():
        raise ResauditError(f"a paper cannot be named {name!r}: write small letters, digits and _, as a Python package")
    for spec in (find_spec(f"resaudit.figures.{name}"), find_spec(name)):
        # A folder without __init__.py, as in the working directory, gives way to a package.
        if spec and spec.origin and spec.origin != str(package):
            raise ResauditError(f"a paper cannot be named {name!r}: {spec.origin} has this name; choose another")


def _check_package(folder: Path, name: str) -> None:
    package = folder / name / "__init__.py"
    if not package.is_file():
        raise ResauditError(f"{folder / 'config' / 'paper' / name} has no package; write {package} (it may be empty)")
    check_name(name, package)


def outside_papers() -> dict[str, Path]:
    """The folder of every paper outside this repository, by name."""
    return dict(_folders)


def config_folders() -> list[Path]:
    """The folders of their configuration."""
    return [folder / "config" for folder in dict.fromkeys(_folders.values())]


def package_of(paper: str) -> str:
    """The name of a paper's package."""
    return paper if paper in _folders else f"resaudit.figures.{paper}"


def module_of(figure: str) -> str:
    """The name of the module of ``paper/figure``."""
    paper, _, name = figure.partition("/")
    return f"{package_of(paper)}.{name}"


def as_words() -> list[str]:
    """The words of a command line that add the same papers to another process."""
    return [f"{KEY}={folder}" for folder in dict.fromkeys(_folders.values())]
