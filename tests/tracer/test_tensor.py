"""Tensors: construction, reading, operators, boxes and their copies."""

import copy
import operator
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import gradc
from gradc import Parameter, Tensor, from_numpy, tensor
from gradc.autodiff import GradManager


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


class TestConstruction:
    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (1, "int32"),
            (1.5, "float32"),
            (True, "bool"),
            ([1, 2], "int32"),
            ([1.0, 2], "float32"),
            (np.zeros(2), "float32"),
            (np.zeros(2, np.int64), "int32"),
            (np.zeros(2, np.float16), "float16"),
            (np.zeros(2, np.uint8), "uint8"),
            (np.float64(1), "float32"),
        ],
    )
    def test_default_types(self, data, expected):
        made = tensor(data)
        assert made.dtype == np.dtype(expected)
        assert made.shape == np.shape(data)

    @pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "bool", np.int8, np.float32])
    def test_dtype_is_obeyed(self, dtype):
        assert tensor(np.ones(2), dtype=dtype).numpy().dtype == np.dtype(dtype)

    def test_bfloat16_reads_as_float32(self):
        x = tensor([1.0, 1.00390625, 3.14159], dtype="bfloat16")
        assert x.dtype is gradc.bfloat16
        assert x.numpy().dtype == np.float32
        assert x.numpy().tolist() == [1.0, 1.0, 3.140625]
        assert not x.numpy().flags.writeable

    def test_data_is_copied(self):
        array = np.ones(3, np.float32)
        x = tensor(array)
        array[:] = 7
        assert x.numpy().tolist() == [1, 1, 1]

    def test_from_numpy_shares_on_request(self):
        array = np.ones(3)
        shared, own = from_numpy(array, copy=False), from_numpy(array)
        array[:] = 7
        assert shared.dtype == np.float64
        assert shared.numpy().tolist() == [7, 7, 7]
        assert own.numpy().tolist() == [1, 1, 1]

    def test_strided_and_empty_data(self):
        base = np.arange(12.0).reshape(3, 4)
        assert tensor(base.T[::-1]).numpy().tolist() == base.T[::-1].tolist()
        assert tensor(np.zeros((0, 3))).numpy().shape == (0, 3)
        assert tensor([]).shape == (0,)

    def test_the_other_order_of_bytes(self):
        for dtype in (">i4", ">f8", ">f4", ">i8", ">f2"):
            array = np.arange(6, dtype=dtype).reshape(2, 3)[:, ::-1]
            assert tensor(array).tolist() == array.tolist()
            assert from_numpy(array, copy=False).tolist() == array.tolist()
            assert (array + tensor([1, 2, 3])).tolist() == np.add(array, [1, 2, 3]).tolist()
        assert tensor(np.arange(2, dtype=">f8")).dtype == np.float32

    def test_quotient_and_remainder_together(self):
        x = [7, -7, 3]
        quotient, rest = divmod(tensor(x), 3)
        assert (quotient.tolist(), rest.tolist()) == ([2, -3, 1], [1, 2, 0])
        quotient, rest = divmod(-8, tensor(x))
        assert (quotient.tolist(), rest.tolist()) == ([-2, 1, -3], [6, -1, 1])

    def test_what_is_no_number_is_refused(self):
        for data, found in (({1}, "set"), ([None], "NoneType"), ("a", "U1"), ([1j], "complex")):
            with pytest.raises(TypeError, match=f"expected real numbers, found .*{found}"):
                tensor(data)
        with pytest.raises(OverflowError, match="64 bits, found -1180591620717411303424"):
            tensor([1, -(2**70)])
        with pytest.raises(TypeError, match="from_numpy: expected an array"):
            gradc.from_numpy([1.0])
        with pytest.raises(TypeError, match="expected real numbers"):
            tensor(["a"])
        with pytest.raises(TypeError, match="expected real numbers"):
            tensor(1j)
        with pytest.raises(ValueError, match="regular shape"):
            tensor([[1], [1, 2]])

    def test_a_parameter_gives_tensors(self):
        p = Parameter([1.0], name="p")
        assert isinstance(p, Tensor)
        assert type(p * 2) is Tensor
        assert type(p[0]) is Tensor
        p += 1
        assert type(p) is Parameter
        assert p.name == "p"


