# test kernel=kernel signature="*i32, i64"
# Waiting for a flag is a loop of atomic loads.
import triton
import triton.language as tl


@triton.jit
def kernel(flag, timeout):
    tl.atomic_poll(flag, 1)
    tl.store(flag, tl.atomic_poll(flag, 2, sem="relaxed", scope="cta", timeout_ns=timeout).to(tl.int32))
