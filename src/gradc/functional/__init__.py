"""Functions of tensors. All stand here; `F.nn` and `F.loss` hold the same ones by theme."""

from . import loss, nn
from .activation import *
from .creation import *
from .elementwise import *
from .indexing import *
from .linear import *
from .loss import *
from .normalization import *
from .reduction import *
from .shape import *
