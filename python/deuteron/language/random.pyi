# Made from the signatures of the package by tests/python/stubs.py; do not edit.
from . import constexpr as constexpr
from . import pair_uniform_to_normal as pair_uniform_to_normal
from . import philox as philox
from . import philox_impl as philox_impl
from . import rand as rand
from . import rand4x as rand4x
from . import randint as randint
from . import randint4x as randint4x
from . import randn as randn
from . import randn4x as randn4x
from . import uint_to_uniform_float as uint_to_uniform_float

from . import constexpr

N_ROUNDS_DEFAULT: constexpr
