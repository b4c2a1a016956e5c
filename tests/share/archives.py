"""Real archives of a smoke run, and forged ones: any file changed, with the digests in the metadata redone or not."""

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.audit.job import AuditJob
from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Execution, Work
from resaudit.plan.composition import load
from resaudit.plan.models import Config, Layout
from resaudit.plan.plan import make_plan
from resaudit.share.crate import write_crate
from tests.conftest import show

METADATA = "ro-crate-metadata.json"
FIGURE = "demystifying_resnet/fig04"
BY = "Ada Lovelace <0000-0002-1825-0097>"
OVERRIDES = ("scale=smoke", f"figures=[{FIGURE}]")
Change = Callable[[Any], None]


@cache
def _config(*overrides: str) -> Config:
    return load([*OVERRIDES, *overrides], only=[FIGURE])


def config_in(folder: Path, *overrides: str) -> Config:
    """The configuration of one figure, with its folders below one; there are no data in it."""
    return with_paths(_config(*overrides), folder)


def with_paths(config: Config, folder: Path) -> Config:
    """The same with its folders below one."""
    paths = {key: str(folder / key) for key in ("results", "figures", "data")}
    return config.model_copy(update={"paths": config.paths.model_copy(update=paths)})


def pack(run: Path, folder: Path, figure: str = FIGURE) -> Path:
    """The archive of one figure of a finished smoke run, judged alone."""
    shutil.copytree(run / "results", folder / "results")
    overrides = ("scale=smoke", f"figures=[{figure}]")
    config = with_paths(load(overrides), folder)
    plan, layout = make_plan(config), Layout(config.paths)
    drawing = draw_job(config.figure[figure], load(["scale=paper"], only=[figure]).figure[figure], config)
    show(drawing, layout)
    AuditJob(config, overrides).run(Work(layout.results, Execution(), "cpu", folder))
    write_crate(plan, folder / "run.zip", BY)
    return folder / "run.zip"


def forged(archive: Path, to: Path, files: Mapping[str, bytes | None], listed: bool = True) -> Path:
    """A copy of an archive with other bytes in some files (None: left out), listed in its metadata or not."""
    with zipfile.ZipFile(archive) as real, zipfile.ZipFile(to, "w") as forgery:
        content = {name: real.read(name) for name in real.namelist()}
        content = {name: given for name, given in {**content, **files}.items() if given is not None}
        if listed:
            metadata = json.loads(content[METADATA])
            for entity in metadata["@graph"]:
                if (given := files.get(entity["@id"])) is not None:
                    entity |= {"sha256": hashlib.sha256(given).hexdigest(), "contentSize": str(len(given))}
            content[METADATA] = json.dumps(metadata).encode()
        for name, given in content.items():
            forgery.writestr(name, given)
    return to


def with_json(archive: Path, to: Path, changes: Mapping[str, Change]) -> Path:
    """A copy of an archive in which some JSON files were changed in place, all digests of the metadata redone."""
    files: dict[str, bytes | None] = {}
    with zipfile.ZipFile(archive) as real:
        for name, change in changes.items():
            content = json.loads(real.read(name))
            change(content)
            files[name] = json.dumps(content).encode()
    return forged(archive, to, files)


def with_array(archive: Path, to: Path, name: str, array: str, change: Change) -> Path:
    """A copy of an archive in which an array that no other job reads was changed in place, all digests redone."""
    with zipfile.ZipFile(archive) as real:
        with np.load(io.BytesIO(real.read(name))) as file:
            arrays = dict(file)
        change(arrays[array])
        made = io.BytesIO()
        np.savez(made, **arrays)
        provenance = f"{name.rpartition('/')[0]}/provenance.json"
        ran = json.loads(real.read(provenance))
    ran["sha256"][name.rpartition("/")[2]] = hashlib.sha256(made.getvalue()).hexdigest()
    return forged(archive, to, {name: made.getvalue(), provenance: json.dumps(ran).encode()})


def a_job(archive: Path) -> str:
    """The key of a job with an input in an archive."""
    with zipfile.ZipFile(archive) as real:
        return next(n[8:].rsplit("/", 1)[0] for n in sorted(real.namelist()) if n.startswith("results/hessians/"))
