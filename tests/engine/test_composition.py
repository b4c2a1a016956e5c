"""Oracle: what the YAML files say, and what must be refused. Sees lost overrides, wrong precedence, lax types."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from resaudit.base.errors import ConfigError, ResauditError, figures_named
from resaudit.base.models import validated
from resaudit.cli.workflow import overrides_from
from resaudit.plan.composition import (
    check_under_variants,
    claims_as_written,
    config_folder,
    datasets,
    files_of_figures,
    load,
)
from resaudit.plan.figure import Figure, Paper
from resaudit.plan.overrides import Files, parsed
from resaudit.plan.plan import make_plan
from resaudit.plan.plans import Plans
from resaudit.plan.words import deviations, settings_in_words, settings_of, value_of
from tests.conftest import CHECKOUT
from tests.refusals import refused

FIG04 = "figure.demystifying_resnet.fig04"
FIG08 = "figure.demystifying_resnet.fig08"


def composed(figure: str, *overrides: str) -> Figure:
    name = f"demystifying_resnet/{figure}"
    return load(overrides, only=[name]).figure[name]


def protocol(figure: str, *overrides: str) -> Any:
    return composed(figure, *overrides).protocol


def test_paper_scale_is_the_protocol_of_the_issue() -> None:
    rates = protocol("fig07", "scale=paper").learning_rates
    assert len(rates) == 23
    assert rates[0] == 1e-4
    assert rates[-1] == pytest.approx(10**1.5, rel=1e-11)
    assert protocol("fig04", "scale=paper").depths == [2, 4, 8, 16, 32, 64, 96]
    assert protocol("fig04", "scale=paper").runs_of("xavier", 96) == 10
    assert protocol("fig05", "scale=paper") == protocol("fig06", "scale=paper")
    assert protocol("fig05", "scale=paper").hessian_epochs is None
    fig08 = protocol("fig08", "scale=paper")
    assert (fig08.depths, fig08.runs, fig08.epochs) == ([4, 8, 16, 32, 64], 10, 1000)
    assert fig08.learning_rates == rates


@pytest.mark.parametrize("figure", ["fig03", "fig05", "fig06", "fig07"])
def test_laptop_scale_keeps_epochs_and_learning_rates(figure: str) -> None:
    laptop, paper = protocol(figure), protocol(figure, "scale=paper")
    assert (laptop.epochs, laptop.learning_rates) == (paper.epochs, paper.learning_rates)


def test_what_the_user_sets_goes_before_the_scale() -> None:
    smoke = protocol("fig04", "scale=smoke", f"{FIG04}.protocol.depths=[8]")
    assert smoke.depths == [8]
    assert smoke.runs == protocol("fig04", "scale=smoke").runs


def test_every_assumption_names_a_setting_that_exists_and_every_variant_changes_a_figure() -> None:
    plans = Plans.composed(["scale=paper"])  # where no variant has reductions of its own
    base = plans.base
    for part in base.figures.values():
        for assumption in part.figure.assumptions.values():
            assert value_of(assumption, part.figure) not in ("", "None")
    for name, variant in base.config.variants().items():
        assert variant.overrides
        varied = plans.under(name).figures
        assert any(part.figure != base.figures[figure].figure for figure, part in varied.items()), name


def test_a_variant_is_what_its_overrides_say_whatever_else_is_set() -> None:
    both = composed("fig04", "dataset=fashion_mnist", "variant=not-centred", f"{FIG04}.protocol.runs=4")
    assert both.dataset is not None
    assert both.dataset.name == "fashion_mnist"
    assert both.whitening is not None
    assert not both.whitening.centered
    assert both.protocol.runs == 4
    told = composed("fig04", "whitening.centered=true", "variant=not-centred").whitening
    assert told is not None
    assert not told.centered


def test_a_rung_has_four_times_the_fresh_runs_and_the_whole_blocks_of_the_one_before() -> None:
    asked = "figures=[demystifying_resnet/fig07,demystifying_resnet/fig08]"
    plain, *rungs = (make_plan(load([asked, *rung])).figures for rung in ([], ["rung=1"], ["rung=2"], ["rung=3"]))
    for figure, confirmed in (("fig07", [150, 600, 2400]), ("fig08", [5, 20, 80])):
        name = f"demystifying_resnet/{figure}"
        protocols = [rung[name].figure.protocol for rung in rungs]
        assert [each.per_network[0].confirm.runs for each in protocols] == confirmed
        assert {each.runs for each in protocols} == {protocols[0].runs}
        jobs = [{job.key for job in rung[name].jobs.values()} for rung in (plain, *rungs)]
        assert jobs[0] == jobs[1]
        assert figure == "fig08" or jobs[1] < jobs[2] < jobs[3]  # five runs are no block of fifty


def test_the_control_is_reduced_as_the_variants_are_and_nothing_else() -> None:
    control, configured = load(["variant=control"]), load()
    for name, figure in configured.figure.items():
        other = control.figure[name]
        reduced = figure.variant_scales.get("laptop", {})
        assert other.model_copy(update={"protocol": figure.protocol}) == figure
        changed = {key for key, value in figure.protocol if getattr(other.protocol, key) != value}
        assert changed <= set(reduced)
        assert bool(changed) == bool(reduced)


def test_the_other_seed_is_the_control_with_the_next_seed() -> None:
    control, other = load(["variant=control"]), load(["variant=other-seed"])
    for name, figure in control.figure.items():
        assert other.figure[name] == figure.model_copy(update={"seed": figure.seed + 1})
    assert composed("fig04", "seed=7", "variant=other-seed").seed == 8
    assert composed("fig07", "fig07.seed=7", "variant=other-seed").seed == 8


def test_an_id_that_no_audit_could_hold_is_refused_with_its_file(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "config", tmp_path / "config")
    paper = tmp_path / "config" / "paper" / "demystifying_resnet"
    for file, id_ in (("claims.yaml", "final-loss-better"), ("_images.yaml", "statistics-64")):
        text = (paper / file).read_text(encoding="utf-8")
        (paper / file).write_text(text.replace(f"{id_}:", f"{id_}-0.5:"), encoding="utf-8")
        with refused(ConfigError, f"{id_}-0.5"):
            load(folder=tmp_path / "config")
        (paper / file).write_text(text, encoding="utf-8")


def test_a_figures_short_name_and_protocol_stand_for_the_full_keys() -> None:
    fig07 = "figure.demystifying_resnet.fig07"
    full = f"{fig07}.protocol.runs=4", f"{fig07}.seed=7"
    assert composed("fig07", "fig07.runs=4", "fig07.seed=7") == composed("fig07", *full)
    assert composed("fig07", f"{fig07}.runs=4") == composed("fig07", full[0])
    with refused(ConfigError, "fig04.runs=4"):
        composed("fig04", "fig04.runs=4")
    asked = load(
        [
            "protocol.hessian_epochs=7",
            "protocol.runs=2",
            "figures=[demystifying_resnet/fig03,demystifying_resnet/fig05]",
        ]
    ).figure
    paper = "demystifying_resnet/"
    values = {name.removeprefix(paper): figure.protocol for name, figure in asked.items() if name.startswith(paper)}
    assert [getattr(values[name], "hessian_epochs", None) for name in ("fig03", "fig05", "fig06")] == [None, 7, 60]
    assert [values[name].runs for name in ("fig03", "fig05", "fig07")] == [2, 2, 10]


def test_a_grid_of_rates_is_a_list_of_them() -> None:
    grid = protocol("fig07", "fig07.learning_rates={from: 1e-3, to: 0.0316, per_decade: 2}").learning_rates
    assert grid == [0.001, 0.00316227766017, 0.01, 0.0316227766017]
    assert protocol("fig07", "fig07.learning_rates.per_decade=1", "fig07.learning_rates.to=10").learning_rates == [
        0.0001, 0.001, 0.01, 0.1, 1.0, 10.0
    ]  # fmt: skip
    assert protocol("fig08", "scale=paper").learning_rates_of("xavier-relu")[-1] == 31.6227766017


def test_yaml_scales_set_known_keys_only() -> None:
    for figure in load().figure.values():
        assert {"laptop", "smoke"} | ({"gpu_hour"} if figure.protocol.needs_gpu else set()) >= set(figure.scales)
        assert "smoke" in figure.scales or not figure.scales  # what costs nothing has one scale
        assert all(set(changes) <= set(type(figure.protocol).model_fields) for changes in figure.scales.values())


def test_sections_that_only_the_chosen_data_set_has_can_be_set() -> None:
    dataset = composed("fig07", "dataset.debian.package=other", "dataset=fashion_mnist").dataset
    assert dataset is not None
    assert dataset.debian is not None
    assert dataset.debian.package == "other"


def test_a_figure_may_have_data_and_a_seed_of_its_own() -> None:
    given = ["seed=3", "dataset=mnist", f"{FIG04}.seed=7", f"{FIG04}.dataset=fashion_mnist", "whitening.centered=false"]
    own, other = composed("fig04", *given), composed("fig07", *given)
    assert [each.dataset.name for each in (own, other) if each.dataset] == ["fashion_mnist", "mnist"]
    assert [each.seed for each in (own, other)] == [7, 3]
    assert own.whitening == other.whitening


def test_a_setting_of_all_figures_leaves_out_those_that_it_is_not_of(tmp_path: Path) -> None:
    """Another data set has other sources, and only the folder is one for all."""
    of_own_data, without_data = "demystifying_resnet/fig09", "shortcut_importance/fig04"
    names = [of_own_data, without_data, "demystifying_resnet/fig07"]
    given = ["dataset.sources=[folder]", f"dataset.folder={tmp_path}", "whitening.centered=false"]
    before, after = load(["seed=7"], only=names).figure, load(["seed=7", *given], only=names).figure
    assert {figure.seed for figure in after.values()} == {7}
    assert after[without_data] == before[without_data]
    data = before[of_own_data].dataset
    assert data is not None
    assert data.sources != ["folder"]
    changed = data.model_copy(update={"folder": str(tmp_path)})
    assert after[of_own_data] == before[of_own_data].model_copy(update={"dataset": changed})
    other = after[names[-1]]
    assert other.dataset is not None
    assert other.whitening is not None
    assert (other.dataset.sources, other.dataset.folder) == (["folder"], str(tmp_path))
    assert not other.whitening.centered


def test_a_network_that_one_of_a_claims_scales_has_can_be_named() -> None:
    load(["claims.demystifying_resnet.shortcut-2-unique.needs.scales=[laptop,paper]"])


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("name: train-images-idx3-ubyte", "name: ../../x", "dataset.files.train_images.name"),
        ("name: t10k-labels-idx1-ubyte", "name: /etc/x", "dataset.files.test_labels.name"),
        ("sha256: ba89", "sha256: BA89", "dataset.files.train_images.sha256"),
        ("name: mnist\n", "name: ../mnist\n", "dataset.name"),
    ],
)
def test_a_ledger_of_data_leads_out_of_no_folder(right: str, wrong: str, place: str, tmp_path: Path) -> None:
    """A data set of one's own is a file in config/dataset, maybe from somebody else."""
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    ledger = folder / "dataset" / "mnist.yaml"
    text = ledger.read_text(encoding="utf-8")
    assert text.count(right) == 1
    ledger.write_text(text.replace(right, wrong), encoding="utf-8")
    with refused(ConfigError, place):
        load(folder=folder, only=["demystifying_resnet/fig07"])


