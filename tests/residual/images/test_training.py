"""Oracle: records made by hand, and the plan.

Sees trainings that are not shared, errors read otherwise than said, figures that run without being asked for, and
drawings that a journal would not print.
"""

import re
import warnings
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from resaudit.audit.build import drawn_figures, judgements_of, not_drawn
from resaudit.base.errors import ResauditError
from resaudit.cli.workflow import JobsOfRules
from resaudit.figures.drawing import figure_module, plot_of
from resaudit.plan.composition import load
from resaudit.plan.estimates import duration, left_out_in_words, time_in_words
from resaudit.plan.models import Config
from resaudit.plan.plan import FigurePlan, execution_of, make_plan, plan_figure
from resaudit.plan.words import deviations
from residual.images.experiments import Reading, reported
from residual.images.jobs import TrainImages
from residual.images.schedule import Records
from residual.images.setting import PostActivation, PreActivation
from tests.conftest import configured
from tests.residual import test_print as print_rules
from tests.residual.images.made_records import made, write

ON_CPU = "device=cpu"
NAMES = [
    "demystifying_resnet/fig02",
    "demystifying_resnet/fig09",
    "identity_matters/ablations",
    "identity_matters/fig01",
    "identity_matters/fig01_cifar100",
    "identity_matters/table2",
    "identity_matters/table2_cifar100",
    "stable_scaling/fig06",
    "stable_scaling/fig_bn",
    "stable_scaling/table3",
]
"""The figures that need a GPU, in the order of the configuration."""


def planned(name: str, *overrides: str) -> FigurePlan:
    config = load([ON_CPU, *overrides], only=[name])
    return plan_figure(config.figure[name], "data")


def trainings(name: str, *overrides: str) -> list[TrainImages]:
    return [job for job in planned(name, *overrides).jobs.values() if isinstance(job, TrainImages)]


def test_runs_are_split_into_jobs_and_every_place_is_trained() -> None:
    jobs = trainings("demystifying_resnet/fig09", "scale=paper", "fig09.runs=7", "fig09.runs_per_job=3")
    assert {job.runs for job in jobs} == {(0, 1, 2), (3, 4, 5), (6,)}
    assert len({job.id for job in jobs}) == len(jobs) == 4 * 6 * 3
    assert {(job.network.shortcut_depth, job.network.depth) for job in jobs if isinstance(job.network, PreActivation)} \
        == {(k, depth) for k in (1, 2, 3, 4) for depth in (38, 74, 110, 182, 290, 434)}  # fmt: skip


def test_how_runs_are_split_into_jobs_is_no_deviation() -> None:
    split, fewer, whole = (
        planned("demystifying_resnet/fig02", "scale=paper", f"fig02.{change}").figure
        for change in ("runs_per_job=1", "runs=2", "runs_per_job=5")
    )
    assert deviations(split, whole) == []
    assert deviations(fewer, whole) == ["runs 2 (protocol: 5)"]


@pytest.mark.parametrize("name", NAMES)
def test_at_scale_laptop_a_figure_trains_for_at_most_twenty_minutes_on_two_cores(name: str) -> None:
    execution = execution_of(load([ON_CPU], only=[name]))
    # As many jobs at once as there are cores, each on one.
    assert duration({job.key: (job.cost(execution), ()) for job in trainings(name)}, cores=2) < 20 * 60


