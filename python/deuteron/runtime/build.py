"""Building small libraries in C and C++ with the compiler of the system, kept in the cache.

No kernel needs this; libraries that bring C code of their own do. ``knobs.build.impl`` replaces the compiler's call.
"""

import functools
import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sysconfig
import tempfile

from .. import knobs
from .cache import get_cache_manager

__all__ = ["compile_module_from_file", "compile_module_from_src", "compile_so_from_file", "compile_so_from_src",
           "platform_key"]

#: By language: the variable that names the compiler, programs that are looked for, and the ending of a file.
_LANGUAGES = {"c": ("CC", ("gcc", "clang"), ".c"), "c++": ("CXX", ("g++", "clang++"), ".cpp")}
_ENDINGS = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}


@functools.cache
def platform_key():
    """What a library must be built again for."""
    import platform

    return ",".join([platform.machine(), platform.system(), *platform.architecture()])


def _find_compiler(language):
    variable, programs, _ = _LANGUAGES[language]
    found = [os.environ.get(variable), *map(shutil.which, programs)]
    compiler = next(filter(None, found), None)
    if compiler is None:
        raise RuntimeError(f"Failed to find {language.upper()} compiler: neither {' nor '.join(programs)} is on the PATH. "
                           f"Please specify via {variable} environment variable or set triton.knobs.build.impl.")
    return compiler


def _language_from_filename(source_name):
    ending = os.path.splitext(source_name)[1]
    if ending not in _ENDINGS:
        raise ValueError(f"Unrecognized file extension: {source_name}")
    return _ENDINGS[ending]


def _library_flag(library):
    """A library by its name, or by that of its file."""
    is_file = library.endswith((".a", ".so")) or ".so." in library
    return f"-l:{library}" if is_file else f"-l{library}"


def _python_headers():
    scheme = sysconfig.get_default_scheme()
    # Debian's own scheme has a folder without the headers.
    return sysconfig.get_paths(scheme="posix_prefix" if scheme == "posix_local" else scheme)["include"]


def _build(name, src, srcdir, library_dirs, include_dirs, libraries, ccflags=(), language="c"):
    """Builds the file `src`; returns the path of the library, which is in `srcdir`."""
    if knobs.build.impl:
        return knobs.build.impl(name, src, srcdir, library_dirs, include_dirs, libraries)
    target = os.path.join(srcdir, name + sysconfig.get_config_var("EXT_SUFFIX"))
    include_dirs = [*include_dirs, srcdir, _python_headers(), *sorted(knobs.build.backend_dirs)]
    command = [_find_compiler(language), src, "-O3", "-shared", "-fPIC", "-o", target]
    command += ["-std=c++17"] if language == "c++" else []
    command += [*map(_library_flag, libraries), *(f"-L{path}" for path in library_dirs)]
    command += [*(f"-I{path}" for path in include_dirs if path is not None), *ccflags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return target


def _load_module_from_path(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"Failed to load newly compiled {name} from {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compiled(source, path, name, language, load, **lists):
    """Builds a file, or takes what was built of the same text: the path of the library, or its module."""
    parts = [source, platform_key().encode(), language.encode()]
    parts += [f"{key}:{value}".encode() for key, values in sorted(lists.items()) for value in values or ()]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    cache = get_cache_manager(digest)
    file = name + sysconfig.get_config_var("EXT_SUFFIX")
    kept = cache.get_file(file)
    if kept is not None:
        try:
            return _load_module_from_path(name, kept) if load else kept
        except (RuntimeError, ImportError) as error:
            logging.getLogger(__name__).warning("%s in the cache cannot be loaded and is built again: %s", kept, error)
    with tempfile.TemporaryDirectory() as folder:
        built = _build(name, path, folder, language=language, **{key: value or [] for key, value in lists.items()})
        with open(built, "rb") as library:
            kept = cache.put(library.read(), file, binary=True)
    return _load_module_from_path(name, kept) if load else kept


def _of_file(src_path, name, load, **lists):
    path = os.path.abspath(src_path)
    with open(path, "rb") as file:
        source = file.read()
    return _compiled(source, path, name, _language_from_filename(path), load, **lists)


def _of_src(src, name, language, load, **lists):
    if language not in _LANGUAGES:
        raise ValueError(f"{language!r} is none of the languages {', '.join(_LANGUAGES)}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name + _LANGUAGES[language][2])
        with open(path, "w") as file:
            file.write(src)
        return _compiled(src.encode(), path, name, language, load, **lists)


def compile_so_from_file(src_path, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """The path of a library built of a file."""
    return _of_file(src_path, name, False, library_dirs=library_dirs, include_dirs=include_dirs, libraries=libraries,
                    ccflags=ccflags)


def compile_so_from_src(src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None, language="c"):
    """The path of a library built of a text."""
    return _of_src(src, name, language, False, library_dirs=library_dirs, include_dirs=include_dirs,
                   libraries=libraries, ccflags=ccflags)


def compile_module_from_file(src_path, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """A Python module built of a file."""
    return _of_file(src_path, name, True, library_dirs=library_dirs, include_dirs=include_dirs, libraries=libraries,
                    ccflags=ccflags)


def compile_module_from_src(src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None,
                            language="c"):
    """A Python module built of a text."""
    return _of_src(src, name, language, True, library_dirs=library_dirs, include_dirs=include_dirs,
                   libraries=libraries, ccflags=ccflags)