class TestReading:
    def test_numpy_is_read_only_and_keeps_its_values(self):
        x = tensor([1.0, 2.0])
        before = x.numpy()
        with pytest.raises(ValueError, match="read-only"):
            before[0] = 5
        x[0] = 9.0
        del x
        for _ in range(50):
            tensor([3.0, 4.0])
        assert before.tolist() == [1, 2]

    def test_numbers(self):
        x = tensor([[2.5]])
        assert (x.item(), float(x), int(x), bool(x), x.tolist()) == (2.5, 2.5, 2, True, [[2.5]])
        assert [10, 20, 30][tensor(1)] == 20
        assert f"{tensor(2.5):.3f}" == "2.500"
        assert type(tensor([3]).item()) is int

    def test_number_of_several_elements_is_an_error(self):
        with pytest.raises(AssertionError, match="expected one element"):
            tensor([1.0, 2.0]).item()
        with pytest.raises(ValueError, match="expected one element"):
            bool(tensor([1.0, 2.0]))
        with pytest.raises(TypeError, match="expected an integer"):
            range(tensor(1.5))

    def test_shape_questions(self):
        x = tensor(np.zeros((2, 3)))
        assert (x.shape, x.ndim, x.size, len(x), x.device) == ((2, 3), 2, 6, 2, "cpu")
        assert tensor(1).shape == ()
        with pytest.raises(TypeError, match="no length"):
            len(tensor(1))

    def test_array_protocol(self):
        x = tensor([1.0, 2.0])
        assert np.asarray(x).dtype == np.float32
        assert np.asarray(x, np.float64).tolist() == [1, 2]
        assert np.array(x).flags.writeable
        assert np.from_dlpack(x).tolist() == [1, 2]

    def test_iteration_and_unpacking(self):
        a, b = tensor([[1.0, 2.0], [3.0, 4.0]])
        assert (a.tolist(), b.tolist()) == ([1, 2], [3, 4])

    def test_repr_names_what_matters(self):
        assert repr(tensor([1, 2])) == "Tensor([1, 2], dtype=int32, device=cpu)"
        assert repr(Parameter(1.5)).startswith("Parameter(1.5, dtype=float32")

    def test_membership_is_refused(self):
        with pytest.raises(NotImplementedError):
            1 in tensor([1])  # noqa: B015

    def test_unknown_attributes(self):
        x = tensor([1.0])
        assert x.grad is None
        assert x.name == ""
        with pytest.raises(AttributeError, match="requires_grad"):
            x.requires_grad  # noqa: B018
        with pytest.raises(AttributeError):
            Tensor([1.0]).requires_grad = True


class TestBoxes:
    def test_hash_is_identity(self):
        a, b = tensor([1.0]), tensor([1.0])
        assert {a: 1, b: 2}[a] == 1

    def test_weak_references(self):
        x = tensor([1.0])
        seen = weakref.ref(x)
        del x
        assert seen() is None

    def test_a_tensor_of_a_tensor_is_another_box_with_the_history(self):
        x = tensor([1.0, 2.0])
        manager = GradManager().attach(x)
        with manager:
            y = Tensor(x)
            y += 1
            manager.backward(y * y)
        assert x.grad.tolist() == [4, 6]
        assert x.tolist() == [1, 2]

    @pytest.mark.parametrize(
        "copied",
        [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.detach()],
    )
    def test_copies_hold_the_values_and_no_history(self, copied):
        x = Parameter([1.0, 2.0], name="w")
        x.grad = tensor([5.0, 5.0])
        manager = GradManager().attach(x)
        with manager:
            y = copied(x)
            x *= 3
            manager.backward(x * y)
        assert y.tolist() == [1, 2]
        assert y.grad is None
        assert x.grad.tolist() == [8, 11]

    def test_copies_keep_class_name_and_dtype(self):
        x = Parameter(np.ones(2), dtype="bfloat16", name="w")
        for each in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert (type(each), each.name, each.dtype) == (Parameter, "w", gradc.bfloat16)

    def test_copies_of_parameters_keep_what_users_put_there(self):
        x = Parameter([1.0])
        x.rates = [0.1]
        for each in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert each.rates == [0.1]
            assert each.rates is not x.rates

    def test_aliases_share_the_box_and_others_do_not(self):
        x = tensor([1.0])
        alias, snapshot = x, x.detach()
        x += 1
        assert (alias.item(), snapshot.item()) == (2, 1)

    def test_self_reference_in_place(self):
        x = tensor([3.0])
        x *= x
        x -= x + 1
        assert x.item() == -1


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


