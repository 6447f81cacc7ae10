"""A gradient, and the C that computed it."""

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager

x = gradc.Parameter([1.0, 2.0, 3.0])
gm = GradManager().attach(x)

with gm:
    y = F.sum(F.exp(-x) * x * x)
    gm.backward(y)

print(y, x.grad)
print(gradc.programs()[-1].source.rpartition("/* >>> prelude.h */\n")[2])
