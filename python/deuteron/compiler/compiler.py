"""`triton.compile`: ahead of time, for any target, without launching."""

import os
import sys

from .. import _core, knobs
from ..backends.compiler import GPUTarget

__all__ = ["ASTSource", "CompiledKernel", "IRSource", "LazyDict", "compile", "filter_traceback", "get_cache_key", "make_backend",
           "max_shared_mem", "parse", "triton_key"]


class _CompiledKernelMeta(type):

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or isinstance(instance, _core.CompiledKernel)


class CompiledKernel(metaclass=_CompiledKernelMeta):
    """A compiled kernel. Compiles yield native objects; those of this class come out of pickles, to be loaded in another process.

    ``torch.compile`` pickles the ``__dict__`` of a kernel, puts it into a new object of this class, and calls `_init_handles` before
    the first launch.
    """

    def __getattr__(self, name):
        # What is not in the dictionary is the native kernel's.
        state = vars(self).get("_state")
        if state is None or name.startswith("__"):
            raise AttributeError(f"'CompiledKernel' object has no attribute {name!r}")
        native = vars(self).setdefault("_native", None) or state.kernel()
        vars(self)["_native"] = native
        return getattr(native, name)

    def _init_handles(self):
        """Loads the kernel on the current device, and gives back what pickles leave out."""
        for name in ("module", "function", "run"):
            vars(self).pop(name, None)
        self.__getattr__("_init_handles")()
        self.run = self.__getattr__("run")

    def __getitem__(self, grid):
        self.__getattr__("name")
        return vars(self)["_native"][grid]

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("_native", "module", "function", "run")}

    def __setstate__(self, state):
        vars(self).update(state)


def launch_facts(kernel, grid, stream, args):
    """What hooks around a launch of a compiled kernel are handed."""
    facts = LazyDict({"name": kernel.name, "function": kernel.function, "stream": stream})
    describe = getattr(kernel.src.fn, "launch_metadata", None)
    if describe is not None:
        facts.add(describe, (grid, kernel.metadata, dict(zip(kernel.src.fn.arg_names, args))))
    return facts



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

    def make_ir(self, target, options, codegen_fns, module_map, context):
        """The kernel in the stage ``ttir``, as something whose operations can be walked.

        Args:
            target: what it would be compiled for.
            options: of `Backend.parse_options`.
            codegen_fns, module_map, context: not looked at; the native front end needs none.
        """
        from .._C.libtriton.ir import module

        given = {name: options[name] for name in _FRONT_END_OPTIONS if name in options}
        return module(_core.ttir(self.fn, self.signature, self.constants, self.attrs, tuple(target), given))


#: Options that change what the front end makes of a kernel.
_FRONT_END_OPTIONS = ("num_warps", "num_stages", "num_ctas", "debug", "sanitize_overflow")

#: What stands in front of a kernel's name in the text of a stage.
_NAME = {"ttir": r"tt\.func\s+(?:public\s+)?(@[\w$.]+)", "ttgir": r"tt\.func\s+(?:public\s+)?(@[\w$.]+)",
         "ptx": r"\.entry\s+([\w$]+)"}


#: The parameters of a kernel as text: their types and the marks behind them.
_PARAMETER = {"ptx": r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)()",
              "ttir": r"%[\w$.]+\s*:\s*(!?[\w.]+(?:<(?:[^<>]|<[^<>]*>)*>)?)\s*(\{[^{}]*\})?"}
_PARAMETER["ttgir"] = _PARAMETER["ttir"]


def _parameter_type(text, marks=""):
    """The type of a parameter as signatures have it: ``*f32`` for ``!tt.ptr<f32>``."""
    if "tt.nv_tma_desc" in marks:
        return "nvTmaDesc"
    if text.startswith("!tt.ptr<"):
        pointee, _, space = text[len("!tt.ptr<"):-1].rpartition(",")
        return "*" + _parameter_type(pointee or space)
    return text


