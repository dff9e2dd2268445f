"""Functions and models that `torch_compile.py` gives to ``torch.compile``, in sizes that fill a GPU.

Each entry of `MODELS` makes a function and its inputs. Entries of `TRAINED` are run forward and backward.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

HALF = torch.float16


def half(*shape, grad=False):
    """Random numbers in fp16."""
    return torch.randn(shape, device="cuda", dtype=HALF).requires_grad_(grad)


class Block(nn.Module):
    """A transformer block with attention written out, fp16."""

    def __init__(self, width=1024, heads=16):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.to("cuda", HALF)

    def forward(self, x):
        """Causal attention and a perceptron, each with a bypass."""
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def transformer_block():
    """Forward."""
    return Block(), (half(4, 1024, 1024), )


def transformer_block_trained():
    """Forward and backward."""
    return Block(), (half(4, 1024, 1024, grad=True), )


def perceptron_trained():
    """Forward and backward, with SiLU gates."""

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.up, self.down = nn.Linear(2048, 5632), nn.Linear(2048, 5632), nn.Linear(5632, 2048)
            self.to("cuda", HALF)

        def forward(self, x):
            return self.down(F.silu(self.gate(x)) * self.up(x))

    return Gated(), (half(4096, 2048, grad=True), )


def pointwise():
    """A chain of elementwise functions, 2^26 elements."""
    return lambda x, y: F.gelu(x * y + 1) * torch.sigmoid(y), (half(1 << 26), half(1 << 26))


def softmax():
    """Rows of 4,096."""
    return lambda x: x.float().softmax(-1).half(), (half(16384, 4096), )


def layer_norm_trained():
    """Forward and backward, rows of 4,096."""
    return nn.LayerNorm(4096).to("cuda", HALF), (half(8192, 4096, grad=True), )


def rms_norm():
    """Rows of 8,192."""
    weight = half(8192)
    return lambda x: (x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)).half() * weight, (half(4096, 8192), )


def cross_entropy():
    """Rows of 50,257 classes."""
    labels = torch.randint(50257, (4096, ), device="cuda")
    return lambda x: F.cross_entropy(x.float(), labels), (half(4096, 50257), )


def column_sums():
    """Sums and maxima over rows."""
    return lambda x: (x.float().sum(0), x.amax(0)), (half(16384, 4096), )


def variance_of_all():
    """A reduction of a whole tensor."""
    return lambda x: x.float().var(), (half(8192, 8192), )


def cumulative_sum():
    """Scans of rows."""
    return lambda x: x.cumsum(-1), (torch.randn(8192, 4096, device="cuda"), )


def transposed_add():
    """Reads across rows."""
    return lambda x, y: x.t().contiguous() + y, (half(8192, 8192), half(8192, 8192))


def embedding_and_norm():
    """Rows of a table, then a norm."""
    table, index = half(50000, 2048), torch.randint(50000, (16384, ), device="cuda")
    return lambda index: F.layer_norm(table[index].float(), (2048, )).half(), (index, )


def rotary():
    """Rotated halves of each head."""
    angle = torch.randn(2048, 32, device="cuda")

    def run(x):
        one, two = x.float().chunk(2, -1)
        return torch.cat([one * angle.cos() - two * angle.sin(), one * angle.sin() + two * angle.cos()], -1).half()

    return run, (half(8, 32, 2048, 64), )


def argmax_and_gather():
    """The greatest of each row, and what stands there in another tensor."""
    return lambda x, y: y.gather(1, x.argmax(1, keepdim=True)), (half(16384, 4096), half(16384, 4096))


def convolution():
    """A convolution of a library, and normalization and ReLU behind it."""
    model = nn.Sequential(nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU()).to("cuda", HALF).eval()
    return model, (half(32, 64, 56, 56), )


MODELS = {
    "pointwise": pointwise,
    "softmax 16384x4096": softmax,
    "rms norm 4096x8192": rms_norm,
    "layer norm 8192x4096, trained": layer_norm_trained,
    "cross entropy 4096x50257": cross_entropy,
    "column sums 16384x4096": column_sums,
    "variance of 2^26": variance_of_all,
    "cumulative sums 8192x4096": cumulative_sum,
    "transposed add 8192x8192": transposed_add,
    "embedding and norm": embedding_and_norm,
    "rotary embedding": rotary,
    "argmax and gather": argmax_and_gather,
    "convolution, norm, ReLU": convolution,
    "gated perceptron, trained": perceptron_trained,
    "transformer block": transformer_block,
    "transformer block, trained": transformer_block_trained,
}
TRAINED = {name for name in MODELS if name.endswith("trained")}
