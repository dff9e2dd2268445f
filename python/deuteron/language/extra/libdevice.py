"""`tl.extra.libdevice`: the scalar maths library, element by element, on every target.

Each name is made from one row of the tables below: its parameters and what it computes. Types: fp32 and fp64 unless
the row says otherwise; blocks and scalars broadcast.
"""

from .._builtin import builtin

_ROUNDING = {"rn": "to nearest", "rz": "towards zero", "rd": "downwards", "ru": "upwards"}

_UNARY = {
    "abs": "The absolute value (integers too).",
    "acos": "The arc cosine.",
    "acosh": "The inverse hyperbolic cosine.",
    "asin": "The arc sine.",
    "asinh": "The inverse hyperbolic sine.",
    "atan": "The arc tangent.",
    "atanh": "The inverse hyperbolic tangent.",
    "brev": "The bits of an int32 or int64 in reverse.",
    "cbrt": "The cube root.",
    "ceil": "The smallest whole number not below.",
    "clz": "The number of leading zero bits of an int32 or int64, as int32.",
    "cos": "The cosine.",
    "cosh": "The hyperbolic cosine.",
    "cospi": "The cosine of pi times the argument.",
    "cyl_bessel_i0": "The regular modified cylindrical Bessel function of order 0.",
    "cyl_bessel_i1": "The regular modified cylindrical Bessel function of order 1.",
    "double2hiint": "The upper half of the bits of an fp64, as int32.",
    "double2loint": "The lower half of the bits of an fp64, as int32.",
    "double_as_longlong": "The bits of an fp64 as int64.",
    "erf": "The error function.",
    "erfc": "One minus the error function.",
    "erfcinv": "The inverse of `erfc`.",
    "erfcx": "`erfc` times exp(x * x).",
    "erfinv": "The inverse of `erf`.",
    "exp": "e to the power.",
    "exp10": "10 to the power.",
    "exp2": "2 to the power.",
    "expm1": "exp(x) - 1, precise near 0.",
    "fast_cosf": "The cosine of an fp32, approximate.",
    "fast_exp10f": "10 to the power of an fp32, approximate.",
    "fast_expf": "e to the power of an fp32, approximate.",
    "fast_log10f": "The logarithm to the base 10 of an fp32, approximate.",
    "fast_log2f": "The logarithm to the base 2 of an fp32, approximate.",
    "fast_logf": "The natural logarithm of an fp32, approximate.",
    "fast_sinf": "The sine of an fp32, approximate.",
    "fast_tanf": "The tangent of an fp32, approximate.",
    "fast_tanhf": "The hyperbolic tangent of an fp32, approximate.",
    "ffs": "The position of the lowest set bit of an int32 or int64, counted from 1; 0 when there is none.",
    "finitef": "Whether an fp32 is neither infinite nor NaN, as int1.",
    "float_as_int": "The bits of an fp32 as int32.",
    "float_as_uint": "The bits of an fp32 as uint32.",
    "floor": "The largest whole number not above.",
    "ilogb": "The exponent to the base 2, as int32.",
    "int_as_float": "The bits of an int32 as fp32.",
    "isfinited": "Whether an fp64 is neither infinite nor NaN, as int1.",
    "isinf": "Whether the argument is infinite, as int1.",
    "isnan": "Whether the argument is NaN, as int1.",
    "j0": "The Bessel function of the first kind of order 0.",
    "j1": "The Bessel function of the first kind of order 1.",
    "lgamma": "The natural logarithm of the absolute value of the gamma function.",
    "llrint": "The nearest whole number, ties to even, as int64.",
    "llround": "The nearest whole number, ties away from zero, as int64.",
    "log": "The natural logarithm.",
    "log10": "The logarithm to the base 10.",
    "log1p": "log(1 + x), precise near 0.",
    "log2": "The logarithm to the base 2.",
    "logb": "The exponent to the base 2, as a float.",
    "longlong_as_double": "The bits of an int64 as fp64.",
    "nearbyint": "The nearest whole number, ties to even.",
    "normcdf": "The cumulative distribution of the standard normal distribution.",
    "normcdfinv": "The inverse of `normcdf`.",
    "popc": "The number of set bits of an int32 or int64, as int32.",
    "rcbrt": "One over the cube root.",
    "rcp64h": "One over an fp64, approximate: only its upper half is meant.",
    "rint": "The nearest whole number, ties to even.",
    "round": "The nearest whole number, ties away from zero.",
    "rsqrt": "One over the square root.",
    "rsqrt_rn": "One over the square root, rounded to nearest.",
    "saturatef": "An fp32 kept between 0 and 1; NaN becomes 0.",
    "signbit": "Whether the sign bit is set, as int32.",
    "sin": "The sine.",
    "sinh": "The hyperbolic sine.",
    "sinpi": "The sine of pi times the argument.",
    "sqrt": "The square root.",
    "tan": "The tangent.",
    "tanh": "The hyperbolic tangent.",
    "tgamma": "The gamma function.",
    "trunc": "The whole number next to it towards zero.",
    "uint_as_float": "The bits of a uint32 as fp32.",
    "y0": "The Bessel function of the second kind of order 0.",
    "y1": "The Bessel function of the second kind of order 1.",
}

