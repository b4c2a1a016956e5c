"""Oracle: automatic differentiation of the model, run by run, and the same training resumed, alone or beside others.

They see a wrong term of the hand-written backward pass, a step taken before a lower layer used the weights, a learning
rate or batch of another run, a diverged run that spoils others, and a resumed training that differs.
"""

import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from resaudit.base.errors import DataError, Interrupted
from resaudit.data.dataset import Dataset
from resaudit.data.fetch import Fetch
from resaudit.figures.rates import BestRate
from resaudit.jobs.checkpoints import forget
from resaudit.jobs.job import Execution, Work
from residual.descent import Descent
from residual.stable_scaling import plain
from residual.stable_scaling.jobs import train_scaled
from residual.stable_scaling.jobs.train_scaled import Losses, TrainScaled
from residual.stable_scaling.network.training import ShuffledBatches, Weights, drawn, train
from tests.refusals import refused

WIDTH, DEPTH, RUNS, BATCH, STEPS = 12, 6, 3, 5, 20
RATES = (0.3, 1.0, 3.0)
RNG = np.random.default_rng(5)
IMAGES = RNG.integers(0, 256, (40, 4, 4), dtype=np.uint8)
LABELS = RNG.integers(0, 10, 40, dtype=np.uint8)


def start(tau: float | None, depth: int = DEPTH, runs: int = RUNS) -> tuple[Weights, ShuffledBatches]:
    weights = Weights(*(part.double() for part in drawn(16, WIDTH, depth, 10, 1, range(runs), plain=tau is None)))
    return weights, ShuffledBatches(IMAGES, LABELS, 10, BATCH, 1, range(runs), weights.last)


def autograd(weights: Weights, tau: float | None, rate: float, batches: ShuffledBatches, run: int) -> torch.Tensor:
    """Losses of one run, and its trained weights, by automatic differentiation."""
    first, middle, last, readout = (part[run] for part in weights)
    own = ((part[run] for part in batches(step)) for step in range(STEPS))
    losses, layers = zip(*plain.train((first, [*middle, last], readout), tau, rate, own), strict=True)
    return torch.stack(losses), torch.stack(layers[-1]).detach()


@pytest.mark.parametrize("tau", [DEPTH**-0.25, DEPTH**-0.5, 1 / DEPTH, None])
def test_the_ensemble_is_automatic_differentiation_run_by_run(tau: float | None) -> None:
    weights, batches = start(tau)
    kept: list[Descent[np.ndarray]] = []
    found = train(weights, tau, RATES, batches, STEPS, after_step=lambda state: kept.append(state()))
    # Each of STEPS steps sums WIDTH products in each of 2 DEPTH layers, forward and back.
    bound = STEPS * 2 * DEPTH * WIDTH * np.finfo(float).eps
    for place, (rate, run) in enumerate((rate, run) for rate in RATES for run in range(RUNS)):
        losses, layers = autograd(weights, tau, rate, batches, run)
        np.testing.assert_allclose(found[:, place], losses, rtol=bound)
        np.testing.assert_allclose(kept[-1].weights[:, place], layers, rtol=0, atol=bound * float(layers.abs().max()))


def test_a_diverged_run_leaves_and_changes_no_other() -> None:
    weights, batches = start(0.4)
    alone = train(weights, 0.4, RATES, batches, STEPS)
    beside = train(weights, 0.4, (*RATES, 1e200), batches, STEPS)
    assert np.isfinite(alone).all()
    np.testing.assert_allclose(beside[:, : alone.shape[1]], alone, rtol=1e-12)
    assert np.isinf(beside[2:, -RUNS:]).all()
    none = train(weights, 0.4, (1e200,), batches, STEPS)
    assert np.isinf(none[-1]).all()


def test_weights_and_batches_of_a_run_do_not_depend_on_the_number_of_runs() -> None:
    (few, batches_of_few), (many, batches_of_many) = start(0.4, runs=1), start(0.4, runs=4)
    for one, other in zip(few, many, strict=True):
        assert torch.equal(one[0], other[0])
        assert not torch.equal(other[0], other[1])
    for step in range(STEPS):
        for one, other in zip(batches_of_few(step), batches_of_many(step), strict=True):
            assert torch.equal(one[0], other[0])


def test_an_epoch_has_every_sample_once_of_norm_one_with_its_label() -> None:
    _, batches = start(None)
    epochs = [torch.cat([batches(step)[0][1] for step in range(first, first + 8)], dim=1) for first in (0, 8)]
    images = torch.tensor(IMAGES.reshape(40, -1)).double()
    cosines = (images / images.norm(dim=1, keepdim=True)) @ epochs[0]
    assert torch.equal((cosines > 1 - 1e-12).sum(dim=0), torch.ones(40, dtype=torch.int64))
    assert torch.equal((cosines > 1 - 1e-12).sum(dim=1), torch.ones(40, dtype=torch.int64))
    assert not torch.equal(*epochs)
    inputs, targets = batches(3)
    which = (images / images.norm(dim=1, keepdim=True) @ inputs[0]).argmax(dim=0)
    assert torch.equal(targets[0].argmax(dim=0), torch.tensor(LABELS.astype(int))[which])


