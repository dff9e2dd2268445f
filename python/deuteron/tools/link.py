"""One function in C that chooses among kernels that ``compile.py`` wrote, by the values of a launch: ``python link.py --help``."""

from argparse import ArgumentParser
from pathlib import Path

from deuteron import _core


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
