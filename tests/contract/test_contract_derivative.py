"""Derivatives of all operators: against differences, by dot products, and at kinks and ties.

Everything is computed in float64 by the interpreter. A first derivative is held against central
differences of the value, a second one against central differences of the first.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from contract.cases import Case, cases
from contract.compute import compute, leaf
from contract.values import Array
from gradc.tracer.adjoint import adjoint
from gradc.tracer.dtypes import DType, bfloat16, float16, float32, float64, int32
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
from gradc.tracer.ops import OPS, contraction, indexing, movement, reduction, sources
from gradc.tracer.ops import elementwise as e
from walk import walk

INF, NAN = math.inf, math.nan
STEP = 1e-6

CONSTANT = {"sign", "floor", "ceil", "round", "floordiv"}
"""Operators on floats without a derivative: they are constant between their jumps."""
NOT_OF_FLOATS = {
    *("input", "scalar", "constant", "iota", "argmax", "argmin", "checked_index", "logical_not"),
    *("argsort", "random_bits"),
    *("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite"),
    *("bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"),
}
"""Operators without float inputs, or whose result is no float."""
CUT = {"stop", "boundary"}
"""Markers at which the adjoint stops, or that it treats apart."""
LINEAR = {
    *("neg", "cast", "where", "sum", "take", "scatter_add", "scatter_set", "track", "opaque"),
    *("reshape", "transpose", "broadcast", "slice", "pad", "concat", "add", "sub"),
    *("window", "unwindow", "cumsum"),
}
"""Operators that are linear in all of their float inputs (where the fill of a pad is 0)."""

ORDINARY = [case for case in cases() if case.dtype is float64 and not case.special]
DIFFERENTIABLE = [
    case
    for case in ORDINARY
    if OPS[case.op].vjp is not None and case.build(case.leaves()).dtype is float64
]


def zeros(like: Node) -> Node:
    return sources.full(0, like.shape, like.dtype)


def ones(like: Node) -> Node:
    return sources.full(1, like.shape, like.dtype)


def gradients(y: Sequence[Node], seeds: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
    """The cotangents of `wrt`; zeros where the targets do not depend on them."""
    found = adjoint(y, seeds, wrt, manager=0)
    return [found.get(each, zeros(each)) for each in wrt]


@dataclass(frozen=True)
class Program:
    """Nodes as a function of all leaves' arrays, in the order of their slots."""

    graph: Graph
    slots: tuple[int, ...]

    @classmethod
    def of(cls, outputs: Sequence[Node]) -> "Program":
        graph, binding = canonical(outputs)
        return cls(graph, tuple(each.attrs[0] for each in binding.inputs))

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        return interpret(self.graph, [arrays[slot] for slot in self.slots], (), ())


def dot(a: Sequence[Array], b: Sequence[Array]) -> float:
    return math.fsum(float(np.sum(x * y)) for x, y in zip(a, b, strict=True))


def check_by_differences(
    values: Program,
    weights: Sequence[Array],
    slopes: Sequence[Array],
    arrays: Sequence[Array],
    slots: Sequence[int],
    rng: np.random.Generator,
) -> None:
    """<weights, J v> by central differences is <slopes, v>, for directions v of single inputs."""
    for slot, slope in zip(slots, slopes, strict=True):
        assert slope.shape == arrays[slot].shape
        for _ in range(3):
            direction = rng.standard_normal(slope.shape)
            ahead, behind = list(arrays), list(arrays)
            ahead[slot] = arrays[slot] + STEP * direction
            behind[slot] = arrays[slot] - STEP * direction
            measured = dot(weights, values(ahead)) - dot(weights, values(behind))
            expected = float(np.sum(slope * direction))
            assert measured / (2 * STEP) == pytest.approx(expected, rel=2e-6, abs=1e-6)


def with_seed(case: Case) -> tuple[tuple[Node, ...], Node, Node, list[Array], list[int]]:
    """Leaves, result, seed, arrays (the seed's last) and the slots of the float inputs."""
    rng = np.random.default_rng(11)
    leaves = case.leaves()
    y = case.build(leaves)
    seed = leaf(len(leaves), y.shape)
    arrays = [*case.sample(rng), rng.uniform(0.5, 1.5, y.shape)]
    floats = [k for k, each in enumerate(leaves) if each.dtype.is_float]
    return leaves, y, seed, arrays, floats


