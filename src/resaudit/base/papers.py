"""Papers: where each one's configuration and code are, in :func:`root` or in ``papers_path=FOLDER``.

``FOLDER/config/paper/NAME/`` is a paper's configuration; ``FOLDER/NAME/`` or ``FOLDER/src/*/NAME/`` its package, whose
modules ``jobs``, ``experiments`` and ``checks`` bring its kinds of jobs, experiments and checks. Like ``sys.path``, a
folder belongs to the process: no plan, id or archive contains it.
"""

import importlib
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Any

from resaudit.base.errors import ConfigError, MachineError, PaperError, ResauditError

KEY = "papers_path"
LONGEST_NAME = 100
"""Letters of a paper's or a figure's name; a job's id and folder have both."""
PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package."""
IN_WHEEL = PACKAGE / "root"
"""Where a wheel has what a run needs of a checkout (``setup.py``)."""


@dataclass(frozen=True)
class Place:
    """Where a paper is."""

    folder: Path  # holds ``config/paper/NAME``
    source: Path  # folder of its package
    package: str  # name under which that is imported

    @property
    def root(self) -> Path:
        """The folder from which its package is imported."""
        return self.source.parents[self.package.count(".")]

    @property
    def sources(self) -> list[Path]:
        """The folders of its configuration, of its folder's data sets if there are any, and of all that it imports.

        That is its package, or the one around it, which may hold modules that several papers share.
        """
        outermost = self.root / self.package.split(".")[0]
        folders = (self.folder / "config" / "paper" / self.source.name, self.folder / "config" / "dataset", outermost)
        return [folder for folder in folders if folder.is_dir()]


_added: dict[str, Place] = {}


def take_papers_path(words: Sequence[str]) -> list[str]:
    """Add the papers of ``papers_path=FOLDER`` to this process.

    Returns:
        The other words.
    """
    for word in words:
        if word.startswith(f"{KEY}="):
            folder = word.removeprefix(f"{KEY}=")
            try:
                # A shell does not always replace ~ by the home; ./~ is a folder of that name.
                add_papers(Path(folder).expanduser() if folder.startswith("~") else Path(folder))
            except RuntimeError as error:
                raise ConfigError(
                    f"papers_path={folder}: there is no such home; write ./{folder} for a folder here"
                ) from error
    return [word for word in words if not word.startswith(f"{KEY}=")]


def add_papers(folder: Path) -> None:
    """Add the papers of a folder to this process: their configuration is composed, their packages can be imported."""
    folder = folder.resolve()
    names = _names_in(folder)
    if not names:
        fault = "holds no config/paper/NAME" if folder.is_dir() else "is not a folder"
        raise ConfigError(f"papers_path={folder} {fault}; 'resaudit new paper NAME --into FOLDER' makes one")
    places: dict[str, Place] = {}
    for name in names:
        place = _place(folder, name, folder / "src")
        if place is None:
            raise PaperError(
                f"{folder / 'config' / 'paper' / name} has no package; write {folder / name / '__init__.py'} (it may "
                "be empty)"
            )
        check_name(name, place)
        places[name] = place
    for place in places.values():
        if str(place.root) not in sys.path:
            sys.path.append(str(place.root))
        importlib.invalidate_caches()
    _added.update(places)


def check_name(name: str, place: Place | None = None) -> None:
    """Check that a paper can have this name."""
    is_package = name.isidentifier() and name.isascii() and not iskeyword(name)
    if not is_package or name != name.lower() or len(name) > LONGEST_NAME:
        raise ConfigError(
            f"a paper cannot be named {name!r}: write up to {LONGEST_NAME} small letters a to z, digits and _, as a "
            "package"
        )
    own = _own(root()).get(name)
    taken = [str(own.source / "__init__.py")] if own else []
    # A folder without __init__.py, as in the working directory, gives way to a package.
    if (place is None or place.package == name) and (spec := find_spec(name)) and spec.origin:
        taken.append(spec.origin)
    for origin in taken:
        if place is None or origin != str(place.source / "__init__.py"):
            raise ConfigError(f"a paper cannot be named {name!r}: {origin} has this name; choose another")


def _names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("config/paper/[!.]*") if file.is_dir())


def _place(folder: Path, name: str, packages: Path) -> Place | None:
    """Where a paper of a folder is, whose package may be in one of ``packages``; None if it has none."""
    for source in (folder / name, *sorted(packages.glob(f"[!.]*/{name}"))):
        if (source / "__init__.py").is_file():
            inside = source.relative_to(packages).parts if source.parent != folder else (name,)
            return Place(folder, source, ".".join(inside))
    return None


def root() -> Path:
    """The folder of ``Snakefile``, ``config/``, ``profiles/``, ``workflow/`` and the committed tables.

    It is the checkout that is the working directory or has this package; without one, what the wheel holds of it.
    """
    checkouts = filter(is_checkout, (Path.cwd(), PACKAGE.parents[1]))
    return next(checkouts, IN_WHEEL)


def is_checkout(folder: Path) -> bool:
    """Whether a folder is a checkout: other projects have a config/config.yaml too, but not this package beside it."""
    return (folder / "config" / "config.yaml").is_file() and (folder / "src" / "resaudit").is_dir()


@cache
def _own(folder: Path) -> dict[str, Place]:
    """The papers of a :func:`root`: a wheel installs their packages beside this one."""
    packages = folder / "src" if is_checkout(folder) else PACKAGE.parent
    return {name: place for name in _names_in(folder) if (place := _place(folder, name, packages))}


def papers() -> dict[str, Place]:
    """Every paper that has a package, by name."""
    return _own(root()) | _added


def outside_papers() -> dict[str, Place]:
    """Where every paper is that was added to :func:`root`'s, by name."""
    return dict(_added)


