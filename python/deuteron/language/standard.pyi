# Made from the signatures of the package by tests/python/stubs.py; do not edit.
from typing import Any

from . import tensor
from . import argmax as argmax
from . import argmin as argmin
from . import argsort as argsort
from . import bitonic_merge as bitonic_merge
from . import cdiv as cdiv
from . import constexpr as constexpr
from . import cumprod as cumprod
from . import cumsum as cumsum
from . import flip as flip
from . import interleave as interleave
from . import max as max
from . import min as min
from . import ravel as ravel
from . import reduce_or as reduce_or
from . import sigmoid as sigmoid
from . import softmax as softmax
from . import sort as sort
from . import squeeze as squeeze
from . import sum as sum
from . import swizzle2d as swizzle2d
from . import topk as topk
from . import unsqueeze as unsqueeze
from . import xor_sum as xor_sum
from . import zeros as zeros
from . import zeros_like as zeros_like

def _argmax_combine(value1: Any, index1: Any, value2: Any, index2: Any, tie_break_left: Any) -> Any:
    """The larger of two values with its position; of equal ones the first when `tie_break_left`."""

def _argmax_combine_tie_break_fast(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    """The larger of two values with its position; of equal ones the second."""

def _argmax_combine_tie_break_left(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    """The larger of two values with its position; of equal ones the first."""

def _argmin_combine(value1: Any, index1: Any, value2: Any, index2: Any, tie_break_left: Any) -> Any:
    """The smaller of two values with its position; of equal ones the first when `tie_break_left`."""

def _argmin_combine_tie_break_fast(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    """The smaller of two values with its position; of equal ones the second."""

def _argmin_combine_tie_break_left(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    """The smaller of two values with its position; of equal ones the first."""

def _compare_and_swap(x: Any, flip: Any, i: Any) -> tensor:
    """A stage of a bitonic network: `x` has a power of two of elements and only dimensions of size 2, and pairs along the `i`-th from
    the innermost are put in order, in the other one where `flip` is 1.
    """

def _elementwise_max(a: Any, b: Any) -> tensor:
    """The larger of two elements, as `max` combines them."""

def _elementwise_min(a: Any, b: Any) -> tensor:
    """The smaller of two elements, as `min` combines them."""

def _or_combine(x: Any, y: Any) -> tensor:
    """The bitwise or of two elements, as `reduce_or` combines them."""

def _prod_combine(a: Any, b: Any) -> tensor:
    """The product of two elements, as `cumprod` combines them."""

def _sum_combine(a: Any, b: Any) -> tensor:
    """The sum of two elements, as `sum` combines them."""

def _xor_combine(a: Any, b: Any) -> tensor:
    """The exclusive or of two elements, as `xor_sum` combines them."""

def sort_impl(x: Any, k: Any = None, dim: Any = None, descending: Any = ...) -> tensor:
    """The elements in order along the last dimension, or the first `k` of them."""
