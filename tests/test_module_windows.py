"""Convolutions and pooling: against loops over the window."""

import numpy as np
import pytest
from parameter_slopes import check_gradients, close, drawn

import gradc
import gradc.module as M

# ---- convolutions


def convolved(x, weight, stride=1, padding=0, dilation=1):
    """Cross-correlation in two dimensions, by loops over the window."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    rows, columns = (
        (x.shape[2 + i] - dilation * (weight.shape[2 + i] - 1) - 1) // stride + 1 for i in (0, 1)
    )
    made = np.zeros((x.shape[0], weight.shape[0], rows, columns))
    for p, q in np.ndindex(weight.shape[2:]):
        i, j = p * dilation, q * dilation
        seen = x[:, :, i : i + stride * rows : stride, j : j + stride * columns : stride]
        made += np.einsum("nchw,oc->nohw", seen, weight[:, :, p, q])
    return made


def test_conv2d():
    layer = M.Conv2d(3, 4, 3, stride=2, padding=1)
    assert (layer.weight.shape, layer.bias.shape) == ((4, 3, 3, 3), (1, 4, 1, 1))
    M.init.uniform_(layer.bias)
    x = drawn(2, 3, 7, 6)
    expected = convolved(x, layer.weight.numpy(), 2, 1) + layer.bias.numpy()
    close(layer(gradc.tensor(x)), expected)
    check_gradients(layer, x)


def test_groups_have_weights_of_their_own():
    layer = M.Conv2d(4, 6, (2, 3), groups=2, bias=False)
    assert layer.weight.shape == (2, 3, 2, 2, 3)
    x = drawn(1, 4, 5, 5)
    halves = [
        convolved(part, weight)
        for part, weight in zip(np.split(x, 2, axis=1), layer.weight.numpy(), strict=True)
    ]
    close(layer(gradc.tensor(x)), np.concatenate(halves, axis=1))
    assert layer.bias is None


@pytest.mark.parametrize(
    ("mode", "name"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_padding_modes(mode, name):
    layer = M.Conv2d(1, 2, 3, padding=1, bias=False, padding_mode=mode)
    x = drawn(1, 1, 5, 4)
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode=name)
    close(layer(gradc.tensor(x)), convolved(wide, layer.weight.numpy()))


def test_conv1d_and_conv3d():
    x = drawn(2, 3, 9)
    layer = M.Conv1d(3, 2, 3, padding=2, dilation=2)
    assert (layer.weight.shape, layer.bias.shape) == ((2, 3, 3), (1, 2, 1))
    wide = np.pad(x, ((0, 0), (0, 0), (2, 2)))
    expected = sum(
        np.einsum("ncl,oc->nol", wide[:, :, 2 * k : 2 * k + 9], layer.weight.numpy()[:, :, k])
        for k in range(3)
    )
    close(layer(gradc.tensor(x)), expected)
    layer = M.Conv3d(2, 3, (1, 2, 2))
    x = drawn(1, 2, 2, 3, 4)
    planes = [
        convolved(x[:, :, i], layer.weight.numpy()[:, :, 0]) + layer.bias.numpy()[:, :, 0]
        for i in range(2)
    ]
    close(layer(gradc.tensor(x)), np.stack(planes, axis=2))


@pytest.mark.parametrize("groups", [1, 2])
def test_conv_transpose2d_is_the_adjoint(groups):
    up = M.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=groups)
    down = M.Conv2d(2, 4, 3, stride=2, padding=1, groups=groups, bias=False)
    assert up.weight.shape == ((4, 2, 3, 3) if groups == 1 else (2, 2, 1, 3, 3))
    down.load_state_dict({"weight": up.weight.numpy()})
    x, y = drawn(1, 4, 3, 4), drawn(1, 2, 6, 8)
    made = up(gradc.tensor(x)).numpy()
    assert made.shape == y.shape
    assert (made * y).sum() == pytest.approx((down(gradc.tensor(y)).numpy() * x).sum(), rel=1e-4)


def test_conv_transpose_in_one_and_three_dimensions():
    assert M.ConvTranspose1d(2, 3, 4, stride=2)(gradc.tensor(drawn(1, 2, 5))).shape == (1, 3, 12)
    assert M.ConvTranspose3d(2, 3, 2)(gradc.tensor(drawn(1, 2, 3, 3, 3))).shape == (1, 3, 4, 4, 4)


def test_weights_begin_with_the_variance_of_their_inputs():
    gradc.manual_seed(3)
    layer = M.Conv2d(32, 64, 3, groups=2)
    assert layer.weight.numpy().std() == pytest.approx(np.sqrt(1 / (16 * 9)), rel=0.02)
    assert not layer.bias.numpy().any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 2}, "2 groups"),
        ({"padding_mode": "wrap"}, "padding_mode"),
        ({"conv_mode": "convolution"}, "cross_correlation"),
        ({"compute_mode": "float8"}, "float32"),
        ({"stride": 0}, "stride"),
    ],
)
def test_what_a_convolution_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        M.Conv2d(3, 4, 3, **options)


# ---- pooling


def test_pooling():
    values = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    x = gradc.tensor(values)
    blocks = values.reshape(1, 2, 2, 2, 2, 2)
    close(M.MaxPool2d(2)(x), blocks.max((3, 5)))
    close(M.AvgPool2d(2)(x), blocks.mean((3, 5)))
    close(M.AdaptiveMaxPool2d(2)(x), blocks.max((3, 5)))
    close(M.AdaptiveAvgPool2d((2, 1))(x), blocks.mean((3, 4, 5))[..., None])
    assert M.MaxPool2d(3, stride=1, padding=1)(x).shape == (1, 2, 4, 4)
    inside, all_of_them = (
        M.AvgPool2d(2, padding=1, **options)(x).numpy()[0, 1, 0, 0]
        for options in ({}, {"mode": "average"})
    )
    assert (inside, all_of_them) == (16.0, 4.0)


@pytest.mark.parametrize("rank", [1, 3])
def test_pooling_in_one_and_three_dimensions(rank):
    """Of windows of two without overlap, by a reshape."""
    x = drawn(2, 3, *(4, 6, 8)[:rank])
    split = x.reshape(2, 3, *[n for extent in x.shape[2:] for n in (extent // 2, 2)])
    inside = tuple(range(3, 3 + 2 * rank, 2))
    largest, mean = split.max(inside), split.mean(inside)
    names = {1: ("MaxPool1d", "AvgPool1d"), 3: ("MaxPool3d", "AvgPool3d")}[rank]
    for name, expected in zip(names, (largest, mean), strict=True):
        close(getattr(M, name)(2)(gradc.tensor(x)), expected)
        parts = getattr(M, f"Adaptive{name}")(expected.shape[2:])
        close(parts(gradc.tensor(x)), expected)
    assert repr(M.MaxPool3d(2)) == "MaxPool3d(kernel_size=2, stride=2, padding=0)"


def test_flatten_and_pixel_shuffle():
    x = gradc.tensor(drawn(2, 4, 3, 5))
    assert M.Flatten()(x).shape == (2, 60)
    assert M.Flatten(0, 1)(x).shape == (8, 3, 5)
    close(
        M.PixelShuffle(2)(x),
        x.numpy().reshape(2, 2, 2, 3, 5).transpose(0, 3, 1, 4, 2).reshape(2, 1, 6, 10),
    )
