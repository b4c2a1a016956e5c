"""The optional C extension; all else about the package stands in pyproject.toml."""

from setuptools import Extension, setup

KERNELS = "src/resaudit/training/kernels"

setup(
    ext_modules=[
        # Networks with ReLUs train some twenty times faster with it; without a C compiler they train in torch.
        Extension(
            "resaudit.training.kernels._fused",
            sources=[f"{KERNELS}/fused.c"],
            depends=[f"{KERNELS}/fused_lanes.h"],
            extra_compile_args=["-O3", "-std=gnu11", "-ffp-contract=fast", "-fno-math-errno"],
            optional=True,
        )
    ]
)
