"""What a wheel must know of a shared library: what it needs, what it defines, for which machine and which C library."""

import dataclasses
import pathlib
import struct

MACHINES = {62: "x86_64", 183: "aarch64"}
SECTION = struct.Struct("<IIQQQQIIQQ")
DYNAMIC, DYNSYM, VERNEED = 6, 11, 0x6FFFFFFE
NEEDED = 1


@dataclasses.dataclass(frozen=True)
class Elf:
    """Facts about a 64-bit little-endian shared library."""

    machine: str
    # Names of the libraries that it is linked with.
    needed: tuple
    # Names of the symbols that it defines.
    defined: frozenset
    # Versions of symbols that it asks of other libraries, as `GLIBC_2.17`.
    versions: frozenset

    @classmethod
    def read(cls, path):
        """Raises ValueError where the file is no such library."""
        data = pathlib.Path(path).read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little-endian ELF file")
        machine = struct.unpack_from("<H", data, 18)[0]
        if machine not in MACHINES:
            raise ValueError(f"{path} is for ELF machine {machine}; known are {MACHINES}")
        sections = sections_of(data)
        return cls(MACHINES[machine], tuple(needed(data, sections)), frozenset(defined(data, sections)),
                   frozenset(versions(data, sections)))

    def glibc(self):
        """The newest version of the GNU C library that a symbol asks for, as (2, 17)."""
        return max((version(name) for name in self.versions if name.startswith("GLIBC_")), default=(2, 0))

    def platform_tag(self):
        """The tag of a wheel with this library (PEP 600): manylinux2014 is glibc 2.17, the oldest that Rust supports."""
        major, minor = max(self.glibc(), (2, 17))
        return f"manylinux_{major}_{minor}_{self.machine}"


def version(name):
    return tuple(int(part) for part in name.split("_")[1].split("."))


def sections_of(data):
    """Rows of the section table: (name, type, flags, address, offset, size, link, info, align, entry size)."""
    offset = struct.unpack_from("<Q", data, 40)[0]
    size, count = struct.unpack_from("<HH", data, 58)
    return [SECTION.unpack_from(data, offset + at * size) for at in range(count)]


def of_type(sections, kind):
    return (row for row in sections if row[1] == kind)


def text(data, table, offset):
    start = table[4] + offset
    return data[start:data.index(b"\0", start)].decode()


def needed(data, sections):
    for row in of_type(sections, DYNAMIC):
        for at in range(row[4], row[4] + row[5], 16):
            tag, value = struct.unpack_from("<QQ", data, at)
            if tag == NEEDED:
                yield text(data, sections[row[6]], value)


def defined(data, sections):
    for row in of_type(sections, DYNSYM):
        for at in range(row[4], row[4] + row[5], 24):
            name, _info, _other, section = struct.unpack_from("<IBBH", data, at)
            if section:
                yield text(data, sections[row[6]], name)


def versions(data, sections):
    """A chain of libraries, each with a chain of versions (the Linux standard base, section 10.7.3)."""
    for row in of_type(sections, VERNEED):
        at = row[4]
        while True:
            _version, count, _file, first, following = struct.unpack_from("<HHIII", data, at)
            entry = at + first
            for _ in range(count):
                name, next_entry = struct.unpack_from("<II", data, entry + 8)
                yield text(data, sections[row[6]], name)
                entry += next_entry
            if not following:
                break
            at += following
