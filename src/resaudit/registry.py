"""Classes that are found by their names: those of a general package, and those that a paper brings."""

import importlib
import pkgutil
import traceback
from pathlib import Path
from types import ModuleType

from resaudit.errors import ResauditError
from resaudit.outside import package_of


def import_modules(package: ModuleType, paper: str, own: str) -> None:
    """Import every module of a package, and a paper's own module if it has one.

    Args:
        package: with the general classes.
        paper: whose package may have more.
        own: name of that module.

    Raises:
        ResauditError: as of :func:`import_own`.
    """
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    import_own(paper, own)


def import_own(paper: str, own: str) -> ModuleType | None:
    """Import a module of a paper's package.

    Returns:
        None if the paper has no such module.

    Raises:
        ResauditError: it cannot be imported.
    """
    name = f"{package_of(paper)}.{own}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in (name, name.rpartition(".")[0]):
            return None
        raise ResauditError(in_own_code(error, paper, "cannot be imported")) from error
    except Exception as error:
        raise ResauditError(in_own_code(error, paper, "cannot be imported")) from error


def in_own_code(error: Exception, paper: str, what: str) -> str:
    """An error of a paper's own code in one line, with file and line.

    Args:
        error: any.
        paper: whose code it is.
        what: that the file cannot do, such as ``cannot be imported``.
    """
    if isinstance(error, SyntaxError):
        return f"{error.filename} {what}: {error.msg} in line {error.lineno}"
    # The last line of the paper's own code; what it calls may fail far below.
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if paper in Path(frame.filename).parts] or frames[-1:]
    return f"{own[-1].filename} {what}: {type(error).__name__} in line {own[-1].lineno}: {error}"
