"""Classes that are found by their names: those of a general package, and those that a paper brings."""

import importlib
import pkgutil
from types import ModuleType


def import_modules(package: ModuleType, paper: str, own: str) -> None:
    """Import every module of a package, and a paper's own module if it has one.

    Args:
        package: with the general classes.
        paper: whose package may have more.
        own: name of that module.
    """
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    name = f"resaudit.papers.{paper}.{own}"
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, name.rpartition(".")[0]):
            raise