def test_every_operator_has_a_derivative_or_a_reason() -> None:
    without = {name for name, op in OPS.items() if op.vjp is None}
    assert without == CONSTANT | NOT_OF_FLOATS | CUT
    assert {case.op for case in DIFFERENTIABLE} == set(OPS) - without


@walk("case", DIFFERENTIABLE, ids=str)
def test_first_derivative(case: Case) -> None:
    leaves, y, seed, arrays, floats = with_seed(case)
    made = gradients([y], [seed], [leaves[k] for k in floats])
    assert [each.type for each in made] == [
        leaves[k].type._replace(device=each.type.device)
        for k, each in zip(floats, made, strict=True)
    ]
    slopes = Program.of(made)(arrays)
    rng = np.random.default_rng(5)
    check_by_differences(Program.of([y]), [arrays[-1]], slopes, arrays, floats, rng)


@walk("case", DIFFERENTIABLE, ids=str)
def test_second_derivative(case: Case) -> None:
    """The first derivative is differentiated, with respect to the inputs and to its seed."""
    leaves, y, seed, arrays, floats = with_seed(case)
    first = gradients([y], [seed], [leaves[k] for k in floats])
    again = [leaf(len(arrays) + k, each.shape) for k, each in enumerate(first)]
    rng = np.random.default_rng(5)
    weights = [rng.uniform(0.5, 1.5, each.shape) for each in first]
    slots = [*floats, len(leaves)]
    second = gradients(first, again, [*(leaves[k] for k in floats), seed])
    everything = [*arrays, *weights]
    slopes = Program.of(second)(everything)
    check_by_differences(Program.of(first), weights, slopes, everything, slots, rng)


@walk(
    "case",
    [case for case in ORDINARY if case.op in CONSTANT and case.leaves()[0].type.size],
    ids=str,
)
def test_operators_without_a_derivative_are_constant_around(case: Case) -> None:
    leaves, y, seed, arrays, floats = with_seed(case)
    assert adjoint([y], [seed], leaves, manager=0) == {}
    slopes = [np.zeros_like(arrays[k]) for k in floats]
    rng = np.random.default_rng(5)
    check_by_differences(Program.of([y]), [arrays[-1]], slopes, arrays, floats, rng)


def _is_linear(case: Case) -> bool:
    return case.op in LINEAR and "1.0" not in case.attrs


@walk("case", [case for case in DIFFERENTIABLE if _is_linear(case)], ids=str)
def test_dot_products_of_linear_operators(case: Case) -> None:
    """<J v, w> = <v, J' w>, to the last digits: J v is the operator itself."""
    leaves, y, seed, arrays, floats = with_seed(case)
    back = Program.of(gradients([y], [seed], [leaves[k] for k in floats]))(arrays)
    forth = Program.of([y])(arrays)
    assert dot(forth, [arrays[-1]]) == pytest.approx(
        dot([arrays[k] for k in floats], back), rel=1e-13, abs=1e-13
    )


@pytest.mark.parametrize("name", ["max", "min"])
def test_tied_winners_of_a_line_share_evenly(name: str) -> None:
    """The weights of a line sum to 1, whatever the number of winners; losers get nothing."""
    for case in cases():
        if case.op != name or case.dtype is not float64 or not case.special:
            continue
        leaves, y, seed, arrays, _ = with_seed(case)
        x, g, top = arrays[0], arrays[-1], compute([y], arrays)[0]
        won = (x == top) | np.isnan(x)
        axes = case.attrs[0]
        found = compute(gradients([y], [seed], leaves), arrays)[0]
        np.testing.assert_allclose(found.sum(axes, keepdims=True), g, rtol=1e-14)
        assert (found[~won] == 0).all()
        share = np.broadcast_to(g / won.sum(axes, keepdims=True), x.shape)
        np.testing.assert_allclose(found[won], share[won], rtol=1e-14)


