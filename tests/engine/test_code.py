"""Oracle: a made-up package. Sees an edit that changes results and recomputes nothing, and the reverse."""

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from resaudit.audit.job import AuditJob
from resaudit.base.errors import PaperError
from resaudit.figures.drawing import figure_module
from resaudit.jobs import code
from resaudit.plan.composition import load
from tests.refusals import refused

NUMERICS = '''"""Numbers."""
from made_up.deep import lower

def twice(x):
    """Twice."""
    return 2 * x
'''
FILES = {
    "__init__.py": "",
    "jobs/__init__.py": "",
    "jobs/one.py": "def run():\n    from made_up.numerics import twice\n    return twice(3)\n",
    "jobs/two.py": "from made_up.other import VALUE\n",
    "numerics.py": NUMERICS,
    "other.py": "VALUE = 1\n",
    "deep/__init__.py": "",
    "deep/lower.py": "FACTOR = 1.5\n",
    "deep/fused.c": "int f(void) { return 1; }\n",
    "page/__init__.py": "",
    "page/schema.json": "{}",
    "page/templates/page.css": "body {}",
    "checks/__init__.py": "",
    "checks/depth.py": "LEAST = 3\n",
    "offer.py": "if TYPE_CHECKING:\n    from made_up.other import VALUE as VALUE\n"
    "    from made_up.checks.depth import LEAST as LEAST\nelse:\n    __getattr__ = door(__name__, __file__)\n",
    "jobs/by_door.py": "def run():\n    from made_up.offer import (\n        VALUE,\n    )\n\n    return VALUE\n",
    "jobs/whole_door.py": "from made_up import offer\n",
}


def forget() -> None:
    """Read the package anew: a process sees each module once."""
    code._graph.cache_clear()
    code._module_sha256.cache_clear()
    code._files.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "made_up"]:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, content in FILES.items():
        (tmp_path / "made_up" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made_up" / name).write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(code, "packages", lambda: ["made_up"])
    forget()
    yield tmp_path / "made_up"
    forget()


Edit = Callable[[str], str]


def replaced(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new)


def changes(package: Path, file: str, edit: Edit, *modules: str) -> bool:
    """Whether an edit of a file changes the hash of modules."""
    names = [f"made_up.{module}" for module in modules]
    before = code.code_sha256(*names)
    text = (package / file).read_text()
    assert edit(text) != text
    (package / file).write_text(edit(text))
    forget()
    return code.code_sha256(*names) != before


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text + "# A comment.\n",
        lambda text: text.replace("2 * x", "2 * x  # at once"),
        lambda text: text.replace('"""Numbers."""', '"""Numbers and more."""'),
        lambda text: text.replace('"""Numbers."""\n', ""),
        lambda text: text.replace('    """Twice."""\n', ""),
        lambda text: text.replace("\ndef", "\n\n\ndef"),
        lambda text: text.replace("2 * x", "(2 * x)"),
    ],
)
def test_words_and_layout_change_nothing(edit: Edit, package: Path) -> None:
    assert not changes(package, "numerics.py", edit, "jobs.one")


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("jobs/one.py", replaced("3", "4")),
        ("numerics.py", replaced("2 * x", "3 * x")),
        ("numerics.py", lambda text: text + "MORE = 1\n"),
        ("numerics.py", replaced('"""Twice."""', '"""Twice.""" + ""')),
        ("deep/lower.py", replaced("1.5", "2.5")),
        ("deep/fused.c", replaced("1", "2")),
        ("deep/__init__.py", lambda _: "SIZE = 1\n"),
        ("__init__.py", lambda _: "SIZE = 1\n"),
    ],
)
def test_what_a_job_imports_however_indirectly_changes_its_hash(file: str, edit: Edit, package: Path) -> None:
    assert changes(package, file, edit, "jobs.one")


@pytest.mark.parametrize("file", ["jobs/two.py", "other.py", "checks/depth.py", "page/templates/page.css"])
def test_what_a_job_does_not_import_changes_nothing(file: str, package: Path) -> None:
    assert not changes(package, file, lambda text: text + "\nMORE = 1\n", "jobs.one")


@pytest.mark.parametrize("file", ["page/schema.json", "page/templates/page.css"])
def test_a_pages_schema_and_templates_are_its_code(file: str, package: Path) -> None:
    assert changes(package, file, lambda text: text + " ", "page")


def test_modules_that_are_imported_by_name_can_be_asked_for(package: Path) -> None:
    assert changes(package, "checks/depth.py", replaced("3", "4"), "jobs.one", "checks.*")


@pytest.mark.parametrize(
    ("job", "file", "seen"),
    [
        ("jobs.by_door", "other.py", True),
        ("jobs.by_door", "checks/depth.py", False),
        ("jobs.by_door", "offer.py", False),
        ("jobs.whole_door", "other.py", True),
        ("jobs.whole_door", "checks/depth.py", True),
    ],
)
def test_a_job_depends_on_what_it_takes_by_a_door_and_not_on_all_that_the_door_offers(
    job: str, file: str, seen: bool, package: Path
) -> None:
    assert changes(package, file, lambda text: text + "\nMORE = 1\n", job) == seen


