"""A module as a door: it offers names of others, and modules, and loads each when it is asked for.

The names stand once, where type checkers and editors read them: under ``if TYPE_CHECKING:``, as
``from module import name as name``. Under ``else:``, out of their sight, ``__getattr__ = door(__name__, __file__)``
opens the door.
"""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def door(module: str, file: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``, which loads what the module offers."""
    homes: dict[str, str] = {}

    def load(name: str) -> Any:
        homes.update(homes or offered(Path(file).read_text(encoding="utf-8")))
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = import_module(homes[name])
        return getattr(home, name) if hasattr(home, name) else import_module(f"{homes[name]}.{name}")

    return load


def offered(source: str) -> dict[str, str]:
    r"""The module of each name that a door offers, from its source; none if it is no door.

    >>> offered("if TYPE_CHECKING:\n    from a import one as one\nelse:\n    __getattr__ = door(__name__, __file__)")
    {'one': 'a'}
    """
    if "\n    __getattr__ = door(" not in source:
        return {}
    blocks = [node.body for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    return {each.name: str(node.module) for node in imports for each in node.names}