_BINARY = {
    "atan2": "The angle of the point (y, x), in (-pi, pi].",
    "copysign": "The size of the first with the sign of the second.",
    "fast_dividef": "The quotient of fp32, approximate.",
    "fast_powf": "The first to the power of the second, fp32, approximate.",
    "fdim": "The difference where it is positive, else 0.",
    "fmod": "The remainder of the quotient truncated towards zero; it has the sign of the first.",
    "hadd": "The mean of two integers, rounded down, without overflow.",
    "hiloint2double": "An fp64 of the bits of an upper and a lower int32.",
    "hypot": "The square root of the sum of squares, without overflow in between.",
    "jn": "The Bessel function of the first kind of an int32 order, of an fp argument.",
    "ldexp": "The first times 2 to the power of the second, an int32.",
    "mul24": "The lower 32 bits of the product of the lower 24 bits of integers.",
    "mulhi": "The upper half of the product of integers.",
    "nextafter": "The next float from the first towards the second.",
    "pow": "The first to the power of the second (an int32 or a float).",
    "remainder": "The remainder of the quotient rounded to the nearest even.",
    "rhadd": "The mean of two integers, rounded up, without overflow.",
    "rhypot": "One over `hypot`.",
    "scalbn": "The first times 2 to the power of the second, an int32.",
    "yn": "The Bessel function of the second kind of an int32 order, of an fp argument.",
}

_TERNARY = {
    "byte_perm": "Four bytes picked from eight by the nibbles of the third.",
    "fma": "x * y + z with one rounding.",
    "norm3d": "The length of a vector of three.",
    "rnorm3d": "One over the length of a vector of three.",
    "sad": "The absolute difference of the first two plus the third; integers.",
}

_QUATERNARY = {
    "norm4d": "The length of a vector of four.",
    "rnorm4d": "One over the length of a vector of four.",
}

_NAMES = {"double": "fp64", "float": "fp32", "int": "int32", "uint": "uint32", "ll": "int64", "ull": "uint64"}


def _add_rounded_families():
    """Operations that exist once per rounding mode."""
    for suffix, words in _ROUNDING.items():
        _UNARY[f"rcp_{suffix}"] = f"One over the argument, rounded {words}."
        _UNARY[f"sqrt_{suffix}"] = f"The square root, rounded {words}."
        for name, what in (("add", "sum"), ("sub", "difference"), ("mul", "product"), ("div", "quotient")):
            _BINARY[f"{name}_{suffix}"] = f"The {what}, rounded {words}."
        _TERNARY[f"fma_{suffix}"] = f"x * y + z, rounded {words} once."
        pairs = [("double", "float")]
        pairs += [(source, target) for source in ("double", "float") for target in ("int", "uint", "ll", "ull")]
        pairs += [(source, "float") for source in ("int", "uint", "ll", "ull")]
        pairs += [(source, "double") for source in ("ll", "ull")]
        pairs += [(source, "double") for source in ("int", "uint") if suffix == "rn"]
        for source, target in pairs:
            _UNARY[f"{source}2{target}_{suffix}"] = f"{_NAMES[source]} to {_NAMES[target]}, rounded {words}."


def _unary(arg0):
    ...


def _binary(arg0, arg1):
    ...


def _ternary(arg0, arg1, arg2):
    ...


def _quaternary(arg0, arg1, arg2, arg3):
    ...


def _make(name, template, doc):
    """One documented function: a copy of a template with a name of its own."""
    fn = type(template)(template.__code__, globals(), name)
    fn.__qualname__ = name
    fn.__doc__ = doc
    fn.__module__ = __name__
    return builtin(fn)


_add_rounded_families()
for _template, _table in ((_unary, _UNARY), (_binary, _BINARY), (_ternary, _TERNARY), (_quaternary, _QUATERNARY)):
    for _name, _doc in _table.items():
        globals()[_name] = _make(_name, _template, _doc)

__all__ = sorted([*_UNARY, *_BINARY, *_TERNARY, *_QUATERNARY])
del _template, _table, _name, _doc
