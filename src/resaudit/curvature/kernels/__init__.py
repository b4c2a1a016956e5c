"""The optional compiled count (counts.c); its plain twin is :mod:`resaudit.curvature.plain`."""
