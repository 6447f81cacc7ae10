"""Products over windows: rules that give the adjoints of a convolution the form of a convolution.

The adjoint with respect to the input is a product whose results are added up where windows overlap;
written as a product over the windows of the padded cotangent, it needs no memory for the results of
single windows. The adjoint with respect to the weights is one product per image and a sum of them;
written as one product, its sum over the images is part of the depth.
"""

from __future__ import annotations

from itertools import product as product_of
from math import prod

from ..tracer.ir import Node, Shape
from ..tracer.ops import contraction, movement, reduction, window
from .unroll import MOST_ELEMENTS

DEPTH = 12
"""How far below a product windows are looked for."""

MOST_PARTS = 9
"""Products into which one with windows several steps apart is taken apart."""

FLAT, NARROW, MANY = 16, 8, 16
"""Where that pays: up to such a depth, or with lines of the image that have so few places, or with
more elements in a window. Else one large product, whose windows are added up, is faster."""


def disjoint_windows(made: Node) -> Node | None:
    """Windows added up that do not overlap: one beside the other, which is a movement."""
    (spread,), (summed,) = made.inputs, made.attrs
    if spread.op is not window.unwindow_op:
        return None
    (x,), (axes, strides, dilations, extents) = spread.inputs, spread.attrs
    rank = len(axes)
    span = x.shape[x.ndim - rank :]
    apart = all(d * (k - 1) < s for k, s, d in zip(span, strides, dilations, strict=True))
    if summed != tuple(range(x.ndim - rank, x.ndim)) or not apart or x.type.size == 0:
        return None
    for number, (k, stride, dilation) in enumerate(zip(span, strides, dilations, strict=True)):
        behind = stride - 1 - dilation * (k - 1)
        x = _padded(x, x.ndim - rank + number, behind, dilation - 1)
    order: list[int] = []
    for axis in range(x.ndim - rank):
        order += [axis, x.ndim - rank + axes.index(axis)] if axis in axes else [axis]
    turned = movement.transpose(x, tuple(order))
    shape = list(x.shape[: x.ndim - rank])
    for axis, stride in zip(axes, strides, strict=True):
        shape[axis] *= stride
    flat = movement.reshape(turned, tuple(shape))
    for axis, extent in zip(axes, extents, strict=True):
        flat = movement.slice_(flat, axis, 0, min(extent, flat.shape[axis]))
        flat = _padded(flat, axis, extent - flat.shape[axis], 0)
    return movement.reshape(flat, made.shape)


def _padded(x: Node, axis: int, behind: int, gap: int) -> Node:
    """`x` with zeros behind and between its elements along `axis`."""
    none = (0,) * x.ndim
    high, gaps = (tuple(n if i == axis else 0 for i in range(x.ndim)) for n in (behind, gap))
    return movement.pad(x, none, high, gaps)


