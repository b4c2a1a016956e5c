"""The fused kernel (fused.c): forward and backward through all layers at once, block by block of samples.

Its plain twin is :class:`residual.demystifying_resnet.training.sampled.SampledObjective`.
"""
