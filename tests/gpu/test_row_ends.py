"""Stores of blocks that reach past the end of a row, on a GPU: bulk copies write 16 bytes at a time."""

import numpy as np
import pytest
from row_end_kernels import COLUMNS, WAYS, check_row_ends

import deuteron as triton


@pytest.mark.parametrize("persistence", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype, columns", COLUMNS)
def test_nothing_is_written_behind_a_row(rng, persistence, way, dtype, columns):
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.persistence = persistence
        check_row_ends("cuda", np.random.default_rng(rng.initial_seed()), dtype, columns, way)
