"""What all functions of tensors have in common: operands, static arguments, names, messages."""

import re
import subprocess
import sys
from inspect import signature

import numpy as np
import pytest
from walk import walk

import gradc
from gradc import functional as F
from gradc import tensor

A = np.random.default_rng(0).uniform(-2, 2, (2, 3))


class TestOperands:
    def test_numbers_arrays_and_lists(self):
        assert F.maximum(tensor([1, -1]), 0).tolist() == [1, 0]
        assert F.maximum(1.5, 2.5).item() == 2.5
        assert F.exp(0).item() == 1
        assert F.add([1.0, 2.0], np.array([3.0, 4.0])).tolist() == [4, 6]
        assert F.where(tensor([True, False]), 1.0, 0).dtype == np.float32

    def test_static_arguments_may_be_lists_or_tensors(self):
        x = tensor(A)
        assert F.reshape(x, [3, 2]).shape == (3, 2)
        assert F.reshape(x, tensor([3, 2])).shape == (3, 2)
        assert F.sum(x, np.int64(1)).shape == (2,)
        assert F.sum(x, [0, 1]).shape == ()
        assert F.sum(x, tensor(0)).shape == (3,)

    def test_a_float_and_an_integer_are_told_apart(self):
        x = tensor([1.0, 2.0])
        for value in (2, 2.0, True):
            F.pad(x, ((1, 1),), "constant", value)
        assert np.signbit(F.pad(x, ((1, 0),), constant_value=-0.0).numpy()[0])
        assert not np.signbit(F.pad(x, ((1, 0),), constant_value=0.0).numpy()[0])

    def test_a_changing_value_is_no_part_of_the_program(self):
        first = F.full((2,), 3.25)
        node = first._node
        first.numpy()
        assert F.full((2,), 4.75)._node is node


class TestNames:
    """A name of MegEngine takes the arguments of MegEngine."""

    @walk(
        ("function", "names"),
        [
            (F.sum, ("inp", "axis", "keepdims")),
            (F.reshape, ("inp", "target_shape")),
            (F.transpose, ("inp", "pattern")),
            (F.matmul, ("inp1", "inp2", "transpose_a", "transpose_b")),
            (F.softmax, ("inp", "axis")),
            (F.clip, ("x", "lower", "upper")),
            (F.where, ("mask", "x", "y")),
            (F.topk, ("inp", "k", "descending", "kth_only", "no_sort")),
            (F.sort, ("inp", "descending")),
            (F.split, ("inp", "nsplits_or_sections", "axis")),
            (F.gather, ("inp", "axis", "index")),
            (F.scatter, ("inp", "axis", "index", "source")),
            (F.pad, ("src", "pad_width", "mode", "constant_value")),
            (F.conv2d, ("inp", "weight", "bias", "stride", "padding", "dilation", "groups")),
            (
                F.conv_transpose2d,
                ("inp", "weight", "bias", "stride", "padding", "output_padding", "dilation"),
            ),
            (F.max_pool2d, ("inp", "kernel_size", "stride", "padding")),
            (F.avg_pool2d, ("inp", "kernel_size", "stride", "padding", "mode")),
            (
                F.layer_norm,
                ("inp", "normalized_shape", "affine", "weight", "bias", "eps"),
            ),
            (F.group_norm, ("inp", "num_groups", "affine", "weight", "bias", "eps")),
            (
                F.batch_norm,
                ("inp", "running_mean", "running_var", "weight", "bias", "training", "momentum"),
            ),
            (F.dropout, ("inp", "drop_prob", "training")),
            (F.embedding, ("inp", "weight", "padding_idx", "max_norm", "norm_type")),
            (F.indexing_one_hot, ("src", "index", "axis", "keepdims")),
            (F.interpolate, ("inp", "size", "scale_factor", "mode", "align_corners")),
            (
                F.cross_entropy,
                ("pred", "label", "axis", "with_logits", "label_smooth", "reduction"),
            ),
            (F.binary_cross_entropy, ("pred", "label", "with_logits", "reduction")),
            (F.hinge_loss, ("pred", "label", "norm", "reduction")),
        ],
        ids=lambda each: getattr(each, "__name__", ""),
    )
    def test_arguments(self, function, names):
        assert tuple(signature(function).parameters)[: len(names)] == names

    def test_namespaces_hold_the_same_functions(self):
        for name in ("relu", "softmax", "pad", "linear", "layer_norm", "cross_entropy", "dropout"):
            assert getattr(F.nn, name) is getattr(F, name)
        assert F.loss.cross_entropy is F.cross_entropy
        assert F.vision.interpolate is F.nn.interpolate

    def test_other_spellings_are_the_same_functions(self):
        for names in (
            ("concat", "cat", "concatenate"),
            ("log_softmax", "logsoftmax"),
            ("silu", "swish"),
            ("square_loss", "mse_loss"),
            ("clip", "clamp"),
            ("non_zero", "nonzero", "argwhere"),
            ("unstack", "unbind"),
            ("moveaxis", "movedim"),
        ):
            assert len({getattr(F, name) for name in names}) == 1

    def test_everything_public_is_documented(self):
        functions = [getattr(F, name) for name in dir(F) if not name.startswith("_")]
        functions = [each for each in functions if callable(each)]
        assert len(functions) > 220
        assert all(each.__doc__ and each.__name__ for each in functions)

    def test_nodes_carry_the_name_of_the_function(self):
        x = np.ones((3, 5, 7, 2, 11))  # a shape of which no other test has made nodes
        y = F.softmax(tensor(x))
        assert y._node.origin.label == "softmax"
        assert y._node.origin.file.endswith("test_arguments.py")
        assert F.where(tensor(x) > 0.125, 0.25, 1.0)._node.origin.label == "where"
        assert F.dropout(tensor(x), 0.25)._node.origin.label == "dropout"


