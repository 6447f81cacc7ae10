"""The functions of images under MegEngine's second name: `F.vision.interpolate`."""

from .interpolation import *  # noqa: F403  # the names are in its __all__
