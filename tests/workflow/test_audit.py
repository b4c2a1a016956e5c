"""The audit as the workflow's last job, and the matrix of robustness. Oracle: the command on the same figures.

Sees a run that ends well though a claim cannot be judged, and a page that a failed run spoils.
"""

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from resaudit.audit.schema import check_audit
from resaudit.data.images import parse_idx, to_idx
from resaudit.plan.models import CONTROLS, Config
from tests.audit.test_command import OF_FIG04, PAPER, SMOKE, claims, edited, never_run, resaudit, with_cell
from tests.claims.made import mentions
from tests.conftest import CHECKOUT, Completed, configured, run_command, run_snakemake, smoke


def test_a_run_ends_with_what_cannot_be_judged_and_only_a_finished_page_replaces_another(
    finished: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "copy"))
    edited(with_cell("condition_number", ""), with_digest=True)(folder)
    # Where nothing else is to do too.
    for run in (smoke(folder), smoke(folder)):
        assert run.returncode == 1
        last = next(line for line in reversed(run.stderr.splitlines()) if line.startswith("resaudit: error"))
        assert mentions(last, "cannot be judged", f"{PAPER}/depth-invariant-condition")
    pages = [folder / "figures" / f"audit.{suffix}" for suffix in ("json", "html")]
    finished = [page.read_bytes() for page in pages]
    assert b"cannot be judged" in finished[0]
    # A table whose digest is another's is refused; the page before stays, and nothing else does.
    edited(lambda text: text + "\n", with_digest=False)(folder)
    assert smoke(folder).returncode == 1
    assert [page.read_bytes() for page in pages] == finished
    assert not list((folder / "figures").glob(".*"))


def test_figures_of_two_scales_are_audited_at_either_and_the_command_brings_the_others_back(
    finished: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "copy"))
    at_laptop = {"fig04", "theorem1"}
    for name in at_laptop:
        about = folder / "figures" / PAPER / f"{name}.json"
        about.write_text(json.dumps(json.loads(about.read_text()) | {"scale": "laptop"}), encoding="utf-8")
    run = resaudit(folder, "audit", *SMOKE)
    assert (run.returncode, run.stderr) == (0, "")
    assert not_run(run) == {"fig04", "theorem1"} | never_run()
    last = run.stdout.splitlines()[-2]
    assert all(f"{PAPER}/{name}" in last for name in at_laptop)
    mixed = resaudit(folder, "audit", *SMOKE, "scale=laptop", "fig07.scale=smoke")
    assert not_run(mixed) == {claim.evidence for claim in claims().values()} - {"fig07"}
    assert f"{PAPER}/fig07: scale smoke" in " ".join(mixed.stdout.split())
    assert "fig07" not in last
    whole = resaudit(folder, "audit", "fig07", *SMOKE)
    assert "other settings" not in whole.stdout
    alone = resaudit(folder, "audit", "theorem1", f"{PAPER}/fig04", *SMOKE)
    assert alone.returncode == 1
    assert mentions(alone.stderr, "scale=laptop", "scale=smoke")
    command = shlex.split(last[last.index("snakemake ") :])
    brought = run_snakemake(*command[3:], cwd=folder)
    assert brought.returncode == 0, brought.stderr[-3000:]
    # It is only copied.
    assert "rule draw" not in brought.stdout + brought.stderr
    again = resaudit(folder, "audit", *SMOKE)
    assert not_run(again) == never_run()
    assert "other settings" not in again.stdout


def not_run(run: Completed) -> set[str]:
    """The figures whose claims a table of verdicts calls not run."""
    named = re.findall(r"^not run: +(\S.*\n(?: {4}\S.*\n)*)", run.stdout, re.MULTILINE)
    found = {name for names in named for name in re.findall(r"[\w-]+", names)}
    return {claim.evidence for name, claim in claims().items() if name in found}


FIG04 = f"figure.{PAPER}.fig04.protocol"


ONE_POINT = (
    "figures=[demystifying_resnet/fig04]",
    f"overrides=[paths.data=data,{FIG04}.networks=[2-shortcut],{FIG04}.depths=[2]]",
)


EVERY_FIGURE = ("overrides=[paths.data=data]",)


SAMPLES = 1600
"""As many as a figure asks for at scale smoke."""


def few_inverted(folder: Path, source: Path, ledger: Path) -> None:
    """Files of another data set in its own format: the first of MNIST's samples, their images inverted.

    The ledger gets their sizes and checksums, and says that they lie in ``folder`` alone.
    """
    folder.mkdir()
    files = {}
    for part, prefix in (("train", "train"), ("test", "t10k")):
        for key, name in (("images", "images-idx3-ubyte"), ("labels", "labels-idx1-ubyte")):
            array = parse_idx((source / f"train-{name}").read_bytes(), key)[:SAMPLES]
            content = to_idx(255 - array if key == "images" else array)
            (folder / f"{prefix}-{name}").write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            files[f"{part}_{key}"] = {"name": f"{prefix}-{name}", "size": len(content), "sha256": digest}
    said = yaml.safe_load(ledger.read_text(encoding="utf-8"))
    said |= {"files": files, "sources": ["debian"], "debian": {"package": "none", "folder": str(folder)}}
    ledger.write_text(yaml.safe_dump(said, sort_keys=False), encoding="utf-8")


