"""A crate of a finished run, judged by roc-validator, which implements the profiles' rules independently.

Sees a term that no context defines, a file that is not described or not there, a crate that differs from one packing
to the next, and an audit packed with results of another run. That the judge can say no is tested too.
"""

import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resaudit.base.errors import ConfigError, ResauditError, ResultsError, TableError
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.jobs.origin import Origin
from resaudit.plan.composition import config_folder, datasets
from resaudit.plan.models import FORMATS, Layout
from resaudit.plan.plan import Plan
from resaudit.share.crate import gather, write_crate
from resaudit.share.crate_metadata import add_data, describe
from tests import forked
from tests.conftest import CHECKOUT, first_of, in_process
from tests.refusals import refused
from tests.share.finished_run import FINISHED, GENERATED, OVERRIDES, STARTED, change_audit, finished_run, plan_in

validator = pytest.importorskip("tests.share.validator", reason="the extra crate is not installed")

METADATA = "ro-crate-metadata.json"
Entities = dict[str, dict[str, Any]]

# What the profiles recommend and would not be true, or is not known; docs/travel.md says why each stands.
STANDING = {
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The organization SHOULD have a URL.",
    "The Action SHOULD have an agent that is a Person or Organization",
    "The Application SHOULD have a url",
    "The Main Workflow SHOULD comply with Bioschemas ComputationalWorkflow profile version 1.0 or later",
    "The SoftwareApplication id SHOULD be an absolute URI",
}


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validator.fill_cache(tmp_path_factory.mktemp("contexts") / "cache.sqlite")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    write_crate(finished_run(folder), folder / "out.zip")
    return folder / "out.zip"


@pytest.fixture
def plan(packed: Path, tmp_path: Path) -> Plan:
    """A copy of the run, to be changed at will."""
    for name in ("results", "figures"):
        shutil.copytree(packed.parent / name, tmp_path / name)
    return plan_in(tmp_path)


def entities(crate: Path) -> Entities:
    with zipfile.ZipFile(crate) as archive:
        return {entity["@id"]: entity for entity in json.loads(archive.read(METADATA))["@graph"]}


@pytest.fixture(scope="module")
def judged(packed: Path, contexts: Path) -> Any:
    """Once for both tests: the answer on what is recommended holds that on what is required."""
    return validator.judge(packed, contexts, validator.Severity.RECOMMENDED)


def test_the_crate_is_a_valid_workflow_run_crate(judged: Any) -> None:
    assert validator.issues(judged) == set()


def test_of_what_is_recommended_only_what_is_documented_stands(judged: Any) -> None:
    assert {message for _, message in validator.issues(judged, validator.Severity.RECOMMENDED)} == STANDING


def drop(entity: str, key: str) -> Callable[[Entities], None]:
    return lambda graph: graph[entity].pop(key)


def forget_the_run_profile(graph: Entities) -> None:
    graph["./"]["conformsTo"] = [ref for ref in graph["./"]["conformsTo"] if "wfrun/workflow" not in ref["@id"]]


def invent_a_term(graph: Entities) -> None:
    graph["./"]["impressiveness"] = "high"


def call_it_a_mere_file(graph: Entities) -> None:
    graph["Snakefile"]["@type"] = "File"


