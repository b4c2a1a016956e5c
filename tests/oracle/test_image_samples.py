"""Oracles: SplitMix64 in plain Python and in NumPy, and augmentation one image at a time, in the order of each code.

They see a shift that repeats the sign, a hash that depends on the batch, an image left out of an epoch, a crop that is
off by one, a border of the wrong colour, a flip before or after the crop, and a standardisation without the border.
"""

import numpy as np
import pytest
import torch

from residual.images.networks.layers import memory_format
from residual.images.samples import (
    AUGMENTATION,
    GAMMA,
    ORDER,
    PADDING,
    PUBLISHED,
    Images,
    Normalisation,
    Samples,
    draws,
    key_of,
    normalisation_of,
    permutation,
    uniform,
)

CPU = torch.device("cpu")
DEVICES = [CPU, *([torch.device("cuda")] if torch.cuda.is_available() else [])]
KEYS = (0, 1, GAMMA, 2**63, 2**64 - 1, key_of(1, 2, 3, 4))
BITS = 2**64 - 1
RNG = np.random.default_rng(3)


def plain(key: int, counter: int) -> int:
    """Vigna's C code, line by line."""
    z = (key + (counter + 1) * 0x9E3779B97F4A7C15) & BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


def by_numpy(key: int, counters: np.ndarray) -> np.ndarray:
    z = np.uint64(key) + (counters.astype(np.uint64) + np.uint64(1)) * np.uint64(GAMMA)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("key", KEYS)
def test_draws_are_splitmix64(key: int, device: torch.device) -> None:
    counters = np.concatenate([np.arange(1000), RNG.integers(0, 2**62, 1000)])
    found = draws(key, torch.from_numpy(counters).to(device)).cpu().numpy().view(np.uint64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, by_numpy(key, counters))
    assert [int(number) for number in found[::100]] == [plain(key, int(counter)) for counter in counters[::100]]


def test_keys_depend_on_every_part_and_their_order() -> None:
    keys = {key_of(*parts) for parts in np.ndindex(4, 4, 4, 4)}
    assert len(keys) == 4**4
    assert all(0 <= key <= BITS for key in keys)


def test_choices_are_equally_frequent() -> None:
    numbers = draws(key_of(7), torch.arange(90_000))
    for first_bit in (0, 31):
        counts = torch.bincount(uniform(numbers, first_bit, 9), minlength=9).double()
        # Five standard deviations of a binomial count.
        assert float((counts - 10_000).abs().max()) < 5 * (90_000 * (1 / 9) * (8 / 9)) ** 0.5
    assert abs(int((numbers >> 62 & 1).sum()) - 45_000) < 5 * 150


@pytest.mark.parametrize("device", DEVICES)
def test_an_epoch_has_every_image_once_in_the_order_of_its_hash(device: torch.device) -> None:
    samples = Samples(500, 4, 1, 2, device)
    for epoch in (0, 3):
        key = key_of(1, ORDER, 2, epoch)
        expected = sorted(range(500), key=lambda image, key=key: (plain(key, image) >> 1, image))  # type: ignore[misc]
        assert samples(500 * epoch, 500 * (epoch + 1))[:, 0].tolist() == expected
    assert permutation(key_of(1), 500, device).tolist() != permutation(key_of(2), 500, device).tolist()


def test_crop_and_flip_of_an_image_are_bits_of_its_hash() -> None:
    for image, top, left, flip in Samples(50, 4, 1, 2, CPU)(100, 150).tolist():
        number = plain(key_of(1, AUGMENTATION, 2, 2), image)
        assert top == (number % 2**31) * 9 >> 31
        assert left == (number >> 31) % 2**31 * 9 >> 31
        assert flip == number >> 62 & 1


def test_samples_do_not_depend_on_how_they_are_asked_for() -> None:
    whole = Samples(10, 4, 1, 2, CPU)(0, 40)
    parts = Samples(10, 4, 1, 2, CPU)
    assert torch.equal(torch.cat([parts(start, start + 8) for start in range(0, 40, 8)]), whole)
    assert torch.equal(parts(3, 33), whole[3:33])
    assert not torch.equal(whole, Samples(10, 4, 1, 3, CPU)(0, 40))


