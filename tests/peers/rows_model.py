"""Layers: what models are stacks of. Each reads the last value, and brings its own weights.

A text is written once for gradc and PyTorch; the few words that differ stand in `WORDS`.
"""

from __future__ import annotations

from collections.abc import Callable

from peers.draft import Draft, Row, Unfit, Words

WORDS = {
    "LINEAR": ("F.linear", "T.linear"),
    "CHUNK": ("F.split", "torch.chunk"),
    "CONCAT": ("F.concat", "torch.cat"),
    "MATH.": ("F.", "torch."),
    "NN.": ("F.", "T."),
    "ARRAY": ("np.array", "torch.tensor"),
}
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
LONGEST = 40
"""Steps of a recurrent layer: enough for the compiler to find the loop."""


def layer(name: str, draw: Callable[[Draft], Words], text: str, theirs: str | None = None) -> Row:
    """A row whose two texts are one, or two where they differ in more than a word."""
    ours, other = text, theirs or text
    for word, (mine, peers) in WORDS.items():
        ours, other = ours.replace(word, mine), other.replace(word, peers)
    return Row(name, draw, ours, other)


def last(draft: Draft, *ranks: int) -> tuple[str, tuple[int, ...]]:
    """The last value, and its shape, of one of these ranks."""
    name = [*draft.values][-1] if not draft.steps else draft.steps[-1].name
    shape = draft.shape_of(name)
    if len(shape) not in ranks or 0 in shape:
        raise Unfit
    return name, shape


def weight(draft: Draft, *shape: int, inputs: int = 1) -> str:
    """A new weight, so small that a sum over `inputs` values stays near 1."""
    bound = round(1.5 / max(inputs, 1) ** 0.5, 3)
    return draft.add_input(shape, -bound, bound)


# ---- recurrent layers, of sequences (batch, steps, features)

CELLS = {
    "rnn": "h{i} = MATH.tanh(LINEAR({v}, {{w{i}}}, {{b{i}}}) + LINEAR(h{i}, {{u{i}}}))",
    "lstm": (
        "i, f, g, o = CHUNK(LINEAR({v}, {{w{i}}}, {{b{i}}}) + LINEAR(h{i}, {{u{i}}}), 4, 1)\n"
        "c{i} = MATH.sigmoid(f) * c{i} + MATH.sigmoid(i) * MATH.tanh(g)\n"
        "h{i} = MATH.sigmoid(o) * MATH.tanh(c{i})"
    ),
    "gru": (
        "p, q, s = CHUNK(LINEAR({v}, {{w{i}}}, {{b{i}}}), 3, 1)\n"
        "r, z, n = CHUNK(LINEAR(h{i}, {{u{i}}}), 3, 1)\n"
        "z = MATH.sigmoid(q + z)\n"
        "h{i} = (1 - z) * MATH.tanh(s + MATH.sigmoid(p + r) * n) + z * h{i}"
    ),
}
"""One step of the cell number i, which reads v."""


def _cells(draft: Draft, kinds: tuple[str, ...], width: int) -> tuple[Words, int]:
    """The weights of a stack of cells, and how wide the state of the last one is."""
    words: Words = {}
    for i, kind in enumerate(kinds):
        wide, gates = draft.whole(1, 5), GATES[kind]
        words[f"w{i}"] = weight(draft, gates * wide, width, inputs=width)
        words[f"u{i}"] = weight(draft, gates * wide, wide, inputs=wide)
        words[f"b{i}"] = weight(draft, gates * wide)
        words[f"h{i}"] = weight(draft, draft.shape_of(last(draft, 3)[0])[0], wide)
        width = wide
    return words, width


def _begin(kinds: tuple[str, ...]) -> list[str]:
    zeros = [f"c{i} = {{h{i}}} * 0" for i, kind in enumerate(kinds) if kind == "lstm"]
    return [*(f"h{i} = {{h{i}}}" for i in range(len(kinds))), *zeros, "{out} = []"]


def _step(kinds: tuple[str, ...], first: str) -> list[str]:
    lines: list[str] = []
    for i, kind in enumerate(kinds):
        read = first if not i else f"h{i - 1}"
        lines += CELLS[kind].format(i=i, v=read).split("\n")
    return lines


