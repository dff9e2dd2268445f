"""Objects with fields in kernels: `@triton.aggregate`, named tuples, tuples of the language, functions as values."""

from typing import NamedTuple

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl

ENGINES = ["cpu", "interpreter", "sm_90"]


@triton.aggregate
class Line:
    start: tl.tensor
    step: tl.tensor
    scale: tl.constexpr = 2

    @triton.jit
    def at(self, i):
        return (self.start + i * self.step) * self.scale

    @triton.jit
    def __add__(self, other):
        return tl.aggregate_replace(self, start=self.start + other)

    @triton.jit
    def __getitem__(self, i):
        return self.at(i)

    def plain(self, _semantic=None):
        return self.step

    @staticmethod
    def of(start):
        return Line(start, start + 1)

    @triton.constexpr_function
    def twice(self):
        return self.scale * 2


@triton.aggregate
class Shifted(Line):
    shift: tl.constexpr = 100

    @triton.jit
    def moved(self, i):
        return self.at(i) + self.shift


@triton.aggregate
class Made:
    value: tl.tensor
    squared: tl.constexpr

    def __init__(self, value, n):
        self.value = value
        if n > 2:
            self.squared = tl.constexpr(n * n)
        else:
            self.squared = tl.constexpr(0)


class Pair(NamedTuple):
    first: tl.tensor
    second: tl.tensor = 5


@triton.jit
def lines(out, a, b, n):
    line = Line(a, step=b)
    tl.store(out, line.at(3))
    tl.store(out + 1, (line + 10)[0])
    tl.store(out + 2, line.plain())
    tl.store(out + 3, Line.of(a).at(1))
    tl.store(out + 4, Shifted(a, b, 1).moved(2))
    tl.store(out + 5, Made(a, 3).squared + Made(a, 1).squared)
    for _ in range(n):
        line = line + 1
    if n > 2:
        line = tl.aggregate_replace(line, step=b * 2)
    tl.store(out + 6, line.at(1))
    tl.store(out + 7, line.scale)
    pair = Pair(second=a, first=b)
    tl.store(out + 8, pair.first * 1000 + pair.second)
    tl.store(out + 9, Pair(a).second)
    several = tl.tuple((a, b)) + (n, )
    tl.store(out + 10, several[0] + several[2])
    tl.static_assert(isinstance(line, Line) and isinstance(pair, Pair) and len(several) == 3)


@pytest.mark.parametrize("n", [0, 3])
def test_objects_are_values_of_kernels(engine, n):
    a, b = 7, 4
    out = np.zeros(11, np.int32)
    lines[(1, )](out, a, b, n)
    step = b * 2 if n > 2 else b
    assert out.tolist() == [(a + 3 * b) * 2, (a + 10) * 2, b, (a + a + 1) * 2, a + 2 * b + 100, 9, (a + n + step) * 2, 2,
                            b * 1000 + a, 5, a + n]


class Known(NamedTuple):
    size: tl.constexpr
    name: tl.constexpr = "rows"


@triton.constexpr_function
def doubled(known):
    return known._replace(size=2 * known.size)


@triton.jit
def named_constants(out, pair):
    tl.static_assert(pair[1].type == tl.constexpr_type(3) and pair[1].type != tl.constexpr_type(4))
    known = doubled(Known(21))
    tl.static_assert(known.name == "rows")
    tl.store(out, known.size + pair[0] + pair[1])


def test_names_of_fields_reach_functions_at_compile_time(engine):
    out = np.zeros(1, np.int32)
    named_constants[(1, )](out, (100, tl.constexpr(3)))
    assert out[0] == 145


@triton.jit
def constants_only(out, LINE: tl.constexpr):
    tl.store(out, LINE.scale)


@triton.aggregate
class Sizes:
    rows: tl.constexpr
    columns: tl.constexpr = 4

    @triton.constexpr_function
    def count(self):
        return self.rows * self.columns


@triton.jit
def sizes(out):
    s = Sizes(3)
    tl.store(out, s.count())


def test_constexpr_methods_run_when_compiling():
    out = np.zeros(1, np.int32)
    sizes[(1, )](out)
    assert out[0] == 12
    assert Sizes(5).count() == 20 or Sizes(5).count().value == 20


@triton.aggregate
class Tile:
    size: Sizes
    first: tl.tensor

    @triton.constexpr_function
    def rows(self):
        return self.size.rows * 2

    @triton.constexpr_function
    def reads_first(self):
        return self.first + 1


@triton.jit
def rows_of_a_tile(out, n):
    tile = Tile(Sizes(3), n + tl.arange(0, 4))
    tl.store(out, tile.rows() + tl.max(tile.first, 0))


@triton.jit
def reads_a_run_time_field(out, n):
    tl.store(out, Tile(Sizes(3), n + tl.arange(0, 4)).reads_first())


def test_constexpr_methods_see_the_constants_beside_run_time_fields():
    out = np.zeros(1, np.int32)
    rows_of_a_tile[(1, )](out, 20)
    assert out[0] == 29
    with pytest.raises(triton.CompilationError, match="Tile.first is a run-time value"):
        reads_a_run_time_field[(1, )](out, 20)