def test_the_papers_protocols_are_those_of_their_codes() -> None:
    fig02, fig06 = (trainings(name, "scale=paper")[0] for name in ("demystifying_resnet/fig02", "stable_scaling/fig06"))
    assert (fig02.recipe.length, fig02.recipe.milestones, fig02.recipe.nesterov) == (200, (81, 122), True)
    assert fig02.recipe.augmentation == "pad_last"
    assert isinstance(fig06.network, PostActivation)
    assert (fig06.network.power, fig06.network.batch_norm, fig06.network.learnable) == (0.25, False, False)
    table2 = trainings("identity_matters/table2", "scale=paper")[0]
    assert (table2.recipe.length, table2.recipe.unit, table2.recipe.decayed) == (50_000, "steps", "convolutions")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("identity_matters/fig01", "identity_matters/table2"),
        ("identity_matters/fig01", "identity_matters/ablations"),
        ("stable_scaling/fig06", "stable_scaling/table3"),
        ("stable_scaling/fig06", "stable_scaling/fig_bn"),
    ],
)
def test_figures_share_trainings(one: str, other: str) -> None:
    keys = [{job.key for job in trainings(name, "scale=paper")} for name in (one, other)]
    assert keys[0] & keys[1]


@pytest.mark.parametrize("reading", ["last", "best_of_halves"])
def test_a_reading_is_of_the_table_and_trains_nothing_again(reading: str) -> None:
    best, other = planned("identity_matters/table2"), planned("identity_matters/table2", f"table2.reading={reading}")
    assert best.evidence["jobs"] == other.evidence["jobs"]
    assert best.evidence != other.evidence


def records() -> Records:
    errors = np.array([[0.9, 0.3, 0.4], [0.9, 0.5, 0.2]])
    halves = np.stack([errors - 0.05, errors + 0.05], axis=2)
    unknown = np.array([np.nan, 1, 1])
    return Records(
        run=np.array([0, 1]), step=np.array([0, 391, 782]), epoch=np.array([0.0, 1, 2]),
        learning_rate=np.full(3, 0.1), train_loss=2 * errors * unknown, train_error=errors * unknown,
        test_loss=2 * errors, test_error=errors, test_error_halves=halves,
        norms=np.ones((2, 3, 2)) * [1.0, 3.0], weights=np.array(["a", "b"]),
    )  # fmt: skip


def test_errors_are_reported_as_the_reading_says() -> None:
    measured = records()
    assert reported(measured, "last").tolist() == measured.test_error.tolist()
    assert reported(measured, "best").tolist() == [[0.9, 0.3, 0.3], [0.9, 0.5, 0.2]]
    assert reported(measured, "best_of_halves") == pytest.approx(np.array([[0.85, 0.25, 0.25], [0.85, 0.45, 0.15]]))


@pytest.mark.parametrize("reading", get_args(Reading))
def test_a_diverged_run_counts_as_100_percent_whatever_it_had_reached(reading: Reading) -> None:
    whole, diverged = records(), records()
    diverged.test_loss[0, 2] = np.inf
    diverged.test_error[0, 2], diverged.test_error_halves[0, 2] = 1.0, 1.0
    expected = reported(whole, reading).copy()
    expected[0, 2] = 1.0
    assert reported(diverged, reading).tolist() == expected.tolist()


def test_the_table_has_a_row_for_each_run_and_evaluation_in_percent() -> None:
    part = planned("demystifying_resnet/fig02", "scale=smoke", "fig02.depths=[8]")
    ((where, _),) = part.jobs.items()
    table = part.figure.protocol._table(dict(where), records())  # type: ignore[attr-defined]
    assert table["run"].tolist() == [0, 0, 0, 1, 1, 1]
    assert table["epoch"].tolist() == [0, 1, 2] * 2
    assert table["error"].tolist() == pytest.approx([90, 30, 30, 90, 50, 20])
    assert set(table["mean_frobenius_norm"]) == {2.0}
    assert table["train_loss"].isna().sum() == 2