# Together, since a judgement costs seconds; without its main entity, a crate has no workflow to be judged.
@pytest.mark.parametrize(
    "sabotages",
    [
        {
            "The Main Workflow must be specified": drop("./", "mainEntity"),
            "must specify a license": drop("./", "license"),
            "The Action MUST have an instrument": drop("#run", "instrument"),
            "FormalParameter MUST have an additionalType": drop("#parameter/scale", "additionalType"),
            "permalink of the Workflow Run Crate profile": forget_the_run_profile,
            "impressiveness": invent_a_term,
        },
        {
            "must refer to its language": drop("Snakefile", "programmingLanguage"),
            "must have types File, SoftwareSourceCode, ComputationalWorkflow": call_it_a_mere_file,
        },
    ],
    ids=["the run and its terms", "the workflow"],
)
def test_of_a_sabotaged_crate_every_sabotage_is_found(
    sabotages: dict[str, Callable[[Entities], None]], packed: Path, contexts: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(packed) as good, zipfile.ZipFile(tmp_path / "bad.zip", "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name == METADATA:
                metadata = json.loads(content)
                for sabotage in sabotages.values():
                    sabotage({entity["@id"]: entity for entity in metadata["@graph"]})
                content = json.dumps(metadata).encode()
            bad.writestr(name, content)
    found = validator.issues(validator.judge(tmp_path / "bad.zip", contexts, validator.Severity.REQUIRED))
    assert [said for said in sabotages if not any(said in message for _, message in found)] == []


def test_every_file_is_described_and_every_described_file_is_there(packed: Path) -> None:
    graph = entities(packed)
    described = {name for name, entity in graph.items() if "File" in entity["@type"]}
    with zipfile.ZipFile(packed) as archive:
        assert described == set(archive.namelist()) - {METADATA}
        for name in described:
            content = archive.read(name)
            assert graph[name]["sha256"] == hashlib.sha256(content).hexdigest()
            assert graph[name]["contentSize"] == str(len(content))
    assert {part["@id"] for part in graph["./"]["hasPart"]} == described


def test_it_holds_the_workflow_the_results_and_the_provenance(packed: Path, plan: Plan) -> None:
    with zipfile.ZipFile(packed) as archive:
        names = set(archive.namelist())
    expected = {f"figures/{name}.{suffix}" for name in plan.figures for suffix in ("csv", "json", "pdf", "png", "svg")}
    expected |= {f"results/{job.key}/provenance.json" for job in plan.jobs_of("train").values()}
    expected |= {f"results/{job.key}/settings.json" for job in plan.jobs_of("hessians").values()}
    expected |= {f"results/{job.key}/settings.json" for job in plan.jobs_of("whiten").values()}
    expected |= {"figures/audit.json", "figures/audit.html"}
    for folder, pattern in (("workflow", "*.smk"), ("config", "*.yaml"), ("src", "*.py")):
        expected |= {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / folder).rglob(pattern)}
    expected |= {f"results/plan/{job.key}.json" for job in plan.jobs.values() if job.files}
    expected |= {f"results/{job.key}/{name}" for job in plan.jobs.values() for name in job.files}
    assert expected <= names
    assert not [name for name in names if name.endswith((".pyc", ".so", ".pyd")) or "ubyte" in name]


def test_a_job_says_what_it_read_and_made_and_with_a_name_who_ran_it(plan: Plan, tmp_path: Path) -> None:
    write_crate(plan, tmp_path / "mine.zip", "Ada Lovelace <0000-0002-1825-0097>")
    graph = entities(tmp_path / "mine.zip")
    job = first_of(plan, "hessians")
    action = graph[f"#job/{job.key}"]
    planned, read = f"results/plan/{job.key}.json", {ref["@id"] for ref in action["object"]}
    given = {f"results/{needed.key}/{name}" for needed in job.inputs.values() for name in needed.files}
    assert {planned} < read <= {planned, *given}
    assert {f"results/{job.key}/{name}" for name in job.files} < {ref["@id"] for ref in action["result"]}
    assert (action["startTime"], action["endTime"]) == (STARTED, FINISHED)
    for identifier in ("#run", f"#job/{job.key}"):
        assert graph[graph[identifier]["agent"]["@id"]]["name"] == "Ada Lovelace"
    assert "https://orcid.org/0000-0002-1825-0097" in graph


def test_an_imported_result_keeps_the_name_of_who_ran_it(plan: Plan, tmp_path: Path) -> None:
    job, own = list(plan.jobs_of("hessians").values())[:2]
    folder = job.folder(Path(plan.config.paths.results))
    origin = Origin(
        archive="1" * 64, by="Ada Lovelace", code="0" * 64, accepted_code="0" * 64, cpu_platform={"device": "cpu"},
        kernel=None, sha256=read_json(folder / "provenance.json")["sha256"],
    )  # fmt: skip
    write_json(folder / "imported.json", origin.model_dump(mode="json"))
    write_crate(plan, tmp_path / "mine.zip", "Grace Hopper")
    graph = entities(tmp_path / "mine.zip")
    names = [graph[graph[f"#job/{each.key}"]["agent"]["@id"]]["name"] for each in (job, own)]
    assert names == ["Ada Lovelace", "Grace Hopper"]
    assert "1" * 64 in graph[f"#job/{job.key}"]["description"]


def test_a_name_that_is_none_is_refused(plan: Plan, tmp_path: Path) -> None:
    with refused(ConfigError, "'Ada <x>'"):
        write_crate(plan, tmp_path / "out.zip", "Ada <x>")
    assert not (tmp_path / "out.zip").exists()


def test_the_metadata_says_what_ran_and_what_was_found(packed: Path, plan: Plan) -> None:
    graph = entities(packed)
    run = graph["#run"]
    assert run["instrument"] == {"@id": "Snakefile"}
    # Every job took 61.5 s.
    assert (run["startTime"], run["endTime"]) == ("2026-01-02T03:03:03+00:00", GENERATED)
    assert run["startTime"] < FINISHED
    assert {"@id": "figures/demystifying_resnet/fig04.csv"} in run["result"]
    values = {name: graph[f"#input/{name}"]["value"] for name in ("scale", "seed", "dataset", "overrides")}
    assert values == {"scale": "smoke", "seed": "1", "dataset": "mnist", "overrides": " ".join(OVERRIDES)}
    data = graph["#data/mnist"]
    images = plan.config.datasets()[0].files["train_images"]
    assert graph[data["mainEntity"]["@id"]]["sha256"] == images.sha256
    assert graph["./"]["datePublished"] == GENERATED


def test_records_that_are_known_by_sha_1_are_described_by_it() -> None:
    from rocrate.rocrate import ROCrate

    data = add_data(ROCrate(), datasets(config_folder())["cifar100"])
    train, test = data["hasPart"]
    assert {"SHA-1", "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"} <= set(re.findall(r"[\w-]+", train["description"]))
    assert (test["name"], test.get("sha256")) == ("test.bin", None)


CITATION = """
title: Another
version: 9.9
license: Apache-2.0
repository-code: https://example.org/code
authors:
  - {family-names: Lovelace, given-names: Ada, orcid: "https://orcid.org/0000-0000-0000-0000"}
  - {name: A Society, website: "https://example.org"}
"""


def test_authors_licence_and_address_come_from_the_citation_file(plan: Plan) -> None:
    contents = gather(plan, CHECKOUT)
    contents.files["CITATION.cff"] = CITATION.encode()
    graph = {entity["@id"]: entity for entity in describe(plan.config, contents, None)["@graph"]}
    workflow = graph["Snakefile"]
    assert (workflow["url"], str(workflow["version"])) == ("https://example.org/code", "9.9")
    assert graph["./"]["license"] == {"@id": "https://spdx.org/licenses/Apache-2.0"}
    person, society = (graph[ref["@id"]] for ref in workflow["creator"])
    assert (person["@type"], person["name"]) == ("Person", "Ada Lovelace")
    assert (society["@type"], society["url"]) == ("Organization", "https://example.org")
    assert "commit" not in workflow["description"]


def test_changes_that_were_not_committed_are_told(plan: Plan) -> None:
    dirty = {"id": "a" * 40, "clean": False}
    contents = gather(plan, CHECKOUT)
    contents.audit["provenance"]["commit"] = dirty
    graph = {entity["@id"]: entity for entity in describe(plan.config, contents, dirty)["@graph"]}
    clean = describe(plan.config, gather(plan, CHECKOUT), dirty | {"clean": True})["@graph"]
    of_clean = {entity["@id"]: entity for entity in clean}
    for entity in ("Snakefile", "#run"):
        assert "a" * 40 in graph[entity]["description"]
    assert graph["Snakefile"]["description"] != of_clean["Snakefile"]["description"]


def test_the_same_run_gives_the_same_bytes(plan: Plan, tmp_path: Path) -> None:
    write_crate(plan, tmp_path / "one.zip")
    write_crate(plan, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_the_unpacked_crate_can_plan_its_run_again(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    arguments = ("--cores", "1", "--dry-run", "--config", "scale=smoke")
    run = forked.snakemake(*arguments, cwd=tmp_path, environment={"PYTHONPATH": str(tmp_path / "src")})
    assert run.returncode == 0, run.stderr[-2000:]
    assert "profiles/default" in run.stderr
    assert "rule whiten" in run.stdout + run.stderr


def test_the_command_packs(plan: Plan, tmp_path: Path) -> None:
    paths = [f"paths.{key}={getattr(plan.config.paths, key)}" for key in ("results", "figures")]
    run = in_process("crate", "mine.zip", "scale=smoke", *paths, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert zipfile.ZipFile(tmp_path / "mine.zip").testzip() is None


def record_drawings(plan: Plan) -> None:
    """Write the digests of the drawings into the audit."""
    layout = Layout(plan.config.paths)
    (paper,) = read_json(layout.figures / "audit.json")["papers"]
    for figure in paper["figures"]:
        figure["drawings"] = {suffix: sha256_of(layout.figure(figure["id"], suffix)) for suffix in FORMATS}
    change_audit(plan, papers=[paper])


def test_drawings_that_are_what_the_audit_names_are_packed(plan: Plan) -> None:
    record_drawings(plan)
    gather(plan, CHECKOUT)


def lose_a_drawing(plan: Plan) -> None:
    Layout(plan.config.paths).figure("demystifying_resnet/fig04", "pdf").unlink()


def change_a_table(plan: Plan) -> None:
    with Layout(plan.config.paths).figure("demystifying_resnet/fig07", "csv").open("a") as table:
        table.write("\n")


def change_a_drawing(plan: Plan) -> None:
    """One whose digest the audit has."""
    record_drawings(plan)
    with Layout(plan.config.paths).figure("demystifying_resnet/fig07", "svg").open("a") as drawing:
        drawing.write("\n")


def lose_the_page(plan: Plan) -> None:
    (Layout(plan.config.paths).figures / "audit.html").unlink()


def lose_an_ensemble(plan: Plan) -> None:
    job = min(plan.jobs_of("train").values(), key=lambda job: job.id)
    shutil.rmtree(job.folder(Path(plan.config.paths.results)))


def lose_all_results(plan: Plan) -> None:
    for folder in Path(plan.config.paths.results).iterdir():
        shutil.rmtree(folder)


def lose_two_results(plan: Plan) -> None:
    for job in sorted(plan.jobs_of("train").values(), key=lambda job: job.id)[:2]:
        (job.folder(Path(plan.config.paths.results)) / next(iter(job.files))).unlink()


def lose_provenance(plan: Plan) -> None:
    (job,) = plan.jobs_of("whiten").values()
    (job.folder(Path(plan.config.paths.results)) / "provenance.json").unlink()


def damage_a_result(plan: Plan) -> None:
    job = first_of(plan, "train")
    (job.folder(Path(plan.config.paths.results)) / next(iter(job.files))).write_bytes(b"other")


def half_an_audit(plan: Plan) -> None:
    audit = Layout(plan.config.paths).figures / "audit.json"
    audit.write_text(audit.read_text(encoding="utf-8")[:500], encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "kind", "mentioned"),
    [
        (lose_a_drawing, ResultsError, "fig04.pdf"),
        (lose_the_page, ResultsError, "audit.html"),
        (lose_provenance, ResultsError, "provenance.json"),
        (damage_a_result, ResultsError, "trajectory.npz"),
        (lose_an_ensemble, ResultsError, "train/"),
        (lose_all_results, ResultsError, " -R hessians train whiten)"),
        (lose_two_results, ResultsError, " --force "),
        (change_a_table, TableError, "fig07.csv"),
        (change_a_drawing, TableError, "fig07.svg"),
        (half_an_audit, None, "audit.json"),
        (lambda plan: change_audit(plan, version=2), None, "version"),
        (lambda plan: change_audit(plan, scale="paper"), ConfigError, "the scale"),
    ],
)
def test_a_run_that_is_not_whole_is_not_packed(
    spoil: Callable[[Plan], None], kind: type[ResauditError] | None, mentioned: str, plan: Plan, tmp_path: Path
) -> None:
    (tmp_path / "out.zip").write_bytes(b"an older crate")
    spoil(plan)
    with pytest.raises(ResauditError) as error:
        write_crate(plan, tmp_path / "out.zip")
    assert isinstance(error.value, kind or ResauditError)
    assert mentioned in str(error.value)
    assert "\n" not in str(error.value)
    assert (tmp_path / "out.zip").read_bytes() == b"an older crate"
    assert {path.name for path in tmp_path.iterdir()} == {"out.zip", "results", "figures"}


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("seed=7", "the seed of demystifying_resnet/fig04"),
        ("figure.demystifying_resnet.fig04.scale=laptop", "the scale of demystifying_resnet/fig04"),
        ("figure.demystifying_resnet.fig04.protocol.depths=[2,4,6]", "the depths of demystifying_resnet/fig04"),
        (
            "claims.demystifying_resnet.plain-condition-explodes.needs.runs=9",
            "the SHA-256 of demystifying_resnet's claims",
        ),
    ],
)
def test_a_run_of_other_settings_is_not_packed(setting: str, what: str, tmp_path: Path) -> None:
    """Of another paper of the same name, whose run was here before, it is one too."""
    with refused(ConfigError, what):
        write_crate(plan_in(tmp_path, setting), tmp_path / "out.zip")