def test_the_first_winner_of_a_line_takes_all() -> None:
    """Also in lines along several axes, and the first NaN before all numbers."""
    x = np.array([[[1.0, 5], [5, 2]], [[7, 7], [NAN, NAN]], [[4, NAN], [9, 3]]])
    expected = np.array([[[0, 2], [0, 0]], [[0, 0], [3, 0]], [[0, 5], [0, 0]]])
    y = reduction.first_max(leaf(0, x.shape), (1, 2))
    seed = np.array([2.0, 3, 5]).reshape(3, 1, 1)
    found = compute(gradients([y], [leaf(1, seed.shape)], [leaf(0, x.shape)]), [x, seed])[0]
    np.testing.assert_array_equal(found, expected)


# ---- kinks, ties and the ends of domains

Function = Callable[..., Node]


def slopes_at(function: Function, *points: Any) -> list[Any]:
    """The derivative of the sum of `function`, with respect to each of its operands."""
    arrays = [np.array(point, np.float64) for point in points]
    leaves = [leaf(k, each.shape) for k, each in enumerate(arrays)]
    y = function(*leaves)
    return [each.tolist() for each in compute(gradients([y], [ones(y)], leaves), arrays)]


def derivatives_at(function: Function, point: float, order: int) -> list[float]:
    """The derivatives of a function of one number, from the first to that of `order`."""
    x = leaf(0)
    found = [function(x)]
    for _ in range(order):
        found += gradients([found[-1]], [ones(x)], [x])
    return [float(each) for each in compute(found[1:], [np.float64(point)])]


KINKS: list[tuple[str, Function, tuple[float, ...], list[float]]] = [
    ("abs at 0", e.abs, (0.0,), [0]),
    ("abs at -0", e.abs, (-0.0,), [0]),
    ("sqrt at 0", e.sqrt, (0.0,), [INF]),
    ("rsqrt at 0", e.rsqrt, (0.0,), [-INF]),
    ("cbrt at 0", e.cbrt, (0.0,), [INF]),
    ("cbrt at -0", e.cbrt, (-0.0,), [INF]),
    ("log at 0", e.log, (0.0,), [INF]),
    ("asin at 1", e.asin, (1.0,), [INF]),
    ("acos at -1", e.acos, (-1.0,), [-INF]),
    ("acosh at 1", e.acosh, (1.0,), [INF]),
    ("atanh at 1", e.atanh, (1.0,), [INF]),
    ("maximum tied", e.maximum, (2.0, 2.0), [0.5, 0.5]),
    ("minimum tied", e.minimum, (2.0, 2.0), [0.5, 0.5]),
    ("maximum of zeros", e.maximum, (0.0, -0.0), [0.5, 0.5]),
    ("maximum of infinities", e.maximum, (INF, INF), [0.5, 0.5]),
    ("maximum, first NaN", e.maximum, (NAN, 1.0), [1, 0]),
    ("maximum, second NaN", e.maximum, (5.0, NAN), [0, 1]),
    ("minimum, both NaN", e.minimum, (NAN, NAN), [0.5, 0.5]),
    ("maximum of one value", lambda x: e.maximum(x, x), (3.0,), [1]),
    ("hypot at the origin", e.hypot, (0.0, 0.0), [0, 0]),
    ("hypot on an axis", e.hypot, (0.0, -2.0), [0, -1]),
    ("atan2 at the origin", e.atan2, (0.0, 0.0), [0, 0]),
    ("atan2 on the axis", e.atan2, (0.0, 2.0), [0.5, 0]),
    ("logaddexp of equals", e.logaddexp, (1.5, 1.5), [0.5, 0.5]),
    ("logaddexp of -inf", e.logaddexp, (-INF, -INF), [0.5, 0.5]),
    ("logaddexp beside -inf", e.logaddexp, (-INF, 2.0), [0, 1]),
    ("logaddexp far apart", e.logaddexp, (900.0, -900.0), [1, 0]),
    ("mod at a jump", e.mod, (6.0, 3.0), [1, -2]),
    ("mod of a negative", e.mod, (-7.0, 3.0), [1, 3]),
    ("0 to the power 0", e.pow, (0.0, 0.0), [0, 0]),
    ("0 to the power 1", e.pow, (0.0, 1.0), [1, 0]),
    ("0 to the power 2", e.pow, (0.0, 2.0), [0, 0]),
    ("0 to the power 1/2", e.pow, (0.0, 0.5), [INF, 0]),
    ("0 to the power -1", e.pow, (0.0, -1.0), [-INF, -INF]),
    ("5 to the power 0", e.pow, (5.0, 0.0), [0, math.log(5)]),
    ("sigmoid far down", e.sigmoid, (-800.0,), [0]),
    ("sigmoid far up", e.sigmoid, (800.0,), [0]),
    ("tanh far up", e.tanh, (200.0,), [0]),
    ("exp at -inf", e.exp, (-INF,), [0]),
    ("exp overflow", e.exp, (800.0,), [INF]),
]


