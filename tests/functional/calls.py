"""A call of every public function of tensors: what tests about all of them hand over.

Operands are arrays (float32 where nothing else is needed, inside every domain), everything else is
a static argument or a run-time number. `CALLS` has a row for each function that `functional` has;
functions of one operand, or of two of one shape, need none.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradc import functional as F


class Call(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    options: dict[str, Any]


def call(*args: Any, **options: Any) -> Call:
    """The arguments of one call."""
    return Call(args, options)


def spread(*shape: int) -> np.ndarray:
    """Different numbers between 0.1 and 0.9."""
    count = int(np.prod(shape))
    order = (np.arange(count) * 7 + 3) % count if count % 7 else np.arange(count)
    return (0.1 + 0.8 * (order + 0.5) / count).astype(np.float32).reshape(shape)


A, B, ABOVE = spread(2, 3), spread(2, 3)[::-1].copy(), spread(2, 3) + 1
VECTOR, SQUARE, CUBE = spread(3), spread(3, 3), spread(2, 3, 4)
ROWS, IMAGE, VOLUME = spread(2, 4, 6), spread(2, 4, 6, 6), spread(1, 2, 4, 4, 4)
WHOLE = np.array([[0, 1, 1], [1, 0, 1]], np.int32)
LABELS = np.array([2, 0], np.int32)
SIGNS = np.array([[1, -1, 1], [-1, 1, -1]], np.float32)
MASK = WHOLE.astype(bool)

BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
KINDS = ("avg", "max", "adaptive_avg", "adaptive_max")
POOLS = {1: ROWS, 2: IMAGE, 3: VOLUME}

ROWS_OF: dict[str, Call] = {
    **{f"{kind}_pool{n}d": call(x, 2) for kind in KINDS for n, x in POOLS.items()},
    **{f"conv{n}d": call(x, spread(3, x.shape[1], *(2,) * n), spread(*(1, 3, *(1,) * n)))
       for n, x in POOLS.items()},
    **{f"conv_transpose{n}d": call(x, spread(x.shape[1], 3, *(2,) * n)) for n, x in POOLS.items()},
    **{name: call(WHOLE, WHOLE) for name in BITS},
    "acosh": call(ABOVE),
    "arccosh": call(ABOVE),
    "allclose": call(A, A),
    "arange": call(0, 3),
    "astype": call(A, "float64"),
    "batch_norm": call(IMAGE, training=True),
    "bincount": call(LABELS, spread(2)),
    "bitwise_not": call(WHOLE),
    "bmm": call(CUBE, spread(2, 4, 2)),
    "broadcast_to": call(A, (2, 2, 3)),
    "cat": call([A, B]),
    "cdist": call(A, B),
    "chunk": call(A, 2),
    "clamp": call(A, 0.3, 0.6),
    "cond_take": call(MASK, A),
    "cosine_embedding_loss": call(A, B, np.array([1, -1], np.float32)),
    "cross": call(A, B),
    "cross_entropy": call(A, LABELS),
    "cumprod": call(A, 1),
    "cumsum": call(A, 1),
    "dot": call(VECTOR, VECTOR),
    "dropout": call(A, 0.0),
    "einsum": call("ij,kj->ik", A, B),
    "embedding": call(LABELS, SQUARE),
    "expand_dims": call(A, 0),
    "eye": call(3),
    "fold": call(spread(1, 8, 4), 3, 2),
    "full": call((2, 2), spread(2)),
    "full_like": call(A, spread(3)),
    "gather": call(A, 1, WHOLE),
    "gaussian_nll_loss": call(A, B, ABOVE),
    "glu": call(CUBE),
    "group_norm": call(IMAGE, 2, True, spread(4), spread(4)),
    "hinge_embedding_loss": call(A, SIGNS),
    "hinge_loss": call(A, SIGNS),
    "index_select": call(A, 1, LABELS),
    "indexing_one_hot": call(A, LABELS),
    "instance_norm": call(IMAGE, True, spread(4), spread(4)),
    "interpolate": call(IMAGE, (3, 4)),
    "layer_norm": call(A, 3, True, VECTOR, VECTOR),
    "leaky_relu": call(A - 0.5),
    "lerp": call(A, B, spread(3)),
    "linear": call(A, spread(4, 3), spread(4)),
    "linspace": call(0, 1, 3),
    "local_response_norm": call(IMAGE, 3),
    "margin_ranking_loss": call(A, B, SIGNS),
    "masked_fill": call(A, MASK, 0.5),
    "matmul": call(A, SQUARE),
    "meshgrid": call(VECTOR, spread(2)),
    "mm": call(A, SQUARE),
    "moveaxis": call(CUBE, 0, 2),
    "nll_loss": call(A, LABELS),
    "one_hot": call(LABELS, 3),
    "ones": call((2, 2)),
    "pad": call(A, ((1, 1), (0, 2))),
    "pixel_shuffle": call(IMAGE, 2),
    "pixel_unshuffle": call(IMAGE, 2),
    "prelu": call(A - 0.5, spread(3)),
    "repeat": call(A, 2),
    "reshape": call(A, (3, 2)),
    "rms_norm": call(A, 3, VECTOR),
    "roll": call(A, 1),
    "scaled_dot_product_attention": call(CUBE, CUBE, spread(2, 3, 5)),
    "scatter": call(A, 1, WHOLE, B),
    "scatter_add": call(A, 1, WHOLE, B),
    "sliding_window": call(IMAGE, 2),
    "soft_margin_loss": call(A, SIGNS),
    "split": call(A, 3, 1),
    "stack": call([A, B]),
    "swapaxes": call(A, 0, 1),
    "take": call(A, 1, LABELS),
    "take_along_axis": call(A, WHOLE, 1),
    "tensordot": call(A, B, 2),
    "threshold": call(A, 0.3, 0.0),
    "tile": call(A, 2),
    "topk": call(A, 2),
    "topk_accuracy": call(A, LABELS),
    "trace": call(SQUARE),
    "triplet_margin_loss": call(A, B, A + B),
    "unfold": call(IMAGE, 2),
    "vdot": call(VECTOR, VECTOR),
    "where": call(MASK, A, B),
    "zeros": call((2, 2)),
    "broadcast_arrays": call(A, VECTOR),
    "mean": call(A, 1),
    "argsort": call(A),
    "sort": call(A),
}  # fmt: skip


def _names() -> list[str]:
    """A name of each function that is public, whatever other names it has."""
    public = [name for name in dir(F) if name[0] != "_" and inspect.isfunction(getattr(F, name))]
    listed = {getattr(F, name): name for name in reversed(public)}
    return sorted({**listed, **{getattr(F, name): name for name in ROWS_OF}}.values())


def _row(name: str) -> Call:
    if name in ROWS_OF:
        return ROWS_OF[name]
    function: Callable[..., Any] = getattr(F, name)
    parameters = inspect.signature(function).parameters.values()
    needed = [each for each in parameters if each.default is inspect.Parameter.empty]
    return Call((A, B, ABOVE)[: len(needed)], {})


CALLS: dict[str, Call] = {name: _row(name) for name in _names()}
