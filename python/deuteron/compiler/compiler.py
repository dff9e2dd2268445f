"""`triton.compile`: ahead of time, for any target, without launching."""

from .. import _core
from ..backends.compiler import Backend, GPUTarget

__all__ = ["ASTSource", "CompiledKernel", "IRSource", "LazyDict", "compile", "get_cache_key", "make_backend",
           "max_shared_mem", "triton_key"]

CompiledKernel = _core.CompiledKernel


class ASTSource:
    """A kernel with the types of its parameters.

    Args:
        fn: a @jit function.
        signature: from parameter name to ``"*fp32"``, ``"i32"``, ``"constexpr"``, ….
        constexprs: from parameter name (or position in a tuple) to value.
        attrs: from position ``(index,)`` to ``[["tt.divisibility", 16]]``.
    """

    ext = "ttir"

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn = fn
        self.name = fn.__name__
        self.signature = dict(signature)
        self.constants = {}
        for key, value in (constexprs or {}).items():
            path = (fn.arg_names.index(key),) if isinstance(key, str) else key
            self.constants[path if isinstance(path, tuple) else (path,)] = value
        self.attrs = dict(attrs or {})

    def hash(self):
        """A digest of source, types and constants."""
        import hashlib

        text = f"{self.fn.cache_key}-{self.attrs}-{sorted(self.signature.items())}-{sorted(self.constants.items())}"
        return hashlib.sha256(text.encode()).hexdigest()

    def parse_options(self):
        """Options that the source itself asks for; there are none."""
        return {}


#: What stands in front of a kernel's name in the text of a stage.
_NAME = {"ttir": r"tt\.func\s+(?:public\s+)?(@[\w$.]+)", "ttgir": r"tt\.func\s+(?:public\s+)?(@[\w$.]+)",
         "ptx": r"\.entry\s+([\w$]+)"}


class IRSource:
    """A kernel as text of one of the stages, read from a file: the ending of its name says which."""

    def __init__(self, path, context=None, backend=None):
        import re

        self.path = str(path)
        self.ext = self.path.rsplit(".", 1)[-1]
        with open(self.path) as file:
            self.src = file.read()
        found = re.search(_NAME.get(self.ext, r"(?!)"), self.src)
        self.name = found.group(1) if found else self.path

    def hash(self):
        """A digest of the text."""
        import hashlib

        return hashlib.sha256(self.src.encode()).hexdigest()

    def parse_options(self):
        """Options that the text itself asks for: a program with layouts says how many warps run it."""
        import re

        options = {}
        if self.ext == "ttgir":
            for option in ("num_warps", "num_ctas"):
                found = re.search(rf'"ttg\.{option.replace("_", "-")}"\s*=\s*(\d+)', self.src)
                if found:
                    options[option] = int(found.group(1))
        return options


class LazyDict:
    """A dictionary, parts of which are computed when somebody asks."""

    def __init__(self, data):
        self.data = data
        self.extras = []

    def get(self):
        """All of it."""
        for function, args in self.extras:
            self.data = {**self.data, **function(*args)}
        self.extras.clear()
        return self.data

    def add(self, func, args):
        """Adds what ``func(*args)`` will return."""
        self.extras.append((func, args))


def compile(src, target=None, options=None, _env_vars=None):
    """Compiles without launching.

    Args:
        src: an `ASTSource`, or the path of a file that holds a stage: ``.ttir``, and where the target has them ``.ttgir``
            and ``.ptx``. The compile then begins behind that stage.
        target: a `GPUTarget`; the current one by default. No such device needs to be present.
        options: launch options by name: ``{"num_warps": 8}``.

    Returns:
        A compiled kernel with ``asm``, ``metadata`` and, where the target is this machine's, ``kernel[grid](…)``.

    Raises:
        CompilationError: with the place in the source, what was found, and what to try.
    """
    target = None if target is None else tuple(target)
    options = dict(options or {})
    if isinstance(src, ASTSource):
        return _core.compile(src.fn, src.signature, src.constants, src.attrs, target, options)
    if not isinstance(src, IRSource):
        src = IRSource(src)
    return _core.compile_ir(src.ext, src.path, src.src, target, {**options, **src.parse_options()})


def make_backend(target):
    """The compiler of a target."""
    target = GPUTarget(*target)
    if not Backend.supports_target(target):
        raise RuntimeError(f"no backend of this build compiles for {target}; there are {_core.backends()}")
    return Backend(target)


def max_shared_mem(device):
    """Bytes of memory that the lanes of a program share at most."""
    return _core.device_properties(device or 0)["max_shared_mem"]


def triton_key():
    """What changes whenever the compiler does."""
    return _core.compiler_key()


def get_cache_key(src, backend, backend_options, env_vars):
    """A digest of everything that a compile depends on."""
    from ..runtime.cache import get_cache_key as key

    return key(src, backend, backend_options, env_vars)
