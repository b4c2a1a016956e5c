"""A hash of the code that a job's result depends on; only an edit that can change the result changes it."""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from resaudit.base.door import offered
from resaudit.base.errors import INSTALL_TORCH, MachineError, PaperError, listed
from resaudit.base.papers import IN_WHEEL, packages, papers

if TYPE_CHECKING:
    from grimp import ImportGraph

BESIDE = ("[!.]*.[ch]", "[!.]*.json", "[!.]*.mplstyle", "templates/[!.]*[!~]")
"""Files beside the modules that results depend on: C sources, schema, style, templates; none hidden, no backups."""


def code_sha256(*modules: str) -> str:
    """SHA-256 of modules and their import closure within this package and those of all papers.

    Python counts as its syntax tree without docstrings and comments, other files of the packages byte by byte, without
    carriage returns at the ends of lines.

    Args:
        modules: names; ``package.*`` means all modules of a package, for those that are imported by name at run time.

    >>> code_sha256("residual.demystifying_resnet.jobs.train") == code_sha256("resaudit.data.whiten")
    False
    """
    digest = hashlib.sha256()
    for name in sorted(closure(*modules)):
        digest.update(f"{name}\0{_module_sha256(name)}\0".encode())
    return digest.hexdigest()


def closure(*modules: str) -> set[str]:
    """Modules, their import closure within these packages, and the enclosing packages."""
    graph, names = _graph(), set[str]()
    for module in modules:
        package, star, _ = module.partition(".*")
        names |= {package} | (graph.find_children(package) if star else set())
    if missing := sorted(names - graph.modules):
        raise PaperError(f"there is no module {listed(missing)}; write it, or restore it")
    names = names.union(*(graph.find_upstream_modules(name) for name in names))
    names = {name for name in names if not graph.is_module_squashed(name)}  # not those of other packages
    return names | {name.rsplit(".", count)[0] for name in names for count in range(1, name.count(".") + 1)}


def check_imports() -> None:
    """Check that :func:`closure` sees all that papers import from their folders."""
    for file in sorted(file for package in packages() for file in _modules(package).values()):
        try:
            file.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise PaperError(f"{file} is missing; write it (it may be empty)") from error
        except ValueError as error:
            raise PaperError(f"{file} is not UTF-8; correct it") from error
    # Beside those of a wheel lies all that is installed.
    roots = {place.root for place in papers().values() if place.folder != IN_WHEEL}
    loaded = {name for name, module in sys.modules.items() if getattr(module, "__spec__", None)}
    others = {name for name in _graph().modules | loaded if "." not in name}.difference(packages())
    for name in sorted(others):
        spec = importlib.util.find_spec(name)
        for file in [spec.origin, *(spec.submodule_search_locations or ())] if spec else ():
            if file and Path(file).parent in roots:
                raise PaperError(
                    f"{file} is imported, but lies beside the package that imports it; move it into that package"
                )


def check_torch(modules: Iterable[str]) -> None:
    """Check that torch is there if one of these modules, or what it imports, computes with it."""
    if importlib.util.find_spec("torch") is None:
        for module in sorted(set(modules)):
            if "torch" in _graph().find_upstream_modules(module):
                raise MachineError(f"{module} needs torch, which is not installed: {INSTALL_TORCH}")


def _modules(package: str) -> dict[str, Path]:
    """The modules of a package that can be imported, and the ``__init__.py`` of each of their folders, by name."""
    spec = importlib.util.find_spec(package)
    files: dict[str, Path] = {}
    for top in (spec and spec.submodule_search_locations) or ():
        for file in Path(top).rglob("*.py"):
            *folders, name = file.relative_to(top).with_suffix("").parts
            if all(map(str.isidentifier, (*folders, name))):
                for count in range(len(folders) + 1):
                    files[".".join((package, *folders[:count]))] = Path(top, *folders[:count], "__init__.py")
                if name != "__init__":
                    files[".".join((package, *folders, name))] = file
    return files


@cache
def _graph() -> "ImportGraph":
    import grimp  # jobs are told the hash of their code, and start sooner without
    from grimp.exceptions import SourceSyntaxError

    try:
        graph = grimp.build_graph(*packages(), include_external_packages=True, cache_dir=None)
    except SourceSyntaxError as error:
        raise PaperError(f"{error}; correct it") from error
    for door, homes in ((name, offered(_source(file))) for name, file in _files().items() if file.is_file()):
        for module in graph.find_modules_that_directly_import(door) if homes else ():
            _pass_through(graph, module, door, homes)
    return graph


def _pass_through(graph: "ImportGraph", module: str, door: str, homes: dict[str, str]) -> None:
    """Let a module import what it takes by a :mod:`door <resaudit.base.door>`, and not all that the door offers."""
    lines = {details["line_number"] for details in graph.get_import_details(importer=module, imported=door)}
    found = [node for node in _blocks(ast.parse(_source(_files()[module]))) if getattr(node, "lineno", None) in lines]
    taken = {each.name for node in found if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names}
    if taken <= set(homes):  # otherwise it takes the door itself, or all of it
        graph.remove_import(importer=module, imported=door)
        for name in taken:
            inner = f"{homes[name]}.{name}"
            graph.add_import(importer=module, imported=inner if inner in graph.modules else homes[name])


@cache
def _files() -> dict[str, Path]:
    """The files of all modules of these packages, by name."""
    return {name: file for package in packages() for name, file in _modules(package).items()}


def _source(file: Path) -> str:
    return file.read_text(encoding="utf-8-sig", errors="ignore")


@cache
def _module_sha256(module: str) -> str:
    source = _files()[module]
    text = source.read_text(encoding="utf-8-sig")
    digest = hashlib.sha256(_meaning("" if offered(text) else text).encode())  # a door has no meaning of its own
    if source.name == "__init__.py":
        for file in sorted(file for pattern in BESIDE for file in source.parent.glob(pattern)):
            # Archives of a checkout for Windows have CRLF.
            content = file.read_bytes().replace(b"\r\n", b"\n")
            digest.update(file.name.encode() + b"\0" + content)
    return digest.hexdigest()


def _meaning(source: str) -> str:
    r"""A module's syntax tree without docstrings.

    >>> _meaning("def f(x):\n    'Twice.'\n    return 2 * x  # at once") == _meaning("def f(x): return 2 * x")
    True
    """
    tree = ast.parse(source)
    for node in _blocks(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
    return _text(tree)


def _text(tree: ast.AST) -> str:
    """A syntax tree as text, the same by all versions of Python: machines that share results may differ in theirs."""
    if sys.version_info >= (3, 13):
        text = ast.dump(tree, show_empty=True)
    else:
        text = ast.dump(tree)
    # Python 3.12 has added the one, and in a nested format, f"{x:{width}}", the other, which 3.13 removed.
    return text.replace(", type_params=[]", "").replace("conversion=-1), Constant(value='')])", "conversion=-1)])")


def _blocks(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements inside it; most nodes are expressions, which have no docstrings."""
    yield node
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _blocks(inner)
