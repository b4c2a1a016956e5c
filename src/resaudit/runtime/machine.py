"""The CPU platform of a result: on one platform the same settings give the same bytes."""

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.runtime.extensions import VECTOR_BITS, vector_lanes

_SWITCH = re.compile(
    r"(ATEN|BLIS|CUBLAS|CUBLASLT|CUDNN|DNNL|GOMP|KMP|MKL|NPY|NVIDIA_TF32|OMP|ONEDNN|OPENBLAS|PYTORCH|TORCH)_\w+"
    rf"|GLIBC_TUNABLES|{VECTOR_BITS}"
)
"""Environment variables of the libraries that compute, of the C library, and of our kernels."""
_NO_SWITCH = re.compile(
    r"\w+_((?<!DOMAIN_)NUM_THREADS|VERBOSE|DEBUG|LOGS?|WARNINGS|SETTINGS|DISPLAY_(ENV|AFFINITY)|VERSION|HOME|ROOT|DIR|PATH"
    r"|AFFINITY|PLACES|PROC_BIND|WAIT_POLICY|BLOCKTIME|SPINCOUNT|STACKSIZE|DUPLICATE_LIB_OK|INIT_AT_FORK|ARCH_LIST"
    r"|KEY|TOKEN|SECRET|PASSWORD)"
)
"""Those that change no digit, or that nobody wants recorded; the number of threads stands elsewhere."""
_SET_BY_JOBS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""By those that train images on a GPU, on the way."""
_CPU_INFO = Path("/proc/cpuinfo")


def cpu_platform(device: str) -> dict[str, Any]:
    """The properties of this machine that the last digits of a result depend on; torch's only if the job loaded it."""
    numpy = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    blas = {"numpy": f"{numpy['name']} {numpy['version']}"}
    properties = {
        "device": device,
        "processor": processor(),
        "BLAS": blas,
        "switches": _switches(),
    }
    if torch := sys.modules.get("torch"):
        blas["torch"] = _torch_blas(torch.__config__.show())
        properties |= {
            "instruction set": torch.backends.cpu.get_cpu_capability(),
            "vector lanes": vector_lanes(),
            "torch": torch.__version__,
        }
    return properties


def _switches() -> dict[str, str]:
    """The environment variables that may make this machine compute like another platform."""
    names = (name for name in sorted(os.environ) if _SWITCH.fullmatch(name) and not _NO_SWITCH.fullmatch(name))
    return {name: os.environ[name] for name in names if os.environ[name] not in ("", _SET_BY_JOBS.get(name))}


def processor(cpu_info: Path = _CPU_INFO) -> str:
    """The processor's model name with its family, model and stepping numbers.

    Args:
        cpu_info: Linux's description; without this file, the name that Python reports.
    """
    if not cpu_info.is_file():
        return platform.processor() or platform.machine()
    first = cpu_info.read_text(encoding="utf-8").split("\n\n")[0]
    fields = dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", first, re.MULTILINE))
    numbers = [f"{key} {fields[key]}" for key in ("cpu family", "model", "stepping", "CPU part") if key in fields]
    return ", ".join([fields.get("model name", platform.machine()), *numbers])


def _torch_blas(build: str) -> str:
    """The BLAS that torch was built with, from torch's own description.

    >>> _torch_blas("Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 1; BLAS_INFO=mkl, LAPACK=1")
    'mkl 2024.2'
    >>> _torch_blas(" BLAS_INFO=open, BUILD_TYPE=Release")
    'open'
    """
    name = re.search(r"BLAS_INFO=(\w+)", build)
    version = re.search(r"Math Kernel Library Version (\d[\d.]*)", build)
    return " ".join(match[1] for match in (name, version) if match) or "not known"