def test_no_check_is_code_of_a_job_that_trains() -> None:
    """Papers take checks and base classes of jobs by the same door."""
    training = code.closure("residual.demystifying_resnet.jobs.train", "residual.images.jobs")
    assert "resaudit.jobs.job" in training
    assert not {name for name in training if name.startswith(("resaudit.claims", "resaudit.figures.style"))}
    assert "resaudit.paper" not in training


def test_a_file_more_is_other_code(package: Path) -> None:
    before = code.code_sha256("made_up.jobs.one")
    (package / "deep" / "more.h").write_text("")
    forget()
    assert code.code_sha256("made_up.jobs.one") != before


def test_the_kernels_are_among_what_jobs_compute_with() -> None:
    """Of this package itself: a package that is no package, or is imported by name, would be missed."""
    training, hessians = (
        code.closure("residual.demystifying_resnet.jobs.train"),
        code.closure("residual.demystifying_resnet.jobs.hessians"),
    )
    assert {
        "residual.demystifying_resnet.training",
        "residual.demystifying_resnet.training.fused",
        "residual.demystifying_resnet.networks.gradient_descent",
        "residual.demystifying_resnet.networks.linear",
    } <= training
    assert {
        "residual.demystifying_resnet.curvature",
        "residual.demystifying_resnet.curvature.counts",
        "residual.demystifying_resnet.networks.hessians",
    } <= hessians - training
    assert "residual.demystifying_resnet.theory.checks" not in hessians
    assert "resaudit.claims.checks.depths" in code.closure("resaudit.audit.terminal", "resaudit.claims.checks.*")


def test_the_numbers_that_papers_print_are_code_of_the_audit_also_of_figures_that_are_not_drawn() -> None:
    """Sees a digit corrected there, and the page not remade; figures that print none leave the audit alone."""
    config = load(["device=cpu"])
    modules = set(AuditJob(config, ()).modules)
    assert "residual.identity_matters.table2" in code.closure(*modules)
    figures = {name: figure_module(name) for name in config.figure}
    printing = {module.__name__ for module in figures.values() if hasattr(module, "beside_the_paper")}
    assert modules & {module.__name__ for module in figures.values()} == printing


HIDDEN_OR_KEPT = (
    *("deep/.#fused.c", "deep/._fused.c", "deep/.schema.json", "deep/fused.c~"),
    *("page/templates/.page.css.swp", "page/templates/page.css~"),
)


@pytest.mark.parametrize("name", HIDDEN_OR_KEPT)
def test_hidden_files_and_backups_are_no_code(name: str, package: Path) -> None:
    before = code.code_sha256("made_up.jobs.one", "made_up.page")
    (package / name).symlink_to("nowhere") if "#" in name else (package / name).write_bytes(b"x")
    forget()
    assert code.code_sha256("made_up.jobs.one", "made_up.page") == before


@pytest.mark.parametrize("file", ["numerics.py", "deep/fused.c", "page/schema.json", "page/templates/page.css"])
def test_ends_of_lines_are_no_code(file: str, package: Path) -> None:
    """A checkout from a zip of Windows has others."""
    modules = ("made_up.jobs.one", "made_up.page")
    (package / file).write_bytes((package / file).read_bytes() + b"\n")
    forget()
    before = code.code_sha256(*modules)
    (package / file).write_bytes((package / file).read_bytes().replace(b"\n", b"\r\n"))
    forget()
    assert code.code_sha256(*modules) == before


@pytest.mark.usefixtures("package")
def test_a_module_that_is_gone_is_named() -> None:
    """As that of a figure, when `resaudit run` draws it by hand."""
    with refused(PaperError, ["made_up.jobs.gone"]):
        code.code_sha256("made_up.jobs.one", "made_up.jobs.gone")


SYNTAX = """
import os as system
from pathlib import Path

class Kind(dict, metaclass=type):
    count: int = 0
    def method(self, first, /, *rest: int, last=None, **more) -> str: return f"{first!r:>{last}} of {rest}"

async def waits(): await other()

@wrapped
def generates():
    try: yield from (lambda: 1, {*()}, {**{}}, [x for x in () if x])
    except* ValueError: pass
    match Kind():
        case {"a": [1, *_], **rest} | Kind(count=0): return rest[1:2, ...]
"""


def test_all_versions_of_python_say_the_same_of_a_module() -> None:
    digest = hashlib.sha256(code._meaning(SYNTAX).encode()).hexdigest()
    assert digest == "a39091dbad5f5c3a922f6bfc6531c306737fb5f0d6e30e03b008e6288bbbadfd"
