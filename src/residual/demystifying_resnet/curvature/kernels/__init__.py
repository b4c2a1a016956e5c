"""The optional compiled count (counts.c); its plain twin is :mod:`residual.demystifying_resnet.curvature.plain`."""
