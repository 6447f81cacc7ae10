"""Functions of tensors. All stand here; `F.nn` and `F.loss` hold the same ones by theme."""

from . import loss as loss
from . import nn as nn
from .activation import *  # noqa: F403  # the names are in its __all__
from .convolution import *  # noqa: F403  # the names are in its __all__
from .creation import *  # noqa: F403  # the names are in its __all__
from .elementwise import *  # noqa: F403  # the names are in its __all__
from .indexing import *  # noqa: F403  # the names are in its __all__
from .linear import *  # noqa: F403  # the names are in its __all__
from .loss import *  # noqa: F403  # the names are in its __all__
from .normalization import *  # noqa: F403  # the names are in its __all__
from .pooling import *  # noqa: F403  # the names are in its __all__
from .reduction import *  # noqa: F403  # the names are in its __all__
from .shape import *  # noqa: F403  # the names are in its __all__