def _in_loop(lines: list[str]) -> list[str]:
    return [f"    {each}" for each in lines]


def _recurrent(kinds: tuple[str, ...]) -> Row:
    """A stack of cells that goes along a sequence, forwards or backwards."""

    def draw(draft: Draft) -> Words:
        x, (_, steps, width) = last(draft, 3)
        words, _ = _cells(draft, kinds, width)
        places = "reversed(range({0}))" if draft.yes() else "range({0})"
        return {"x": x, "places": places.format(steps), **words}

    state = f"h{len(kinds) - 1}"
    body = [*_step(kinds, "{x}[:, k]"), f"{{out}}.append({state})"]
    lines = [*_begin(kinds), "for k in {places}:", *_in_loop(body)]
    return layer("_".join(kinds), draw, "\n".join([*lines, "{out} = MATH.stack({out}, 1)"]))


def _free_running(kinds: tuple[str, ...]) -> Row:
    """Cells that are fed with data for some steps, and then with their own output."""

    def draw(draft: Draft) -> Words:
        x, (_, fed, width) = last(draft, 3)
        words, wide = _cells(draft, kinds, width)
        free = draft.whole(1, min(LONGEST - fed, 20)) if fed < LONGEST else 1
        outer = weight(draft, width, wide, inputs=wide)
        return {"x": x, "fed": fed, "all": fed + free, "w": outer, **words}

    body = [
        "o = {x}[:, k] if k < {fed} else {out}[-1]",
        *_step(kinds, "o"),
        f"{{out}}.append(LINEAR(h{len(kinds) - 1}, {{w}}))",
    ]
    lines = [*_begin(kinds), "for k in range({all}):", *_in_loop(body)]
    name = f"free_{'_'.join(kinds)}"
    return layer(name, draw, "\n".join([*lines, "{out} = MATH.stack({out}, 1)"]))


STACKS = [(a,) for a in GATES] + [(a, b) for a in GATES for b in GATES]
STACKS += [("rnn", "rnn", "rnn"), ("gru", "lstm", "rnn"), ("lstm", "lstm", "lstm")]
RECURRENT = (*map(_recurrent, STACKS), *map(_free_running, STACKS))


# ---- layers of sequences


def _linear(draft: Draft) -> Words:
    x, shape = last(draft, 2, 3)
    wide = draft.one_of([1, 2, 3, 5, 7, 16, 17])
    return {"x": x, "w": weight(draft, wide, shape[-1], inputs=shape[-1]), "b": weight(draft, wide)}


def _residual(draft: Draft) -> Words:
    x, shape = last(draft, 2, 3)
    width, inner = shape[-1], draft.whole(1, 6)
    return {
        "x": x, "w": weight(draft, inner, width, inputs=width),
        "v": weight(draft, width, inner, inputs=inner),
    }  # fmt: skip


def _norm(draft: Draft) -> Words:
    x, shape = last(draft, 2, 3)
    if shape[-1] < 2 or not bool((draft.values[x].var(-1, correction=0) > 0.02).all()):
        raise Unfit
    return {"x": x, "n": shape[-1], "w": weight(draft, shape[-1]), "b": weight(draft, shape[-1])}


def _attention(draft: Draft) -> Words:
    x, (batch, steps, width) = last(draft, 3)
    if steps > 20:
        raise Unfit
    heads, each = draft.whole(1, 3), draft.whole(1, 4)
    names = ("q", "k", "v")
    words = {name: weight(draft, heads * each, width, inputs=width) for name in names}
    outer = weight(draft, width, heads * each, inputs=heads * each)
    shape = (batch, steps, heads, each)
    mask = f"np.triu(np.full(({steps}, {steps}), -1e9), 1)" if draft.yes() else "np.zeros(1)"
    return {
        "x": x, **words, "o": outer, "split": shape, "scale": round(each**-0.5, 6),
        "lines": (batch, steps, heads * each), "mask": mask,
    }  # fmt: skip


