"""The optional compiled count (counts.c) of :mod:`residual.demystifying_resnet.curvature.plain`."""
