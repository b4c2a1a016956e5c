"""Fused kernels: forward and backward through all layers at once, block by block of samples.

C on the CPU (fused.c), Triton on CUDA. Their plain twin is
:class:`residual.demystifying_resnet.training.sampled.SampledObjective`.
"""
