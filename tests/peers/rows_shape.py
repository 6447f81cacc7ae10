"""Movements, indices, writes, and what depends on the order of elements."""

from __future__ import annotations

import math
from collections.abc import Callable

from peers.draft import Draft, Names, Row, Words, with_exact

LINES = range(1, 6)


def along(draft: Draft) -> Words:
    """A value and one of its axes."""
    x = draft.value(ranks=LINES)
    return {"x": x, "axis": draft.axis(x)}


def _reshaped(draft: Draft) -> Words:
    x = draft.value()
    left = math.prod(draft.shape_of(x))
    if not left:
        return {"x": x, "shape": draft.one_of([(0,), (2, 0), (0, 1, 3)])}
    shape = []
    while left > 1:
        shape.append(draft.one_of([n for n in range(1, left + 1) if left % n == 0]))
        left //= shape[-1]
        if len(shape) == 4:
            shape[-1] *= left
            left = 1
    if shape and draft.yes():
        shape[draft.whole(0, len(shape) - 1)] = -1
    return {"x": x, "shape": tuple(shape)}


def _turned(draft: Draft) -> Words:
    x = draft.value(ranks=range(2, 6))
    return {"x": x, "order": draft.permutation(len(draft.shape_of(x)))}


def _two_axes(draft: Draft) -> Words:
    x = draft.value(ranks=range(2, 6))
    first, second = draft.permutation(len(draft.shape_of(x)))[:2]
    return {"x": x, "a": first, "b": second}


def _squeezed(draft: Draft) -> Words:
    x = draft.value(ranks=range(1, 4))
    axis = draft.whole(0, len(draft.shape_of(x)))
    return {"x": x, "axis": axis}


def _expanded(draft: Draft) -> Words:
    x = draft.value(ranks=range(4))
    shape = [draft.one_of([2, 3, 4]) if n == 1 else n for n in draft.shape_of(x)]
    lead = [draft.one_of([1, 2, 3]) for _ in range(draft.whole(0, 2))]
    return {"x": x, "shape": (*lead, *shape)}


def _flipped(draft: Draft) -> Words:
    x = draft.value(ranks=LINES)
    return {"x": x, "axes": draft.axes(x)}


def _rolled(draft: Draft) -> Words:
    x = draft.value(ranks=LINES)
    axes = draft.axes(x)
    return {"x": x, "axes": axes, "shifts": tuple(draft.whole(-5, 5) for _ in axes)}


def _tiled(draft: Draft) -> Words:
    x = draft.value(ranks=range(1, 4))
    count = len(draft.shape_of(x)) + draft.whole(0, 1)
    return {"x": x, "times": tuple(draft.whole(1, 3) for _ in range(count))}


def _repeated(draft: Draft) -> Words:
    return {**along(draft), "times": draft.whole(1, 3)}


def _repeated_unevenly(draft: Draft) -> Words:
    words = along(draft)
    extent = draft.shape_of(words["x"])[words["axis"]]
    return {**words, "times": tuple(draft.whole(0, 2) for _ in range(extent))}


def _padded(draft: Draft) -> Words:
    x = draft.value(ranks=range(1, 5))
    widths = tuple((draft.whole(0, 2), draft.whole(0, 2)) for _ in draft.shape_of(x))
    flat = tuple(n for pair in reversed(widths) for n in pair)
    return {"x": x, "widths": widths, "flat": flat, "a": draft.number(-1, 1)}


def _padded_by_edges(draft: Draft) -> Words:
    # PyTorch knows these modes for the last axes of (batch, channels, *space) alone.
    x = draft.value(ranks=range(3, 5), some=True)
    mode = draft.one_of(["reflect", "replicate", "circular"])
    shape = draft.shape_of(x)
    most = [min(n - (mode == "reflect"), 2) for n in shape[2:]]
    pairs = tuple((draft.whole(0, n), draft.whole(0, n)) for n in most)
    flat = tuple(n for pair in reversed(pairs) for n in pair)
    return {"x": x, "mode": mode, "widths": ((0, 0), (0, 0), *pairs), "flat": flat}


def _together(draft: Draft) -> Words:
    words = along(draft)
    shape, axis = list(draft.shape_of(words["x"])), words["axis"]
    parts = [words["x"]]
    for _ in range(draft.whole(0, 2)):
        shape[axis] = draft.whole(1, 3)
        parts.append(draft.sized(tuple(shape)))
    return {"parts": Names(draft.one_of([parts, parts[::-1]])), "axis": axis}