@walk(("function", "points", "expected"), [row[1:] for row in KINKS], ids=[row[0] for row in KINKS])
def test_convention_at_a_kink(
    function: Function, points: tuple[float, ...], expected: list[float]
) -> None:
    np.testing.assert_array_equal(slopes_at(function, *points), expected)


def test_power_of_a_negative_base_has_no_derivative_in_its_exponent() -> None:
    of_base, of_exponent = slopes_at(e.pow, -2.0, 3.0)
    assert of_base == 12
    assert np.isnan(of_exponent)


def _power(exponent: float) -> Function:
    return lambda x: e.to_power(x, exponent)


def _pow(exponent: float) -> Function:
    return lambda x: e.pow(x, sources.constant_like(exponent, x))


POINTS: list[tuple[str, Function, float, list[float]]] = [
    ("x**0", _power(0), 0.0, [0, 0]),
    ("x**1", _power(1), 0.0, [1, 0]),
    ("x**2", _power(2), 0.0, [0, 2, 0]),
    ("x**3", _power(3), 0.0, [0, 0, 6, 0]),
    ("x**4 at -1", _power(4), -1.0, [-4, 12, -24, 24, 0]),
    ("x**9", _power(9), 0.0, [0, 0, 0]),
    ("x**9 at -1", _power(9), -1.0, [9, -72, 504]),
    ("x**-1 at -2", _power(-1), -2.0, [-1 / 4, -1 / 4, -3 / 8]),
    ("x**-5 at -1", _power(-5), -1.0, [-5, -30, -210]),
    ("x**1.5", _power(1.5), 0.0, [0, INF]),
    ("x**2.5", _power(2.5), 0.0, [0, 0, INF]),
    ("x**-0.5 at 4", _power(-0.5), 4.0, [-1 / 16, 3 / 128]),
    ("pow 2", _pow(2), 0.0, [0, 2, 0]),
    ("pow 3", _pow(3), 0.0, [0, 0, 6, 0]),
    ("pow 3 at -2", _pow(3), -2.0, [12, -12, 6, 0]),
    ("pow 1", _pow(1), 0.0, [1, 0, 0]),
    ("pow 0", _pow(0), 0.0, [0, 0]),
    ("abs", e.abs, 0.0, [0, 0]),
    ("sqrt", e.sqrt, 0.0, [INF, -INF]),
    ("sqrt at 4", e.sqrt, 4.0, [1 / 4, -1 / 32, 3 / 256]),
    ("cbrt", e.cbrt, 0.0, [INF, -INF, INF]),
    ("cbrt at 8", e.cbrt, 8.0, [1 / 12, -1 / 144, 5 / 3456]),
    ("cbrt at -8", e.cbrt, -8.0, [1 / 12, 1 / 144, 5 / 3456]),
    ("maximum(x, x)", lambda x: e.maximum(x, x), 2.0, [1, 0]),
    ("x*x by max", lambda x: x * e.maximum(x, -x), 2.0, [4, 2]),
    ("sin", e.sin, 0.0, [1, 0, -1, 0, 1]),
    ("exp2", e.exp2, 0.0, [math.log(2), math.log(2) ** 2, math.log(2) ** 3]),
    ("expm1", e.expm1, 0.0, [1, 1, 1]),
    ("log1p", e.log1p, 0.0, [1, -1, 2]),
    ("sigmoid", e.sigmoid, 0.0, [1 / 4, 0, -1 / 8]),
    ("tanh", e.tanh, 0.0, [1, 0, -2]),
    ("logaddexp(x, 0)", lambda x: e.logaddexp(x, zeros(x)), 0.0, [1 / 2, 1 / 4, 0]),
    ("logaddexp(x, x)", lambda x: e.logaddexp(x, x), 3.0, [1, 0]),
    ("erf", e.erf, 0.0, [2 / math.sqrt(math.pi), 0, -4 / math.sqrt(math.pi)]),
    ("atan2(x, 1)", lambda x: e.atan2(x, ones(x)), 0.0, [1, 0, -2]),
    ("where", lambda x: e.where(x < 1.0, x * x, x), 0.5, [1, 2, 0]),
]


