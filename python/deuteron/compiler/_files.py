"""A compiled kernel as files, for those who listen to compiles."""

import json

from ..errors import MissingTool
from ..runtime.cache import FileCacheManager

#: Characters of a kernel's name at the start of its files' names; a path may have 255.
LONGEST_NAME = 150


def files_of(kernel):
    """The paths of a kernel's stages and of its metadata, by name; they are written to a folder of the cache.

    Machine code is left out where nothing assembles it, and all is where the cache cannot be written."""
    name, files = kernel.src.name[:LONGEST_NAME], {}
    try:
        manager = FileCacheManager.of(kernel.hash)
        for stage in kernel.asm.keys():
            file = f"{name}.{stage}"
            try:
                files[file] = manager.get_file(file) or manager.put(kernel.asm[stage], file)
            except MissingTool:
                continue
        facts = {**kernel.metadata._asdict(), "target": kernel.metadata.target._asdict()}
        files[f"{name}.json"] = manager.put(json.dumps(facts, default=str), f"{name}.json")
    except OSError:
        return {}
    return files