def overlapping_product(made: Node) -> Node | None:
    """Products added up where windows overlap: one product over the windows of the other operand.

    The sum over k of (a b)[k, h - k d] is the product of a, its window backwards, with the windows
    of b that begin at h - (K - 1) d, where what is outside of b is 0. A product whose depth is 1 is
    no more than its elements, which are as cheap where they are added up.

    Windows s steps apart reach the places h = q + s m by their elements k = q + s j alone: for each
    remainder q this is a sum of windows that lie side by side, of every s-th element, and the
    results are interleaved.
    """
    (spread,), (summed,) = made.inputs, made.attrs
    if spread.op is not window.unwindow_op or not made.dtype.is_float:
        return None
    axes, strides, dilations, extents = spread.attrs
    rank = len(axes)
    ends = tuple(range(spread.ndim - rank, spread.ndim))
    space = tuple(range(spread.ndim - 2 * rank, spread.ndim - rank))
    product = _product_of_places(spread.inputs[0], rank)
    if product is None or summed != ends or axes != space:
        return None
    if product.inputs[0].shape[-1] == 1:
        return None
    span = spread.shape[spread.ndim - rank :]
    places = spread.inputs[0].shape[spread.ndim - 2 * rank : spread.ndim - rank]
    a, b = product.inputs
    weights = movement.reshape(a, (*a.shape[:-2], a.shape[-2] // prod(span), *span, a.shape[-1]))
    image = movement.reshape(b, (*b.shape[:-1], *places))
    if all(stride == 1 for stride in strides):
        return movement.reshape(_added_up(weights, image, dilations, extents), made.shape)
    return _interleaved(weights, image, strides, dilations, extents, made.shape)


def _added_up(weights: Node, image: Node, dilations: Shape, extents: Shape) -> Node:
    """The products of (..., channels, *window, depth) and (..., depth, *places), added up where
    windows side by side overlap, as (..., channels, places) for so many places of the result."""
    rank = len(extents)
    span = weights.shape[weights.ndim - 1 - rank : -1]
    reach = tuple(d * (k - 1) for d, k in zip(dilations, span, strict=True))
    places = image.shape[image.ndim - rank :]
    high = tuple(extent - place for extent, place in zip(extents, places, strict=True))
    lines = _lines(image, reach, high, span, dilations)
    return contraction.matmul_op(_backwards(weights, rank), lines)


def _interleaved(
    weights: Node, image: Node, strides: Shape, dilations: Shape, extents: Shape, shape: Shape
) -> Node | None:
    """The same for windows `strides` apart, a product for each remainder of the places."""
    rank = len(extents)
    first = weights.ndim - 1 - rank
    span = weights.shape[first:-1]
    if any(d != 1 for d in dilations) or prod(strides) > MOST_PARTS:
        return None
    if any(k < s or extent < s for k, s, extent in zip(span, strides, extents, strict=True)):
        return None
    if weights.shape[-1] > FLAT and image.shape[-1] > NARROW and prod(span) <= MANY:
        return None
    parts: list[Node] = []
    for remainders in product_of(*map(range, strides)):
        some, sizes = weights, list[int]()
        for number, (q, s) in enumerate(zip(remainders, strides, strict=True)):
            some = movement.slice_(some, first + number, q, span[number], s)
            sizes.append(-(-(extents[number] - q) // s))
        made = _added_up(some, image, dilations, tuple(sizes))
        parts.append(movement.reshape(made, (*made.shape[:-1], *sizes)))
    return movement.reshape(_woven(parts, strides, extents), shape)


def _woven(parts: list[Node], strides: Shape, extents: Shape) -> Node:
    """`parts`, one for each remainder in row-major order, as one image of `extents`."""
    rank = len(extents)
    lead = parts[0].ndim - rank
    none = (0,) * parts[0].ndim
    whole = parts[0].shape[lead:]  # the remainder 0 has most places
    for number, part in enumerate(parts):
        lack = tuple(n - size for n, size in zip(whole, part.shape[lead:], strict=True))
        padded = movement.pad(part, none, (*none[:lead], *lack))
        apart = [n for count in whole for n in (count, 1)]
        parts[number] = movement.reshape(padded, (*part.shape[:lead], *apart))
    for number in reversed(range(rank)):
        step, axis = strides[number], lead + 2 * number + 1
        groups = [tuple(parts[k : k + step]) for k in range(0, len(parts), step)]
        parts = [movement.concat(each, axis) for each in groups]
    space = tuple(n * s for n, s in zip(whole, strides, strict=True))
    image = movement.reshape(parts[0], (*parts[0].shape[:lead], *space))
    for number, extent in enumerate(extents):
        image = movement.slice_(image, lead + number, 0, extent)
    return image


def _product_of_places(x: Node, rank: int) -> Node | None:
    """The product (..., channels and window, places) of which `x` is (..., *places, *window)."""
    ordered = x.inputs[0] if x.op is movement.reshape_op else x
    if ordered.op is not movement.transpose_op:
        return None
    (split,), (order,) = ordered.inputs, ordered.attrs
    lead = split.ndim - 2 * rank
    middle, last = range(lead, lead + rank), range(lead + rank, split.ndim)
    if lead < 1 or order != (*range(lead), *last, *middle):
        return None
    if x.shape[x.ndim - 2 * rank :] != ordered.shape[lead:]:
        return None
    product = split.inputs[0] if split.op is movement.reshape_op else split
    if product.op is not contraction.matmul_op:
        return None
    rows, columns = product.shape[-2:]
    fits = columns == prod(split.shape[lead + rank :]) and columns > 0
    span = prod(split.shape[lead : lead + rank])
    return product if fits and span and rows % span == 0 else None


def _lines(x: Node, low: Shape, high: Shape, span: Shape, dilations: Shape) -> Node:
    """The windows of (..., depth, *space) as (..., depth and window, places).

    `low` and `high` elements are put around the space, or taken away where they are below 0.
    """
    rank = len(span)
    lead = x.ndim - rank
    none = (0,) * lead
    starts = (*none, *(max(-count, 0) for count in low))
    cut = (*none, *(max(-count, 0) for count in high))
    sizes = tuple(n - a - b for n, a, b in zip(x.shape, starts, cut, strict=True))
    inside = movement.stepped(x, starts, sizes, (1,) * x.ndim)
    before, behind = ((*none, *(max(count, 0) for count in each)) for each in (low, high))
    wide = movement.pad(inside, before, behind)
    axes = tuple(range(lead, x.ndim))
    seen = window.windows(wide, axes, span, (1,) * rank, dilations)
    order = (*range(lead), *range(lead + rank, lead + 2 * rank), *range(lead, lead + rank))
    lines = movement.transpose(seen, order)
    depth, places = x.shape[lead - 1] * prod(span), prod(seen.shape[lead : lead + rank])
    return movement.reshape(lines, (*x.shape[: lead - 1], depth, places))


def _backwards(weights: Node, rank: int) -> Node:
    """(..., channels, *window, depth) as (..., channels, depth and window), windows backwards."""
    first = weights.ndim - 1 - rank
    for axis in range(first, first + rank):
        weights = movement.flip(weights, axis)
    turned = movement.transpose(
        weights, (*range(first), weights.ndim - 1, *range(first, first + rank))
    )
    return movement.reshape(turned, (*turned.shape[:first], prod(turned.shape[first:])))


def part_of_product(made: Node) -> Node | None:
    """A part of the places of such a product: the product over fewer windows."""
    starts, sizes, steps = made.attrs
    product = made.inputs[0]
    while product.op is movement.reshape_op:
        (product,) = product.inputs
    if product.op is not contraction.matmul_op or any(step != 1 for step in steps):
        return None
    weights, lines = product.inputs
    seen = _windows_of(lines)
    if seen is None or not _is_backwards(weights):
        return None
    axes, _, dilations = seen.attrs
    rank = len(axes)
    lead = made.ndim - rank
    same_places = made.inputs[0].shape[lead:] == seen.shape[axes[0] : axes[0] + rank]
    if lead < 0 or not same_places or sizes[:lead] != made.inputs[0].shape[:lead]:
        return None
    inside, low, high = _unpadded(seen.inputs[0].inputs[0].inputs[0], axes)
    ends = zip(made.inputs[0].shape[lead:], starts[lead:], sizes[lead:], strict=True)
    high = tuple(h - (n - a - b) for h, (n, a, b) in zip(high, ends, strict=True))
    low = tuple(count - start for count, start in zip(low, starts[lead:], strict=True))
    if made.type.size == 0 or any(
        max(-a, 0) + max(-b, 0) >= n
        for a, b, n in zip(low, high, inside.shape[axes[0] :], strict=True)
    ):
        return None
    span = seen.shape[seen.ndim - rank :]
    fewer = _lines(inside, low, high, span, dilations)
    return movement.reshape(contraction.matmul_op(weights, fewer), made.shape)


def _windows_of(lines: Node) -> Node | None:
    """The windows that `_lines` has laid out."""
    turned = lines.inputs[0] if lines.op is movement.reshape_op else lines
    if turned.op is not movement.transpose_op or turned.inputs[0].op is not window.window_op:
        return None
    seen = turned.inputs[0]
    axes, strides, _ = seen.attrs
    chain = (movement.broadcast_op, movement.reshape_op)
    below = seen.inputs[0]
    if any(stride != 1 for stride in strides) or below.op is not chain[0]:
        return None
    spread = below.inputs[0]
    if spread.op is not chain[1] or axes[-1] + 1 + len(axes) != seen.ndim:
        return None
    plain = spread.shape == (*spread.inputs[0].shape, *(1,) * len(axes))
    return seen if plain else None


def _is_backwards(weights: Node) -> bool:
    """Whether `weights` are those of an adjoint: only these products belong to no one else."""
    while weights.op in (movement.reshape_op, movement.transpose_op):
        (weights,) = weights.inputs
    return weights.op is movement.slice_op and any(step < 0 for step in weights.attrs[2])


def _unpadded(wide: Node, axes: Shape) -> tuple[Node, Shape, Shape]:
    """What `wide` is with so many zeros before and behind the `axes`."""
    if wide.op is not movement.pad_op:
        return wide, (0,) * len(axes), (0,) * len(axes)
    low, high, gaps, fill = wide.attrs
    others = [n for n in range(wide.ndim) if n not in axes]
    if any(gaps) or float(fill) or any(low[n] or high[n] for n in others):
        return wide, (0,) * len(axes), (0,) * len(axes)
    return wide.inputs[0], tuple(low[n] for n in axes), tuple(high[n] for n in axes)


def sum_of_products(made: Node) -> Node | None:
    """The sum of a batch of products over windows: one product whose depth holds the batch.

    The windows become the left operand.
    """
    (product,), (axes,) = made.inputs, made.attrs
    if product.op is not contraction.matmul_op or not made.dtype.is_float:
        return None
    a, b = product.inputs
    lead = product.ndim - 2
    whole = a.shape[:-2] == b.shape[:-2] == product.shape[:-2]
    if not whole or any(axis >= lead for axis in axes) or not (slides(a) or slides(b)):
        return None
    if not slides(a):
        other = contraction.matmul_op(contraction.swapped(b), contraction.swapped(a))
        turned = reduction.sum(other, axes)
        deep = sum_of_products(turned)
        assert deep is not None
        return contraction.swapped(deep)
    kept = tuple(axis for axis in range(lead) if axis not in axes)
    batch = tuple(product.shape[axis] for axis in kept)
    depth = prod(product.shape[axis] for axis in axes) * a.shape[-1]
    left = movement.transpose(a, (*kept, lead, *axes, lead + 1))
    right = movement.transpose(b, (*kept, *axes, lead, lead + 1))
    deep = contraction.matmul_op(
        movement.reshape(left, (*batch, a.shape[-2], depth)),
        movement.reshape(right, (*batch, depth, b.shape[-1])),
    )
    return movement.reshape(deep, made.shape)


def is_worth_a_kernel(made: Node) -> bool:
    """Whether the product `made` of a single row with windows is too deep to be written out."""
    a, b = made.inputs
    return made.shape[-2] == 1 and a.shape[-1] > MOST_ELEMENTS and slides(b)


def slides(x: Node) -> bool:
    """Whether the elements of `x` are those of windows."""
    for _ in range(DEPTH):
        if x.op in (window.window_op, window.unwindow_op):
            return True
        if x.op.kind != "movement" or len(x.inputs) != 1:
            return False
        (x,) = x.inputs
    return False