@pytest.fixture
def made(mnist_config: Config, tmp_path: Path) -> Path:
    """A checkout whose Fashion-MNIST is made here: the real one needs a network."""
    shutil.copytree(CHECKOUT / "config", tmp_path / "config")
    shutil.copytree(CHECKOUT / "workflow", tmp_path / "workflow")
    shutil.copy(CHECKOUT / "Snakefile", tmp_path)
    (tmp_path / "src").symlink_to(CHECKOUT / "src")
    mnist = Path(mnist_config.paths.data).resolve() / "mnist"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mnist").symlink_to(mnist)
    few_inverted(tmp_path / "fashion", mnist, tmp_path / "config" / "dataset" / "fashion_mnist.yaml")
    return tmp_path


"""Under what Figure 4 has a table of its own: that of the control is the configured one's at this scale."""


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [ONE_POINT, EVERY_FIGURE], ids=["one-point", "every-figure"])
def test_robustness_judges_the_same_claims_under_every_variant(chosen: tuple[str, ...], made: Path) -> None:
    """Of Figure 4 at a point: variants of the data, of the initialization, of precision, and some that it has not."""
    config = ("--config", "scale=smoke", *chosen)
    command = ["snakemake", "--cores", "all", "robustness"]
    run = run_command(*command, *config, cwd=made, timeout=3600)
    assert run.returncode == 0, run.stderr[-3000:]
    folder = made / "figures" / PAPER
    for suffix, magic in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        assert (folder / f"robustness.{suffix}").read_bytes().startswith(magic)
    cells = pd.read_csv(folder / "robustness.csv").groupby(["claim", "variant"])["depends"].first()
    drawn = {file.stem for file in folder.glob("*.csv")}
    judged = {name for name, claim in claims().items() if claim.evidence in drawn and not claim.not_yet}
    variants = ("as-configured", *CONTROLS, *configured().variants(PAPER))
    assert set(cells.index) == {(c, v) for c in judged for v in variants}
    of_fig04 = [name for name, claim in claims().items() if claim.evidence == "fig04"]
    changed = {variant for (claim, variant), depends in cells.items() if depends and claim in of_fig04}
    assert changed == OF_FIG04
    drawings = list(made.glob(f"results/draw/{PAPER}-fig04-*"))
    # The control is as configured at this scale.
    assert len(drawings) == len(changed)
    (exactly_zero,) = (pd.read_csv(folder / "figure.csv") for folder in drawings if zero_scale(folder) == 0)
    at_zero = exactly_zero[exactly_zero["network"] == "2-shortcut"].groupby("depth")["condition_number"]
    # Every draw starts at the same point.
    assert (at_zero.min() == at_zero.max()).all()
    (whitened,) = made.glob("results/whiten/fashion_mnist-*/summary.json")
    assert json.loads(whitened.read_text(encoding="utf-8"))["samples"] == SAMPLES
    check_the_audit_has_it(made)
    again = run_command(*command, "--dry-run", *config, cwd=made, timeout=900)
    assert "rule draw" not in again.stdout + again.stderr
    assert "rule hessians" not in again.stdout + again.stderr


def zero_scale(drawing: Path) -> float:
    about = json.loads((drawing / "figure.json").read_text(encoding="utf-8"))
    return float(about["values"]["zero scale"])


def check_the_audit_has_it(folder: Path) -> None:
    audit = json.loads((folder / "figures/audit.json").read_text(encoding="utf-8"))
    check_audit(audit)
    paper = audit["papers"][0]
    assert paper["robustness"]["stale"] is None
    claim = next(c for c in paper["claims"] if c["id"].endswith("depth-invariant-condition"))
    said = {variant["id"]: variant["verdict"] for variant in claim["variants"]}
    assert said["fashion-mnist"] == "inconclusive"
    assert said["tenth-of-best-rate"] is None, "Figure 4 trains nothing"
    assert "robustness" in (folder / "figures/audit.html").read_text(encoding="utf-8")


def test_the_matrix_of_a_variant_is_refused_before_any_job(tmp_path: Path) -> None:
    run = smoke(tmp_path, "robustness", config=("variant=control",))
    assert run.returncode != 0
    assert re.search(r"^resaudit: error: .*\bcontrol\b", run.stderr, re.MULTILINE)
    assert "Traceback" not in run.stderr


def test_the_page_is_made_again_when_a_threshold_changes(finished: Path) -> None:
    changed = f"claims.{PAPER}.depth-invariant-condition.checks.constant.within_factor=1.5"
    run = smoke(finished, "--dry-run", config=(f"overrides=[paths.data={CHECKOUT / 'data'},{changed}]",))
    assert "rule audit" in run.stdout + run.stderr
    assert "rule draw" not in run.stdout + run.stderr