@walk(
    ("function", "point", "expected"), [row[1:] for row in POINTS], ids=[row[0] for row in POINTS]
)
def test_derivatives_of_higher_order(
    function: Function, point: float, expected: list[float]
) -> None:
    found = derivatives_at(function, point, len(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("x", "y"), [(2.0, 0.0), (3.0, 1.0), (0.5, -1.0), (2.0, 2.5)])
def test_mixed_second_derivative_of_pow(x: float, y: float) -> None:
    """d/dy d/dx x**y = x**(y-1) * (1 + y log x), at y = 0 too."""
    base, exponent = leaf(0), leaf(1)
    (of_base,) = gradients([e.pow(base, exponent)], [ones(base)], [base])
    mixed = gradients([of_base], [ones(base)], [exponent])
    found = compute(mixed, [np.float64(x), np.float64(y)])[0]
    assert found == pytest.approx(x ** (y - 1) * (1 + y * math.log(x)), rel=1e-14)


GAP = 3 * 2.0**-28
"""A distance from 1 at which the digits of 1 - x*x are lost, and those of (1-x) * (1+x) are not."""


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (e.expm1, -50.0, math.exp(-50)),
        (e.asin, 1 - GAP, 1 / math.sqrt(GAP * (2 - GAP))),
        (e.acos, -1 + GAP, -1 / math.sqrt(GAP * (2 - GAP))),
        (e.atanh, 1 - GAP, 1 / (GAP * (2 - GAP))),
        (e.sigmoid, -50.0, 1 / (2 + 2 * math.cosh(50))),
        (lambda x: e.logaddexp(x, zeros(x)), -50.0, 1 / (1 + math.exp(50))),
        (lambda x: e.hypot(x, x), 1e200, math.sqrt(2)),
        (lambda x: e.atan2(x, ones(x) * 1e200), 1e200, 0.5e-200),
    ],
)
def test_derivative_keeps_its_digits(function: Function, point: float, expected: float) -> None:
    assert derivatives_at(function, point, 1)[0] == pytest.approx(expected, rel=1e-12, abs=0)


# ---- products beside zeros


def _products_of_others(x: Array) -> Array:
    return np.array([np.prod(np.delete(x, i)) for i in range(x.size)])


@pytest.mark.parametrize(
    "line",
    [[0.0, 3, 0], [0.0], [2.0, 0, 3, 4], [1.5, -2, 3], [0.0, 0, 0, 7], [1.0, 2, 3, 4, 5, 6, 7], []],
)
def test_derivative_of_a_product_is_that_of_the_others(line: list[float]) -> None:
    found = slopes_at(lambda x: reduction.prod(x, (0,)), line)[0]
    np.testing.assert_allclose(found, _products_of_others(np.array(line)), rtol=1e-14)


@walk("line", [[0.0, 3, 0, 2], [0.0, 0, 0], [2.0, 5, 0], [1.0, 2, 3]])
def test_second_derivative_of_a_product(line: list[float]) -> None:
    """The Hessian's element (i, j) is the product of all but i and j; its diagonal is 0."""
    x, n = leaf(0, (len(line),)), len(line)
    y = reduction.prod(x, (0,))
    (first,) = gradients([y], [ones(y)], [x])
    weights = np.arange(1.0, n + 1)
    (second,) = gradients([first], [leaf(1, (n,))], [x])
    hessian = np.array(
        [[0 if i == j else np.prod(np.delete(line, [i, j])) for j in range(n)] for i in range(n)]
    )
    np.testing.assert_allclose(
        compute([second], [np.array(line), weights])[0], weights @ hessian, rtol=1e-14
    )


