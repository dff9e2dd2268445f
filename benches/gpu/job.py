"""What a measurement consists of, and how its result is compared."""

import math
from collections import namedtuple

#: A job: `amount` is bytes or operations; `make(module, configuration)` gives a function that launches; `check` raises where the
#: result is wrong; `library` does the same with torch.
Job = namedtuple("Job", ("family", "label", "file", "unit", "amount", "configurations", "make", "check", "library"))


def near(result, expected, atol, rtol):
    """Raises where a result is further from what is expected than allowed; NaN is far from everything."""
    difference = (result.double() - expected.double()).abs()
    allowed = atol + rtol * expected.double().abs()
    if not bool((difference <= allowed).all()):
        raise AssertionError(f"wrong result: largest difference {difference.nan_to_num(nan=math.inf).max().item():.3e}")
