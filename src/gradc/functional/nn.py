"""The functions of networks under MegEngine's second name: `F.nn.pad` is `F.pad`."""

from .activation import *  # noqa: F403  # the names are in its __all__
from .attention import *  # noqa: F403  # the names are in its __all__
from .convolution import *  # noqa: F403  # the names are in its __all__
from .dropout import *  # noqa: F403  # the names are in its __all__
from .folding import *  # noqa: F403  # the names are in its __all__
from .indexing import *  # noqa: F403  # the names are in its __all__
from .interpolation import *  # noqa: F403  # the names are in its __all__
from .linear import *  # noqa: F403  # the names are in its __all__
from .loss import *  # noqa: F403  # the names are in its __all__
from .normalization import *  # noqa: F403  # the names are in its __all__
from .padding import *  # noqa: F403  # the names are in its __all__
from .pooling import *  # noqa: F403  # the names are in its __all__
from .shape import *  # noqa: F403  # the names are in its __all__
