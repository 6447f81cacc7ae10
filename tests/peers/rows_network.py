"""Convolutions, pools, normalizations and losses."""

from __future__ import annotations

from collections.abc import Callable

from peers.draft import LARGEST, Draft, Row, Unfit, Words

CHANNELS = range(2, 6)


def _images(draft: Draft, rank: int, least: int = 1) -> tuple[str, int]:
    """A value (batch, channels, *space) and its channels; a new one has few elements."""
    found = [
        name
        for name, value in draft.values.items()
        if value.ndim == rank + 2
        and value.numel()
        and min(value.shape[2:]) >= least
        and value.numel() <= 400
    ]
    if found and draft.whole(0, 3):
        x = draft.one_of(found[::-1])
    else:
        lead = draft.whole(1, 2), draft.one_of([1, 2, 3, 4, 6])
        space = tuple(draft.whole(max(least, 2), 6 if rank < 3 else 3) for _ in range(rank))
        x = draft.add_input((*lead, *space))
    return x, draft.shape_of(x)[1]


def _convolution(rank: int, transposed: bool) -> Callable[[Draft], Words]:
    def draw(draft: Draft) -> Words:
        x, channels = _images(draft, rank)
        space = draft.shape_of(x)[2:]
        groups = draft.one_of([n for n in (1, 1, 2, 3) if channels % n == 0])
        out = groups * draft.whole(1, 3)
        span = tuple(draft.whole(1, min(3, n)) for n in space)
        stride = draft.whole(1, 3)
        padding = draft.whole(0, 2)
        dilation = draft.one_of([1, 1, 2])
        extra = draft.whole(0, max(stride, dilation) - 1) if transposed else 0
        if not transposed:
            fits = all(
                n + 2 * padding > dilation * (k - 1) for n, k in zip(space, span, strict=True)
            )
        else:
            fits = all(
                (n - 1) * stride - 2 * padding + dilation * (k - 1) + extra + 1 > 0
                for n, k in zip(space, span, strict=True)
            )
        if not fits:
            raise Unfit
        kernel = (
            (channels, out // groups, *span) if transposed else (out, channels // groups, *span)
        )
        bias = draft.sized((out,)) if draft.yes() else None
        return {
            "x": x, "w": draft.sized(kernel, -1.0, 1.0), "b": bias, "stride": stride,
            "padding": padding, "dilation": dilation, "groups": groups, "extra": extra,
        }  # fmt: skip

    return draw


SIZES = "{x}, {w}, {b}, stride={stride}, padding={padding}, dilation={dilation}, groups={groups}"

CONVOLUTIONS = tuple(
    Row(name, _convolution(rank, transposed), f"F.{name}({sizes})", f"T.{name}({sizes})")
    for rank in (1, 2, 3)
    for name, transposed, sizes in (
        (f"conv{rank}d", False, SIZES),
        (f"conv_transpose{rank}d", True, SIZES + ", output_padding={extra}"),
    )
)


def _pool(rank: int) -> Callable[[Draft], Words]:
    def draw(draft: Draft) -> Words:
        x, _ = _images(draft, rank)
        kernel = draft.whole(1, min(3, *draft.shape_of(x)[2:], 3))
        return {
            "x": x, "kernel": kernel, "stride": draft.one_of([None, 1, 2, 3]),
            "padding": draft.whole(0, kernel // 2), "inside": (inside := draft.yes()),
            "mode": "average_count_exclude_padding" if inside else "average",
        }  # fmt: skip

    return draw


def _parts(draft: Draft) -> Words:
    return {"x": _images(draft, 2)[0], "parts": (draft.whole(1, 4), draft.whole(1, 4))}


def _resized(mode: str, rank: int) -> Callable[[Draft], Words]:
    def draw(draft: Draft) -> Words:
        x, _ = _images(draft, rank)
        size = tuple(draft.whole(1, 5) for _ in range(rank))
        return {
            "x": x,
            "size": size,
            "mode": mode,
            "corners": None if mode == "nearest" else draft.yes(),
        }

    return draw


def _shuffled(draft: Draft) -> Words:
    return {"x": draft.add_input((draft.whole(1, 2), 4 * draft.whole(1, 2), 2, 3))}


def _unshuffled(draft: Draft) -> Words:
    return {"x": draft.add_input((draft.whole(1, 2), draft.whole(1, 2), 4, 2 * draft.whole(1, 2)))}


RESIZE = "interpolate({x}, {size}, mode={mode!r}, align_corners={corners})"
IMAGES = (
    *(Row(f"max_pool{r}d", _pool(r), f"F.max_pool{r}d({{x}}, {{kernel}}, {{stride}}, {{padding}})",
          f"T.max_pool{r}d({{x}}, {{kernel}}, {{stride}}, {{padding}})") for r in (1, 2, 3)),
    *(Row(f"avg_pool{r}d", _pool(r),
          f"F.avg_pool{r}d({{x}}, {{kernel}}, {{stride}}, {{padding}}, {{mode!r}})",
          f"T.avg_pool{r}d({{x}}, {{kernel}}, {{stride}}, {{padding}}, "
          "count_include_pad=not {inside})") for r in (1, 2, 3)),
    Row("adaptive_avg_pool2d", _parts, "F.adaptive_avg_pool2d({x}, {parts})",
        "T.adaptive_avg_pool2d({x}, {parts})"),
    Row("adaptive_max_pool2d", _parts, "F.adaptive_max_pool2d({x}, {parts})",
        "T.adaptive_max_pool2d({x}, {parts})"),
    Row("interpolate_nearest", _resized("nearest", 2), f"F.{RESIZE}", f"T.{RESIZE}"),
    Row("interpolate_linear", _resized("linear", 1), f"F.{RESIZE}", f"T.{RESIZE}"),
    Row("interpolate_bilinear", _resized("bilinear", 2), f"F.{RESIZE}", f"T.{RESIZE}"),
    Row("pixel_shuffle", _shuffled, "F.pixel_shuffle({x}, 2)", "T.pixel_shuffle({x}, 2)"),
    Row("pixel_unshuffle", _unshuffled, "F.pixel_unshuffle({x}, 2)", "T.pixel_unshuffle({x}, 2)"),
)  # fmt: skip


# ---- normalizations: of values that differ, for 1 / sqrt(eps) enlarges rounding


def _check_spread(draft: Draft, x: str, axes: tuple[int, ...], groups: int = 0) -> None:
    value = draft.values[x]
    if groups:
        value = value.reshape(value.shape[0], groups, -1)
        axes = (2,)
    if not value.numel() or not bool((value.var(axes, correction=0) > 0.05).all()):
        raise Unfit


def _lines(draft: Draft) -> Words:
    x = draft.value(ranks=range(1, 5), some=True)
    shape = draft.shape_of(x)
    count = draft.whole(1, min(2, len(shape)))
    last = shape[len(shape) - count :]
    _check_spread(draft, x, tuple(range(-count, 0)))
    affine = draft.yes()
    return {
        "x": x, "last": last, "w": draft.sized(last) if affine else None,
        "b": draft.sized(last) if affine else None, "affine": affine,
    }  # fmt: skip


def _by_channels(kind: str) -> Callable[[Draft], Words]:
    def draw(draft: Draft) -> Words:
        ranks = CHANNELS if kind != "instance" else range(3, 6)
        x = draft.value(ranks=ranks, some=True)
        shape = draft.shape_of(x)
        channels = shape[1]
        groups = draft.one_of([n for n in range(1, channels + 1) if channels % n == 0])
        axes = (0, *range(2, len(shape))) if kind == "batch" else tuple(range(2, len(shape)))
        if kind == "running":
            mean, var = draft.sized((channels,)), draft.sized((channels,), 0.3, 2.0)
            words = {"mean": mean, "var": var}
        else:
            _check_spread(draft, x, axes, groups if kind == "group" else 0)
            words = {}
        w, b = draft.sized((channels,)), draft.sized((channels,))
        per = (channels, *(1 for _ in shape[2:]))
        return {"x": x, "groups": groups, "axes": axes, "per": per, "w": w, "b": b, **words}

    return draw


# Written out: T.batch_norm, and T.instance_norm by it, read a cotangent in the wrong order, if its
# axes were permuted and all of them but the channels and one other have one element.
SCALED = (
    "{{out}} = {0}\n"
    "{{out}} = {{out}} / torch.sqrt({1} + 1e-5) * {{w}}.reshape({{per}}) + {{b}}.reshape({{per}})"
)

NORMALIZATIONS = (
    Row("layer_norm", _lines, "F.layer_norm({x}, {last}, {affine}, {w}, {b})",
        "T.layer_norm({x}, {last}, {w}, {b})"),
    Row("rms_norm", _lines, "F.rms_norm({x}, {last}, {w}, eps=1e-5)",
        "T.rms_norm({x}, {last}, {w}, eps=1e-5)"),
    Row("group_norm", _by_channels("group"), "F.group_norm({x}, {groups}, True, {w}, {b})",
        "T.group_norm({x}, {groups}, {w}, {b})"),
    Row("instance_norm", _by_channels("instance"), "F.instance_norm({x}, True, {w}, {b})",
        SCALED.format("{x} - {x}.mean({axes}, True)", "({out} * {out}).mean({axes}, True)")),
    Row("batch_norm", _by_channels("batch"),
        "F.batch_norm({x}, None, None, {w}, {b}, training=True)",
        SCALED.format("{x} - {x}.mean({axes}, True)", "({out} * {out}).mean({axes}, True)")),
    Row("batch_norm_running", _by_channels("running"),
        "F.batch_norm({x}, {mean}.detach(), {var}.detach(), {w}, {b})",
        SCALED.format("{x} - {mean}.detach().reshape({per})", "{var}.detach().reshape({per})")),
    # PyTorch divides alpha by the number of channels that are summed.
    Row("local_response_norm", lambda draft: {"x": draft.value(ranks=range(3, 6), some=True)},
        "F.local_response_norm({x}, 3, 1.5, 0.1, 0.75)",
        "T.local_response_norm({x}, 3, 0.3, 0.75, 1.5)"),
)  # fmt: skip


# ---- losses


def _compared(
    low: float = -LARGEST, high: float = LARGEST, gap: float | None = None
) -> Callable[[Draft], Words]:
    def draw(draft: Draft) -> Words:
        x = draft.value(low, high, some=True)
        y = draft.sized(draft.shape_of(x), max(low, -2.0), min(high, 2.0))
        distance = (draft.values[x] - draft.values[y]).abs()
        # Where |x - y| is the bound, the two sides have different second derivatives.
        if gap is not None and bool(((distance - gap).abs() < 1e-4).any()):
            raise Unfit
        how = draft.one_of(["mean", "sum", "none"])
        return {"x": x, "y": y, "how": how, "reduced": "" if how == "none" else f".{how}()"}

    return draw


def _class_weights(draft: Draft, classes: int) -> Words:
    # PyTorch has no derivative with respect to them.
    if draft.yes():
        return {"w": None, "weights": None}
    name = draft.sized((classes,), 0.5, 2.0)
    return {"w": name, "weights": f"{name}.detach()"}


def _classes(draft: Draft) -> Words:
    x = draft.value(ranks=range(2, 5), some=True)
    batch, classes, *space = draft.shape_of(x)
    return {
        "x": x, "label": draft.places(classes, (batch, *space)),
        "how": draft.one_of(["mean", "sum", "none"]), "smooth": draft.one_of([0.0, 0.1]),
        **_class_weights(draft, classes),
    }  # fmt: skip


def _soft_classes(draft: Draft) -> Words:
    x = draft.value(ranks=range(2, 5), some=True)
    return {
        "x": x,
        "y": draft.sized(draft.shape_of(x), 0.0, 1.0),
        "how": draft.one_of(["mean", "sum"]),
    }


def _nearer(draft: Draft) -> Words:
    x = draft.value(ranks=(2,), some=True)
    y, z = (draft.add_input(draft.shape_of(x)) for _ in range(2))
    return {"x": x, "y": y, "z": z, "how": draft.one_of(["mean", "sum", "none"])}


def _angle(draft: Draft) -> Words:
    x = draft.value(ranks=range(2, 4), some=True)
    y = draft.sized(draft.shape_of(x))
    if not all(bool((draft.values[each].norm(dim=1) > 0.1).all()) for each in (x, y)):
        raise Unfit
    return {"x": x, "y": y}


def _loss(name: str, draw: Callable[[Draft], Words], theirs: str | None = None) -> Row:
    text = "({x}, {y}, reduction={how!r})"
    return Row(name, draw, f"F.{name}{text}", theirs or f"T.{name}{text}")


LOSSES = (
    _loss("mse_loss", _compared()),
    # abs has the derivative 0 at 0 in both; the second derivative of the loss is 0.
    _loss("l1_loss", _compared()),
    _loss("smooth_l1_loss", _compared(gap=1.0)),
    _loss("huber_loss", _compared(gap=1.0)),
    Row("bce_logits", _compared(-8, 8),
        "F.binary_cross_entropy({x}, F.sigmoid({y}), reduction={how!r})",
        "T.binary_cross_entropy_with_logits({x}, torch.sigmoid({y}), reduction={how!r})"),
    # Written out: the second derivative of PyTorch's own is off by 1e-12 / x^2.
    Row("bce", _compared(0.1, 0.9),
        "F.binary_cross_entropy({x}, {y}, with_logits=False, reduction={how!r})",
        "(({y} - 1) * torch.log(1 - {x}) - {y} * torch.log({x})){reduced}"),
    Row("kl_div", _compared(0.2, 3.0), "F.kl_div({x}, {y}, reduction={how!r})",
        "T.kl_div({x}, {y}, reduction={how!r})"),
    Row("cross_entropy", _classes,
        "F.cross_entropy({x}, {label}, label_smooth={smooth}, reduction={how!r}, weight={weights})",
        "T.cross_entropy({x}, torch.tensor({label}), {weights}, label_smoothing={smooth}, "
        "reduction={how!r})"),
    Row("cross_entropy_soft", _soft_classes, "F.cross_entropy({x}, {y}, reduction={how!r})",
        "T.cross_entropy({x}, {y}, reduction={how!r})"),
    Row("nll_loss", _classes, "F.nll_loss({x}, {label}, reduction={how!r}, weight={weights})",
        "T.nll_loss({x}, torch.tensor({label}), {weights}, reduction={how!r})"),
    # PyTorch adds 1e-6 to the differences.
    Row("triplet_margin_loss", _nearer, "F.triplet_margin_loss({x}, {y}, {z}, reduction={how!r})",
        "T.triplet_margin_loss({x}, {y}, {z}, eps=0, reduction={how!r})"),
    Row("cosine_similarity", _angle, "F.cosine_similarity({x}, {y})",
        "T.cosine_similarity({x}, {y})"),
)  # fmt: skip

ROWS = (*CONVOLUTIONS, *IMAGES, *NORMALIZATIONS, *LOSSES)