def test_objects_can_be_made_outside():
    made = Sizes(3, columns=8)
    assert made.rows.value == 3 and made.columns.value == 8 and Sizes(1).columns.value == 4
    assert triton.language.aggregate_replace(made, rows=30).rows.value == 30 and made.rows.value == 3
    with pytest.raises(AttributeError, match="cannot assign to field 'rows' on immutable aggregate Sizes"):
        made.rows = 5
    with pytest.raises(TypeError, match="has no field 'depth'"):
        triton.language.aggregate_replace(made, depth=1)
    with pytest.raises(TypeError, match="expects an aggregate instance"):
        triton.language.aggregate_replace(3, rows=1)
    with pytest.raises(TypeError, match="missing required argument: 'rows'"):
        Sizes()

    class Plain:
        pass

    with pytest.raises(TypeError, match="Aggregates can only inherit from other aggregates"):

        @triton.aggregate
        class Wrong(Plain):
            x: tl.constexpr


@triton.jit
def writes_a_field(out):
    s = Sizes(3)
    s.rows = 4
    tl.store(out, s.rows)


def test_fields_do_not_change():
    with pytest.raises(triton.CompilationError, match="cannot assign to field 'rows' on immutable aggregate"):
        writes_a_field[(1, )](np.zeros(1, np.int32))


@triton.aggregate
class Counted:
    value: tl.tensor
    weight: tl.constexpr

    @triton.jit
    def __add__(self, other):
        return Counted(self.value + other, self.weight)

    @triton.jit
    def __radd__(self, other):
        return Counted(self.value + 10 * other, self.weight)

    @triton.jit
    def __rsub__(self, other):
        return Counted(other - self.value, self.weight)

    @triton.constexpr_function
    def __mul__(self, other):
        return NotImplemented

    @triton.jit
    def __eq__(self, other):
        return self.value == other

    @triton.jit
    def __lt__(self, other):
        return self.value < other

    @triton.jit
    def __ge__(self, other):
        return self.value >= other

    @triton.jit
    def __neg__(self):
        return Counted(-self.value, self.weight)

    @triton.jit
    def __invert__(self):
        return Counted(~self.value, self.weight)

    @triton.jit
    def __pos__(self):
        return self.weight

    @triton.jit
    def __not__(self):
        return self.value == 0

    @triton.jit
    def logical_and(self, other):
        return self.value * other


@triton.aggregate
class Scaling(Counted):
    factor: tl.constexpr = 7

    @triton.jit
    def __radd__(self, other):
        return self.factor

    @triton.jit
    def __rmul__(self, other):
        return self.value * self.factor


@triton.jit
def operators(out, n):
    block = n + tl.arange(0, 4)
    a, b, s = Counted(block, 5), Counted(n, 5), Scaling(n, 1)
    rows = out + tl.arange(0, 4)
    tl.store(rows, (a + 1).value)
    tl.store(rows + 4, (1 + a).value)
    tl.store(rows + 8, (block + a).value)
    tl.store(rows + 12, (block * 3 - a).value)
    tl.store(rows + 16, a == 5)
    tl.store(rows + 20, block == a)
    tl.store(rows + 24, a < 5)
    tl.store(rows + 28, 5 > a)
    tl.store(rows + 32, block <= a)
    tl.store(rows + 36, (-a).value)
    tl.store(rows + 40, (~a).value)
    tl.store(rows + 44, not a)
    tl.store(out + 48, +a)
    tl.store(out + 49, n * s)
    tl.store(out + 50, b * s)
    tl.store(out + 51, b + s)
    tl.store(out + 52, (b and n) + (3 and b and 1).value + (n - b).value)


def test_operators_are_the_methods_of_classes(engine):
    out = np.full(53, -1, np.int32)
    operators[(1, )](out, 4)
    block = np.arange(4, 8)
    expected = np.concatenate([
        block + 1, block + 10, block * 11, block * 2, block == 5, block == block, block < 5, block < 5, block >= block,
        -block, ~block, block == 0, [5, 28, 28, 7, 20]
    ])
    assert out.tolist() == expected.tolist()


@triton.jit
def without_a_method(out, n):
    tl.store(out, 3 > Line(n, n))


def test_operators_without_a_method_are_refused():
    message = "unsupported operand type\\(s\\) for >: 'int' and 'Line'"
    with pytest.raises(triton.CompilationError, match=message):
        without_a_method[(1, )](np.zeros(1, np.int32), 3)


@triton.jit
def equalities(out, n, m):
    pair = (n, m)
    descriptor = tl.make_tensor_descriptor(out, [8], [1], [8])
    tl.static_assert(pair == pair and pair == (n, m) and pair != (n, ) and (n, 3) == (n, 3) and (n, 3) != (n, 4))
    tl.static_assert(pair != tl.float32 and tl.float32 != descriptor and descriptor == descriptor)
    tl.static_assert(not (descriptor == None))
    tl.store(out, m)


@triton.jit
def equal_at_run_time(out, n, m):
    tl.static_assert((n, 3) == (m, 3))


def test_what_is_no_number_is_equal_as_in_python():
    out = np.zeros(8, np.int32)
    equalities[(1, )](out, 5, 6)
    assert out[0] == 6
    with pytest.raises(triton.CompilationError, match="unsupported operand type.* 'tuple' and 'tuple'"):
        equal_at_run_time[(1, )](out, 5, 6)
