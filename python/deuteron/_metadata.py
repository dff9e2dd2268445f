"""What ``importlib.metadata`` hears about "triton" while its imports are redirected."""

from importlib.metadata import Distribution


class AliasDistribution(Distribution):
    """A distribution "triton" of the version whose interface Deuteron has."""

    def read_text(self, filename):
        """The metadata files, which exist in memory only."""
        from . import __version__

        return {
            "METADATA": f"Metadata-Version: 2.1\nName: triton\nVersion: {__version__}\n"
                        "Summary: Deuteron under the name of the language it implements\n",
            "top_level.txt": "triton\n",
        }.get(filename)

    def locate_file(self, path):
        """Where files of the distribution would be: in this package."""
        from pathlib import Path

        return Path(__file__).parent / path
