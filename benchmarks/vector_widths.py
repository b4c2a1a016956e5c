"""Do tables and verdicts travel? A whole run as a processor with narrower vectors computes it, held to the references.

python benchmarks/vector_widths.py FOLDER [figures=[fig07] scale=smoke …]

Runs the workflow into FOLDER with every library told to do without AVX-512 (resaudit's own kernels, torch, MKL, oneDNN,
NumPy, OpenBLAS), then ``resaudit compare``, which must agree, and ``resaudit audit``.
"""

import os
import subprocess
import sys
from pathlib import Path

from resaudit.runtime.extensions import VECTOR_BITS

NARROWER = {
    VECTOR_BITS: "256",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
}


def main(folder: Path, overrides: list[str]) -> int:
    """Run, compare and judge; returns the status of the comparison, or of the run if that failed."""
    environment = {**os.environ, **NARROWER}
    given = [*overrides, f"paths.results={folder / 'results'}", f"paths.figures={folder / 'figures'}"]
    workflow = ["snakemake", "--cores", "all", "--config", f"overrides=[{','.join(given)}]"]
    for command in (workflow, ["resaudit", "compare", *given]):
        status = subprocess.run(command, env=environment, check=False).returncode
        if status:
            return status
    return subprocess.run(["resaudit", "audit", *given], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