@pytest.mark.parametrize(
    ("right", "wrong", "kind", "said"),
    [
        ("title: Final losses", "titel: Final losses", ConfigError, "'titel'"),
        ("  runs: 10", "  runs: ten", ConfigError, "fig07.yaml: protocol.runs is 'ten'"),
        ("  - _best_rates", "  - _best_rate", ConfigError, "mean _best_rates?"),
        ("protocol:", "protocol: [", ConfigError, "line "),
    ],
)
def test_what_is_wrong_in_a_figures_file_names_it(
    right: str, wrong: str, kind: type[ResauditError], said: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    file = folder / "paper" / "demystifying_resnet" / "fig07.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(right, wrong, 1), encoding="utf-8")
    with refused(kind) as caught:
        load(folder=folder)
    assert str(caught.value).startswith("config/paper/demystifying_resnet/fig07.yaml: ")
    assert said in str(caught.value)
    assert "provider" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "wrong", "line"),
    [
        ("paper/demystifying_resnet/_trained.yaml", "a:\n  b: 1\n   c: 2\n", 3),
        ("paper/demystifying_resnet/_mnist.yaml", "a: 1\na: 2\n", 2),
        ("paper/demystifying_resnet/paper.yaml", "a: [1\nb: 2\n", 2),
        ("dataset/mnist.yaml", "a: 'b\n", 2),
    ],
)
def test_of_shared_files_the_wrong_one_is_named_with_its_line(name: str, wrong: str, line: int, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    (folder / name).write_text(wrong, encoding="utf-8")
    with refused(ConfigError, f"line {line}") as caught:
        load(folder=folder)
    assert f"{name}: " in str(caught.value)


def test_figures_are_found_by_short_and_full_name() -> None:
    given = "figures=fig07,shortcut_importance/fig04"
    assert list(load([given]).chosen_figures()) == ["demystifying_resnet/fig07", "shortcut_importance/fig04"]
    assert list(load(["figures=[fig11]"]).chosen_figures()) == ["demystifying_resnet/fig11"]
    assert list(load(["figures=[demystifying_resnet/fig07]"]).chosen_figures()) == ["demystifying_resnet/fig07"]


def test_papers_named_alone_are_audited_alone_also_twice() -> None:
    one, other = "stable_scaling", "shortcut_importance"
    assert load([f"figures=[{one},{one}]"]).audited_papers() == [one]
    assert set(load([f"figures=[{one},{other},{one}]"]).audited_papers()) == {one, other}
    assert len(load([f"figures=[{one},fig07]"]).audited_papers()) > 2


def test_a_paper_and_another_papers_figure_of_one_name_are_told_apart() -> None:
    known = ["map/fig01", "map/map", "other/fig02"]
    assert figures_named("map", known) == ["map/fig01", "map/map"]
    assert figures_named("map/map", known) == ["map/map"]
    with refused(ConfigError, ["map/fig01", "other/map"]):
        figures_named("map", ["map/fig01", "other/map"])


def test_one_figure_alone_is_what_it_is_among_all() -> None:
    """What a job composes; what is said of other figures and of claims does not concern it."""
    name = "demystifying_resnet/fig05"
    given = [
        "scale=smoke", "figures=[demystifying_resnet/fig04]", "seed=3",
        "figure.demystifying_resnet.fig05.protocol.runs=4",
        f"{FIG04}.protocol.runs=3", "claims.demystifying_resnet.depth-invariant-condition.needs.runs=2",
    ]  # fmt: skip
    for variant in ([], ["variant=tenth-of-best-rate"], ["variant=fashion-mnist"]):
        alone, among = load([*given, *variant], only=[name]), load([*given, *variant])
        assert list(alone.chosen_figures()) == [name]
        assert alone.figure[name] == among.figure[name]
        for section in ("scale", "variant", "paths", "device"):
            assert getattr(alone, section) == getattr(among, section)


@pytest.mark.parametrize(
    ("listed", "fact", "value"),
    [
        ("[paper, _wrld]", "which is no other file of its folder", "'_wrld'"),
        ("[../stable_scaling/paper]", "which is no other file of its folder", "'../stable_scaling/paper'"),
        ("[{dataset: mnist}]", "which is no other file of its folder", "{'dataset': 'mnist'}"),
        ("[fig04]", "which is no other file of its folder", "'fig04'"),
        ("paper", "allowed: a list", "'paper'"),
    ],
)
def test_files_that_cannot_be_listed_as_defaults_are_refused(
    listed: str, fact: str, value: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    file = folder / "paper" / "shortcut_importance" / "fig04.yaml"
    file.write_text(f"defaults: {listed}\n", encoding="utf-8")
    with refused(ConfigError, fact, "fig04", value) as caught:
        load(folder=folder, only=["shortcut_importance/fig04"])
    assert caught.value.file == Path("config/paper/shortcut_importance/fig04.yaml")


def test_a_file_goes_over_those_it_lists_where_it_says_so(tmp_path: Path) -> None:
    """The rules of Hydra's defaults lists: ``_self_`` has its place in the list, else the file comes last."""
    texts = {"base": "a: {x: 1, y: [1, 2]}\nb: base", "over": "defaults: [base]\na: {y: [3]}\nb:"}
    texts["under"] = "defaults: [_self_, base]\na: {y: [3], z: 4}\nb:"
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    files = Files(tmp_path)
    assert files.figure(tmp_path / "over.yaml") == {"a": {"x": 1, "y": [3]}, "b": None}
    assert files.figure(tmp_path / "under.yaml") == {"a": {"x": 1, "y": [1, 2], "z": 4}, "b": "base"}


@pytest.mark.parametrize(
    ("text", "fact"),
    [("experiment: [", "(line "), ("defaults: [_nowhere]", "which is no other file of its folder")],
    ids=["no-yaml", "no-base"],
)
def test_a_file_that_cannot_be_composed_is_named_among_all(text: str, fact: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    (folder / "paper" / "shortcut_importance" / "fig04.yaml").write_text(text, encoding="utf-8")
    with refused(ConfigError, fact) as caught:
        load(folder=folder)
    assert str(caught.value).startswith("config/paper/shortcut_importance/fig04.yaml: ")


@pytest.mark.parametrize(
    ("where", "link", "cited"),
    [
        ('arxiv: "1412.6980v9"', "https://arxiv.org/abs/1412.6980v9", "arXiv:1412.6980v9"),
        ("url: https://doi.org/10.1/x", "https://doi.org/10.1/x", "https://doi.org/10.1/x"),
    ],
)
def test_a_paper_is_on_arxiv_or_at_an_address(where: str, link: str, cited: str) -> None:
    paper = validated(Paper, yaml.safe_load(f"{{title: Of a paper, short: Somebody, {where}}}"), "paper")
    assert (paper.link, paper.cited) == (link, cited)


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("url: doi.org/10.1/x", "paper.url"),
        ('arxiv: "1412.6980v9", url: https://doi.org/10.1/x', "paper"),
        ("thresholds: none", "paper"),
    ],
)
def test_a_paper_is_not_in_two_places_or_nowhere(where: str, place: str) -> None:
    with refused(ConfigError, place):
        validated(Paper, yaml.safe_load(f"{{title: Of a paper, short: Somebody, {where}}}"), "paper")


def measured_runs(networks: Any, network: str, depth: int) -> int:
    """The fresh runs, or those of the sweep if there are none."""
    confirmation = networks.confirmation_of(network) if hasattr(networks, "confirmation_of") else None
    return confirmation.runs if confirmation else networks.runs_of(network, depth)


def test_laptop_runs_fewer_seeds_only_where_it_says() -> None:
    assert [protocol("fig04_deep").runs_of("orthogonal", depth) for depth in (256, 1000)] == [10, 3]
    fig08 = protocol("fig08")
    assert [fig08.runs_of(f"{name}-relu", 64) for name in ("2-shortcut", "orthogonal", "xavier")] == [3, 6, 3]
    assert [measured_runs(fig08, f"{name}-relu", 64) for name in ("2-shortcut", "orthogonal", "xavier")] == [5, 6, 3]


def test_settings_of_a_network_that_is_not_drawn_are_ignored() -> None:
    fig03 = "figure.demystifying_resnet.fig03.protocol.networks=[2-shortcut]"
    assert {name for name, _ in protocol("fig03", fig03).places()} == {"2-shortcut"}
    other = protocol("fig08", f"{FIG08}.protocol.per_network=[{{network:2-shortcut,runs:1}}]")
    assert {other.runs_of(name, depth) for name, depth in other.places()} == {3}


def test_setting_one_figure_leaves_the_others_to_the_scale() -> None:
    config = load(["scale=smoke", f"{FIG04}.protocol.depths=[8]"])
    depths = [
        getattr(config.figure[f"demystifying_resnet/{name}"].protocol, "depths", None) for name in ("fig04", "fig05")
    ]
    assert depths == [[8], [4]]


def test_a_figure_may_have_another_scale_than_the_run() -> None:
    mixed, laptop = load(["device=cpu", "fig07.scale=smoke", "fig02.scale=gpu_hour"]), load(["device=cpu"])
    smoke = load(["scale=smoke"]).figure["demystifying_resnet/fig07"]
    assert mixed.figure["demystifying_resnet/fig07"] == smoke
    assert mixed.figure["demystifying_resnet/fig04"] == laptop.figure["demystifying_resnet/fig04"]
    assert (
        mixed.scale_of("demystifying_resnet/fig07")
        == "smoke"
        != mixed.scale.name
        == mixed.scale_of("demystifying_resnet/fig04")
    )
    # Whether a figure is drawn without being named is its own scale's rule.
    assert set(laptop.left_out) - set(mixed.left_out) == {"demystifying_resnet/fig02"}


def test_a_variant_reduces_a_figure_as_its_own_scale_does() -> None:
    under = load(["fig07.scale=smoke", "variant=fashion-mnist"], only=["demystifying_resnet/fig07"])
    smoke = load(["scale=smoke", "variant=fashion-mnist"], only=["demystifying_resnet/fig07"])
    assert under.figure == smoke.figure


def test_what_the_user_sets_goes_before_what_the_scale_says_of_one_network() -> None:
    asked = protocol("fig08", f"{FIG08}.protocol.runs=10")
    assert [asked.runs_of(f"{name}-relu", 64) for name in ("2-shortcut", "xavier")] == [10, 10]
    right = "figure.demystifying_resnet.fig03.protocol"
    asked = protocol("fig03", f"{right}.depths=[8]", f"{right}.learning_rates=[0.1]")
    assert asked.depths_of("2-shortcut-relu") == [8]
    assert asked.learning_rates_of("2-shortcut-relu") == [0.1]
    assert asked.runs_of("2-shortcut-relu", 8) == 3
    fresh = protocol("fig03", f"{right}.confirm.runs=70")
    assert [measured_runs(fresh, name, 64) for name in ("2-shortcut", "2-shortcut-relu")] == [70, 70]
    assert fresh.runs_of("2-shortcut-relu", 64) == 3


def test_settings_of_one_network_are_said_as_a_deviation() -> None:
    said = deviations(composed("fig08"), composed("fig08", "scale=paper"))
    assert any("2-shortcut-relu: runs 3, confirm runs: 5" in part for part in said)


def test_another_grid_of_the_same_ends_and_count_is_a_deviation() -> None:
    """In words the two are the same: ``0.0001 … 10 (n values)``."""
    paper = composed("fig07", "scale=paper")
    rates = protocol("fig07", "scale=paper").learning_rates
    moved = [rates[0], 2 * rates[1], *rates[2:]]
    asked = f"figure.demystifying_resnet.fig07.protocol.learning_rates={moved}"
    assert deviations(paper, paper) == []
    (said,) = deviations(composed("fig07", "scale=paper", asked.replace(" ", "")), paper)
    assert said == f"learning rates {moved} (protocol: {rates})"


def test_data_read_otherwise_are_another_setting_and_a_deviation() -> None:
    name = "identity_matters/table2_cifar100"
    usual, otherwise = (
        load([f"table2_cifar100.dataset.cifar100_reader={reader}"], only=[name]).figure[name]
        for reader in ("fixed", "as-published")
    )
    assert settings_of(usual)["data"] == "CIFAR-100"
    assert settings_of(otherwise)["data"] == settings_in_words(otherwise)["data"] != "CIFAR-100"
    assert [len(deviations(a, b)) for a, b in ((usual, otherwise), (otherwise, usual), (usual, usual))] == [1, 1, 0]


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": [2, {"c": None, "d": 1e-5}], "e": False},
        {
            "text": "it's, so: {a}",
            "path": "/a b/c",
            "back": "\\",
            "empty": "",
            "one": "1",
            "word": "True",
            "none": "null",
        },
        ["fig04", "a,b", "inf", "${x}"],
    ],
)
def test_a_value_of_snakemakes_config_is_the_same_to_hydra(value: object) -> None:
    (override,) = overrides_from({"key": value})
    assert OverridesParser.create().parse_override(override).value() == value


