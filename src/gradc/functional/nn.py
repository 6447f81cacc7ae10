"""The functions of networks under MegEngine's second name: `F.nn.pad` is `F.pad`."""

from .activation import *
from .indexing import *
from .linear import *
from .loss import *
from .normalization import *
from .shape import *
