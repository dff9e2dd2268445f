"""`umulhi` beside numbers of 64 bits, on a GPU: as `ptxas` makes code of it."""

import numpy as np
from high_product_kernels import check_differences


def test_upper_halves_beside_numbers_of_64_bits(rng):
    check_differences("cuda", np.random.default_rng(rng.initial_seed()))
