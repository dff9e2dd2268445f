"""Functions and models that ``torch.compile`` makes kernels for, and how their results are compared with eager mode.

Every case is a function of a device that returns a function or module and its inputs. `check` compiles it, runs it forward and,
where the case says so, backward, and compares with eager mode in float32 or wider, in the tolerances of ``torch.testing``, which
Inductor's own tests use.
"""

import copy
import dataclasses
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Case:
    """One function or model."""

    name: str
    make: Callable
    #: Whether gradients are compared too.
    backward: bool = False
    #: Devices that it runs on.
    devices: tuple = ("cpu", "cuda")
    #: Whether the short list for CPUs has it.
    short: bool = False
    #: Further arguments of ``torch.compile``.
    compile: dict = dataclasses.field(default_factory=dict)
    #: Settings of Inductor.
    config: dict = dataclasses.field(default_factory=dict)
    #: Tolerances beyond those of the dtype: products and long sums add in another order.
    tolerance: dict = dataclasses.field(default_factory=dict)
    #: How many kernels of this compiler it needs at least.
    kernels: int = 1


CASES = []


def case(**facts):
    """Adds a function to the cases."""

    def add(make):
        CASES.append(Case(make.__name__, make, **facts))
        return make

    return add


def tensor(device, *shape, dtype=torch.float32, low=None, high=None, grad=False):
    """Random numbers: normal ones, or even ones between two."""
    if dtype.is_floating_point and low is None:
        made = torch.randn(shape, device=device, dtype=torch.float32).to(dtype)
    elif dtype.is_floating_point:
        made = torch.empty(shape, device=device, dtype=torch.float32).uniform_(low, high).to(dtype)
    elif dtype is torch.bool:
        made = torch.rand(shape, device=device) > 0.5
    else:
        made = torch.randint(-100 if low is None else low, 100 if high is None else high, shape, device=device, dtype=dtype)
    return made.requires_grad_(grad)


# --- elementwise ---


@case(short=True)
def arithmetic(device):
    def f(x, y):
        return x * y + 2, torch.relu(x - y), (x / y).abs(), torch.where(x > y, x, -y), x.clamp(-0.5, 0.5), x.square().sqrt()

    return f, (tensor(device, 37, 65), tensor(device, 37, 65))


@case(short=True)
def activations(device):
    def f(x):
        return F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.softplus(x), F.mish(x), F.elu(x), F.hardswish(x), x.sigmoid()

    return f, (tensor(device, 1001), )


@case(short=True)
def elementary_functions(device):
    def f(x):
        p = x.abs() + 0.1
        return (x.sin(), x.cos(), x.tan(), x.atan(), x.tanh(), x.sinh(), x.cosh(), x.exp(), x.expm1(), p.log(), p.log2(), p.log1p(),
                p.rsqrt(), x.erf(), x.erfc(), torch.atan2(x, p), torch.pow(p, 2.5), torch.hypot(x, p), x.exp2(), p.log10())

    return f, (tensor(device, 999), )


@case()
def special_functions(device):
    def f(x, u):
        return (torch.lgamma(x.abs() + 0.5), torch.erfinv(u), u.acos(), u.asin(), torch.atanh(u), torch.acosh(x.abs() + 1.5), torch.asinh(x),
                torch.special.i0(x), torch.special.bessel_j0(x), torch.nextafter(x, u), torch.copysign(x, u), torch.fmod(x, u), x.round(),
                x.trunc(), x.floor(), x.ceil(), x.frac(), torch.signbit(x), x.sign(), torch.isnan(x), torch.isinf(x), torch.special.erfcx(x))

    return f, (tensor(device, 500), tensor(device, 500, low=-0.9, high=0.9))


@case(short=True)
def integers(device):
    def f(x, y):
        d = torch.where(y == 0, 7, y)
        return (x + y, x * y, x // d, x % d, torch.div(x, d, rounding_mode="trunc"), x & y, x | y, x ^ y, ~x, x << 2, x >> 1, -x, x.abs(),
                torch.minimum(x, y), torch.maximum(x, y), (x < y), x.pow(3), x.float() / 3, torch.remainder(x, 5))

    return f, (tensor(device, 501, dtype=torch.int64), tensor(device, 501, dtype=torch.int64))