def one_by_one(image: np.ndarray, kind: str, of: Normalisation, top: int, left: int, flip: bool) -> np.ndarray:
    """One image (channels, height, width) in the order of operations of its code."""
    p, side = PADDING[kind], image.shape[1]
    mean, deviation = (np.array(part, dtype=np.float32)[:, None, None] for part in (of.mean, of.deviation))
    x = image.astype(np.float32)
    if kind == "pad_last":
        x = (x - mean) / deviation
        x = x[:, :, ::-1] if flip else x
        return np.pad(x, ((0, 0), (p, p), (p, p)))[:, top : top + side, left : left + side]
    x = np.pad(x, ((0, 0), (p, p), (p, p)))[:, top : top + side, left : left + side]
    x = x[:, :, ::-1] if flip else x
    if kind == "pad_first":
        return (x - mean) / deviation
    x = x.astype(np.float64)
    return (x - x.mean()) / max(x.std(), 1 / np.sqrt(x.size))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", list(PADDING))
def test_augmented_batches_are_images_one_by_one(kind: str, device: torch.device) -> None:
    images = RNG.integers(0, 256, (30, 3, 8, 8), dtype=np.uint8)
    images[7] = 200  # without contrast
    of = normalisation_of(kind, images, published=True)
    samples = Samples(30, PADDING[kind], 1, 0, device)(0, 300)
    found = Images(images, kind, of, device).augmented(*samples.unbind(dim=1))
    assert found.is_contiguous(memory_format=memory_format(device))
    expected = [one_by_one(images[i], kind, of, top, left, bool(flip)) for i, top, left, flip in samples.tolist()]
    # The first two have the same operations; the third divides float64 numbers of another order of summation.
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if kind == "standardise" else {"rtol": 0, "atol": 0}
    np.testing.assert_allclose(found.cpu().numpy(), np.stack(expected), **tolerance)


@pytest.mark.parametrize("kind", list(PADDING))
def test_images_of_the_test_are_neither_cropped_nor_flipped(kind: str) -> None:
    images = RNG.integers(0, 256, (5, 3, 8, 8), dtype=np.uint8)
    of, p = normalisation_of(kind, images, published=True), PADDING[kind]
    expected = np.stack([one_by_one(image, kind, of, p, p, False) for image in images])
    np.testing.assert_allclose(Images(images, kind, of, CPU).plain(0, 9).numpy(), expected, rtol=1e-6, atol=1e-6)


def test_borders_are_mean_coloured_black_or_part_of_the_statistics() -> None:
    images = np.full((1, 3, 8, 8), 255, dtype=np.uint8)
    chosen, zero = torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    corners = {}
    for kind in PADDING:
        of = normalisation_of(kind, images, published=True)
        corners[kind] = Images(images, kind, of, CPU).augmented(chosen, zero, zero, zero)[0, :, 0, 0]
    assert torch.equal(corners["pad_last"], torch.zeros(3))
    mean, deviation = (torch.tensor(part) for part in PUBLISHED["pad_first"])
    assert torch.equal(corners["pad_first"], -mean / deviation)
    # Of 64 pixels, 36 are white and 28 black.
    white = 36 / 64
    assert corners["standardise"].tolist() == pytest.approx([-white / (white * (1 - white)) ** 0.5] * 3)


def test_other_data_is_normalised_by_its_own_mean_and_deviation() -> None:
    images = RNG.integers(0, 256, (20, 1, 8, 8), dtype=np.uint8)
    for published in (True, False):
        of = normalisation_of("pad_last", images, published)
        assert of.mean == pytest.approx((images.mean(),), rel=1e-12)
        assert of.deviation == pytest.approx((images.std(),), rel=1e-12)
    assert normalisation_of("pad_last", np.zeros((2, 1, 8, 8), dtype=np.uint8), False).deviation == (1.0,)
