"""Oracle: the same descent left alone. Sees a state that lacks something, and one that is used where it must not be."""

import dataclasses
import errno
import os
import resource
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from resaudit.base.errors import Interrupted, MachineError
from resaudit.data.whiten import Moments, Whitened
from resaudit.jobs.checkpoints import Checkpoint, forget
from resaudit.jobs.job import Work
from residual.demystifying_resnet.networks.gradient_descent import Objective, descend
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network, network_named
from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.demystifying_resnet.training.ensemble import initial_weights
from residual.demystifying_resnet.training.fused import NativeObjective
from residual.demystifying_resnet.training.sampled import SampledObjective
from residual.descent import Descent
from tests.kernels import needs_kernel
from tests.refusals import refused

CPU = torch.device("cpu")
MADE_BY = {"settings": {"seed": 1}, "code version": "a"}
EPOCHS, SNAPSHOTS = 30, (0, 7, 30)
# One that diverges soon, one that never moves, and others.
RATES = torch.tensor([0.01, 1.5, 0.05, 1e-30], dtype=torch.float64)


def checkpoint(folder: Path, seconds: float = 0.0, **made_by: object) -> Checkpoint[Descent[np.ndarray]]:
    return Checkpoint(folder, Descent, MADE_BY | made_by, seconds)


class Stop(Exception):
    """Leaves a descent, as a killed process does."""


def until(epoch: int, kept: Checkpoint[Descent[np.ndarray]]) -> Callable[[Callable[[], Descent[np.ndarray]]], None]:
    def after(state: Callable[[], Descent[np.ndarray]]) -> None:
        kept.keep(state)
        if int(state().step) >= epoch:
            raise Stop

    return after


def run(objective: Objective, weights: torch.Tensor, *more: object) -> Trajectory:
    return descend(objective, weights, RATES, EPOCHS, SNAPSHOTS, iter, *more)  # type: ignore[arg-type]


def assert_same(a: Trajectory, b: Trajectory) -> None:
    for field in dataclasses.fields(Trajectory):
        np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))


def weights_of(network: Network) -> torch.Tensor:
    return initial_weights(network, "xavier", 1.0, 1, len(RATES))


@settings(max_examples=10)
@given(st.sets(st.integers(1, EPOCHS), min_size=1, max_size=3).map(sorted))
def test_left_at_any_epochs_and_gone_on_with_it_ends_with_the_same_bits(
    moments: Moments, tmp_path_factory: pytest.TempPathFactory, left_at: list[int]
) -> None:
    network, folder = Network(2, 4, 10), tmp_path_factory.mktemp("state")
    objective, weights = LinearObjective.of(network, moments, CPU), weights_of(network)
    alone = run(objective, weights)
    assert np.isinf(alone.excess_loss[-1]).sum() == 1
    for epoch in left_at:
        kept = checkpoint(folder)
        start = kept.read()
        with pytest.raises(Stop):
            run(objective, weights, start, until(epoch, kept))
    start = checkpoint(folder).read()
    assert start is not None
    assert int(start.step) == left_at[-1]
    assert_same(run(objective, weights, start), alone)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_kernel), False])
def test_so_it_does_with_relus(whitened: Whitened, tmp_path: Path, compiled: bool) -> None:
    network = network_named("2-shortcut-relu", 4, 10)
    few = dataclasses.replace(whitened, inputs=whitened.inputs[:, :640], labels=whitened.labels[:640])
    objective: Objective = SampledObjective.of(network, few, CPU)
    if compiled:
        objective = NativeObjective(network, few)
    kept, weights = checkpoint(tmp_path), weights_of(network)
    with pytest.raises(Stop):
        run(objective, weights, None, until(11, kept))
    assert_same(run(objective, weights, kept.read()), run(objective, weights))


def kept_state(folder: Path, moments: Moments) -> bytes:
    network = Network(2, 4, 10)
    with pytest.raises(Stop):
        run(LinearObjective.of(network, moments, CPU), weights_of(network), None, until(5, checkpoint(folder)))
    return (folder / "checkpoint").read_bytes()