@case()
def small_integers(device):
    def f(a, b, c):
        return a + b, a // 3, b.to(torch.int32) * 7, c.logical_xor(a > 0), a.to(torch.uint8) + 5, (a.to(torch.int16) << 3).to(torch.float16)

    return f, (tensor(device, 501, dtype=torch.int8), tensor(device, 501, dtype=torch.int16), tensor(device, 501, dtype=torch.bool))


@case(short=True)
def half_types(device):
    def f(x, y):
        return x * y + x, x.float() + y.float(), F.gelu(x), y.exp(), x > y, x.to(torch.float64)

    return f, (tensor(device, 777, dtype=torch.float16), tensor(device, 777, dtype=torch.bfloat16).to(torch.float16))


@case()
def bfloat16(device):
    def f(x, y):
        return F.silu(x) * y, (x * y).sum(-1), x.amax(0), torch.rsqrt(x.abs() + 1)

    return f, (tensor(device, 130, 257, dtype=torch.bfloat16), tensor(device, 130, 257, dtype=torch.bfloat16))


@case(short=True)
def double(device):
    def f(x, y):
        return x.exp() + y.log1p(), (x * y).sum(), x.tanh(), torch.pow(y, x)

    return f, (tensor(device, 300, dtype=torch.float64), tensor(device, 300, dtype=torch.float64, low=0.1, high=3))


@case(short=True)
def not_finite(device):
    def f(x, y):
        return (torch.nan_to_num(x), torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y), x.amax(), x.amin(),
                x.clamp(-1, 1), torch.isfinite(x), x.relu(), x.argmax(), x.nansum(), x.exp(), x.sign())

    x = tensor(device, 400)
    x[3], x[50], x[51] = math.nan, math.inf, -math.inf
    y = tensor(device, 400)
    y[7] = math.nan
    return f, (x, y)


@case(short=True)
def broadcasts_and_views(device):
    def f(x, y, z):
        return (x + y, x.t() * z[:, None], x.permute(1, 0).contiguous() + 1, x.reshape(-1)[::3] * 2, x[1:, 2:5], x.unsqueeze(0).expand(3, -1, -1) + 1,
                x.view(2, -1).sum(0))

    return f, (tensor(device, 32, 48), tensor(device, 48), tensor(device, 48))


@case()
def large_transposition(device):
    def f(x, y):
        return x.transpose(0, 2).contiguous() + y, x.permute(2, 0, 1) * 2

    return f, (tensor(device, 33, 65, 129), tensor(device, 129, 65, 33))


# --- reductions ---


@case(short=True)
def reductions(device):
    def f(x):
        return x.sum(), x.sum(0), x.mean(1), x.amax(-1), x.amin(0), x.prod(1), x.var(1), x.std(0), (x > 0).any(1), (x > -9).all(0), x.norm()

    return f, (tensor(device, 63, 129), )


@case(short=True)
def positions_of_extremes(device):
    def f(x):
        return x.argmax(1), x.argmin(0), x.max(1), x.min(0), x.argmax(), x.aminmax()

    return f, (tensor(device, 127, 300), )


@case(tolerance={"rtol": 1e-5, "atol": 1e-3})
def a_long_reduction(device):
    def f(x):
        return x.sum(), x.mean(), x.var(), x.amax(), x.argmax()

    return f, (tensor(device, 1_000_003), )


@case()
def reductions_of_many_dimensions(device):
    def f(x):
        return x.sum((0, 2)), x.mean((1, 3)), x.amax((0, 1, 3)), torch.var_mean(x, (2, 3)), x.logsumexp((1, 2))

    return f, (tensor(device, 5, 6, 17, 33), )


@case()
def integer_reductions(device):
    def f(x):
        return x.sum(1), x.prod(1), x.amax(0), x.argmin(1), (x % 3 == 0).sum(), x.to(torch.int32).sum(0)

    return f, (tensor(device, 33, 70, dtype=torch.int64, low=-5, high=5), )


@case(short=True, backward=True)
def softmaxes(device):
    def f(x):
        return x.softmax(-1) + x.softmax(0), x.log_softmax(-1)

    return f, (tensor(device, 65, 781, grad=True), )


@case()
def a_wide_softmax(device):
    def f(x):
        return x.softmax(-1), x.logsumexp(-1)

    return f, (tensor(device, 9, 50_257), )


