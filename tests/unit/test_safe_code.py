"""What the source may not say, by its syntax tree: unsafe readers, code made of text, networks outside of fetching."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "resaudit"
MODULES = sorted(SOURCE.rglob("*.py"))
GUARDED = "datasets/pickled.py"
"""The one module that unpickles: by a class that gives stand-ins for arrays and refuses all else."""
FETCHES = "datasets/sources.py"
"""The one module that may use a network."""
ASKS_GIT = "provenance.py"
"""Runs git, which is on this machine."""
ASKS_TORCH = "devices.py"
"""Asks torch about CUDA in a process of its own."""

NETWORK = {
    "socket", "ssl", "urllib", "http", "ftplib", "smtplib", "poplib", "imaplib", "telnetlib", "xmlrpc", "socketserver",
    "asyncio", "requests", "urllib3", "httpx", "aiohttp", "torchvision", "pip", "ensurepip", "webbrowser", "fsspec",
}  # fmt: skip
PICKLES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
NEEDED = {
    "np.load": ("allow_pickle", False), "numpy.load": ("allow_pickle", False),
    "torch.load": ("weights_only", True),
}  # fmt: skip
FORBIDDEN = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv", "os.spawnl", "pd.read_pickle",
    "pandas.read_pickle", "np.lib.format.read_array", "yaml.load", "yaml.unsafe_load", "yaml.full_load",
    "torch.hub.load", "torch.hub.load_state_dict_from_url", "torch.hub.download_url_to_file",
}  # fmt: skip


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of what is called."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([*([node.id] if isinstance(node, ast.Name) else [""]), *reversed(parts)])


def imported(tree: ast.Module) -> Iterator[str]:
    """Every module that is imported anywhere, by its first name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def unsafe(source: str, module: str) -> list[str]:
    """What a module may not say."""
    tree = ast.parse(source)
    names = set(imported(tree))
    found = [f"imports {name}" for name in names & NETWORK if module != FETCHES]
    found += [f"imports {name}" for name in names & PICKLES if (module, name) != (GUARDED, "pickle")]
    found += ["imports subprocess" for name in names & {"subprocess"} if module not in (FETCHES, ASKS_GIT, ASKS_TORCH)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("numpy", "torch", "yaml", "os", "pandas"):
            found += [
                f"imports {a.name} by itself" for a in node.names if f"{node.module}.{a.name}" in {*FORBIDDEN, *NEEDED}
            ]
        if isinstance(node, ast.Call):
            found += _unsafe_call(node, module)
    return found


def _unsafe_call(call: ast.Call, module: str) -> Iterator[str]:
    name = dotted(call.func)
    given = {keyword.arg: getattr(keyword.value, "value", None) for keyword in call.keywords}
    if name in FORBIDDEN or name.startswith("pickle.") or name in ("exec", "eval"):
        yield f"calls {name}"
    if name in NEEDED and given.get(NEEDED[name][0], "missing") is not NEEDED[name][1]:
        yield f"calls {name} without {NEEDED[name][0]}={NEEDED[name][1]}"
    if given.get("shell"):
        yield f"calls {name} with a shell"
    if name.endswith("import_module") and module not in ("papers/drawing.py", "claims/claim.py"):
        yield "imports a module by a name that is made"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(SOURCE).as_posix())
def test_no_module_reads_unsafely_or_uses_a_network(file: Path) -> None:
    assert not unsafe(file.read_text(encoding="utf-8"), file.relative_to(SOURCE).as_posix())


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from pickle import loads", "import urllib.request", "def f():\n    import socket",
        "from http.client import HTTPConnection", "import torchvision.datasets", "import subprocess",
        "import numpy as np\nnp.load('x')", "np.load('x', allow_pickle=True)", "torch.load(file)",
        "torch.load(file, weights_only=False)", "torch.load(file, weights_only=chosen)", "eval('1')", "exec(code)",
        "yaml.load(text)", "os.system('ls')", "run('ls', shell=True)", "from numpy import load",
        "from torch import load", "importlib.import_module(name)", "pd.read_pickle('x')",
    ],
)  # fmt: skip
def test_each_unsafe_thing_is_seen(source: str) -> None:
    assert unsafe(source, "anywhere.py")


def test_the_modules_excepted_are_there_and_need_it() -> None:
    assert "imports pickle" in unsafe((SOURCE / GUARDED).read_text(encoding="utf-8"), "anywhere.py")
    assert {"imports socket", "imports torchvision", "imports subprocess"} <= set(
        unsafe((SOURCE / FETCHES).read_text(encoding="utf-8"), "anywhere.py")
    )
    assert "imports subprocess" in unsafe((SOURCE / ASKS_GIT).read_text(encoding="utf-8"), "anywhere.py")


def test_the_one_unpickler_overrides_what_looks_names_up() -> None:
    tree = ast.parse((SOURCE / GUARDED).read_text(encoding="utf-8"))
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and dotted(node).startswith("pickle.")]
    assert sorted({dotted(node) for node in used}) == ["pickle.PickleError", "pickle.Unpickler"]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    (unpickler,) = (node for node in classes if "pickle.Unpickler" in map(dotted, node.bases))
    assert "find_class" in {node.name for node in unpickler.body if isinstance(node, ast.FunctionDef)}
