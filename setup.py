"""The optional C extensions, and the workflow's files in a wheel; all else stands in pyproject.toml."""

import hashlib
import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

# Where there is no C compiler, torch and NumPy stand in: networks with ReLUs train some five times slower, and
# eigenvalues of deep Hessians are counted some fifty times slower.
#
# Flags of the environment would change results without a trace: -march=native fuses products and sums.
for flags in ("CFLAGS", "CPPFLAGS", "LDFLAGS"):
    os.environ.pop(flags, None)

PAPER = "residual.demystifying_resnet"
KERNELS = {"training": "fused", "curvature": "counts"}


def extension(package: str, kernel: str) -> Extension:
    """A package's kernel: one C file that includes its header once for every width of vectors."""
    sources = [f"src/{PAPER.replace('.', '/')}/{package}/{kernel}{part}" for part in (".c", "_lanes.h")]
    # Compiled in, so that a kernel left over from other source is not taken for this one (resaudit.runtime.extensions).
    digest = hashlib.sha256(b"".join(Path(source).read_bytes() for source in sources)).hexdigest()
    return Extension(
        f"{PAPER}.{package}._{kernel}",
        sources=sources[:1],
        depends=sources[1:],
        define_macros=[("RESAUDIT_SOURCE", f'"{digest}"')],
        extra_compile_args=["-O3", "-std=gnu11", "-fno-fast-math", "-ffp-contract=fast", "-fno-math-errno"],
        extra_link_args=["-fno-fast-math"],  # else the whole process would lose its denormal numbers
        optional=True,
    )


ROOT = ("Snakefile", "config/**/*", "figures/reference/**/*", "profiles/**/*", "workflow/**/*")
"""What a checkout has beside its packages and a run needs, as ``resaudit.base.papers.root`` finds it."""


class BuildWithRoot(build_py):
    """A wheel, which has no checkout, holds these files in ``resaudit/root``."""

    def run(self) -> None:
        """Copy the packages, then the files."""
        super().run()
        for file in [] if self.editable_mode else self._root():
            target = Path(self.build_lib, "resaudit", "root", file)
            self.mkpath(str(target.parent))
            self.copy_file(str(file), str(target))

    def get_source_files(self) -> list[str]:
        """Of an archive of the sources."""
        return [*super().get_source_files(), *map(str, self._root())]

    def _root(self) -> list[Path]:
        files = [file for pattern in ROOT for file in Path().glob(pattern) if file.is_file()]
        return sorted(file for file in files if not any(part.startswith((".", "__")) for part in file.parts))


setup(
    cmdclass={"build_py": BuildWithRoot},
    ext_modules=[extension(package, kernel) for package, kernel in KERNELS.items()],
)
