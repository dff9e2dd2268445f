"""One function in C that chooses among kernels that ``compile.py`` wrote, by the values of a launch: ``python link.py --help``."""

from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deuteron import _core


class LinkerError(Exception):
    """A header that describes no kernel, or kernels that do not belong together."""


@dataclass
class KernelLinkerMeta:
    """A kernel as its header describes it: its name, types and names of its parameters, and what it assumes of each (1, a multiple of
    16, or None)."""

    orig_kernel_name: str
    arg_names: Sequence[str]
    arg_ctypes: Sequence[str]
    sizes: "Sequence[int | None]"
    sig_hash: str
    triton_suffix: str
    suffix: str
    num_specs: int


class HeaderParser:
    """Reads headers of kernels, one after the other.

    Attributes:
        kernels: those of each name, which ends with what they were compiled with.
        backend_name: what they are for; None before a header says it.
    """

    def __init__(self):
        self.kernels = defaultdict(list)
        self.backend_name = None

    def extract_linker_meta(self, header: str):
        """Adds what a header describes."""
        try:
            backend, kernels = _core.c_header(header)
        except ValueError as error:
            raise LinkerError(str(error)) from None
        if backend is not None and self.backend_name not in (None, backend):
            raise RuntimeError(f"the headers are for {self.backend_name} and {backend}")
        self.backend_name = backend or self.backend_name
        for name, algorithm, sig_hash, suffix, params, sizes in kernels:
            types, names = [ty for ty, _ in params], [name for _, name in params]
            special = sum(size is not None for size in sizes)
            self._add_kernel(f"{name}_{algorithm}", KernelLinkerMeta(name, names, types, sizes, sig_hash, suffix, suffix, special))

    def _add_kernel(self, name, meta):
        last = self.kernels[name][-1] if self.kernels[name] else meta
        if last.arg_ctypes != meta.arg_ctypes:
            raise LinkerError(f"mismatched signatures of {name}: {', '.join(last.arg_ctypes)} and {', '.join(meta.arg_ctypes)}")
        self.kernels[name].append(meta)


def main():
    """The command."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("headers", nargs="+", type=Path, help="headers of kernels")
    parser.add_argument("--out", "-o", type=Path, required=True, help="the files, without their endings")
    args = parser.parse_args()
    header, source = _core.c_link([path.read_text() for path in args.headers])
    args.out.with_suffix(".h").write_text(header)
    args.out.with_suffix(".c").write_text(source)


if __name__ == "__main__":
    main()