def _stacked(draft: Draft) -> Words:
    x = draft.value(ranks=range(4))
    parts = [x, *(draft.sized(draft.shape_of(x)) for _ in range(draft.whole(0, 2)))]
    return {"parts": Names(parts), "axis": draft.whole(0, len(draft.shape_of(x)))}


def _split(draft: Draft) -> Words:
    words = along(draft)
    extent = draft.shape_of(words["x"])[words["axis"]]
    count = draft.one_of([n for n in range(1, extent + 1) if extent % n == 0])
    return {**words, "count": count, "size": extent // count, "which": draft.whole(0, count - 1)}


def _split_at(draft: Draft) -> Words:
    words = along(draft)
    extent = draft.shape_of(words["x"])[words["axis"]]
    places = sorted((draft.whole(0, extent), draft.whole(0, extent)))
    return {**words, "places": tuple(places), "which": draft.whole(0, 2)}


MOVEMENTS = (
    Row("reshape", _reshaped, "{x}.reshape({shape})", "{x}.reshape({shape})"),
    Row("flatten", lambda draft: {"x": draft.value(ranks=LINES)}, "{x}.flatten()", "{x}.flatten()"),
    Row("transpose", _turned, "F.transpose({x}, {order})", "torch.permute({x}, {order})"),
    Row("T", lambda draft: {"x": draft.value(ranks=(2,))}, "{x}.T", "{x}.T"),
    Row("swapaxes", _two_axes, "F.swapaxes({x}, {a}, {b})", "torch.swapaxes({x}, {a}, {b})"),
    Row("moveaxis", _two_axes, "F.moveaxis({x}, {a}, {b})", "torch.moveaxis({x}, {a}, {b})"),
    Row("expand_dims", _squeezed, "F.expand_dims({x}, {axis})", "torch.unsqueeze({x}, {axis})"),
    Row("squeeze", lambda draft: {"x": draft.value()}, "F.squeeze({x})", "torch.squeeze({x})"),
    Row("broadcast_to", _expanded, "F.broadcast_to({x}, {shape})",
        "torch.broadcast_to({x}, {shape})"),
    Row("flip", _flipped, "F.flip({x}, {axes})", "torch.flip({x}, {axes})"),
    Row("roll", _rolled, "F.roll({x}, {shifts}, {axes})", "torch.roll({x}, {shifts}, {axes})"),
    Row("tile", _tiled, "F.tile({x}, {times})", "torch.tile({x}, {times})"),
    Row("repeat", _repeated, "F.repeat({x}, {times}, {axis})",
        "torch.repeat_interleave({x}, {times}, {axis})"),
    Row("repeat_unevenly", _repeated_unevenly, "F.repeat({x}, {times}, {axis})",
        "torch.repeat_interleave({x}, torch.tensor({times}, dtype=torch.int64), {axis})"),
    Row("pad", _padded, "F.pad({x}, {widths}, constant_value={a})",
        "T.pad({x}, {flat}, value={a})"),
    Row("pad_edges", _padded_by_edges, "F.pad({x}, {widths}, {mode!r})",
        "T.pad({x}, {flat}, {mode!r})"),
    Row("concat", _together, "F.concat({parts}, {axis})", "torch.cat({parts}, {axis})"),
    Row("stack", _stacked, "F.stack({parts}, {axis})", "torch.stack({parts}, {axis})"),
    Row("split", _split, "F.split({x}, {count}, {axis})[{which}]",
        "torch.split({x}, {size}, {axis})[{which}]"),
    Row("split_at", _split_at, "F.split({x}, {places}, {axis})[{which}]",
        "torch.tensor_split({x}, {places}, {axis})[{which}]"),
    Row("diff", along, "F.diff({x}, axis={axis})", "torch.diff({x}, dim={axis})"),
    Row("tril", lambda draft: {"x": draft.value(ranks=range(2, 5)), "k": draft.whole(-2, 2)},
        "F.tril({x}, {k})", "torch.tril({x}, {k})"),
    Row("triu", lambda draft: {"x": draft.value(ranks=range(2, 5)), "k": draft.whole(-2, 2)},
        "F.triu({x}, {k})", "torch.triu({x}, {k})"),
    Row("diag", lambda draft: {"x": draft.value(ranks=(1, 2), some=True), "k": draft.whole(0, 0)},
        "F.diag({x}, {k})", "torch.diag({x}, {k})"),
    Row("diagonal", _two_axes, "F.diagonal({x}, 0, {a}, {b})", "torch.diagonal({x}, 0, {a}, {b})"),
    Row("trace", lambda draft: {"x": draft.value(ranks=(2,))}, "F.trace({x})", "torch.trace({x})"),
)  # fmt: skip


# ---- indices


def _window(draft: Draft, shape: tuple[int, ...], forward: bool) -> tuple[str, tuple[int, ...]]:
    """The text of an index of numbers, slices and new axes, and the shape of what it names."""
    parts, found = [], []
    for extent in shape:
        kind = draft.whole(0, 4)
        if kind == 0 and extent:
            parts.append(str(draft.whole(-extent, extent - 1)))
            continue
        if kind == 1 and not forward:
            parts.append("None")
            found.append(1)
        start, stop = draft.whole(-extent - 1, extent + 1), draft.whole(-extent - 1, extent + 1)
        step = draft.one_of([1, 2, 3] if forward else [1, 1, 2, 3])
        text = draft.one_of([":", f"{start}:", f":{stop}", f"::{step}", f"{start}:{stop}:{step}"])
        parts.append(text)
        numbers = [int(each) if each else None for each in text.split(":")]
        found.append(len(range(extent)[slice(*numbers)]))
    return ", ".join(parts), tuple(found)


def _sliced(draft: Draft) -> Words:
    x = draft.value(ranks=LINES)
    return {"x": x, "index": _window(draft, draft.shape_of(x), False)[0]}


def _written(draft: Draft) -> Words:
    x = draft.value(ranks=LINES)
    index, shape = _window(draft, draft.shape_of(x), True)
    return {"x": x, "index": index, "y": draft.sized(shape)}


def _places_of_all(draft: Draft, writes: bool = False) -> Words:
    """Index arrays on the first axes, which are broadcast against each other."""
    x = draft.value(ranks=LINES, some=True)
    shape = draft.shape_of(x)
    count = draft.whole(1, min(2, len(shape)))
    common = (draft.whole(1, 4), draft.whole(1, 3))
    shapes = [draft.one_of([common, common[1:], (common[0], 1)]) for _ in range(count)]
    arrays = [draft.places(n, at, True) for n, at in zip(shape[:count], shapes, strict=False)]
    return {
        "x": x,
        "index": ", ".join(arrays),
        "theirs": ", ".join(f"torch.tensor({each})" for each in arrays),
    }


def _places_beside(draft: Draft) -> Words:
    x = draft.value(ranks=range(2, 5), some=True)
    places = draft.places(draft.shape_of(x)[1], (draft.whole(1, 5),), True)
    first = draft.one_of([":", "::2", "0:1"])
    return {"x": x, "first": first, "index": places}


def _mask(draft: Draft) -> Words:
    x = draft.value(ranks=LINES)
    seed, shape = draft.whole(0, 999), draft.shape_of(x)[: draft.whole(1, 2)]
    return {"x": x, "mask": f"np.random.default_rng({seed}).integers(0, 2, {shape}).astype(bool)"}


def _written_places(draft: Draft) -> Words:
    # Each place is named once: which of several values stays is not defined in PyTorch.
    x = draft.value(ranks=LINES, some=True)
    shape = draft.shape_of(x)
    order = draft.permutation(min(shape[0], 6))
    order = order[: draft.whole(1, len(order))]
    return {"x": x, "places": list(order), "y": draft.sized((len(order), *shape[1:]))}


def _written_mask(draft: Draft) -> Words:
    x = draft.value(ranks=LINES)
    return {"x": x, "y": draft.beside(x), "a": draft.number(-1, 1)}


INDEXING = (
    Row("slice", _sliced, "{x}[{index}]", "{x}[{index}]"),
    Row("slice_backwards", lambda draft: {"x": draft.value(ranks=LINES), "n": draft.whole(1, 3)},
        "{x}[::-{n}]", "torch.flip({x}, (0,))[::{n}]"),
    Row("index", _places_of_all, "{x}[{index}]", "{x}[{theirs}]"),
    Row("index_beside", _places_beside, "{x}[{first}, {index}]",
        "{x}[{first}, torch.tensor({index})]"),
    Row("index_mask", _mask, "{x}[{mask}]", "{x}[torch.tensor({mask})]"),
    Row("write", _written, "{out} = +{x}\n{out}[{index}] = {y}",
        "{out} = {x}.clone()\n{out}[{index}] = {y}"),
    Row("write_more", _written, "{out} = +{x}\n{out}[{index}] *= {y}",
        "{out} = {x}.clone()\n{out}[{index}] = {x}[{index}] * {y}"),
    Row("write_places", _written_places, "{out} = +{x}\n{out}[{places}] = {y}",
        "{out} = {x}.clone()\n{out}[{places}] = {y}"),
    Row("write_mask", _written_mask, "{out} = +{x}\n{out}[{out} > {y}] = {a}",
        "{out} = torch.where({x} > {y}, {a}, {x})"),
)  # fmt: skip


# ---- gathering, scattering, order


def _gathered(draft: Draft) -> Words:
    x = draft.value(ranks=range(1, 5), some=True)
    shape, axis = draft.shape_of(x), draft.axis(x)
    at = [draft.whole(1, n) for n in shape]
    at[axis] = draft.whole(1, 5)
    return {"x": x, "axis": axis, "index": draft.places(shape[axis], tuple(at)), "at": tuple(at)}


def _scattered(draft: Draft) -> Words:
    words = _gathered(draft)
    return {**words, "y": draft.sized(words["at"])}


def _scattered_once(draft: Draft) -> Words:
    # Each place is named once: which of several values stays is not defined in PyTorch.
    x = draft.value(ranks=(2,), some=True)
    rows, columns = draft.shape_of(x)
    lines = [list(draft.permutation(min(columns, 5))) for _ in range(draft.whole(1, min(rows, 3)))]
    return {"x": x, "axis": 1, "index": lines, "y": draft.sized((len(lines), len(lines[0])))}


def _taken(draft: Draft) -> Words:
    x = draft.value(ranks=range(1, 5), some=True)
    axis = draft.axis(x)
    return {
        "x": x,
        "axis": axis,
        "index": draft.places(draft.shape_of(x)[axis], (draft.whole(1, 6),)),
    }


def _embedded(draft: Draft) -> Words:
    x = draft.value(ranks=(2,), some=True)
    extent = draft.shape_of(x)[0]
    shape = draft.shape(draft.whole(1, 2))
    padding = draft.one_of([None, draft.whole(0, extent - 1)])
    return {"x": x, "index": draft.places(extent, shape), "padding": padding}


def _sorted(draft: Draft) -> Words:
    return {**along(draft), "down": draft.yes()}


def _best(draft: Draft) -> Words:
    words = _sorted(draft)
    extent = draft.shape_of(words["x"])[words["axis"]]
    return {**words, "k": draft.whole(1, extent)}


def _running(low: float, high: float) -> Callable[[Draft], Words]:
    def draw(draft: Draft) -> Words:
        x = draft.value(low, high, ranks=LINES)
        return {"x": x, "axis": draft.axis(x)}

    return draw


ORDER = (
    Row("gather", _gathered, "F.gather({x}, {axis}, {index})",
        "torch.gather({x}, {axis}, torch.tensor({index}))"),
    Row("scatter", _scattered_once, "F.scatter({x}, {axis}, np.array({index}), {y})",
        "torch.scatter({x}, {axis}, torch.tensor({index}), {y})"),
    Row("scatter_add", _scattered, "F.scatter_add({x}, {axis}, {index}, {y})",
        "torch.scatter_add({x}, {axis}, torch.tensor({index}), {y})"),
    Row("take", _taken, "F.take({x}, {axis}, {index})",
        "torch.index_select({x}, {axis}, torch.tensor({index}))"),
    Row("embedding", _embedded, "F.embedding({index}, {x}, {padding})",
        "T.embedding(torch.tensor({index}), {x}, {padding})"),
    # Ties keep their order in gradc, in PyTorch where that is asked for.
    Row("sort", _sorted, "F.sort({x}, {down}, {axis})[0]",
        "torch.sort({x}, stable=True, descending={down}, dim={axis})[0]"),
    Row("topk", _best, "F.topk({x}, {k}, {down}, axis={axis})[0]",
        "torch.sort({x}, stable=True, descending={down}, dim={axis})[0].narrow({axis}, 0, {k})"),
    Row("argsort", _sorted, "F.take_along_axis({x}, F.argsort(-{x}, axis={axis}), {axis})",
        "torch.take_along_dim({x}, torch.argsort(-{x}, dim={axis}, stable=True), {axis})"),
    Row("cumsum", _running(-5, 5), "F.cumsum({x}, {axis})", "torch.cumsum({x}, {axis})"),
    Row("cumprod", _running(-1.5, 1.5), "F.cumprod({x}, {axis})", "torch.cumprod({x}, {axis})"),
)  # fmt: skip

EVERY = (*MOVEMENTS, *INDEXING, *ORDER)
ROWS = with_exact({row.name for row in EVERY}, *EVERY)
