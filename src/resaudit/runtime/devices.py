"""Whether torch can use CUDA here, and one device for each process: Snakemake does not say which is whose.

Loads nothing heavy, and has to be asked before torch initialises CUDA.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, MutableMapping
from pathlib import Path

from resaudit.errors import ResauditError
from resaudit.runtime.locks import hold

VISIBLE = "CUDA_VISIBLE_DEVICES"
SECONDS_BETWEEN_TRIES = 1.0


def claim_device(
    environment: MutableMapping[str, str] = os.environ, folder: Path | None = None, nodes: Path = Path("/dev")
) -> str | None:
    """Take the first device that no other process has claimed, and let CUDA see that one alone.

    The claim is a lock of the operating system's, held until this process ends, however it ends. If all devices are
    taken, it waits for one, and says so. What a scheduler assigned is respected: of ``CUDA_VISIBLE_DEVICES`` alone one
    is taken, and since Slurm may number each job's devices from 0, claims within a Slurm job are apart from others'.

    Args:
        environment: where ``CUDA_VISIBLE_DEVICES`` is read and set.
        folder: of the locks; the user's own in the folder for temporary files if None.
        nodes: folder of the device nodes, counted where ``CUDA_VISIBLE_DEVICES`` is not set.

    Returns:
        The device as ``CUDA_VISIBLE_DEVICES`` names it; None where there is none.

    Raises:
        ResauditError: the locks' folder cannot be made.
    """
    devices = visible_devices(environment, nodes)
    if not devices:
        return None
    folder = folder or _folder_of_locks(environment)
    warned = False
    while True:
        for device in devices:
            try:
                is_ours = hold(folder / f"{re.sub('[^A-Za-z0-9-]', '_', device)}.lock")
            except NotImplementedError as error:
                unshared = f"{error}, so jobs may meet on one GPU; set TMPDIR to another folder"
                print(f"resaudit: warning: {unshared}", file=sys.stderr, flush=True)
                return device
            if is_ours:
                environment[VISIBLE] = device
                return device
        if not warned:
            print(f"resaudit: waiting for one of {len(devices)} CUDA devices, all taken", file=sys.stderr, flush=True)
            warned = True
        time.sleep(SECONDS_BETWEEN_TRIES)


def settled(wanted: str) -> str:
    """The device with ``auto`` decided: ``cuda`` where this machine has one that torch can use, else ``cpu``."""
    if wanted != "auto":
        return wanted
    return "cuda" if cuda_is_usable() else "cpu"


def cuda_is_usable(environment: MutableMapping[str, str] = os.environ, nodes: Path = Path("/dev")) -> bool:
    """Whether there are devices, and torch can use them: it may be built without CUDA, or for a newer driver.

    Torch is asked in a process of its own. To ask here would initialise CUDA before a device is claimed, and to count
    devices without that (by NVML) says nothing of the driver's age.
    """
    if not visible_devices(environment, nodes):
        return False
    asked = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", asked], env=dict(environment), check=False).returncode == 0


def visible_devices(environment: MutableMapping[str, str] = os.environ, nodes: Path = Path("/dev")) -> list[str]:
    """The devices that CUDA would see, by number or UUID: as ``CUDA_VISIBLE_DEVICES`` lists them, or all there are.

    >>> visible_devices({"CUDA_VISIBLE_DEVICES": "2, GPU-8932f937,-1,0"})
    ['2', 'GPU-8932f937']
    """
    listed = environment.get(VISIBLE)
    if listed is None:
        return [str(number) for number, _ in enumerate(path for path in nodes.glob("nvidia*") if _is_gpu(path))]
    return list(_until_invalid(name.strip() for name in listed.split(",")))


def _is_gpu(path: Path) -> bool:
    return re.fullmatch(r"nvidia\d+", path.name) is not None


def _until_invalid(names: Iterable[str]) -> Iterable[str]:
    """CUDA takes no notice of what stands behind a name that it does not know."""
    for name in names:
        if not re.fullmatch(r"\d+|(GPU|MIG)-[A-Za-z0-9/-]+", name):
            return
        yield name


def _folder_of_locks(environment: MutableMapping[str, str]) -> Path:
    job = environment.get("SLURM_JOB_ID")
    folder = Path(tempfile.gettempdir()) / f"resaudit-devices-{os.getuid()}{f'-slurm-{job}' if job else ''}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        message = f"cannot make {folder} for locks: {error.strerror}; set TMPDIR to another folder"
        raise ResauditError(message) from error
    return folder
