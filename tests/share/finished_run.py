"""A small finished run to pack: real settings, tables and drawings of two figures, and an audit written by hand."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from resaudit.audit.models import STANDINGS
from resaudit.base.files import sha256_of, write_json
from resaudit.figures.draw import Draw
from resaudit.figures.drawing import about, figure_module, read_csv
from resaudit.figures.style import apply_style
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.plan_files import write_job
from resaudit.jobs.provenance import provenance
from resaudit.plan.composition import load
from resaudit.plan.models import FORMATS, Layout
from resaudit.plan.plan import FigurePlan, Plan, make_plan, with_inputs
from resaudit.plan.words import claims_sha256
from tests.conftest import CHECKOUT
from tests.ran import RAN

OVERRIDES = ("scale=smoke", "figures=[demystifying_resnet/fig04,fig07]")
STARTED = "2026-01-02T03:03:03+00:00"
FINISHED = "2026-01-02T03:04:05+00:00"
GENERATED = "2026-01-02T03:05:00+00:00"
NONE_TRIED = {"count": 0, "of": 0}


def as_planned(part: FigurePlan) -> Draw:
    """A drawing without words."""
    return Draw(part.figure, (), (), "", "data")


def plan_in(folder: Path, *overrides: str) -> Plan:
    """The run's plan, with its results below a folder."""
    paths = [f"paths.{key}={folder / key}" for key in ("results", "figures")]
    return make_plan(load([*OVERRIDES, *paths, *overrides]))


def finished_run(folder: Path) -> Plan:
    """Write the run below a folder; the plan that finds it there."""
    plan = plan_in(folder)
    layout = Layout(plan.config.paths)
    made_by = provenance() | {"finished": FINISHED}
    ran = RAN | {"seconds": 61.5, "started": STARTED} | made_by
    for job in plan.jobs.values():
        if job.files:
            _write_results(job, layout.results, ran)
    for name, part in plan.figures.items():
        _draw(name, layout)
        write_json(layout.figure(name, "json"), about(as_planned(part)) | made_by)
    write_json(layout.figures / "audit.json", _audit(plan, made_by))
    page = "<!doctype html><html lang='en'><title>Audit</title><p>A page.</p></html>\n"
    (layout.figures / "audit.html").write_text(page, encoding="utf-8")
    return plan


def _write_results(job: Job, results: Path, ran: dict[str, Any]) -> None:
    """Made-up results; the plan is in order, so those of inputs are there."""
    write_job(job, Execution(), results)
    write_json(job.folder(results) / "settings.json", job.identity)
    for name in job.files:
        (job.folder(results) / name).write_bytes(f"{name} of {job.key}".encode())
    digests = {name: sha256_of(job.folder(results) / name) for name in job.files}
    read = {name: sha256_of(path) for name, path in job.data_read(results).items() if path.is_file()}
    write_json(job.folder(results) / "provenance.json", ran | {"sha256": digests, "inputs": read})


def change_audit(plan: Plan, **changes: Any) -> None:
    """Rewrite some of the audit's first level."""
    path = Layout(plan.config.paths).figures / "audit.json"
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | changes)


def _draw(name: str, layout: Layout) -> None:
    module, csv = figure_module(name), layout.figure(name, "csv")
    csv.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CHECKOUT / "tests" / "workflow" / "expected" / "demystifying_resnet" / csv.name, csv)
    apply_style()
    drawing = module.plot(read_csv(csv))
    for suffix in FORMATS:
        drawing.savefig(layout.figure(name, suffix), format=suffix)


def _audit(plan: Plan, made_by: dict[str, Any]) -> dict[str, Any]:
    claims = [
        _claim("depth-invariant-condition", "fig04", "supported"),
        _claim("smaller-loss-at-best-rate", "fig07", "contradicted"),
        _claim("curves-cross", "fig99", "not run"),
    ]
    paper = {
        "id": "demystifying_resnet",
        "title": "Demystifying ResNet",
        "short": "Li, Jiao, Han, Weissman",
        "link": "https://arxiv.org/abs/1611.01186v2",
        "cited": "arXiv:1611.01186v2",
        "thresholds": "",
        "ledger": {
            "file": "config/paper/demystifying_resnet/claims.yaml",
            "sha256": claims_sha256(plan.config, "demystifying_resnet"),
            "command": "resaudit explain demystifying_resnet",
        },
        "counts": dict.fromkeys(STANDINGS, 0) | {"supported": 1, "contradicted": 1, "not run": 1},
        "claims": claims,
        "figures": [_figure(plan, name, part, made_by) for name, part in plan.figures.items()],
        "robustness": None,
    }
    return {
        "version": 4,
        "generated": GENERATED,
        "scale": plan.config.scale.name,
        "scale_summary": plan.config.scale.summary,
        "provenance": made_by,
        "overrides": list(OVERRIDES),
        "shares": dict.fromkeys(("reproducible", "robust", "unmoved", "replicable"), NONE_TRIED) | {"opposite": 0},
        "papers": [paper],
    }


def _claim(name: str, figure: str, verdict: str) -> dict[str, Any]:
    return {
        "id": f"demystifying_resnet/{name}",
        "statement": f"What {name} says",
        "where": "section 4",
        "kind": "empirical",
        "interpretation": "within ten percent",
        "reason": "The paper says roughly.",
        "needs": {"runs": 2, "depths": [2, 4], "scales": ["smoke"]},
        "finding": None,
        "response": None,
        "verdict": verdict,
        "why": f"It is {verdict}, by hand.",
        "checks": [],
        "evidence": f"demystifying_resnet/{figure}",
        "variants": [],
        "command": f'snakemake --cores all --config "figures=[{figure}]"',
    }


def _figure(plan: Plan, name: str, part: FigurePlan, made_by: dict[str, Any]) -> dict[str, Any]:
    layout, said = Layout(plan.config.paths), about(as_planned(part))
    table = layout.figure(name, "csv")
    return {
        "id": name,
        "title": part.figure.title,
        "caption": part.figure.full_caption,
        "remark": "Reconstructed by hand.",
        "experiment": part.figure.experiment,
        "files": {suffix: f"{name}.{suffix}" for suffix in ("csv", "json", *FORMATS)},
        "sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
        "rows": len(read_csv(table)),
        "scale": said["scale"],
        "settings": said["settings"],
        "deviations": said["differs from the protocol in"],
        "at_edge": [],
        "assumptions": [],
        "provenance": made_by | {"devices": ["cpu"], "seconds": 123.4},
        "jobs": sorted(key for key, job in with_inputs(part.jobs.values()).items() if job.files),
        "command": f'snakemake --cores all --config "figures=[{name.split("/")[1]}]"',
    }
