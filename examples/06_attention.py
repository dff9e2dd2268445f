"""Flash attention, forward: scores are never stored; a running maximum and sum keep the softmax exact."""

import math

import common
import numpy as np
import triton
import triton.language as tl


@triton.jit
def attention_forward(q_ptr, k_ptr, v_ptr, out_ptr, scale, stride_head, stride_row, n_rows,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head.to(tl.int64) * stride_head
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q_ptrs = q_ptr + base + offs_m[:, None] * stride_row + offs_d[None, :]
    k_ptrs = k_ptr + base + offs_n[None, :] * stride_row + offs_d[:, None]
    v_ptrs = v_ptr + base + offs_n[:, None] * stride_row + offs_d[None, :]

    q = tl.load(q_ptrs, mask=offs_m[:, None] < n_rows, other=0.0)
    running_max = tl.full([BLOCK_M], -float("inf"), tl.float32)
    running_sum = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    # exp2 is cheaper than exp: the factor between them goes into the scale
    scale_log2 = scale * 1.4426950408889634
    end = n_rows
    if CAUSAL:
        end = tl.minimum(n_rows, (start_m + 1) * BLOCK_M)
    for start_n in range(0, end, BLOCK_N):
        cols = start_n + offs_n
        k = tl.load(k_ptrs + start_n * stride_row, mask=cols[None, :] < n_rows, other=0.0)
        scores = tl.dot(q, k) * scale_log2
        visible = cols[None, :] < n_rows
        if CAUSAL:
            visible = visible & (cols[None, :] <= offs_m[:, None])
        scores = tl.where(visible, scores, -float("inf"))
        new_max = tl.maximum(running_max, tl.max(scores, 1))
        weights = tl.math.exp2(scores - new_max[:, None])
        alpha = tl.math.exp2(running_max - new_max)
        running_sum = running_sum * alpha + tl.sum(weights, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs + start_n * stride_row, mask=cols[:, None] < n_rows, other=0.0)
        acc += tl.dot(weights.to(v.dtype), v)
        running_max = new_max
    acc = acc / running_sum[:, None]
    out_ptrs = out_ptr + base + offs_m[:, None] * stride_row + offs_d[None, :]
    tl.store(out_ptrs, acc.to(out_ptr.dtype.element_ty), mask=offs_m[:, None] < n_rows)


def attention(q, k, v, out, causal):
    """``softmax(q @ k^T / sqrt(d)) @ v`` for each head; tensors are ``[heads, rows, head_dim]``."""
    heads, n_rows, head_dim = q.shape
    grid = (triton.cdiv(n_rows, 64), heads)
    attention_forward[grid](q, k, v, out, 1 / math.sqrt(head_dim), common.stride(q, 0), common.stride(q, 1), n_rows,
                            BLOCK_M=64, BLOCK_N=64, HEAD_DIM=head_dim, CAUSAL=causal, num_warps=4, num_stages=3)
    return out


def reference(q, k, v, causal):
    """In float64."""
    scores = np.einsum("hmd,hnd->hmn", q, k) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("hmn,hnd->hmd", weights / weights.sum(axis=-1, keepdims=True), v)


def inputs(shape, dtype):
    """Queries, keys and values."""
    return [common.randn(*shape, dtype=dtype, seed=seed) for seed in (12, 13, 14)]


SIZES = ((4, 512, 64), (3, 333, 32))


def checks():
    """Causal and not, fp32 and fp16, whole blocks and an odd number of rows."""
    for dtype, steps in (("float32", 16), ("float16", 1)):
        for shape in SIZES:
            q, k, v = inputs(shape, dtype)
            for causal in (False, True):
                out = attention(q, k, v, common.poisoned(*shape, dtype=dtype), causal)
                expected = reference(*(common.to_numpy(t) for t in (q, k, v)), causal)
                label = f"attention {dtype} {'causal' if causal else 'full'}, {'x'.join(map(str, shape))}"
                yield common.Check(label, common.max_difference(out, expected), common.steps(steps, expected, dtype))


def measurements():
    """Arithmetic rate; a causal mask halves the work that counts."""
    shape = (8, 1024, 64)
    heads, n_rows, head_dim = shape
    q, k, v = inputs(shape, "float32")
    out = common.zeros(*shape)
    queries, keys, values = (common.to_numpy(t, None) for t in (q, k, v))
    mask = np.where(np.tril(np.ones((n_rows, n_rows), bool)), 0, -np.inf).astype(np.float32)

    def numpy_attention(causal):
        scores = queries @ keys.transpose(0, 2, 1)
        scores *= 1 / math.sqrt(head_dim)
        if causal:
            scores += mask
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores @ values

    sdpa = common.torch and common.torch.nn.functional.scaled_dot_product_attention
    for causal in (False, True):
        yield common.Measurement(
            f"attention {'causal' if causal else 'full'}, {'x'.join(map(str, shape))}",
            4 * heads * n_rows * n_rows * head_dim / (2 if causal else 1), "GFLOP/s",
            deuteron=lambda causal=causal: attention(q, k, v, out, causal),
            numpy=lambda causal=causal: numpy_attention(causal),
            torch=common.torch and (lambda causal=causal: sdpa(q[None], k[None], v[None], is_causal=causal)))


def main():
    """Checks and measures."""
    common.run(__name__)


if __name__ == "__main__":
    main()
