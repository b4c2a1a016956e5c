"""The machine class of a result: within one class the same settings give the same bytes."""

import hashlib
import json
import os
import platform
import re
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.curvature.kernels import library as counts
from resaudit.runtime.extensions import VECTOR_BITS
from resaudit.store.files import read_json, write_json
from resaudit.training.kernels import library as fused

SWITCHES = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE", VECTOR_BITS)
"""Environment variables that make a machine compute like another class."""
_CPU_INFO = Path("/proc/cpuinfo")


def machine_class(device: str, answers: Path | None = None) -> dict[str, Any]:
    """The properties of this machine that the last digits of a result depend on.

    Args:
        device: "cpu" or a GPU's name.
        answers: folder of torch's answers, which a job that has not loaded torch reads; None: torch is asked.
    """
    of_torch = _kept_answers(answers) if answers else _answers()
    return {
        "device": device,
        "processor": processor(),
        "instruction set": of_torch["instruction set"],
        "vector lanes": {"training": fused.lanes(), "counts": counts.lanes()},
        "torch": of_torch["version"],
        "BLAS": {"torch": of_torch["BLAS"], "numpy": _numpy_blas()},
        "switches": _switches(),
    }


def _answers() -> dict[str, str]:
    import torch

    return {
        "instruction set": torch.backends.cpu.get_cpu_capability(),
        "version": str(torch.__version__),
        "BLAS": _torch_blas(torch.__config__.show()),
    }


def _kept_answers(folder: Path) -> dict[str, str]:
    """Torch's answers, without loading it (over a second) if a job asked the same torch on a machine like this one."""
    asked = _answers_depend_on()
    file = folder / f"{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]}.json"
    # Absent, or damaged: torch is asked.
    with suppress(OSError, ValueError, LookupError, TypeError):
        kept = read_json(file)
        if kept["asked"] == asked and "torch" not in sys.modules:
            return {key: str(kept["answers"][key]) for key in ("instruction set", "version", "BLAS")}
    answers = _answers()
    if not file.is_file():
        write_json(file, {"asked": asked, "answers": answers})
    return answers


def _answers_depend_on() -> dict[str, Any]:
    spec = find_spec("torch")
    installed = Path(spec.origin) if spec and spec.origin else Path()
    described = _first_processor(_CPU_INFO) if _CPU_INFO.is_file() else {}
    return {
        "torch": [str(installed), installed.stat().st_mtime_ns],
        "processor": processor(),
        "instructions": described.get("flags", described.get("Features", "")),
        "switches": _switches(),
    }


def _switches() -> dict[str, str]:
    return {name: os.environ[name] for name in SWITCHES if name in os.environ}


def processor(cpu_info: Path = _CPU_INFO) -> str:
    """The processor's model name with its family, model and stepping numbers.

    Args:
        cpu_info: Linux's description; without this file, the name that Python reports.
    """
    if not cpu_info.is_file():
        return platform.processor() or platform.machine()
    fields = _first_processor(cpu_info)
    numbers = [f"{key} {fields[key]}" for key in ("cpu family", "model", "stepping", "CPU part") if key in fields]
    return ", ".join([fields.get("model name", platform.machine()), *numbers])


def _first_processor(cpu_info: Path) -> dict[str, str]:
    first = cpu_info.read_text(encoding="utf-8").split("\n\n")[0]
    return dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", first, re.MULTILINE))


def _torch_blas(build: str) -> str:
    """The BLAS that torch was built with, from torch's own description.

    >>> _torch_blas("Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 1; BLAS_INFO=mkl, LAPACK=1")
    'mkl 2024.2'
    >>> _torch_blas(" BLAS_INFO=open, BUILD_TYPE=Release")
    'open'
    """
    name = re.search(r"BLAS_INFO=(\w+)", build)
    version = re.search(r"Math Kernel Library Version (\d[\d.]*)", build)
    return " ".join(found[1] for found in (name, version) if found) or "not known"


def _numpy_blas() -> str:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"