class TestMessages:
    @walk(
        ("use", "message"),
        [
            (lambda: F.exp("a"), "exp: expected a tensor"),
            (lambda: F.sum(tensor(A), 2), "axis 2"),
            (lambda: F.dot(tensor(A), tensor(A)), "two vectors"),
            (lambda: F.add(tensor(A), tensor([1.0, 2])), "do not broadcast"),
            (lambda: F.bitwise_and(tensor(A), 1), "expected bool or integers"),
            (lambda: F.zeros((2.5,)), r"zeros: expected an integer or .* as shape, found \(2.5,\)"),
            (lambda: F.zeros((2, -1)), r"^zeros: .*extents of at least 0, found \[2, -1\]"),
            (
                lambda: F.sum(tensor(A), "a"),
                "sum: expected an integer, .* or None as axis, found 'a'",
            ),
            (lambda: tensor(A).reshape("a"), "reshape: expected .* as target_shape"),
            (lambda: F.linspace(0, 1, 2.5), "linspace: expected an integer as num, found 2.5"),
            (lambda: F.pad(tensor(A), 1), "pad: expected a pair of integers for each axis"),
            (lambda: F.var(tensor(A), ddof="a"), "var: expected an integer as ddof, found 'a'"),
            (lambda: F.softmax(tensor(A), "a"), "softmax: expected an integer, .* as axis"),
            (lambda: F.dropout(tensor(A), "a"), "dropout: expected a number as a probability"),
            (
                lambda: F.layer_norm(tensor(A), 3, tensor([1.0, 2, 3]), tensor([0.0, 0, 0])),
                "layer_norm: expected True or False as affine",
            ),
            (lambda: F.cumsum(tensor(A)), "cumsum: missing a required argument: 'axis'"),
            (lambda: F.square_loss(tensor(A), tensor([1.0, 2])), "^square_loss: sub: the shapes"),
            (lambda: F.dot(tensor([1.0]), tensor([1.0, 2])), r"^dot: .*\[1\] and \[2\]"),
            (lambda: tensor(A) @ tensor([1.0]), r"^matmul: .*\[2, 3\] and \[1\]"),
            (
                lambda: F.cross_entropy(tensor(A), tensor([0, 1]), label_smooth=2),
                "label_smooth from 0 to 1, found 2",
            ),
            (lambda: F.one_hot(tensor([0.5]), 2), "^one_hot: expected integers"),
            (
                lambda: F.conv_transpose2d(tensor(np.zeros((1, 1, 0, 2))), np.zeros((1, 1, 2, 2))),
                "conv_transpose2d: expected elements along the axes of space",
            ),
            (
                lambda: F.conv2d(tensor(np.zeros((1, 2, 4, 4))), np.zeros((1, 3, 2, 2))),
                r"3 channels for the weight \[1, 3, 2, 2\], found \[1, 2, 4, 4\]",
            ),
            (
                lambda: F.linear(tensor(A), np.ones((4, 2))),
                r"linear: expected 2 features .* weight \[4, 2\], found \[2, 3\]",
            ),
            (
                lambda: F.einsum("ij,jk->ik", tensor(A), np.ones((4, 5))),
                r"einsum: .* extents 3 and 4, in the shapes \[2, 3\], \[4, 5\]",
            ),
            (
                lambda: F.einsum("i->i", tensor(A)),
                r"einsum: 'i' in 'i->i' does not fit an operand of shape \[2, 3\]",
            ),
            (
                lambda: F.cross_entropy(tensor(A), tensor([0, 1, 2])),
                r"labels of shape \[2\], found \[3\] beside predictions of shape \[2, 3\]",
            ),
            (
                lambda: F.pad(tensor(np.ones((3, 3))), ((2, 2), (9, 9)), "reflect"),
                r"pad: expected at most 2 elements, found 9 for axis 1 of \[3, 3\]",
            ),
            (
                lambda: F.pad(tensor(np.ones((0, 3))), ((1, 0),), "edge"),
                r"pad: expected at most 0 elements, found 1 for axis 0 of \[0, 3\]",
            ),
            (
                lambda: F.scaled_dot_product_attention(
                    *(tensor(np.ones((2, n, 4))) for n in (3, 5, 5)), np.ones((7, 5))
                ),
                r"^scaled_dot_product_attention: .* shape \[2, 3, 5\], found \[7, 5\]",
            ),
            (lambda: F.bincount(tensor([1, 2]), "a"), "^bincount: expected a tensor"),
            (
                lambda: F.max_pool2d(tensor(np.ones((1, 3, 2, 4))), 3),
                r"fit 2: the window is \[3, 3\], the input .* \[1, 3, 2, 4\]",
            ),
            (
                lambda: F.indexing_one_hot(tensor(A), tensor([0])),
                r"indexing_one_hot: expected an index of shape \[2\], found \[1\]",
            ),
        ],
    )
    def test_messages_are_one_line(self, use, message):
        with pytest.raises((ValueError, TypeError), match=message) as caught:
            use()
        assert len(str(caught.value).splitlines()) == 1
        assert "test_arguments.py" in str(caught.value)

    def test_wrong_arguments(self):
        for use, found in (
            (lambda: F.softmax(), "missing a required argument: 'inp'"),
            (lambda: F.softmax(tensor(A), 1, 2), "too many positional arguments"),
            (lambda: F.softmax(tensor(A), dim=1), "got an unexpected keyword argument 'dim'"),
            (lambda: F.softmax(tensor(A), inp=1), "multiple values for argument 'inp'"),
        ):
            expected = re.escape(f"softmax: {found}; it is softmax(inp, axis) (at ")
            with pytest.raises(TypeError, match=expected):
                use()


def test_import_is_light():
    code = "import sys, gradc; assert not {'jinja2', 'cffi', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert gradc.__version__