class TestOperators:
    @pytest.mark.parametrize(
        "function", [*OPERATORS, *COMPARISONS, operator.mod, operator.floordiv]
    )
    def test_both_orders_with_tensors_arrays_and_numbers(self, function):
        x, y = values(2, 3), values(3, seed=1)
        expected = function(x.astype(np.float64), y)
        assert np.allclose(function(tensor(x), tensor(y)).numpy(), expected, rtol=1e-4)
        assert np.allclose(function(tensor(x), y).numpy(), expected, rtol=1e-4)
        assert np.allclose(function(x, tensor(y)).numpy(), expected, rtol=1e-4)
        assert np.allclose(function(tensor(x), 1.25).numpy(), function(x, 1.25), rtol=1e-4)
        assert np.allclose(function(1.25, tensor(x)).numpy(), function(1.25, x), rtol=1e-4)
        assert np.allclose(function(np.float32(2), tensor(x)).numpy(), function(2, x), rtol=1e-4)

    @pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 11, -1, -2, 0.5, -0.5, 1.5, 2.5])
    def test_powers(self, exponent):
        x = np.abs(values(4)) + 0.25
        assert np.allclose((tensor(x) ** exponent).numpy(), x**exponent, rtol=1e-4)
        base = abs(exponent) + 0.5
        assert np.allclose((base ** tensor(x)).numpy(), base**x, rtol=1e-4)

    def test_powers_of_integers(self):
        x = tensor([-2, 3])
        assert (x**2).dtype == np.int32
        assert (x**11).tolist() == [-2048, 177147]
        assert (x**2.0).dtype == np.float32
        assert (x**-1).tolist() == pytest.approx([-0.5, 1 / 3])
        assert (2**x).tolist() == [0, 8]

    def test_matrix_products(self):
        x, y = values(2, 3), values(3, 4)
        for a, b in ((tensor(x), tensor(y)), (x, tensor(y)), (tensor(x), y)):
            assert np.allclose((a @ b).numpy(), x @ y, atol=1e-5)

    def test_bits_and_logic(self):
        a, b = tensor([True, False, True]), tensor([True, True, False])
        assert (a & b).tolist() == [True, False, False]
        assert (a | b).tolist() == [True, True, True]
        assert (a ^ b).tolist() == [False, True, True]
        assert (~a).tolist() == [False, True, False]
        assert (a & True).tolist() == [True, False, True]
        n = tensor([5, -3])
        assert (~n).tolist() == [-6, 2]
        assert (n << 2).tolist() == [20, -12]
        assert (n >> 1).tolist() == [2, -2]
        assert (n & 3).tolist() == [1, 1]
        with pytest.raises(TypeError, match="expected bool or integers"):
            tensor([1.0]) & tensor([1.0])

    def test_comparison_with_what_is_no_number(self):
        x = tensor([1.0])
        assert (x == None) is False  # noqa: E711
        assert (x != "a") is True
        with pytest.raises(TypeError):
            x + "a"
        with pytest.raises(TypeError):
            x < None  # noqa: B015

    @pytest.mark.parametrize("function", [operator.iadd, operator.isub, operator.imul])
    def test_in_place(self, function):
        x = tensor([4.0, 6.0])
        box, held = x, x * 1
        x = function(x, 2.5)
        assert x is box
        assert x.tolist() == function(np.array([4.0, 6.0]), 2.5).tolist()
        assert held.tolist() == [4, 6]

    def test_an_array_beside_a_float64_tensor_is_not_narrowed(self):
        x = tensor([1.0], dtype="float64")
        assert (x + np.array([1e-12])).item() == 1 + 1e-12
        assert (np.array([1e-12]) + x).dtype == np.float64
        assert (tensor([1.0]) + np.array([1.0])).dtype == np.float32

    def test_errors_name_shapes_and_the_line(self):
        with pytest.raises(ValueError, match=r"\[2\] and \[3\].*test_tensor.py:\d+") as caught:
            tensor([1.0, 2.0]) + tensor([1.0, 2.0, 3.0])
        assert len(str(caught.value).splitlines()) == 1

    @given(
        arrays.arrays(np.float64, arrays.array_shapes(max_dims=3), elements=st.floats(-4, 4)),
        st.sampled_from(OPERATORS),
    )
    def test_float64_is_what_numpy_gives(self, x, function):
        with np.errstate(all="ignore"):
            expected = function(x, x + 0.5)
        t = tensor(x, dtype="float64")
        assert np.array_equal(function(t, t + 0.5).numpy(), expected, equal_nan=True)


class TestMethods:
    def test_shapes(self):
        x = tensor(values(2, 3, 4))
        assert x.reshape(6, -1).shape == x.reshape((6, 4)).shape == (6, 4)
        assert x.reshape(-1).shape == (24,)
        assert x.reshape([4, 6]).shape == (4, 6)
        assert x.transpose(2, 0, 1).shape == x.transpose((2, 0, 1)).shape == (4, 2, 3)
        assert x.T.shape == x.transpose().shape == (4, 3, 2)
        assert x.flatten().shape == (24,)
        assert x.flatten(1).shape == (2, 12)
        assert x[None].squeeze().shape == (2, 3, 4)
        assert tensor(1.0).reshape(()).shape == ()

    def test_reductions(self):
        array = values(2, 3, 4)
        x = tensor(array)
        for name in ("sum", "mean", "max", "min", "prod"):
            function = getattr(np, name)
            for axis in (None, 0, -1, (0, 2)):
                got = getattr(x, name)(axis=axis).numpy()
                assert np.allclose(got, function(array, axis=axis), atol=1e-5)
                if axis is not None:
                    kept = getattr(x, name)(axis, True)
                    assert kept.shape == function(array, axis=axis, keepdims=True).shape
        assert x.argmax(1).numpy().tolist() == array.argmax(1).tolist()
        assert x.argmin().item() == array.argmin()

    def test_types(self):
        x = tensor([1.7, -1.7])
        assert x.astype("int32").tolist() == [1, -1]
        assert x.astype(np.float64).dtype == np.float64
        assert tensor([3, 4], dtype="uint8").sum().dtype == np.int32
        assert tensor([True, True]).mean().item() == 1
        assert tensor([3, 4], dtype="int8").mean().dtype == np.float32

    def test_wrong_keywords_are_said(self):
        with pytest.raises(TypeError, match="axes"):
            tensor([1.0]).sum(axes=0)