def _folders() -> list[Path]:
    """The folders of the added papers, each once."""
    return list(dict.fromkeys(place.folder for place in _added.values()))


def config_folders() -> list[Path]:
    """The folders of the added papers' configuration."""
    return [folder / "config" for folder in _folders()]


def folder_of(paper: str) -> Path:
    """The folder of a paper's ``config/``; relative if below the working directory, since that may be moved."""
    folder = _added[paper].folder if paper in _added else root()
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def reference_folder(paper: str) -> Path:
    """The folder of a paper's committed tables; relative as :func:`folder_of` is."""
    return folder_of(paper) / "figures" / "reference"


def reference_folders() -> set[Path]:
    """The folders of committed tables, of this checkout and of papers outside."""
    return {reference_folder(paper).resolve() for paper in ("", *_added)}


def file_of_paper(paper: str, name: str) -> Path:
    """A file of a paper's configuration, for messages: in full if the paper is outside this checkout."""
    return (_added[paper].folder if paper in _added else Path()) / "config" / "paper" / paper / name


def package_of(paper: str) -> str:
    """The name of a paper's package."""
    place = papers().get(paper)
    return place.package if place else paper


def module_of(figure: str) -> str:
    """The name of the module of ``paper/figure``."""
    paper, _, name = figure.partition("/")
    return f"{package_of(paper)}.{name}"


def packages() -> list[str]:
    """The names of the top-level packages that results depend on: this one, and those of all papers."""
    return list(dict.fromkeys(["resaudit", *(place.package.split(".")[0] for place in papers().values())]))


def classes_of(paper: str, module: str, base: type, named: str) -> list[type[Any]]:
    """The classes that a paper's module defines or imports.

    Args:
        paper: its name.
        module: within its package; it may be missing.
        base: class of the classes.
        named: attribute that a class must have itself; base classes lack it.
    """
    content = vars(found).values() if (found := import_own(paper, module)) else ()
    return [each for each in content if isinstance(each, type) and issubclass(each, base) and named in vars(each)]


def import_own(paper: str, module: str) -> ModuleType | None:
    """Import a module of a paper's package.

    Returns:
        None if the paper has no such module.
    """
    name = f"{package_of(paper)}.{module}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            return None
        raise failing_code(error, paper, "cannot be imported") from error
    except (Exception, SystemExit) as error:
        raise failing_code(error, paper, "cannot be imported") from error


def failing_code(error: BaseException, paper: str | None, effect: str) -> ResauditError:
    """An error of a paper's own code in one line, with file and line; None: of any paper's."""
    file: str | None
    if isinstance(error, SyntaxError):
        file, fault = error.filename, f"{error.msg} in line {error.lineno}"
    else:
        # The last line of the paper's own code; what it calls may fail far below.
        frames = traceback.extract_tb(error.__traceback__)
        own = {paper} if paper else papers().keys()
        last = ([frame for frame in frames if own & {*Path(frame.filename).parts}] or frames)[-1]
        file, fault = last.filename, f"{type(error).__name__} in line {last.lineno}: {error}"
    return PaperError(f"{file} {effect}: {fault}")


def as_words() -> list[str]:
    """The words of a command line that add the same papers to another process."""
    return [f"{KEY}={folder}" for folder in _folders()]


def check_installed_from(folder: Path) -> None:
    """Check that the imported package is that of a checkout, whose files the rules watch."""
    if is_checkout(folder) and (folder / "src" / "resaudit").resolve() != PACKAGE:
        raise MachineError(f"resaudit is installed from {PACKAGE}; install this checkout: pip install -e {folder}")