def test_a_mapping_in_snakemakes_config_sets_what_it_names_and_leaves_the_rest() -> None:
    whitening = composed("fig07", *overrides_from({"whitening": {"centered": False}})).whitening
    assert whitening is not None
    assert (whitening.centered, whitening.components) == (False, 10)


def test_every_claim_can_be_met_by_its_figure_at_every_scale_that_it_accepts() -> None:
    """Networks, depths and runs: else a claim would stay inconclusive whatever happened."""
    for variant in (None, "control"):
        for scale in ("laptop", "paper"):
            config = load([f"scale={scale}", *([f"variant={variant}"] if variant else [])])
            for name, claim in config.claims_of("demystifying_resnet").items():
                figure = config.figure.get(f"demystifying_resnet/{claim.evidence}")
                if figure is None or not hasattr(figure.protocol, "runs_of") or scale not in claim.needs.scales:
                    continue
                for network in {n for check in claim.checks.values() for n in check.named}:
                    depths, wanted = figure.protocol.depths_of(network), set(claim.needs.depths)
                    assert network in figure.protocol.networks, name
                    assert wanted <= set(depths) or variant, f"{name}: {network} at {wanted - set(depths)}, {scale}"
                    assert (
                        min(measured_runs(figure.protocol, network, d) for d in depths) >= claim.needs.runs or variant
                    ), name