def test_product_over_two_axes_with_a_zero() -> None:
    x = np.array([[2.0, 3], [0, 5]])
    found = slopes_at(lambda t: reduction.prod(t, (0, 1)), x.tolist())[0]
    assert found == [[0, 0], [30, 0]]


# ---- places


def test_line_that_is_read_twice_gets_both_cotangents() -> None:
    x, at, g = leaf(0, (3,)), leaf(1, (4,), int32), leaf(2, (4,))
    (found,) = gradients([indexing.take(x, at, 0)], [g], [x])
    arrays = [np.zeros(3), np.array([2, 0, -1, 2], np.int32), np.array([1.0, 2, 4, 8])]
    assert compute([found], arrays)[0].tolist() == [2, 0, 13]


@pytest.mark.parametrize("axis", [0, 1])
def test_only_the_last_writer_of_a_line_gets_a_cotangent(axis: int) -> None:
    base, at = leaf(0, (3, 3)), leaf(1, (2, 2), int32)
    shape = (2, 2, 3) if axis == 0 else (3, 2, 2)
    updates, g = leaf(2, shape), leaf(3, (3, 3))
    y = indexing.scatter_set(base, at, updates, axis)
    of_base, of_updates = gradients([y], [g], [base, updates])
    cotangent = np.arange(1.0, 10).reshape(3, 3)
    places = np.array([[1, 0], [1, -2]], np.int32)  # 1, 0, 1, 1: the last of them stays
    found = compute([of_base, of_updates], [np.zeros((3, 3)), places, np.zeros(shape), cotangent])
    lines = np.moveaxis(found[1], axis + 1, 1) if axis == 0 else found[1].transpose(1, 2, 0)
    g_lines = np.moveaxis(cotangent, axis, 0)
    expected = np.zeros((2, 2, 3))
    expected[0, 1], expected[1, 1] = g_lines[0], g_lines[1]
    np.testing.assert_array_equal(lines, expected)
    np.testing.assert_array_equal(np.moveaxis(found[0], axis, 0), [[0] * 3, [0] * 3, g_lines[2]])


# ---- types of cotangents


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32], ids=repr)
def test_cotangent_has_the_type_of_its_value(dtype: DType) -> None:
    x, y = leaf(0, (2, 3), dtype), leaf(1, (3,))
    product = e.mul(x, y)
    of_x, of_y = gradients([product], [ones(product)], [x, y])
    assert (product.dtype, of_x.dtype, of_y.dtype) == (float64, dtype, float64)
    assert (of_x.shape, of_y.shape) == ((2, 3), (3,))


def test_many_tied_winners_of_float16() -> None:
    """Their number is counted in integers: 70 000 is no float16."""
    x = leaf(0, (70_000,), float16)
    y = reduction.max(x, (0,))
    (found,) = gradients([y], [sources.full(64, y.shape, float16)], [x])
    counted = [each for each in canonical([found])[0].nodes() if each.op is OPS["sum"]]
    assert [each.dtype for each in counted] == [int32]


def test_no_cotangent_goes_through_integers() -> None:
    x = leaf(0, (3,))
    whole = e.cast_to(e.cast_to(x, int32), float64)
    assert adjoint([whole], [ones(whole)], [x], manager=0) == {}


def test_integers_get_no_cotangent() -> None:
    number = leaf(0, (3,), int32)
    y = e.cast_to(number, float64)
    assert adjoint([y], [ones(y)], [number], manager=0) == {}


def test_matrix_product_of_a_matrix_with_itself() -> None:
    x = np.array([[1.0, 2], [3, 4]])
    found = slopes_at(lambda t: contraction.matmul(t, t), x.tolist())[0]
    one = np.ones((2, 2))
    np.testing.assert_allclose(found, one @ x.T + x.T @ one)


def test_slice_times_slice() -> None:
    """x[3:] * x[:3] with one line on both sides, broadcast."""
    x = np.arange(1.0, 5)
    found = slopes_at(
        lambda t: movement.slice_(t, 0, 3, None) * movement.slice_(t, 0, 0, 3), x.tolist()
    )[0]
    assert found == [4, 4, 4, 6]