class IRSource:
    """A kernel as text of one of the stages, read from a file: the ending of its name says which.

    Attributes:
        name: the kernel's.
        signature: from the position of a parameter to its type: ``"*f32"``, ``"i32"``, ….
    """

    def __init__(self, path, context=None, backend=None):
        import re

        self.path = str(path)
        self.ext = self.path.rsplit(".", 1)[-1]
        with open(self.path) as file:
            self.src = file.read()
        found = re.search(_NAME.get(self.ext, r"(?!)"), self.src)
        self.name = found.group(1) if found else self.path
        self.signature = {}
        if found:
            # A list of parameters ends where a body or a result begins.
            text = re.split(r"\)\s*(?:->|attributes|\{|\.\w+|$)", self.src[found.end():], maxsplit=1)[0]
            parameters = re.findall(_PARAMETER[self.ext], text)
            self.signature = {at: _parameter_type(*parameter) for at, parameter in enumerate(parameters)}

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
        options: launch options by name: ``{"num_warps": 8}``. Names that are no options of the target are left out.

    Returns:
        A compiled kernel with ``asm``, ``metadata`` and, where the target is this machine's, ``kernel[grid](…)``.

    Raises:
        CompilationError: with the place in the source, what was found, and what to try.
    """
    target = None if target is None else tuple(target)
    options = dict(options or {})
    if isinstance(src, ASTSource):
        kernel = _core.compile(src.fn, src.signature, src.constants, src.attrs, target, options, _folder_of_torch())
        _keep_binary(kernel)
        return kernel
    if not isinstance(src, IRSource):
        src = IRSource(src)
    return _core.compile_ir(src.ext, src.path, src.src, target, {**options, **src.parse_options()})


def _folder_of_torch():
    """Where ``torch.compile`` takes files of kernels from, for its own cache, and puts them that come from another machine: the
    entries of kernels travel there with them. None in other processes."""
    if "torch._inductor.runtime.triton_heuristics" not in sys.modules:
        return None
    # torch reads this variable alone, whatever else says where kernels are kept.
    return os.environ.get("TRITON_CACHE_DIR") or knobs.cache.dir


def _keep_binary(kernel):
    """Writes machine code for a GPU to the cache as a file of its own, in a process that compiles for ``torch.compile``: its launcher
    loads that file. Where there is no assembler, or the kernel takes what that launcher cannot pass, there is no file, and
    the launcher here is used."""
    if "torch._inductor.runtime.triton_heuristics" not in sys.modules or "cubin" not in kernel.asm:
        return
    if any(str(ty).startswith("tensordesc") for ty in kernel.src.signature.values()) or kernel.metadata.tensor_maps:
        return
    from ..errors import MissingTool, PTXASError
    from ..runtime.cache import FileCacheManager

    try:
        binary = kernel.asm["cubin"]
    except MissingTool:
        return
    except RuntimeError as error:
        # torch leaves a configuration out where its assembler gives up.
        raise PTXASError(str(error)) from error

    # torch reads this variable alone, whatever else says where kernels are kept.
    manager = FileCacheManager.of(kernel.hash, os.environ.get("TRITON_CACHE_DIR"))
    name = f"{kernel.src.fn.__name__}.cubin"
    if manager.get_file(name) is None:
        manager.put(binary, name)


def parse(full_name, ext, context):
    """A stage that a file holds: a module for ``ttir`` and ``ttgir``, text for ``llir``, ``ptx`` and ``amdgcn``, bytes for ``cubin`` and
    ``hsaco``.

    Args:
        full_name: the path of the file.
        ext: the stage.
        context: an ``ir.context()``.
    """
    if ext in ("ttir", "ttgir"):
        from .._C.libtriton.ir import parse_mlir_module

        return parse_mlir_module(str(full_name), context)
    if ext in ("cubin", "hsaco"):
        with open(full_name, "rb") as file:
            return file.read()
    if ext in ("llir", "ptx", "amdgcn"):
        with open(full_name) as file:
            return file.read()
    raise ValueError(f"`{ext}` is no stage that can be read from a file: there are ttir, ttgir, llir, ptx, amdgcn, cubin and hsaco")


def filter_traceback(e):
    """Takes what is not the user's out of the traceback of an error of a compile, and of its causes: here nothing, as the front end is
    native and leaves no frames."""


def make_backend(target):
    """The compiler of a target."""
    from ..backends import backends

    target = GPUTarget(*target)
    for backend in backends.values():
        if backend.compiler.supports_target(target):
            return backend.compiler(target)
    names = [backend.compiler.backend_name for backend in backends.values()]
    raise RuntimeError(f"no backend of this build compiles for {target}; there are {', '.join(names)}")


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
