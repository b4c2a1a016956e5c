"""Random numbers as a function of a counter: the same on every device, in any order and beside any other run.

SplitMix64 (Steele, Lea, Flood 2014): number i of the stream with key k is mix(k + (i + 1) * GAMMA) modulo 2^64. Keys of
streams are mixed from seed, purpose, run and epoch. Only integers are used, so there is nothing to round.
"""

import torch
from torch import Tensor

WEIGHTS, ORDER, AUGMENTATION = 1, 2, 3
"""Purposes of streams."""

GAMMA = 0x9E3779B97F4A7C15
_MULTIPLIERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_SHIFTS = 30, 27, 31
_BITS = (1 << 64) - 1


def mix(value: int) -> int:
    """SplitMix64's finalizer, of a whole number modulo 2^64.

    >>> hex(mix(GAMMA)), hex(mix(2 * GAMMA & (1 << 64) - 1))  # the first two numbers of the stream with key 0
    ('0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4')
    """
    for shift, multiplier in zip(_SHIFTS[:2], _MULTIPLIERS, strict=True):
        value = (value ^ value >> shift) * multiplier & _BITS
    return value ^ value >> _SHIFTS[2]


def key_of(*parts: int) -> int:
    """The key of a stream, from 0 to 2^64 - 1, that depends on all these numbers and their order."""
    key = 0
    for part in parts:
        key = mix(((key ^ part) + GAMMA) & _BITS)
    return key


def draws(key: int, counters: Tensor) -> Tensor:
    """Numbers of a stream.

    Args:
        key: the stream's.
        counters: int64, any shape, at least 0.

    Returns:
        int64 of that shape and device, with the bits of SplitMix64's unsigned numbers.
    """
    # Products of int64 wrap, as those of unsigned numbers modulo 2^64 do.
    value = (counters + 1) * _signed(GAMMA) + _signed(key)
    for shift, multiplier in zip(_SHIFTS[:2], _MULTIPLIERS, strict=True):
        value = (value ^ _shifted(value, shift)) * _signed(multiplier)
    return value ^ _shifted(value, _SHIFTS[2])


def permutation(key: int, size: int, device: torch.device) -> Tensor:
    """The numbers 0 ... size - 1 in the order of the upper 63 bits of their draws; int64, on the device."""
    numbers = draws(key, torch.arange(size, device=device))
    return torch.argsort(_shifted(numbers, 1), stable=True)


def uniform(numbers: Tensor, first_bit: int, choices: int) -> Tensor:
    """31 bits of each draw, from ``first_bit`` on, as one of 0 ... choices - 1; the chances differ by under 2^-31."""
    return (_shifted(numbers, first_bit) & 0x7FFFFFFF) * choices >> 31


def _shifted(value: Tensor, bits: int) -> Tensor:
    """A shift to the right that fills with zeros; torch's repeats the sign."""
    return value >> bits & (1 << 64 - bits) - 1


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
