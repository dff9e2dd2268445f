"""`umulhi` beside numbers of 64 bits, on every engine, and without what `ptxas` makes wrong code of."""

import re

import pytest
from high_product_kernels import check_differences

import deuteron as triton


@pytest.mark.parametrize("emulate", ["", "cuda:80", "cuda:90", "hip:gfx942"])
def test_upper_halves_beside_numbers_of_64_bits(rng, emulate):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        kernels = check_differences("cpu", rng)
    for kernel in kernels if emulate.startswith("cuda") else []:
        # `ptxas` 12.8 to 13.5 loses a carry of `mul.hi.u32`, widened, minus a number whose lower half is 0.
        assert "mul.wide" in kernel.asm["ptx"] and not re.search(r"mul\.hi\.[us]32", kernel.asm["ptx"])
