"""The optional C extensions; all else about the package stands in pyproject.toml."""

from setuptools import Extension, setup

# Where there is no C compiler, torch and NumPy stand in: networks with ReLUs train some twenty times slower, and
# eigenvalues of deep Hessians are counted some fifty times slower.
KERNELS = {"training": "fused", "curvature": "counts"}


def extension(package: str, kernel: str) -> Extension:
    """A package's kernel: one C file that includes its header once for every width of vectors."""
    folder = f"src/resaudit/{package}/kernels"
    return Extension(
        f"resaudit.{package}.kernels._{kernel}",
        sources=[f"{folder}/{kernel}.c"],
        depends=[f"{folder}/{kernel}_lanes.h"],
        extra_compile_args=["-O3", "-std=gnu11", "-ffp-contract=fast", "-fno-math-errno"],
        optional=True,
    )


setup(ext_modules=[extension(package, kernel) for package, kernel in KERNELS.items()])
