"""The compiled count (counts.c), where there is one; its plain twin is :mod:`resaudit.curvature.plain`."""