def test_the_laws_of_the_weights_are_the_papers() -> None:
    weights, plain = drawn(784, 100, 5, 10, 1, range(4), plain=False), drawn(784, 100, 5, 10, 1, range(4), plain=True)
    for part, variance in zip(weights, (2 / 100, 1 / 100, 2 / 100, 1 / 10), strict=True):
        # Five standard errors of the variance of that many Gaussian numbers.
        assert float(part.var()) == pytest.approx(variance, rel=5 * (2 / part.numel()) ** 0.5)
    assert float(plain.middle.var()) == pytest.approx(2 / 100, rel=0.05)


def job(**changes: object) -> TrainScaled:
    settings = {"depth": 4, "width": 8, "power": 0.5, "learning_rates": (1.0, 3.0), "runs": 2, "samples": 40}
    settings |= {"batch": BATCH, "steps": STEPS, "precision": "float32", "seed": 1}
    dataset = Dataset.model_construct(name="made", classes=10, files={})
    return TrainScaled(Fetch(dataset, ""), **(settings | changes))  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], np.ndarray]:
    monkeypatch.setattr(Fetch, "training_set", lambda _: (IMAGES, LABELS))

    return lambda: losses_of(job(), tmp_path).loss


def losses_of(training: TrainScaled, results: Path) -> Losses:
    kept = results / training.id
    found = training.run(Work(results, Execution(), "cpu", kept, {"device": "cpu"}))["losses.npz"]
    assert isinstance(found, Losses)
    forget(kept)
    return found


def test_a_black_image_among_the_samples_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaled to norm 1 it would be NaN, and every run of its epoch would diverge."""
    images, last = IMAGES.copy(), job().samples - 1
    images[last] = 0
    monkeypatch.setattr(Fetch, "training_set", lambda _: (images, LABELS))
    with refused(DataError, job().data.dataset.name):
        losses_of(job(), tmp_path)
    assert np.isfinite(losses_of(job(samples=last, steps=2), tmp_path).loss).all()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("at_once", [2, 1])
@pytest.mark.parametrize("stopped", [1, 2])
def test_a_stopped_training_resumes_to_the_same_bytes(
    run: Callable[[], np.ndarray], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, at_once: int, stopped: int
) -> None:
    undisturbed = run()
    rate = job()._bytes_of_rate
    monkeypatch.setattr(train_scaled, "BYTES_AT_ONCE", at_once * rate)
    given, last, steps = ShuffledBatches.__call__, stopped * 7 if at_once == 2 else 7, list[int]()

    def stopping(batches: ShuffledBatches, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        steps.append(step)
        if step == last and steps.count(last) == (1 if at_once == 2 else stopped):
            signal.raise_signal(number)
        return given(batches, step)

    monkeypatch.setattr(ShuffledBatches, "__call__", stopping)
    with pytest.raises(Interrupted):
        run()
    # The rates before are not trained again, and those at the signal go on after it.
    before = len(steps)
    assert run().tobytes() == undisturbed.tobytes()
    assert steps[before] == last + 1
    assert len(steps) == STEPS * (1 if at_once == 2 else 2)


def test_a_run_has_the_same_bytes_alone_and_in_any_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fetch, "training_set", lambda _: (IMAGES, LABELS))
    # Of eight samples: with an odd number of them products round by where in memory a run lies.
    number, rates, threads = 37, (0.3, 3.0, 1e5, 1e9), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        of_number = []
        for first, runs in ((number, 1), (30, 10), (0, 90)):
            found = losses_of(job(learning_rates=rates, first=first, runs=runs, batch=8), tmp_path)
            assert sorted(set(found.run)) == list(range(first, first + runs))
            of_number.append(found.loss[:, found.run == number])
    finally:
        torch.set_num_threads(threads)
    # At two rates the run diverges, not at the same step.
    none, neither, late, early = np.isinf(of_number[0]).sum(axis=0)
    assert none == neither == 0 < late < early
    assert of_number[0].tobytes() == of_number[1].tobytes() == of_number[2].tobytes()
    assert not np.array_equal(found.loss[:, found.run == number], found.loss[:, found.run == number + 1])


def test_a_block_trains_at_the_rates_that_the_screening_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fetch, "training_set", lambda _: (IMAGES, LABELS))
    screening, window = job(learning_rates=(1e-3, 1.0, 1e9), runs=3), 5
    found = losses_of(screening, tmp_path)
    monkeypatch.setattr(TrainScaled, "read", lambda *_: found)
    ends = np.stack([found.loss[-window:, found.learning_rate == rate].mean(axis=0) for rate in (1e-3, 1, 1e9)], axis=1)
    left = BestRate.to_confirm(np.array([1e-3, 1.0, 1e9]), ends.astype(float))
    assert 1.0 in left
    assert 1e9 not in left
    block = job(learning_rates=(), first=3, runs=4, sweep=screening, window=window)
    fresh = losses_of(block, tmp_path)
    assert {(rate, run) for rate, run in zip(fresh.learning_rate, fresh.run, strict=True)} == {
        (rate, run) for rate in left for run in range(3, 7)
    }
    # Another result of the screening, other rates: the greatest is the only one at which no run diverges.
    others = np.where(found.learning_rate == 1e9, 1.0, np.inf)
    monkeypatch.setattr(TrainScaled, "read", lambda *_: Losses(found.learning_rate, found.run, others[None]))
    assert block.rates(tmp_path) == (1e9,)
