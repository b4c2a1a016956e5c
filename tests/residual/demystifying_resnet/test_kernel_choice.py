"""Oracle: what each network and setting asks for. Sees a fallback without a reason, and one that is not allowed."""

import shutil
from pathlib import Path

import pytest
import torch

from resaudit.base.errors import ConfigError
from resaudit.cli.workflow import warn
from resaudit.data.whiten import Whitened
from resaudit.jobs.job import Execution, Work
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import execution_of, make_plan
from resaudit.runtime.extensions import NOT_BUILT, VECTOR_BITS, extension
from residual.demystifying_resnet.curvature import counts
from residual.demystifying_resnet.networks.network import Network, network_named
from residual.demystifying_resnet.training import fused
from residual.demystifying_resnet.training.fused import NativeObjective
from residual.demystifying_resnet.training.sampled import SampledObjective, sampled_objective
from tests.conftest import first_of, run_planned
from tests.kernels import needs_kernel
from tests.refusals import refused

CPU = torch.device("cpu")
RELU, TANH = network_named("xavier-relu", 4, 10), network_named("xavier-tanh", 4, 10)


@needs_kernel
def test_the_kernel_is_taken_where_it_can_be_with_the_widest_vectors(whitened: Whitened) -> None:
    for kernel in ("auto", "fused"):
        objective, said = sampled_objective(RELU, whitened, CPU, kernel)
        assert isinstance(objective, NativeObjective)
        assert str(fused.lanes()) in said


@needs_kernel
@pytest.mark.parametrize(("network", "limit"), [(TANH, "tanh"), (Network(2, 4, 5, mid="relu"), "width 10, not 5")])
def test_what_the_kernel_cannot_do_is_done_in_torch_with_the_reason(network: Network, limit: str) -> None:
    chosen, said = fused.kernel_of(network, "auto")
    assert chosen == "torch"
    assert limit in said
    with refused(ConfigError, "allowed: kernel=auto") as caught:
        fused.kernel_of(network, "fused")
    assert limit in str(caught.value)


def test_torch_can_be_asked_for(whitened: Whitened) -> None:
    objective, _ = sampled_objective(RELU, whitened, CPU, "torch")
    assert isinstance(objective, SampledObjective)


def test_a_kernel_of_other_source_is_none(tmp_path: Path) -> None:
    """What an edit of the source leaves behind until it is built again."""
    folder = Path(fused.__file__).parent
    for file in (*folder.glob("fused*.[ch]"), *folder.glob("_fused*")):
        shutil.copy(file, tmp_path)
    built = fused.library() is not None
    assert (extension(tmp_path, "fused") is not None) == built
    with (tmp_path / "fused_lanes.h").open("a") as header:
        header.write("/* changed */")
    assert extension(tmp_path, "fused") is None


def warn_of(*overrides: str) -> None:
    plan = make_plan(load(overrides))
    warn(plan, execution_of(plan.config))


def test_the_workflow_says_before_it_starts_that_training_will_be_slow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fused, "library", lambda: None)
    warn_of("figures=[fig08]", "device=cpu")
    (said,) = capsys.readouterr().err.splitlines()
    assert NOT_BUILT in said
    for quiet in (["figures=[fig07]"], ["figures=[fig08]", "kernel=torch"]):
        warn_of(*quiet, "device=cpu")
        assert capsys.readouterr().err == ""
    for device in ("cpu", "cuda"):
        with refused(ConfigError, "allowed: kernel=auto"):
            warn_of("figures=[fig08]", f"device={device}", "kernel=fused")


def test_on_a_gpu_it_is_torch_and_fused_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    chosen, said = fused.kernel_of(RELU, "auto", "cuda")
    assert (chosen, "CPU" in said) == ("torch", True)
    with refused(ConfigError, "allowed: kernel=auto") as caught:
        fused.kernel_of(RELU, "fused", "cuda")
    assert "CPU" in str(caught.value)
    warn_of("figures=[fig08]", "device=cuda")
    assert capsys.readouterr().err == ""


def test_training_is_by_the_kernel_that_is_asked_for(mnist_config: Config, tmp_path: Path) -> None:
    plan = make_plan(load(["figures=[fig08]", "scale=smoke", f"paths.data={mnist_config.paths.data}"]))
    training = first_of(plan, "train")
    run_planned(training.data, tmp_path)
    for kernel, kind in (
        ("torch", SampledObjective),
        ("auto", NativeObjective if fused.library() else SampledObjective),
    ):
        work = Work(tmp_path, Execution(kernel=kernel), "cpu", tmp_path)
        assert isinstance(training.objective(work, CPU)[0], kind)


def test_what_training_costs_depends_on_the_kernel() -> None:
    training = first_of(make_plan(load(["figures=[fig08]"])), "train")
    by_torch, by_kernel = (training.cost(Execution(kernel=kernel)) for kernel in ("torch", "fused"))
    assert by_torch.seconds > 3 * by_kernel.seconds or fused.library() is None
    assert by_torch.megabytes > by_kernel.megabytes or fused.library() is None


def test_where_the_kernel_was_not_built_torch_stands_in_with_the_reason(
    whitened: Whitened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "library", lambda: None)
    objective, said = sampled_objective(RELU, whitened, CPU, "auto")
    assert isinstance(objective, SampledObjective)
    assert NOT_BUILT in said
    with refused(ConfigError, NOT_BUILT):
        sampled_objective(RELU, whitened, CPU, "fused")


@needs_kernel
def test_kernels_can_be_told_to_use_the_vectors_of_an_older_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VECTOR_BITS, "128")
    assert (fused.lanes(), counts.lanes()) == (4, 2)
    assert "vectors of 4" in fused.kernel_of(RELU, "auto")[1]