@pytest.mark.parametrize(
    ("override", "mentioned"),
    [
        ("demystifying_resnet.fig02.protocol.depths=[21]", ("depth 21", "20", "26")),
        ("demystifying_resnet.fig09.protocol.networks=[0-shortcut]", ("'0-shortcut'", "resnet")),
        ("stable_scaling.fig06.protocol.networks=['L^-2']", ("'L^-2'", "batch-norm")),
        ("stable_scaling.fig06.protocol.steps=10", ("epochs 4", "steps 10")),
        ("identity_matters.fig01.protocol.evaluations=null", ("steps", "evaluations")),
        ("identity_matters.fig01.protocol.networks=[other]", ("'published'", "'usual-init'", "'trained")),
        ("stable_scaling.fig06.protocol.reading=first", ("'last'", "'best'", "'best_of_halves'")),
        ("stable_scaling.fig06.protocol.learning_rates=[0]", ("learning_rates[0]",)),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_in_one_line(override: str, mentioned: tuple[str, ...]) -> None:
    name = "/".join(override.split(".")[:2])
    with pytest.raises(ResauditError) as refusal:
        load([f"figure.{override}"], only=[name])
    assert all(part in str(refusal.value) for part in mentioned)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "missing"), [("demystifying_resnet/fig02", "dataset"), ("demystifying_resnet/fig07", "whitening")]
)
def test_images_are_trained_on_as_they_are(name: str, missing: str) -> None:
    """Whitened data are for networks without convolutions."""
    without = load(only=[name]).figure[name].model_copy(update={missing: None})
    with pytest.raises(ResauditError, match=missing):
        plan_figure(without, "data")


def test_another_data_set_is_one_figures_alone_and_said_under_it() -> None:
    config = load([ON_CPU, "fig02.dataset=cifar10_jpeg", "dataset=fashion_mnist", "dataset.sources=[debian]"])
    chosen = {name: config.figure[name].dataset for name in ("demystifying_resnet/fig02", "demystifying_resnet/fig09")}
    assert [dataset.name for dataset in chosen.values() if dataset] == ["cifar10_jpeg", "cifar10"]


def test_an_assumption_about_cifars_reader_is_none_of_other_images() -> None:
    name = "identity_matters/fig01_cifar100"
    ours, other = (load([ON_CPU, *more], only=[name]).figure[name] for more in ([], ["fig01_cifar100.dataset=mnist"]))
    assert set(ours.assumptions) - set(other.assumptions) == {"reader"}
    assert "cifar100-as-published" not in other.variants


def drawn_without_naming(*overrides: str) -> list[str]:
    return list(load(list(overrides)).chosen_figures())


def test_figures_that_need_a_gpu_are_left_out_unless_named_or_there_is_one() -> None:
    config = load([ON_CPU])
    assert set(config.left_out) == set(NAMES)
    assert not set(NAMES) & set(config.chosen_figures())
    assert set(NAMES) <= set(drawn_without_naming("device=cuda"))
    assert not set(NAMES) & set(drawn_without_naming("device=cuda", "scale=smoke"))
    assert drawn_without_naming(ON_CPU, "scale=smoke", "figures=[fig02]") == ["demystifying_resnet/fig02"]
    assert drawn_without_naming(ON_CPU, "figures=[stable_scaling/fig06]") == ["stable_scaling/fig06"]
    assert set(drawn_without_naming(ON_CPU, "scale=gpu_hour")) == set(NAMES)


def test_what_is_left_out_is_said_with_its_reason_and_a_command() -> None:
    what, how = left_out([ON_CPU])
    assert named(what) == NAMES
    assert what.endswith(configured(ON_CPU).left_out[NAMES[0]])
    assert how.endswith(f"snakemake --cores all --config device=cpu 'figures=[{','.join(NAMES)}]'")
    assert time_in_words(load([ON_CPU]), NAMES) in how


def named(text: str) -> list[str]:
    """The figures that a text names."""
    return re.findall(r"\w+/\w+", text)


@pytest.mark.parametrize(
    ("scale", "device"), [("laptop", "cpu"), ("smoke", "cpu"), ("smoke", "cuda"), ("paper", "cpu")]
)
def test_beside_its_command_nothing_says_that_a_figure_needs_a_gpu(scale: str, device: str, tmp_path: Path) -> None:
    """The command draws it without one: what counts is how long that takes."""
    config = load([f"device={device}", f"scale={scale}", f"paths.figures={tmp_path}"])
    reasons = drawn_figures(make_plan(config), make_plan(config.with_every_figure()), "stable_scaling")[1]
    entry = not_drawn(config, "stable_scaling/table3", reasons["stable_scaling/table3"], ())
    assert config.left_out[entry.id] in entry.why
    assert entry.why.endswith(time_in_words(config, [entry.id]))
    assert (scale in entry.why, "GPU" in entry.why.split(scale)[-1]) == (True, device == "cuda")
    assert "need" not in entry.why


