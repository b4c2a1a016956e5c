"""Tests of the compiled kernel that trains networks with ReLUs; tests/workflow/test_wheel.py sees a failed build."""

import pytest

from residual.demystifying_resnet.training.fused import library

needs_kernel = pytest.mark.skipif(library() is None, reason="the kernel was not built: no C compiler")