@case(backward=True, short=True)
def cross_entropy(device):
    def f(x, target):
        return F.cross_entropy(x, target, label_smoothing=0.1)

    return f, (tensor(device, 65, 1003, grad=True), tensor(device, 65, dtype=torch.int64, low=0, high=1003))


# --- norms ---


@case(backward=True, short=True)
def layer_norm(device):
    return nn.LayerNorm(515, device=device), (tensor(device, 33, 515, grad=True), )


# What comes in from behind is rounded to bf16, by up to 2**-9, and the gradients of weights add 64 of these.
@case(backward=True, tolerance={"rtol": 1.6e-2, "atol": 2**-4})
def layer_norm_of_half_types(device):
    return nn.LayerNorm(768, device=device, dtype=torch.bfloat16), (tensor(device, 64, 768, dtype=torch.bfloat16, grad=True), )


@case(backward=True)
def rms_norm(device):
    def f(x, w):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w

    return f, (tensor(device, 65, 1025, grad=True), tensor(device, 1025, grad=True))


@case(backward=True, tolerance={"rtol": 1e-4, "atol": 1e-4})
def batch_norm(device):
    return nn.BatchNorm2d(9, device=device), (tensor(device, 4, 9, 13, 15, grad=True), )


@case(backward=True)
def group_norm(device):
    return nn.GroupNorm(4, 16, device=device), (tensor(device, 3, 16, 11, 7, grad=True), )


# --- scans, sorts ---


@case(short=True)
def scans(device):
    def f(x):
        return x.cumsum(1), x.cumsum(0), (x * 0.5 + 1).cumprod(1), x.long().cumsum(0)

    return f, (tensor(device, 17, 190), )


@case(tolerance={"rtol": 1e-4, "atol": 1e-4})
def further_scans(device):
    def f(x):
        return torch.logcumsumexp(x, 1), torch.cummax(x, 1), torch.cummin(x, 0)

    return f, (tensor(device, 17, 190), )


@case(tolerance={"rtol": 1e-4, "atol": 1e-3})
def a_long_scan(device):
    def f(x):
        return x.cumsum(0)

    return f, (tensor(device, 300_001, low=-0.5, high=0.5), )


@case()
def sorts(device):
    def f(x, y):
        return x.sort(-1), x.argsort(-1, descending=True), y.sort(dim=-1, stable=True), x.topk(5), x.median(-1), x.kthvalue(3)

    return f, (tensor(device, 40, 100), tensor(device, 40, 100, dtype=torch.int64))


# --- gathers and scatters ---


@case(short=True)
def gathers(device):
    def f(x, i, j):
        return x[i], x.gather(1, j), x.index_select(0, i), torch.take(x, j), x[i, i], F.embedding(i, x), x.roll(3, 1), x.flip(0)

    return f, (tensor(device, 50, 60), tensor(device, 31, dtype=torch.int64, low=0, high=50),
               tensor(device, 50, 9, dtype=torch.int64, low=0, high=60))


@case(short=True)
def scatters(device):
    def f(x, i, j, v, w):
        return (x.scatter_add(1, j, w), x.index_put((i, ), v, accumulate=True), x.scatter(1, j, 2.0), x.index_add(0, i, v),
                x.masked_fill(x > 0, 3.0), x.scatter_reduce(1, j, w, "amax"))

    i = torch.randperm(50, device=device)[:31]
    j = torch.argsort(torch.rand(50, 60, device=device), 1)[:, :9]
    return f, (tensor(device, 50, 60), i, j, tensor(device, 31, 60), tensor(device, 50, 9))


@case()
def histograms(device):
    def f(i, w):
        out = torch.zeros(64, device=i.device)
        return out.index_put((i, ), w, accumulate=True), torch.zeros(64, device=i.device, dtype=torch.int64).scatter_add(0, i, torch.ones_like(i))

    return f, (tensor(device, 5000, dtype=torch.int64, low=0, high=64), tensor(device, 5000))


@case(short=True)
def joins(device):
    def f(x, y):
        return (torch.cat([x, y], 1), torch.stack([x, x + 1]), F.pad(x, (1, 2, 3, 4)), torch.tril(x), torch.triu(x, 2), x.repeat(2, 3),
                torch.arange(37, device=x.device) * 2, torch.eye(9, device=x.device), torch.full_like(x, 3), x.diagonal(),
                x.unfold(1, 4, 2))

    return f, (tensor(device, 31, 40), tensor(device, 31, 17))