def test_what_a_chosen_name_leaves_out_is_said_too() -> None:
    assert not left_out([ON_CPU, "figures=[fig02]"])
    of_paper = left_out([ON_CPU, "figures=[stable_scaling,fig02]"])[0]
    assert named(of_paper) == [f"stable_scaling/{figure}" for figure in ("fig06", "fig_bn", "table3")]


def left_out(overrides: list[str]) -> list[str]:
    return list(left_out_in_words(load(overrides), overrides))


def test_variants_of_figures_left_out_are_none_of_the_run() -> None:
    assert "learnable-tau" not in load([ON_CPU]).variants("stable_scaling")
    assert "learnable-tau" in load([ON_CPU, "figures=[table3]"]).variants("stable_scaling")
    assert load([ON_CPU, "variant=learnable-tau", "figures=[table3]"]).variant == "learnable-tau"


def test_claims_of_figures_left_out_are_not_run_and_say_why(tmp_path: Path) -> None:
    config = load([ON_CPU, f"paths.figures={tmp_path}"])
    found = drawn_figures(make_plan(config), make_plan(config.with_every_figure()), "stable_scaling")
    judgement = judgements_of(config, "stable_scaling", *found)["tau-helps-batch-norm"]
    assert judgement.verdict == "not run"
    assert judgement.obstacle == f"left out: {config.left_out['stable_scaling/fig_bn']}"


def test_on_a_gpu_jobs_ask_for_the_gpus_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seconds = {}
    for device in ("cpu", "cuda"):
        jobs = JobsOfRules(
            [f"device={device}", "figures=[fig02]", "scale=paper"], print_rules.CHECKOUT / "config", False
        )
        seconds[device] = max(jobs.cost(job).seconds for job in jobs.plan.jobs.values())
    assert seconds["cuda"] < seconds["cpu"] / 100


def error_of(job: TrainImages) -> float:
    """Errors as in the papers; tau = L^(-1/4) diverges in the deepest network."""
    network = job.network
    if isinstance(network, PreActivation):
        return 0.06 + 0.01 * network.shortcut_depth
    if isinstance(network, PostActivation):
        return {None: 0.068, 0.5: 0.06, 1.0: 0.075}.get(network.power, np.inf if network.depth > 8 else 0.3)
    return 0.064 * (1 if network.small else 1.2)


def evaluations(config: Config, name: str, results: Path) -> pd.DataFrame:
    part = plan_figure(config.figure[name], "data")
    for job in part.jobs.values():
        assert isinstance(job, TrainImages)
        write(job, made(job, error_of), results)
    table: pd.DataFrame = part.figure.protocol.read(part.jobs, results)
    return table


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
@pytest.mark.parametrize("name", NAMES)
def test_figures_are_drawn_as_journals_print(name: str, scale: str, tmp_path: Path) -> None:
    config = load([f"scale={scale}"], only=[name])
    module, figure = figure_module(name), config.figure[name]
    table = module.table(evaluations(config, name, tmp_path))
    assert not table.duplicated(figure.keys).any()
    assert {*figure.keys, *figure.tolerances} <= set(table)
    assert not table.isna().any().any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawing = plot_of(figure, table)
        FigureCanvasAgg(drawing).draw()
    print_rules.test_a_figure_is_as_wide_as_a_column_or_a_page_and_its_text_can_be_read(drawing)
    print_rules.test_networks_differ_in_more_than_colour(drawing)
    print_rules.test_no_legend_hides_data(drawing)
