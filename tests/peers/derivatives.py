"""Values, gradients and second derivatives of one program, by gradc in two ways and by PyTorch.

All give the same list of arrays: the outputs; the gradient, with respect to each input, of the
outputs' products with fixed weights; and the gradient of the products of that gradient with other
fixed weights. The sources of these functions are part of each failing program that is printed, so
they need nothing but what is imported in `program.HEADER`.
"""

from __future__ import annotations

import numpy as np
import torch

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager, hvp, value_and_grad


def weights(shape, number):
    """Fixed weights for value number `number`, in float32's grid."""
    made = np.random.default_rng(1000 + number).uniform(0.5, 1.5, shape)
    return np.asarray(made, "float32")


def weighted(values, total, make, first=0):
    """The sum of all elements of `values`, each times a weight."""
    products = [total(x * make(weights(tuple(x.shape), first + i))) for i, x in enumerate(values)]
    return sum(products[1:], products[0])


def by_managers(program, arrays):
    """One manager within another: everything is one compiled program."""
    inputs = [gradc.Tensor(each, dtype=each.dtype) for each in arrays]

    def make(array):
        return gradc.Tensor(array, dtype=arrays[0].dtype)

    def taken():
        found = [x.grad for x in inputs]
        for x in inputs:
            x.grad = None
        return found

    def numbers(found):
        pairs = zip(found, arrays, strict=True)
        return [np.zeros_like(x) if each is None else each.numpy() for each, x in pairs]

    outer, inner = GradManager().attach(inputs), GradManager().attach(inputs)
    with outer:
        with inner:
            outputs = program(*inputs)
            inner.backward(weighted(outputs, F.sum, make))
        firsts = taken()
        slopes = [0 * x if each is None else each for each, x in zip(firsts, inputs, strict=True)]
        outer.backward(weighted(slopes, F.sum, make, 100))
    return [*(each.numpy() for each in outputs), *numbers(firsts), *numbers(taken())]


def by_functions(program, arrays):
    """The functions of gradc.autodiff: three compiled programs."""
    inputs = [gradc.Tensor(each, dtype=each.dtype) for each in arrays]

    def make(array):
        return gradc.Tensor(array, dtype=arrays[0].dtype)

    def number(*args):
        return weighted(program(*args), F.sum, make)

    outputs = [each.numpy() for each in program(*inputs)]
    places = tuple(range(len(inputs)))
    firsts = value_and_grad(number, places)(*inputs)[1]
    vectors = [make(weights(each.shape, 100 + i)) for i, each in enumerate(firsts)]
    return [*outputs, *(each.numpy() for each in [*firsts, *hvp(number, inputs, vectors)])]


def by_torch(program, arrays, dtype=torch.float64):
    """PyTorch, without the kernel of attention that has no second derivative."""
    torch.backends.cuda.enable_flash_sdp(False)
    inputs = [torch.tensor(each, dtype=dtype, requires_grad=True) for each in arrays]

    def make(array):
        return torch.tensor(array, dtype=dtype)

    def slopes(value):
        if not value.requires_grad:
            return [torch.zeros_like(x) for x in inputs]
        return torch.autograd.grad(
            value, inputs, create_graph=True, allow_unused=True, materialize_grads=True
        )

    outputs = program(*inputs)
    firsts = slopes(weighted(outputs, torch.sum, make))
    seconds = slopes(weighted(firsts, torch.sum, make, 100))
    # A clone has memory, which zeros of PyTorch may lack: to read those ends the process.
    return [each.detach().clone().numpy() for each in [*outputs, *firsts, *seconds]]