@settings(max_examples=40)
@given(st.data())
def test_a_damaged_checkpoint_is_refused_and_said(
    moments: Moments, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    share = data.draw(st.floats(0, 1, exclude_max=True))
    folder = tmp_path_factory.mktemp("state")
    whole = kept_state(folder, moments)
    place = int(share * len(whole))
    change = data.draw(st.sampled_from(["cut", "bit", "more", "nonsense"]))
    damaged = {
        "cut": whole[:place],
        "bit": whole[:place] + bytes([whole[place] ^ 1 << data.draw(st.integers(0, 7))]) + whole[place + 1 :],
        "more": whole + b"\0",
        "nonsense": data.draw(st.binary(max_size=200)),
    }[change]
    (folder / "checkpoint").write_bytes(damaged)
    assert checkpoint(folder).read() is None


@pytest.mark.parametrize(
    ("made_by", "said"),
    [
        ({"settings": {"seed": 2}}, "another settings;"),
        ({"code version": "b"}, "another code version;"),
        ({"torch": "2"}, "another torch;"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused_and_said(
    made_by: dict[str, object], said: str, moments: Moments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_state(tmp_path, moments)
    assert checkpoint(tmp_path).read() is not None
    assert "resumes from" in capsys.readouterr().err
    assert checkpoint(tmp_path, **made_by).read() is None
    assert said in capsys.readouterr().err


def test_a_truncated_one_says_so(moments: Moments, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = kept_state(tmp_path, moments)
    (tmp_path / "checkpoint").write_bytes(whole[: len(whole) // 2])
    assert checkpoint(tmp_path).read() is None
    assert str(tmp_path / "checkpoint") in capsys.readouterr().err


def test_it_is_one_file_no_larger_than_its_state_and_gone_at_the_end(moments: Moments, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    whole = kept_state(folder, moments)
    state = checkpoint(folder).read()
    assert state is not None
    assert [file.name for file in folder.iterdir()] == ["checkpoint"]
    assert len(whole) < sum(np.asarray(getattr(state, f.name)).nbytes for f in dataclasses.fields(state)) + 10_000
    forget(folder)
    assert not folder.exists()


def test_checkpoints_are_as_far_apart_as_is_said(moments: Moments, tmp_path: Path) -> None:
    network = Network(2, 4, 10)
    kept = checkpoint(tmp_path / "never", seconds=3600.0)
    run(LinearObjective.of(network, moments, CPU), weights_of(network), None, kept.keep)
    assert not (tmp_path / "never").exists()
    kept_state(tmp_path, moments)
    state, written = checkpoint(tmp_path).read(), 0
    assert state is not None

    def counted() -> Descent[np.ndarray]:
        nonlocal written
        written += 1
        return state

    kept, end = checkpoint(tmp_path, seconds=0.1), time.monotonic() + 0.5
    while time.monotonic() < end:
        kept.keep(counted)
    assert 1 <= written <= 5


def test_one_that_cannot_be_written_leaves_the_one_before(moments: Moments, tmp_path: Path) -> None:
    """As on a disk that fills up in the middle of it."""
    whole = kept_state(tmp_path, moments)
    kept = checkpoint(tmp_path)
    state, before = kept.read(), resource.getrlimit(resource.RLIMIT_FSIZE)
    assert state is not None
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, before[1]))
    try:
        with refused(MachineError, tmp_path / "checkpoint", os.strerror(errno.EFBIG)):
            kept.write(state)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "checkpoint").read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]


def test_the_seconds_of_all_runs_before_are_counted(moments: Moments, tmp_path: Path) -> None:
    kept_state(tmp_path, moments)
    for _ in range(3):
        kept = checkpoint(tmp_path)
        state = kept.read()
        assert state is not None
        time.sleep(0.1)
        kept.write(state)
    last = checkpoint(tmp_path)
    assert last.read() is not None
    assert 0.3 <= last.seconds_before < 60


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_waits_for_the_end_of_an_epoch_and_loses_nothing(
    number: signal.Signals, moments: Moments, tmp_path: Path
) -> None:
    network, kept = Network(2, 4, 10), checkpoint(tmp_path, seconds=3600.0)
    objective, weights, before = (
        LinearObjective.of(network, moments, CPU),
        weights_of(network),
        signal.getsignal(number),
    )

    def after(state: Callable[[], Descent[np.ndarray]]) -> None:
        if int(state().step) == 9:
            os.kill(os.getpid(), number)
        kept.keep(state, signalled())

    with Work.delayed_signals() as signalled, pytest.raises(Interrupted, match=r"/checkpoint;") as stopped:
        run(objective, weights, None, after)
    assert stopped.value.signal == number
    assert signal.getsignal(number) is before
    start = kept.read()
    assert start is not None
    assert int(start.step) == 9
    assert_same(run(objective, weights, start), run(objective, weights))


def test_in_a_thread_work_is_done_and_signals_are_the_processs() -> None:
    def work() -> int | None:
        with Work.delayed_signals() as signalled:
            return signalled()

    before = signal.getsignal(signal.SIGTERM)
    with ThreadPoolExecutor() as pool:
        assert pool.submit(work).result() is None
    assert signal.getsignal(signal.SIGTERM) is before


def test_where_no_checkpoint_can_be_written_the_work_goes_on(
    moments: Moments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    network, kept = Network(2, 4, 10), checkpoint(tmp_path / "file")
    objective, weights = LinearObjective.of(network, moments, CPU), weights_of(network)
    assert_same(run(objective, weights, None, kept.keep), run(objective, weights))
    assert "cannot write" in capsys.readouterr().err
