# Made from the signatures of the package by tests/python/stubs.py; do not edit.
from typing import Any

from .. import tensor

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add_rd",
    "add_rn",
    "add_ru",
    "add_rz",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "brev",
    "byte_perm",
    "cbrt",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "div_rd",
    "div_rn",
    "div_ru",
    "div_rz",
    "double2float_rd",
    "double2float_rn",
    "double2float_ru",
    "double2float_rz",
    "double2hiint",
    "double2int_rd",
    "double2int_rn",
    "double2int_ru",
    "double2int_rz",
    "double2ll_rd",
    "double2ll_rn",
    "double2ll_ru",
    "double2ll_rz",
    "double2loint",
    "double2uint_rd",
    "double2uint_rn",
    "double2uint_ru",
    "double2uint_rz",
    "double2ull_rd",
    "double2ull_rn",
    "double2ull_ru",
    "double2ull_rz",
    "double_as_longlong",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fast_cosf",
    "fast_dividef",
    "fast_exp10f",
    "fast_expf",
    "fast_log10f",
    "fast_log2f",
    "fast_logf",
    "fast_powf",
    "fast_sinf",
    "fast_tanf",
    "fast_tanhf",
    "fdim",
    "ffs",
    "finitef",
    "float2int_rd",
    "float2int_rn",
    "float2int_ru",
    "float2int_rz",
    "float2ll_rd",
    "float2ll_rn",
    "float2ll_ru",
    "float2ll_rz",
    "float2uint_rd",
    "float2uint_rn",
    "float2uint_ru",
    "float2uint_rz",
    "float2ull_rd",
    "float2ull_rn",
    "float2ull_ru",
    "float2ull_rz",
    "float_as_int",
    "float_as_uint",
    "floor",
    "fma",
    "fma_rd",
    "fma_rn",
    "fma_ru",
    "fma_rz",
    "fmod",
    "hadd",
    "hiloint2double",
    "hypot",
    "ilogb",
    "int2double_rn",
    "int2float_rd",
    "int2float_rn",
    "int2float_ru",
    "int2float_rz",
    "int_as_float",
    "isfinited",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "ll2double_rd",
    "ll2double_rn",
    "ll2double_ru",
    "ll2double_rz",
    "ll2float_rd",
    "ll2float_rn",
    "ll2float_ru",
    "ll2float_rz",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "longlong_as_double",
    "mul24",
    "mul_rd",
    "mul_rn",
    "mul_ru",
    "mul_rz",
    "mulhi",
    "nearbyint",
    "nextafter",
    "norm3d",
    "norm4d",
    "normcdf",
    "normcdfinv",
    "popc",
    "pow",
    "rcbrt",
    "rcp64h",
    "rcp_rd",
    "rcp_rn",
    "rcp_ru",
    "rcp_rz",
    "remainder",
    "rhadd",
    "rhypot",
    "rint",
    "rnorm3d",
    "rnorm4d",
    "round",
    "rsqrt",
    "rsqrt_rn",
    "sad",
    "saturatef",
    "scalbn",
    "signbit",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "sqrt_rd",
    "sqrt_rn",
    "sqrt_ru",
    "sqrt_rz",
    "sub_rd",
    "sub_rn",
    "sub_ru",
    "sub_rz",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "uint2double_rn",
    "uint2float_rd",
    "uint2float_rn",
    "uint2float_ru",
    "uint2float_rz",
    "uint_as_float",
    "ull2double_rd",
    "ull2double_rn",
    "ull2double_ru",
    "ull2double_rz",
    "ull2float_rd",
    "ull2float_rn",
    "ull2float_ru",
    "ull2float_rz",
    "y0",
    "y1",
    "yn",
]

def abs(arg0: Any) -> tensor:
    """The absolute value (integers too)."""

def acos(arg0: Any) -> tensor:
    """The arc cosine."""

def acosh(arg0: Any) -> tensor:
    """The inverse hyperbolic cosine."""

