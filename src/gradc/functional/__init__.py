"""Functions of tensors, under MegEngine's names.

All stand here; `F.nn`, `F.loss` and `F.vision` hold the same ones by theme. Where NumPy or PyTorch
spell a name differently, that is there too, as the same function: `F.concat` is `F.cat` and
`F.concatenate`, `F.square_loss` is `F.mse_loss`, and so on.
"""

from . import loss as loss
from . import nn as nn
from . import vision as vision
from .activation import *  # noqa: F403  # the names are in its __all__
from .attention import *  # noqa: F403  # the names are in its __all__
from .comparison import *  # noqa: F403  # the names are in its __all__
from .convolution import *  # noqa: F403  # the names are in its __all__
from .creation import *  # noqa: F403  # the names are in its __all__
from .dropout import *  # noqa: F403  # the names are in its __all__
from .einsum import *  # noqa: F403  # the names are in its __all__
from .elementwise import *  # noqa: F403  # the names are in its __all__
from .folding import *  # noqa: F403  # the names are in its __all__
from .indexing import *  # noqa: F403  # the names are in its __all__
from .interpolation import *  # noqa: F403  # the names are in its __all__
from .linear import *  # noqa: F403  # the names are in its __all__
from .loss import *  # noqa: F403  # the names are in its __all__
from .matrix import *  # noqa: F403  # the names are in its __all__
from .normalization import *  # noqa: F403  # the names are in its __all__
from .order import *  # noqa: F403  # the names are in its __all__
from .padding import *  # noqa: F403  # the names are in its __all__
from .pooling import *  # noqa: F403  # the names are in its __all__
from .reduction import *  # noqa: F403  # the names are in its __all__
from .shape import *  # noqa: F403  # the names are in its __all__
