"""The project as a wheel. Oracle: its list of files, with and without a compiler. Sees one that is lost."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT, run_command
from tests.refusals import assert_exits

needs_compiler = pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="there is no C compiler")


def wheel_of(folder: Path, **environment: str) -> list[str]:
    """The names of the files in a wheel built from a copy of the checkout."""
    source = folder / "source"
    built = ("*.so", "*.pyd", "*.egg-info", "__pycache__")
    for part in ("src", "config", "figures/reference", "profiles", "workflow"):
        shutil.copytree(CHECKOUT / part, source / part, ignore=shutil.ignore_patterns(*built))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "Snakefile"):
        shutil.copy(CHECKOUT / name, source)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        ".",
    ]
    subprocess.run(command, cwd=source, env=os.environ | environment, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("resaudit-*.whl")
    return zipfile.ZipFile(wheel).namelist()


@needs_compiler
def test_a_wheel_has_the_kernel_and_its_source(tmp_path: Path) -> None:
    files = wheel_of(tmp_path)
    kernels = [file for file in files if file.startswith("residual/demystifying_resnet/training/")]
    assert any(Path(file).name.startswith("_fused") for file in kernels)
    assert {
        "residual/demystifying_resnet/training/fused.c",
        "residual/demystifying_resnet/training/fused_lanes.h",
    } <= set(kernels)


@needs_compiler
def test_no_flag_of_the_environment_reaches_the_kernels(tmp_path: Path) -> None:
    """Sees -ffast-math, by which the library's loading alone would change the digits of the whole process."""
    shutil.copytree(CHECKOUT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(CHECKOUT / name, tmp_path)

    def built(**flags: str) -> dict[str, bytes]:
        command = [sys.executable, "setup.py", "-q", "build_ext", "--force", "--build-lib", "built"]
        subprocess.run(command, cwd=tmp_path, env=os.environ | flags, check=True, capture_output=True, timeout=300)
        return {file.name: file.read_bytes() for file in (tmp_path / "built").rglob("*.so")}

    expected = built()
    assert len(expected) == 2
    assert built(CFLAGS="-Ofast -march=native", CPPFLAGS="-funsafe-math-optimizations", LDFLAGS="-Ofast") == expected
    assert built(CFLAGS="-ffast-math", CC=f"{os.environ.get('CC', 'cc')} -ffast-math") == expected


def test_without_a_compiler_a_wheel_is_whole_but_for_the_kernel(tmp_path: Path) -> None:
    files = wheel_of(tmp_path, CC="/nonexistent/cc")
    assert not any(Path(file).name.startswith("_fused") for file in files)
    assert {"resaudit/py.typed", "residual/py.typed"} <= set(files)
    assert "residual/demystifying_resnet/training/sampled.py" in files
    assert "resaudit/audit/templates/page.html.j2" in files
    # It has configuration and rules of its own, and is not taken for the code of a checkout.
    (wheel,) = tmp_path.glob("resaudit-*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    path = {"PYTHONPATH": str(installed)}
    root = installed / "resaudit" / "root"
    for file in ("Snakefile", "config/config.yaml", "profiles/default/config.yaml", "workflow/report/audit.rst"):
        assert (root / file).read_bytes() == (CHECKOUT / file).read_bytes()
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "1", "--snakefile"]
    # A job without a shared disk gets the rules from Snakemake, and nothing else.
    shutil.copytree(root / "workflow", tmp_path / "job" / "workflow")
    for snakefile in (root / "Snakefile", tmp_path / "job" / "workflow" / "Snakefile"):
        planned = run_command(*command, str(snakefile), "fig07", cwd=tmp_path / "job", environment=path)
        assert planned.returncode == 0, planned.stderr
    other = run_command(*command, str(CHECKOUT / "Snakefile"), cwd=tmp_path, environment=path)
    assert_exits(other, installed / "resaudit")
