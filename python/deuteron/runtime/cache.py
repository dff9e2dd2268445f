"""The disk cache as libraries see it: managers of files under a key. The compiler keeps its own entries natively."""

import os

from .. import knobs

__all__ = ["CacheManager", "FileCacheManager", "RedisRemoteCacheBackend", "RemoteCacheBackend", "RemoteCacheManager",
           "get_cache_key", "get_cache_manager", "get_dump_manager", "get_override_manager", "make_so_cache_key",
           "triton_key"]


class CacheManager:
    """Files that belong together under one key."""

    def __init__(self, key, override=False, dump=False):
        pass

    def get_file(self, filename):
        """The path of a file of this key, or None."""
        raise NotImplementedError

    def put(self, data, filename, binary=True):
        """Writes a file; returns its path."""
        raise NotImplementedError

    def get_group(self, filename):
        """Names to paths of a group that `put_group` wrote, or None."""
        raise NotImplementedError

    def put_group(self, filename, group):
        """Remembers names and paths together."""
        raise NotImplementedError


class FileCacheManager(CacheManager):
    """One directory a key, below the cache directory; files appear whole or not at all."""

    @classmethod
    def of(cls, digest, folder=None):
        """The manager of a kernel by its digest, in a folder that may be another than the cache directory."""
        manager = cls.__new__(cls)
        manager._open(_base32(digest), folder or knobs.cache.dir, makes=True)
        return manager

    def __init__(self, key, override=False, dump=False):
        root = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else knobs.cache.dir
        self._open(key, root, makes=not override)

    def _open(self, key, root, makes):
        self.key = key
        if not root:
            raise RuntimeError("Could not create or locate cache dir")
        self.cache_dir = os.path.join(root, key)
        if makes:
            os.makedirs(self.cache_dir, mode=0o700, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        """Whether the file is there."""
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        """The path of a file of this key, or None."""
        return self._make_path(filename) if self.has_file(filename) else None

    def get_group(self, filename):
        """Names to paths of a group that `put_group` wrote, or None when it is damaged or one of its files is missing."""
        import json

        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        try:
            with open(path) as file:
                children = json.load(file)["child_paths"]
        except (ValueError, KeyError, OSError):
            return None
        paths = {name: self._make_path(name) for name in children}
        return paths if all(map(os.path.exists, paths.values())) else None

    def put_group(self, filename, group):
        """Remembers names and paths together."""
        import json

        return self.put(json.dumps({"child_paths": dict(group)}), f"__grp__{filename}", binary=False)

    def put(self, data, filename, binary=True):
        """Writes a file through a temporary one beside it; returns its path."""
        import tempfile

        data = data if isinstance(data, bytes) else str(data).encode()
        handle, temporary = tempfile.mkstemp(dir=self.cache_dir, prefix=f".{filename}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            path = self._make_path(filename)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        return path


class RemoteCacheBackend:
    """A store of bytes elsewhere, to be subclassed."""

    def __init__(self, key):
        pass

    def get(self, filenames):
        """Names to bytes of those that are there."""
        raise NotImplementedError

    def put(self, filename, data):
        """Stores bytes under a name."""
        raise NotImplementedError


class RemoteCacheManager(CacheManager):
    """Files that are kept elsewhere, by a `RemoteCacheBackend`, and copied here when somebody asks for them.

    ``knobs.cache.remote_manager_class`` is the backend's class. Overrides and dumps stay on this machine.
    """

    def __init__(self, key, override=False, dump=False):
        self._local = FileCacheManager(key, override, dump)
        self._remote = None
        if not override and not dump:
            chosen = _class_of(knobs.cache.remote_manager_class)
            if chosen is None:
                raise RuntimeError("Unable to load remote cache backend: knobs.cache.remote_manager_class, which "
                                   "TRITON_REMOTE_CACHE_BACKEND sets, names none")
            self._remote = chosen(key)
        self.key = key

    def _here(self, found):
        """Paths on this machine of what came from elsewhere."""
        return {name: self._local.put(data, name, binary=True) for name, data in found.items()}

    def get_file(self, filename):
        """The path of a file of this key, or None."""
        if self._remote is None:
            return self._local.get_file(filename)
        return self._here(self._remote.get([filename])).get(filename)

    def put(self, data, filename, binary=True):
        """Writes a file there and here; returns its path."""
        if self._remote is not None:
            self._remote.put(filename, data if isinstance(data, bytes) else str(data).encode())
        return self._local.put(data, filename, binary)

    def get_group(self, filename):
        """Names to paths of a group that `put_group` wrote, or None when it is missing."""
        import json

        if self._remote is None:
            return self._local.get_group(filename)
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as file:
            names = list(json.load(file)["child_paths"])
        return self._here(self._remote.get(names))

    def put_group(self, filename, group):
        """Remembers names and paths together."""
        import json

        return self.put(json.dumps({"child_paths": {name: name for name in group}}), f"__grp__{filename}", binary=False)


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """A store in a Redis server; needs the package ``redis``."""

    def __init__(self, key):
        import redis

        self._key = key
        self._key_format = knobs.redis.key_format
        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _get_key(self, filename):
        return self._key_format.format(key=self._key, filename=filename)

    def get(self, filenames):
        """Names to bytes of those that are there."""
        results = self._redis.mget([self._get_key(name) for name in filenames])
        return {name: result for name, result in zip(filenames, results) if result is not None}

    def put(self, filename, data):
        """Stores bytes under a name."""
        self._redis.set(self._get_key(filename), data)


def _base32(key):
    """A hexadecimal digest in the shorter letters of base 32."""
    import base64

    return base64.b32encode(bytes.fromhex(key)).decode("utf-8").rstrip("=")


def _class_of(chosen):
    """A class, or what ``module:Class`` names."""
    if isinstance(chosen, str):
        import importlib

        module, _, name = chosen.partition(":")
        chosen = getattr(importlib.import_module(module), name)
    return chosen


def _manager_class():
    """What ``knobs.cache.manager_class`` says; `FileCacheManager` by default."""
    return _class_of(knobs.cache.manager_class or FileCacheManager)


def get_cache_manager(key):
    """The manager of a key in the cache directory."""
    return _manager_class()(_base32(key))


def get_override_manager(key):
    """The manager of a key in the directory that overrides stages."""
    return _manager_class()(_base32(key), override=True)


def get_dump_manager(key):
    """The manager of a key in the directory that stages are dumped to."""
    return _manager_class()(_base32(key), dump=True)


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs):
    """A key for a library that belongs to a signature, in the letters of base 32."""
    import hashlib

    types = {name: "ptr" if ty[0] == "*" else ty for name, ty in signature.items()}
    text = f"{version_hash}-{''.join(types.values())}-{constants}-{ids}" + "".join(
        f"-{value}" for _, value in sorted(kwargs.items()))
    return _base32(hashlib.sha256(text.encode()).hexdigest())


def triton_key():
    """What changes whenever the compiler does; part of every cache key."""
    from .. import _core

    return _core.compiler_key()


def get_cache_key(src, backend, backend_options, env_vars):
    """A digest of everything that a compile depends on."""
    import hashlib

    options = backend_options.hash() if hasattr(backend_options, "hash") else repr(backend_options)
    text = f"{triton_key()}-{src.hash()}-{backend.hash()}-{options}-{sorted(env_vars.items())}"
    return hashlib.sha256(text.encode()).hexdigest()
