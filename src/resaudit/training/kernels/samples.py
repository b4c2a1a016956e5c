"""Samples as the fused kernels take them."""

import numpy as np


def in_blocks(columns: np.ndarray, block: int) -> np.ndarray:
    """Samples in columns as float32, shape (blocks, width, block); zeros, which add nothing, fill the last one."""
    width, count = columns.shape
    padded = np.zeros((width, -(-count // block) * block), dtype=np.float32)
    padded[:, :count] = columns
    return np.ascontiguousarray(padded.reshape(width, -1, block).swapaxes(0, 1))
