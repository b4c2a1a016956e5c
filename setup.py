"""The optional C extension; all else about the package stands in pyproject.toml."""

from setuptools import Extension, setup

COUNTS = "src/resaudit/curvature/kernels"

setup(
    ext_modules=[
        # Eigenvalues of deep Hessians are counted some fifty times faster with it; without a C compiler NumPy counts.
        Extension(
            "resaudit.curvature.kernels._counts",
            sources=[f"{COUNTS}/counts.c"],
            depends=[f"{COUNTS}/counts_lanes.h"],
            extra_compile_args=["-O3", "-std=gnu11", "-ffp-contract=fast", "-fno-math-errno"],
            optional=True,
        )
    ]
)
