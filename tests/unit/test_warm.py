"""Before a charge both threads of a long draw have keys, in a forked child too."""

from __future__ import annotations

import os

import pytest

from hushtable.kernel.warm import noise_of, warm
from hushtable.privacy import GaussianNoise, sampler


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_ready_by_itself() -> None:
    warm([noise_of(GaussianNoise)])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before = sampler._helper.cache_info().currsize
            warm([noise_of(GaussianNoise)])
            status = int(before != 0 or sampler._helper.cache_info().currsize != 1)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