def add_rd(arg0: Any, arg1: Any) -> tensor:
    """The sum, rounded downwards."""

def add_rn(arg0: Any, arg1: Any) -> tensor:
    """The sum, rounded to nearest."""

def add_ru(arg0: Any, arg1: Any) -> tensor:
    """The sum, rounded upwards."""

def add_rz(arg0: Any, arg1: Any) -> tensor:
    """The sum, rounded towards zero."""

def asin(arg0: Any) -> tensor:
    """The arc sine."""

def asinh(arg0: Any) -> tensor:
    """The inverse hyperbolic sine."""

def atan(arg0: Any) -> tensor:
    """The arc tangent."""

def atan2(arg0: Any, arg1: Any) -> tensor:
    """The angle of the point (y, x), in (-pi, pi]."""

def atanh(arg0: Any) -> tensor:
    """The inverse hyperbolic tangent."""

def brev(arg0: Any) -> tensor:
    """The bits of an int32 or int64 in reverse."""

def byte_perm(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """Four bytes picked from eight by the nibbles of the third."""

def cbrt(arg0: Any) -> tensor:
    """The cube root."""

def ceil(arg0: Any) -> tensor:
    """The smallest whole number not below."""

def clz(arg0: Any) -> tensor:
    """The number of leading zero bits of an int32 or int64, as int32."""

def copysign(arg0: Any, arg1: Any) -> tensor:
    """The size of the first with the sign of the second."""

def cos(arg0: Any) -> tensor:
    """The cosine."""

def cosh(arg0: Any) -> tensor:
    """The hyperbolic cosine."""

def cospi(arg0: Any) -> tensor:
    """The cosine of pi times the argument."""

def cyl_bessel_i0(arg0: Any) -> tensor:
    """The regular modified cylindrical Bessel function of order 0."""

def cyl_bessel_i1(arg0: Any) -> tensor:
    """The regular modified cylindrical Bessel function of order 1."""

def div_rd(arg0: Any, arg1: Any) -> tensor:
    """The quotient, rounded downwards."""

def div_rn(arg0: Any, arg1: Any) -> tensor:
    """The quotient, rounded to nearest."""

def div_ru(arg0: Any, arg1: Any) -> tensor:
    """The quotient, rounded upwards."""

def div_rz(arg0: Any, arg1: Any) -> tensor:
    """The quotient, rounded towards zero."""

def double2float_rd(arg0: Any) -> tensor:
    """fp64 to fp32, rounded downwards."""

def double2float_rn(arg0: Any) -> tensor:
    """fp64 to fp32, rounded to nearest."""

def double2float_ru(arg0: Any) -> tensor:
    """fp64 to fp32, rounded upwards."""

def double2float_rz(arg0: Any) -> tensor:
    """fp64 to fp32, rounded towards zero."""

def double2hiint(arg0: Any) -> tensor:
    """The upper half of the bits of an fp64, as int32."""

def double2int_rd(arg0: Any) -> tensor:
    """fp64 to int32, rounded downwards."""

def double2int_rn(arg0: Any) -> tensor:
    """fp64 to int32, rounded to nearest."""

def double2int_ru(arg0: Any) -> tensor:
    """fp64 to int32, rounded upwards."""

def double2int_rz(arg0: Any) -> tensor:
    """fp64 to int32, rounded towards zero."""

def double2ll_rd(arg0: Any) -> tensor:
    """fp64 to int64, rounded downwards."""

def double2ll_rn(arg0: Any) -> tensor:
    """fp64 to int64, rounded to nearest."""

def double2ll_ru(arg0: Any) -> tensor:
    """fp64 to int64, rounded upwards."""

def double2ll_rz(arg0: Any) -> tensor:
    """fp64 to int64, rounded towards zero."""

def double2loint(arg0: Any) -> tensor:
    """The lower half of the bits of an fp64, as int32."""

def double2uint_rd(arg0: Any) -> tensor:
    """fp64 to uint32, rounded downwards."""

def double2uint_rn(arg0: Any) -> tensor:
    """fp64 to uint32, rounded to nearest."""

def double2uint_ru(arg0: Any) -> tensor:
    """fp64 to uint32, rounded upwards."""

def double2uint_rz(arg0: Any) -> tensor:
    """fp64 to uint32, rounded towards zero."""

def double2ull_rd(arg0: Any) -> tensor:
    """fp64 to uint64, rounded downwards."""

def double2ull_rn(arg0: Any) -> tensor:
    """fp64 to uint64, rounded to nearest."""

def double2ull_ru(arg0: Any) -> tensor:
    """fp64 to uint64, rounded upwards."""

def double2ull_rz(arg0: Any) -> tensor:
    """fp64 to uint64, rounded towards zero."""

def double_as_longlong(arg0: Any) -> tensor:
    """The bits of an fp64 as int64."""

def erf(arg0: Any) -> tensor:
    """The error function."""

def erfc(arg0: Any) -> tensor:
    """One minus the error function."""

def erfcinv(arg0: Any) -> tensor:
    """The inverse of `erfc`."""

def erfcx(arg0: Any) -> tensor:
    """`erfc` times exp(x * x)."""

def erfinv(arg0: Any) -> tensor:
    """The inverse of `erf`."""

def exp(arg0: Any) -> tensor:
    """e to the power."""

def exp10(arg0: Any) -> tensor:
    """10 to the power."""

def exp2(arg0: Any) -> tensor:
    """2 to the power."""

def expm1(arg0: Any) -> tensor:
    """exp(x) - 1, precise near 0."""

def fast_cosf(arg0: Any) -> tensor:
    """The cosine of an fp32, approximate."""

def fast_dividef(arg0: Any, arg1: Any) -> tensor:
    """The quotient of fp32, approximate."""

def fast_exp10f(arg0: Any) -> tensor:
    """10 to the power of an fp32, approximate."""

def fast_expf(arg0: Any) -> tensor:
    """e to the power of an fp32, approximate."""

def fast_log10f(arg0: Any) -> tensor:
    """The logarithm to the base 10 of an fp32, approximate."""

def fast_log2f(arg0: Any) -> tensor:
    """The logarithm to the base 2 of an fp32, approximate."""

def fast_logf(arg0: Any) -> tensor:
    """The natural logarithm of an fp32, approximate."""

def fast_powf(arg0: Any, arg1: Any) -> tensor:
    """The first to the power of the second, fp32, approximate."""

def fast_sinf(arg0: Any) -> tensor:
    """The sine of an fp32, approximate."""

def fast_tanf(arg0: Any) -> tensor:
    """The tangent of an fp32, approximate."""

def fast_tanhf(arg0: Any) -> tensor:
    """The hyperbolic tangent of an fp32, approximate."""

def fdim(arg0: Any, arg1: Any) -> tensor:
    """The difference where it is positive, else 0."""

def ffs(arg0: Any) -> tensor:
    """The position of the lowest set bit of an int32 or int64, counted from 1; 0 when there is none."""

def finitef(arg0: Any) -> tensor:
    """Whether an fp32 is neither infinite nor NaN, as int1."""

def float2int_rd(arg0: Any) -> tensor:
    """fp32 to int32, rounded downwards."""

def float2int_rn(arg0: Any) -> tensor:
    """fp32 to int32, rounded to nearest."""

def float2int_ru(arg0: Any) -> tensor:
    """fp32 to int32, rounded upwards."""

def float2int_rz(arg0: Any) -> tensor:
    """fp32 to int32, rounded towards zero."""

def float2ll_rd(arg0: Any) -> tensor:
    """fp32 to int64, rounded downwards."""

def float2ll_rn(arg0: Any) -> tensor:
    """fp32 to int64, rounded to nearest."""

def float2ll_ru(arg0: Any) -> tensor:
    """fp32 to int64, rounded upwards."""

def float2ll_rz(arg0: Any) -> tensor:
    """fp32 to int64, rounded towards zero."""

def float2uint_rd(arg0: Any) -> tensor:
    """fp32 to uint32, rounded downwards."""

def float2uint_rn(arg0: Any) -> tensor:
    """fp32 to uint32, rounded to nearest."""

def float2uint_ru(arg0: Any) -> tensor:
    """fp32 to uint32, rounded upwards."""

def float2uint_rz(arg0: Any) -> tensor:
    """fp32 to uint32, rounded towards zero."""

def float2ull_rd(arg0: Any) -> tensor:
    """fp32 to uint64, rounded downwards."""

def float2ull_rn(arg0: Any) -> tensor:
    """fp32 to uint64, rounded to nearest."""

def float2ull_ru(arg0: Any) -> tensor:
    """fp32 to uint64, rounded upwards."""

def float2ull_rz(arg0: Any) -> tensor:
    """fp32 to uint64, rounded towards zero."""

def float_as_int(arg0: Any) -> tensor:
    """The bits of an fp32 as int32."""

def float_as_uint(arg0: Any) -> tensor:
    """The bits of an fp32 as uint32."""

def floor(arg0: Any) -> tensor:
    """The largest whole number not above."""

def fma(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """x * y + z with one rounding."""

def fma_rd(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """x * y + z, rounded downwards once."""

def fma_rn(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """x * y + z, rounded to nearest once."""

def fma_ru(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """x * y + z, rounded upwards once."""

def fma_rz(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """x * y + z, rounded towards zero once."""

def fmod(arg0: Any, arg1: Any) -> tensor:
    """The remainder of the quotient truncated towards zero; it has the sign of the first."""

def hadd(arg0: Any, arg1: Any) -> tensor:
    """The mean of two integers, rounded down, without overflow."""

def hiloint2double(arg0: Any, arg1: Any) -> tensor:
    """An fp64 of the bits of an upper and a lower int32."""

def hypot(arg0: Any, arg1: Any) -> tensor:
    """The square root of the sum of squares, without overflow in between."""

def ilogb(arg0: Any) -> tensor:
    """The exponent to the base 2, as int32."""

def int2double_rn(arg0: Any) -> tensor:
    """int32 to fp64, rounded to nearest."""

def int2float_rd(arg0: Any) -> tensor:
    """int32 to fp32, rounded downwards."""

def int2float_rn(arg0: Any) -> tensor:
    """int32 to fp32, rounded to nearest."""

def int2float_ru(arg0: Any) -> tensor:
    """int32 to fp32, rounded upwards."""

def int2float_rz(arg0: Any) -> tensor:
    """int32 to fp32, rounded towards zero."""

def int_as_float(arg0: Any) -> tensor:
    """The bits of an int32 as fp32."""

def isfinited(arg0: Any) -> tensor:
    """Whether an fp64 is neither infinite nor NaN, as int1."""

def isinf(arg0: Any) -> tensor:
    """Whether the argument is infinite, as int1."""

def isnan(arg0: Any) -> tensor:
    """Whether the argument is NaN, as int1."""

def j0(arg0: Any) -> tensor:
    """The Bessel function of the first kind of order 0."""

def j1(arg0: Any) -> tensor:
    """The Bessel function of the first kind of order 1."""

def jn(arg0: Any, arg1: Any) -> tensor:
    """The Bessel function of the first kind of an int32 order, of an fp argument."""

def ldexp(arg0: Any, arg1: Any) -> tensor:
    """The first times 2 to the power of the second, an int32."""

def lgamma(arg0: Any) -> tensor:
    """The natural logarithm of the absolute value of the gamma function."""

def ll2double_rd(arg0: Any) -> tensor:
    """int64 to fp64, rounded downwards."""

def ll2double_rn(arg0: Any) -> tensor:
    """int64 to fp64, rounded to nearest."""

def ll2double_ru(arg0: Any) -> tensor:
    """int64 to fp64, rounded upwards."""

def ll2double_rz(arg0: Any) -> tensor:
    """int64 to fp64, rounded towards zero."""

def ll2float_rd(arg0: Any) -> tensor:
    """int64 to fp32, rounded downwards."""

def ll2float_rn(arg0: Any) -> tensor:
    """int64 to fp32, rounded to nearest."""

def ll2float_ru(arg0: Any) -> tensor:
    """int64 to fp32, rounded upwards."""

def ll2float_rz(arg0: Any) -> tensor:
    """int64 to fp32, rounded towards zero."""

def llrint(arg0: Any) -> tensor:
    """The nearest whole number, ties to even, as int64."""

def llround(arg0: Any) -> tensor:
    """The nearest whole number, ties away from zero, as int64."""

def log(arg0: Any) -> tensor:
    """The natural logarithm."""

def log10(arg0: Any) -> tensor:
    """The logarithm to the base 10."""

def log1p(arg0: Any) -> tensor:
    """log(1 + x), precise near 0."""

def log2(arg0: Any) -> tensor:
    """The logarithm to the base 2."""

def logb(arg0: Any) -> tensor:
    """The exponent to the base 2, as a float."""

def longlong_as_double(arg0: Any) -> tensor:
    """The bits of an int64 as fp64."""

def mul24(arg0: Any, arg1: Any) -> tensor:
    """The lower 32 bits of the product of the lower 24 bits of integers."""

def mul_rd(arg0: Any, arg1: Any) -> tensor:
    """The product, rounded downwards."""

def mul_rn(arg0: Any, arg1: Any) -> tensor:
    """The product, rounded to nearest."""

def mul_ru(arg0: Any, arg1: Any) -> tensor:
    """The product, rounded upwards."""

def mul_rz(arg0: Any, arg1: Any) -> tensor:
    """The product, rounded towards zero."""

def mulhi(arg0: Any, arg1: Any) -> tensor:
    """The upper half of the product of integers."""

def nearbyint(arg0: Any) -> tensor:
    """The nearest whole number, ties to even."""

def nextafter(arg0: Any, arg1: Any) -> tensor:
    """The next float from the first towards the second."""

def norm3d(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The length of a vector of three."""

def norm4d(arg0: Any, arg1: Any, arg2: Any, arg3: Any) -> tensor:
    """The length of a vector of four."""

def normcdf(arg0: Any) -> tensor:
    """The cumulative distribution of the standard normal distribution."""

def normcdfinv(arg0: Any) -> tensor:
    """The inverse of `normcdf`."""

def popc(arg0: Any) -> tensor:
    """The number of set bits of an int32 or int64, as int32."""

def pow(arg0: Any, arg1: Any) -> tensor:
    """The first to the power of the second (an int32 or a float)."""

def rcbrt(arg0: Any) -> tensor:
    """One over the cube root."""

def rcp64h(arg0: Any) -> tensor:
    """One over an fp64, approximate: only its upper half is meant."""

def rcp_rd(arg0: Any) -> tensor:
    """One over the argument, rounded downwards."""

def rcp_rn(arg0: Any) -> tensor:
    """One over the argument, rounded to nearest."""

def rcp_ru(arg0: Any) -> tensor:
    """One over the argument, rounded upwards."""

def rcp_rz(arg0: Any) -> tensor:
    """One over the argument, rounded towards zero."""

def remainder(arg0: Any, arg1: Any) -> tensor:
    """The remainder of the quotient rounded to the nearest even."""

def rhadd(arg0: Any, arg1: Any) -> tensor:
    """The mean of two integers, rounded up, without overflow."""

def rhypot(arg0: Any, arg1: Any) -> tensor:
    """One over `hypot`."""

def rint(arg0: Any) -> tensor:
    """The nearest whole number, ties to even."""

def rnorm3d(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """One over the length of a vector of three."""

def rnorm4d(arg0: Any, arg1: Any, arg2: Any, arg3: Any) -> tensor:
    """One over the length of a vector of four."""

def round(arg0: Any) -> tensor:
    """The nearest whole number, ties away from zero."""

def rsqrt(arg0: Any) -> tensor:
    """One over the square root."""

def rsqrt_rn(arg0: Any) -> tensor:
    """One over the square root, rounded to nearest."""

def sad(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The absolute difference of the first two plus the third; integers."""

def saturatef(arg0: Any) -> tensor:
    """An fp32 kept between 0 and 1; NaN becomes 0."""

def scalbn(arg0: Any, arg1: Any) -> tensor:
    """The first times 2 to the power of the second, an int32."""

def signbit(arg0: Any) -> tensor:
    """Whether the sign bit is set, as int32."""

def sin(arg0: Any) -> tensor:
    """The sine."""

def sinh(arg0: Any) -> tensor:
    """The hyperbolic sine."""

def sinpi(arg0: Any) -> tensor:
    """The sine of pi times the argument."""

def sqrt(arg0: Any) -> tensor:
    """The square root."""

def sqrt_rd(arg0: Any) -> tensor:
    """The square root, rounded downwards."""

def sqrt_rn(arg0: Any) -> tensor:
    """The square root, rounded to nearest."""

def sqrt_ru(arg0: Any) -> tensor:
    """The square root, rounded upwards."""

def sqrt_rz(arg0: Any) -> tensor:
    """The square root, rounded towards zero."""

def sub_rd(arg0: Any, arg1: Any) -> tensor:
    """The difference, rounded downwards."""

def sub_rn(arg0: Any, arg1: Any) -> tensor:
    """The difference, rounded to nearest."""

def sub_ru(arg0: Any, arg1: Any) -> tensor:
    """The difference, rounded upwards."""

def sub_rz(arg0: Any, arg1: Any) -> tensor:
    """The difference, rounded towards zero."""

def tan(arg0: Any) -> tensor:
    """The tangent."""

def tanh(arg0: Any) -> tensor:
    """The hyperbolic tangent."""

def tgamma(arg0: Any) -> tensor:
    """The gamma function."""

def trunc(arg0: Any) -> tensor:
    """The whole number next to it towards zero."""

def uint2double_rn(arg0: Any) -> tensor:
    """uint32 to fp64, rounded to nearest."""

def uint2float_rd(arg0: Any) -> tensor:
    """uint32 to fp32, rounded downwards."""

def uint2float_rn(arg0: Any) -> tensor:
    """uint32 to fp32, rounded to nearest."""

def uint2float_ru(arg0: Any) -> tensor:
    """uint32 to fp32, rounded upwards."""

def uint2float_rz(arg0: Any) -> tensor:
    """uint32 to fp32, rounded towards zero."""

def uint_as_float(arg0: Any) -> tensor:
    """The bits of a uint32 as fp32."""

def ull2double_rd(arg0: Any) -> tensor:
    """uint64 to fp64, rounded downwards."""

def ull2double_rn(arg0: Any) -> tensor:
    """uint64 to fp64, rounded to nearest."""

def ull2double_ru(arg0: Any) -> tensor:
    """uint64 to fp64, rounded upwards."""

def ull2double_rz(arg0: Any) -> tensor:
    """uint64 to fp64, rounded towards zero."""

def ull2float_rd(arg0: Any) -> tensor:
    """uint64 to fp32, rounded downwards."""

def ull2float_rn(arg0: Any) -> tensor:
    """uint64 to fp32, rounded to nearest."""

def ull2float_ru(arg0: Any) -> tensor:
    """uint64 to fp32, rounded upwards."""

def ull2float_rz(arg0: Any) -> tensor:
    """uint64 to fp32, rounded towards zero."""

def y0(arg0: Any) -> tensor:
    """The Bessel function of the second kind of order 0."""

def y1(arg0: Any) -> tensor:
    """The Bessel function of the second kind of order 1."""

def yn(arg0: Any, arg1: Any) -> tensor:
    """The Bessel function of the second kind of an int32 order, of an fp argument."""