@case(backward=True)
def embedding_bag(device):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(1000, 65, device=device)

        def forward(self, i):
            return self.embedding(i).sum(1).tanh()

    return Model(), (tensor(device, 33, 7, dtype=torch.int64, low=0, high=1000), )


@case()
def pooling(device):
    def f(x):
        return (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 5), F.interpolate(x, scale_factor=2),
                F.interpolate(x, scale_factor=1.5, mode="bilinear"))

    return f, (tensor(device, 2, 5, 20, 22), )


@case()
def in_place(device):
    def f(x, y):
        x.add_(1)
        y[2:5] = x[2:5] * 2
        x.mul_(y.sum())
        return x + y

    return f, (tensor(device, 12, 12), tensor(device, 12, 12))


@case()
def foreach(device):
    def f(*all):
        half = len(all) // 2
        added = torch._foreach_add(all[:half], all[half:], alpha=2)
        return torch._foreach_mul(added, 3), torch._foreach_sqrt(torch._foreach_abs(added))

    return f, tuple(tensor(device, 17 + 9 * k) for k in (0, 1, 2, 0, 1, 2))


@case(config={"combo_kernels": True}, devices=("cuda", ))
def combo_kernels(device):
    def f(a, b, c):
        return a.sin(), b.cos() + 1, c.sum(-1)

    return f, (tensor(device, 100), tensor(device, 333), tensor(device, 20, 70))


@case(kernels=1, tolerance={"rtol": 1e-4, "atol": 1e-4})
def fused_adam(device):
    def f(p, g, m, v):
        m = m * 0.9 + g * 0.1
        v = v * 0.999 + g * g * 0.001
        return p - 1e-3 * (m / (1 - 0.9)) / ((v / (1 - 0.999)).sqrt() + 1e-8), m, v

    return f, (tensor(device, 1003), tensor(device, 1003), tensor(device, 1003), tensor(device, 1003, low=0, high=1))


# --- products, models ---

_PRODUCT = {"rtol": 1e-4, "atol": 1e-4}


@case(backward=True, tolerance=_PRODUCT, short=True)
def mlp(device):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(65, 130, device=device), nn.Linear(130, 33, device=device)

        def forward(self, x):
            return self.two(F.gelu(self.one(x))).softmax(-1)

    return Model(), (tensor(device, 50, 65, grad=True), )


@case(tolerance=_PRODUCT)
def products(device):
    def f(a, b, c, d):
        return (a @ b).relu() + 1, torch.addmm(c, a, b).sigmoid(), torch.bmm(d, d.transpose(1, 2)) * 0.5, torch.einsum("ij,kj->ik", a, a)

    return f, (tensor(device, 65, 33), tensor(device, 33, 47), tensor(device, 47), tensor(device, 5, 17, 33))


@case(tolerance={"rtol": 2e-2, "atol": 2e-2})
def a_small_product_of_halves(device):
    def f(a, b):
        return F.silu(a @ b)

    return f, (tensor(device, 64, 64, dtype=torch.float16), tensor(device, 64, 64, dtype=torch.float16))


@case(backward=True, tolerance={"rtol": 1e-3, "atol": 1e-3})
def convolutions(device):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3, padding=1, device=device)
            self.norm = nn.BatchNorm2d(8, device=device)

        def forward(self, x):
            return F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)

    return Model(), (tensor(device, 2, 3, 16, 18, grad=True), )


