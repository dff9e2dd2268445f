"""The same functions as `deuteron.language.extra.libdevice`, by the import path of this target."""

from ..libdevice import *  # noqa: F403
from ..libdevice import __all__  # noqa: F401