@pytest.mark.parametrize("name", [".#fig04.yaml", "._fig04.yaml", ".fig04.yaml"])
@pytest.mark.parametrize("part", ["paper/shortcut_importance", "dataset", "scale", "paper/.trash"])
def test_hidden_files_are_no_configuration(name: str, part: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    (folder / part).mkdir(exist_ok=True)
    (folder / part / "claims.yaml").write_text("{", encoding="utf-8") if "." in part else None
    (folder / part / name).symlink_to("nowhere") if "#" in name else (folder / part / name).write_bytes(b"\0")
    assert files_of_figures(folder).keys() == files_of_figures(config_folder()).keys()
    assert datasets(folder).keys() == datasets(config_folder()).keys()
    load(folder=folder, only=["shortcut_importance/fig04"])


ODD = [
    "ü",
    "a b",
    "~x",
    "a~b",
    "a=b",
    "a#b",
    "#a",
    "a'b",
    'a"b',
    "a;b",
    "(a)",
    "a[b]",
    "a\\",
    "*",
    "007",
    "true",
    "1e3",
    "-a",
]


@pytest.mark.parametrize("name", ODD)
def test_folder_may_have_any_name(name: str) -> None:
    wanted = f"{name}/x" if name not in ("007", "true", "1e3") else name
    for given in ([f"paths.results={wanted}"], overrides_from({"paths": {"results": wanted}})):
        assert load(given, only=[]).paths.results == wanted
    (override,) = parsed([f"{FIG04}.dataset.folder={wanted}"])
    assert override.value == wanted


def test_folder_with_a_comma_is_said_to_need_another_form() -> None:
    given = overrides_from({"overrides": "[paths.results=a,b/r]"})
    with refused(ConfigError, "does not parse") as caught:
        load(given, only=[])
    assert "paths={results: 'a,b'}" in str(caught.value)
    assert load(overrides_from({"paths": {"results": "a,b"}}), only=[]).paths.results == "a,b"


NO_MAPPINGS = [
    "",
    "# nothing\n",
    "null",
    "text",
    "'a: b'",
    "5",
    "true",
    "2026-01-01",
    "${a}",
    "[]",
    "- a: b",
    "!!set {a, b}",
]


@pytest.mark.parametrize("text", NO_MAPPINGS)
@pytest.mark.parametrize(
    "file", ["config.yaml", "scale/laptop.yaml", "dataset/mnist.yaml",
             *(f"paper/shortcut_importance/{name}.yaml" for name in ("fig04", "paper", "claims"))],
)  # fmt: skip
def test_file_of_configuration_that_is_no_mapping_is_refused(text: str, file: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    (folder / file).write_text(text, encoding="utf-8")
    with refused(ConfigError, folder / file):
        claims_as_written(folder / file) if "claims" in file else load(
            folder=folder, only=["shortcut_importance/fig04"]
        )


@pytest.mark.parametrize("value", ["5", "text", "null", "[]", "[{a: 1}]"])
@pytest.mark.parametrize(
    "key", ["protocol", "scales", "scales.smoke", "variant_scales", "variant_scales.smoke", "assumptions"]
)
def test_section_of_a_figure_that_is_none_is_refused(key: str, value: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    section, _, scale = key.partition(".")
    in_file = section == "variant_scales"
    with (folder / "paper" / "shortcut_importance" / "fig04.yaml").open("a", encoding="utf-8") as file:
        file.write(f"{section}: {f'{{{scale}: {value}}}' if scale else value}\n" if in_file else "")
    given = [] if in_file else [f"figure.shortcut_importance.fig04.{key}={value}"]
    asked = [*given, "scale=smoke", "variant=control"]
    with refused(ConfigError, key) as caught:
        load(asked, folder, only=["shortcut_importance/fig04"])
    assert f"{key} " in str(caught.value)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("protocol.zero_scale=small", "protocol.zero_scale"),
        ("protocol.zero=0", "unknown key"),
        ("zero", "does not parse"),
    ],
)
def test_a_variant_that_gives_no_figure_is_refused_when_planning(override: str, said: str, tmp_path: Path) -> None:
    """Sees a bad value that only robustness would meet, hours later."""
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    file = folder / "paper" / "demystifying_resnet" / "fig04.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("overrides: [protocol.zero_scale=0]", f"overrides: [{override}]"), encoding="utf-8")
    config = load(["figures=[demystifying_resnet/fig04]"], folder)
    with refused(ConfigError, "exactly-zero") as caught:
        check_under_variants(config, Files(folder))
    assert said in str(caught.value)
    assert "fig04" in str(caught.value)
    check_under_variants(load(["figures=[demystifying_resnet/fig07]"], folder), Files(folder))


COPIES = [
    "theorem1.sync-conflict-20260101-120000-ABCDEFG", "theorem1 (Ada's conflicted copy 2026-01-01)", "theorem1 (1)",
    "theorem1_conf(1)", "claims.sync-conflict-20260101-120000-ABCDEFG", "theorem1 - Kopie", "fig.1", "a{b}", "f" * 101,
]  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_a_file_whose_name_no_figure_can_have_is_refused_by_name(name: str, tmp_path: Path) -> None:
    """As a copy by a program that keeps folders in step: also in runs of other figures, which ended in a traceback."""
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config"))
    copy = folder / "paper" / "demystifying_resnet" / f"{name}.yaml"
    shutil.copy(copy.with_name("theorem1.yaml"), copy)
    with refused(ConfigError, copy):
        load(["figures=[theorem2]"], folder)