class Block(nn.Module):
    """A transformer block."""

    def __init__(self, device, width=64, heads=4, dtype=torch.float32):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, **kind), nn.LayerNorm(width, **kind)
        self.qkv, self.out = nn.Linear(width, 3 * width, **kind), nn.Linear(width, width, **kind)
        self.up, self.down = nn.Linear(width, 4 * width, **kind), nn.Linear(4 * width, width, **kind)

    def forward(self, x):
        """Attention and a perceptron, each with a bypass."""
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        ahead = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        x = x + self.out((scores.masked_fill(ahead, -math.inf).softmax(-1) @ v).transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


@case(backward=True, tolerance={"rtol": 1e-3, "atol": 1e-3}, short=True)
def transformer_block(device):
    return Block(device), (tensor(device, 2, 37, 64, grad=True), )


@case(backward=True, tolerance={"rtol": 1e-3, "atol": 1e-3}, compile={"dynamic": True})
def transformer_block_of_any_length(device):
    return Block(device), (tensor(device, 2, 37, 64, grad=True), )


@case(backward=True, tolerance={"rtol": 1e-3, "atol": 1e-3})
def rotary_embedding(device):
    def f(x, angle):
        one, two = x.chunk(2, -1)
        return torch.cat([one * angle.cos() - two * angle.sin(), one * angle.sin() + two * angle.cos()], -1)

    return f, (tensor(device, 2, 5, 33, 16, grad=True), tensor(device, 33, 8))


@case(tolerance={"rtol": 1e-3, "atol": 1e-3}, kernels=0)
def sdpa(device):
    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True) * 2 + 1

    return f, tuple(tensor(device, 2, 3, 33, 16) for _ in range(3))


@case(compile={"dynamic": True}, short=True)
def dynamic_shapes(device):
    def f(x, y):
        return (x * y.shape[0]).softmax(-1), x.sum(0) + y.shape[1], F.pad(x, (1, 1)), torch.arange(x.shape[0], device=x.device)

    return f, (tensor(device, 31, 45), tensor(device, 31, 45))


# --- on GPUs alone ---

_AUTOTUNE = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON", "max_autotune_gemm_search_space": "DEFAULT"}


@case(devices=("cuda", ), config=_AUTOTUNE, tolerance={"rtol": 1e-2, "atol": 1e-2})
def max_autotune_mm(device):
    def f(a, b, c):
        return (a @ b + c).relu()

    return f, (tensor(device, 256, 192, dtype=torch.float16), tensor(device, 192, 320, dtype=torch.float16), tensor(device, 320, dtype=torch.float16))


@case(devices=("cuda", ), config=_AUTOTUNE, tolerance={"rtol": 3e-2, "atol": 3e-2})
def max_autotune_bmm_and_odd_sizes(device):
    def f(a, b):
        return torch.bmm(a, b).sigmoid(), a[0] @ b[0]

    return f, (tensor(device, 4, 65, 127, dtype=torch.bfloat16), tensor(device, 4, 127, 70, dtype=torch.bfloat16))


@case(devices=("cuda", ), config={**_AUTOTUNE, "triton.enable_persistent_tma_matmul": True}, tolerance={"rtol": 1e-2, "atol": 1e-2})
def persistent_tma_matmul(device):
    def f(a, b):
        return (a @ b) * 2

    return f, (tensor(device, 512, 256, dtype=torch.float16), tensor(device, 256, 384, dtype=torch.float16))


@case(devices=("cuda", ), config={"max_autotune_pointwise": True, "coordinate_descent_tuning": True})
def coordinate_descent(device):
    def f(x):
        return x.softmax(-1).sum(0), F.gelu(x)

    return f, (tensor(device, 257, 513), )


@case(devices=("cuda", ), compile={"mode": "reduce-overhead"}, tolerance=_PRODUCT)
def cuda_graphs(device):
    return mlp(device)[0].eval().requires_grad_(False), (tensor(device, 50, 65), )


@case(devices=("cuda", ), config={"cpp_wrapper": True}, tolerance=_PRODUCT)
def cpp_wrapper(device):
    def f(x, y):
        return (x * 2 + y).softmax(-1), x.sum()

    return f, (tensor(device, 65, 33), tensor(device, 65, 33))


@case(devices=("cuda", ), config={"triton.use_block_ptr": True})
def block_pointers(device):
    def f(x, y):
        return x + y.t(), (x * 2).sum(-1)

    return f, (tensor(device, 64, 128), tensor(device, 128, 64))


@case(devices=("cuda", ), config={"triton.use_tensor_descriptor": True, "assume_aligned_inputs": True})
def tensor_descriptors(device):
    def f(x, y):
        return x + y, (x * 2).sum(-1)

    return f, (tensor(device, 64, 128), tensor(device, 64, 128))


@case(short=True, config={"triton.cooperative_reductions": True, "triton.force_cooperative_reductions": True},
      tolerance={"rtol": 1e-4, "atol": 1e-3})
def cooperative_reductions(device):
    def f(x):
        return x.sum(-1), x.softmax(-1)

    return f, (tensor(device, 3, 100_003), )


