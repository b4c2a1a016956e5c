"""Zhang, Yu, Yi, Chen, Liu, "Stabilize deep ResNet with a sharp scaling factor tau"."""
