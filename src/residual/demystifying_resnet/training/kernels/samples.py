"""The memory layout of samples for the fused kernels."""

import numpy as np


def in_blocks(columns: np.ndarray, block: int) -> np.ndarray:
    """Samples in columns as float32, shape (blocks, width, block); the last block is padded with zeros."""
    width, count = columns.shape
    padded = np.zeros((width, -(-count // block) * block), dtype=np.float32)
    padded[:, :count] = columns
    return np.ascontiguousarray(padded.reshape(width, -1, block).swapaxes(0, 1))