@case(devices=("cuda", ), config={"triton.multi_kernel": 1})
def multi_kernels(device):
    def f(x):
        return x.softmax(-1)

    return f, (tensor(device, 130, 1000), )


def _flex(device, dtype, backward, **facts):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(b, h, q, k):
        return q >= k

    def window(b, h, q, k):
        return (q >= k) & (q - k < 100)

    def bias(score, b, h, q, k):
        return score + (k - q) * 0.01

    mask = create_block_mask(window if facts.get("window") else causal, None, None, 256, 256, device=device)

    def f(q, k, v):
        return flex_attention(q, k, v, score_mod=bias if facts.get("bias") else None, block_mask=mask)

    return f, tuple(tensor(device, 2, 3, 256, 64, dtype=dtype, grad=backward) for _ in range(3))


@case(devices=("cuda", ), tolerance={"rtol": 2e-2, "atol": 2e-2})
def flex_attention_causal(device):
    return _flex(device, torch.float16, False)


@case(devices=("cuda", ), tolerance={"rtol": 2e-2, "atol": 2e-2})
def flex_attention_window_and_bias(device):
    return _flex(device, torch.bfloat16, False, window=True, bias=True)


@case(devices=("cuda", ), backward=True, tolerance={"rtol": 5e-2, "atol": 5e-2})
def flex_attention_backward(device):
    return _flex(device, torch.float16, True, bias=True)


# --- running them ---


def _leaves(values):
    from torch.utils import _pytree

    return [leaf for leaf in _pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _widened(value):
    """Half types as float32: what eager mode rounds between operations, a fused kernel does not."""
    if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16):
        return value.detach().float().requires_grad_(value.requires_grad)
    return value


def _copies(args):
    return tuple(arg.detach().clone().requires_grad_(arg.requires_grad) if isinstance(arg, torch.Tensor) else arg for arg in args)


def run(function, args, backward):
    """Results, then gradients of inputs and parameters."""
    results = _leaves(function(*args))
    if not backward:
        return results + [arg for arg in args if isinstance(arg, torch.Tensor)]
    weights = [result for result in results if result.requires_grad]
    sum((result.float() * torch.linspace(-1, 1, result.numel(), device=result.device).view(result.shape)).sum() for result in weights).backward()
    inputs = [arg.grad for arg in args if isinstance(arg, torch.Tensor) and arg.requires_grad]
    parameters = [parameter.grad for parameter in function.parameters()] if isinstance(function, nn.Module) else []
    return results + inputs + parameters


def reference(function, args, backward):
    """What eager mode yields, in float32 where the case has half types."""
    function = copy.deepcopy(function)
    if isinstance(function, nn.Module):
        function = function.float()
    return run(function, tuple(map(_widened, _copies(args))), backward)


def check(found, expected, tolerance):
    """Compares lists of tensors."""
    assert len(found) == len(expected)
    for number, (one, other) in enumerate(zip(found, expected)):
        def says(text, number=number):
            return f"result {number}: {text}"

        if one.dtype != other.dtype and one.dtype in (torch.float16, torch.bfloat16):
            other = other.to(one.dtype)
        assert one.dtype == other.dtype
        loose = dict(tolerance) if one.dtype.is_floating_point and one.dtype != torch.float64 else {}
        torch.testing.assert_close(one, other, equal_nan=True, msg=says, **loose)


def check_case(case, device):
    """Compiles and runs one case, and returns the code that Inductor wrote for it."""
    from torch._inductor.utils import run_and_get_code

    torch.manual_seed(0)
    torch._dynamo.reset()
    function, args = case.make(device)
    expected = reference(function, args, case.backward)
    with torch._inductor.config.patch(case.config):
        compiled = torch.compile(function, **{"fullgraph": True, **case.compile})
        if isinstance(function, nn.Module):
            # Gradients are those of the module itself.
            compiled.parameters = function.parameters
        found, codes = run_and_get_code(run, compiled, _copies(args), case.backward)
        check(found, expected, case.tolerance)
        if not case.backward:
            check(run(compiled, _copies(args), False), expected, case.tolerance)
    code = "\n".join(codes)
    assert code.count("@triton.jit") >= case.kernels, "Inductor wrote no kernel for this compiler"
    return code