ATTENTION = """\
q, k, v = (MATH.reshape(LINEAR({{x}}, w), {{split}}) for w in ({{q}}, {{k}}, {{v}}))
q, k, v = ({0}(each, (0, 2, 1, 3)) for each in (q, k, v))
s = MATH.matmul(q, {0}(k, (0, 1, 3, 2))) * {{scale}} + {1}
o = {0}(MATH.matmul(NN.softmax(s, -1), v), (0, 2, 1, 3))
{{out}} = {{x}} + LINEAR(MATH.reshape(o, {{lines}}), {{o}})"""


def _turned_product(draft: Draft) -> Words:
    x, (_, steps, width) = last(draft, 3)
    inner = draft.whole(1, 6)
    return {
        "x": x, "w": weight(draft, inner, steps, inputs=steps),
        "v": weight(draft, draft.whole(1, 6), width, inputs=width),
    }  # fmt: skip


def _regrouped(draft: Draft) -> Words:
    x, shape = last(draft, 3)
    order = draft.permutation(3)
    turned = [shape[each] for each in order]
    total = shape[0] * shape[1] * shape[2]
    wide = turned[-1] * draft.one_of([1, turned[-2]])
    return {"x": x, "order": order, "shape": (total // wide, wide),
            "w": weight(draft, draft.whole(1, 6), wide, inputs=wide)}  # fmt: skip


def _embedded(draft: Draft) -> Words:
    x, (batch, steps, width) = last(draft, 3)
    rows = draft.whole(1, 6)
    return {"x": x, "table": weight(draft, rows, width), "at": draft.places(rows, (batch, steps))}


def _folded(draft: Draft) -> Words:
    x, (rows, width) = last(draft, 2)
    parts = draft.one_of([n for n in range(1, rows + 1) if rows % n == 0])
    return {"x": x, "shape": (parts, rows // parts, width)}


ACTIVATIONS = "tanh", "sigmoid"
SEQUENCES = (
    layer("linear_tanh", _linear, "MATH.tanh(LINEAR({x}, {w}, {b}))"),
    layer("linear_gelu", _linear, "NN.gelu(LINEAR({x}, {w}, {b}))"),
    layer("linear_relu", _linear, "NN.relu(LINEAR({x}, {w}, {b}))"),
    layer("residual", _residual, "{x} + LINEAR(MATH.tanh(LINEAR({x}, {w})), {v})"),
    layer("norm", _norm, "F.layer_norm({x}, ({n},), True, {w}, {b})",
          "T.layer_norm({x}, ({n},), {w}, {b})"),
    layer("self_attention", _attention,
          ATTENTION.format("F.transpose", "gradc.Tensor({mask}, dtype='float64')"),
          ATTENTION.format("torch.permute", "torch.tensor({mask})")),
    layer("turned_product", _turned_product,
          "MATH.tanh(MATH.matmul({w}, LINEAR({x}, {v})))"),
    layer("regrouped", _regrouped,
          "LINEAR(MATH.reshape(F.transpose({x}, {order}), {shape}), {w})",
          "LINEAR(MATH.reshape(torch.permute({x}, {order}), {shape}), {w})"),
    layer("embedded", _embedded, "{x} + F.embedding({at}, {table})",
          "{x} + T.embedding(torch.tensor({at}), {table})"),
    layer("folded", _folded, "MATH.reshape({x}, {shape})"),
)  # fmt: skip


# ---- layers of images


def _convolved(draft: Draft) -> Words:
    x, (_, channels, *space) = last(draft, 3, 4, 5)
    groups = draft.one_of([n for n in (1, 1, 2, 3, channels) if channels % n == 0])
    out = groups * draft.whole(1, 4)
    kernel = tuple(draft.whole(1, min(3, n)) for n in space)
    dilation, padding = draft.one_of([1, 1, 2]), draft.whole(0, 1)
    if any(n + 2 * padding <= dilation * (k - 1) for n, k in zip(space, kernel, strict=True)):
        raise Unfit
    depth = channels // groups
    size = depth
    for each in kernel:
        size *= each
    return {
        "x": x, "rank": len(space), "w": weight(draft, out, depth, *kernel, inputs=size),
        "b": weight(draft, out), "stride": draft.whole(1, 2), "padding": padding,
        "dilation": dilation, "groups": groups,
    }  # fmt: skip


def _pointwise(draft: Draft) -> Words:
    x, (_, channels, *space) = last(draft, 3, 4, 5)
    ones = (1,) * len(space)
    return {"x": x, "rank": len(space), "w": weight(draft, channels, channels, *ones,
            inputs=channels)}  # fmt: skip


def _patches(draft: Draft) -> Words:
    """Windows side by side, their channels last: patches of a vision transformer."""
    x, (batch, channels, *space) = last(draft, 3, 4, 5)
    kernel = tuple(draft.whole(1, min(3, n)) for n in space)
    out = draft.one_of([1, 3, 5, 8, 17])
    places, size = 1, channels
    for n, k in zip(space, kernel, strict=True):
        places, size = places * (n // k), size * k
    return {
        "x": x, "rank": len(space), "w": weight(draft, out, channels, *kernel, inputs=size),
        "stride": kernel, "shape": (batch, out, places), "position": weight(draft, places, out),
    }  # fmt: skip


def _pooled(draft: Draft) -> Words:
    x, (_, _, *space) = last(draft, 3, 4, 5)
    size = draft.whole(1, min(3, *space, 3))
    return {"x": x, "rank": len(space), "size": size, "stride": draft.one_of([size, 1, 2])}


def _by_channels(groups: bool) -> Callable[[Draft], Words]:
    def draw(draft: Draft) -> Words:
        x, (batch, channels, *space) = last(draft, 3, 4, 5)
        parts = draft.one_of([n for n in range(1, channels + 1) if channels % n == 0])
        value = draft.values[x]
        lines = value.reshape(batch, parts, -1) if groups else value.transpose(0, 1).flatten(1)
        if lines.shape[-1] < 2 or not bool((lines.var(-1, correction=0) > 0.02).all()):
            raise Unfit
        per = (channels, *(1 for _ in space))
        axes = (0, *range(2, 2 + len(space)))
        return {"x": x, "groups": parts, "per": per, "axes": axes,
                "w": weight(draft, channels), "b": weight(draft, channels)}  # fmt: skip

    return draw


CONVOLUTION = "NN.conv{rank}d({x}, {w}, {b}, {stride}, {padding}, {dilation}, {groups})"
PATCHES = (
    "{0}(MATH.reshape(NN.conv{{rank}}d({{x}}, {{w}}, None, {{stride}}), {{shape}}), (0, 2, 1))"
)
IMAGES = (
    layer("conv", _convolved, CONVOLUTION),
    layer("conv_tanh", _convolved, f"MATH.tanh({CONVOLUTION})"),
    layer("conv_silu", _convolved, f"NN.silu({CONVOLUTION})"),
    layer("conv_residual", _pointwise, "{x} + MATH.tanh(NN.conv{rank}d({x}, {w}))"),
    layer("patches", _patches, PATCHES.format("F.transpose") + " + {position}",
          PATCHES.format("torch.permute") + " + {position}"),
    layer("patches_tanh", _patches, f"MATH.tanh({PATCHES.format('F.transpose')})",
          f"MATH.tanh({PATCHES.format('torch.permute')})"),
    layer("pool_max", _pooled, "NN.max_pool{rank}d({x}, {size}, {stride})"),
    layer("pool_average", _pooled, "NN.avg_pool{rank}d({x}, {size}, {stride})"),
    layer("norm_groups", _by_channels(True), "F.group_norm({x}, {groups}, True, {w}, {b})",
          "T.group_norm({x}, {groups}, {w}, {b})"),
    # Written out, as in `rows_network`.
    layer("norm_batch", _by_channels(False),
          "F.batch_norm({x}, None, None, {w}, {b}, training=True)",
          "{out} = {x} - {x}.mean({axes}, True)\n"
          "{out} = {out} / torch.sqrt(({out} * {out}).mean({axes}, True) + 1e-5)"
          " * {w}.reshape({per}) + {b}.reshape({per})"),
    layer("lines", lambda draft: _as_lines(draft), "MATH.reshape({x}, {shape})"),
)  # fmt: skip


def _as_lines(draft: Draft) -> Words:
    x, (batch, channels, *space) = last(draft, 4, 5)
    total = 1
    for each in space:
        total *= each
    return {"x": x, "shape": (batch, channels, total)}


ROWS = (*RECURRENT, *SEQUENCES, *IMAGES)
