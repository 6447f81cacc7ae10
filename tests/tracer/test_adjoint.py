"""The driver of the derivatives; the rules of the operators are tested in tests/contract."""

import numpy as np
import pytest
from contract.compute import compute, leaf
from gradc.tracer.adjoint import adjoint, fitted
from gradc.tracer.dtypes import float32, float64
from gradc.tracer.errors import DerivativeError
from gradc.tracer.ir import Node, node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import markers, reduction, sources


def one(like: Node) -> Node:
    return sources.full(1, like.shape, like.dtype)


def track(x: Node, ordinal: int) -> Node:
    return node(markers.track, (x,), (ordinal,))


def test_only_what_the_targets_depend_on_has_a_cotangent() -> None:
    x, y, z = leaf(0), leaf(1), leaf(2)
    target = x * y
    found = adjoint([target], [one(target)], [x, z], manager=0)
    assert list(found) == [x]
    assert found[x] is e.mul(one(target), y)


def test_uses_are_added_up() -> None:
    x = leaf(0)
    target = x * x + e.sin(x)
    found = adjoint([target], [one(target)], [x], manager=0)
    assert compute([found[x]], [2.0])[0] == pytest.approx(4 + np.cos(2.0))


def test_several_targets_with_seeds() -> None:
    x, a, b = leaf(0, (2,)), leaf(1, (2,)), leaf(2, (1,))
    targets = [x * x, reduction.sum(3.0 * x, (0,))]
    found = adjoint(targets, [a, b], [x], manager=0)
    arrays = [np.array([1.0, 2]), np.array([10.0, 100]), np.array([2.0])]
    assert compute([found[x]], arrays)[0].tolist() == [20 + 6, 400 + 6]


def test_target_that_is_listed_twice_gets_both_seeds() -> None:
    x, a, b = leaf(0), leaf(1), leaf(2)
    found = adjoint([e.exp(x), e.exp(x)], [a, b], [x], manager=0)
    assert compute([found[x]], [0.0, 3.0, 4.0])[0] == 7


def test_target_that_is_wanted_itself() -> None:
    x, seed = leaf(0), leaf(1)
    assert adjoint([x], [seed], [x], manager=0) == {x: seed}


def test_target_on_the_way_to_another() -> None:
    x = leaf(0)
    middle = e.exp(x)
    last = middle * middle
    found = adjoint([last, middle], [one(last), one(middle)], [middle, x], manager=0)
    values = compute([found[middle], found[x]], [0.0])
    assert [float(each) for each in values] == [3, 3]


def test_order_is_that_in_which_cotangents_are_complete() -> None:
    x = leaf(0)
    first = track(x, 0)
    second = track(e.exp(first), 1)
    third = track(e.sin(second), 2)
    found = adjoint([third], [one(third)], [first, second, third], manager=0)
    assert list(found) == [third, second, first]


def test_snapshots_are_told_apart() -> None:
    """What was computed before the attach does not count."""
    x = leaf(0)
    snapshot = track(x, 0)
    target = 10.0 * x + 3.0 * snapshot
    found = adjoint([target], [one(target)], [snapshot], manager=0)
    assert compute([found[snapshot]], [2.0])[0] == 3


def test_stop_is_a_constant() -> None:
    x = leaf(0)
    target = x * node(markers.stop, (x,))
    found = adjoint([target], [one(target)], [x], manager=0)
    assert compute([found[x]], [5.0])[0] == 5


@pytest.mark.parametrize(("manager", "expected"), [(1, 2.0), (2, 2 + 6.0), (0, 2 + 6.0)])
def test_results_of_a_backward_are_hidden_from_some(manager: int, expected: float) -> None:
    x = leaf(0)
    hidden = node(markers.opaque, (x * x,), ((1,),))
    target = 2.0 * x + hidden
    found = adjoint([target], [one(target)], [x], manager)
    assert compute([found[x]], [3.0])[0] == expected


def test_hidden_result_that_is_wanted_passes_nothing_on() -> None:
    x = leaf(0)
    hidden = node(markers.opaque, (x * x,), ((1,),))
    target = 2.0 * hidden
    found = adjoint([target], [one(target)], [hidden, x], manager=1)
    assert list(found) == [hidden]


def test_broadcast_cotangents_have_the_shape_of_their_value() -> None:
    x, row, column, number = leaf(0, (2, 3)), leaf(1, (3,)), leaf(2, (2, 1)), leaf(3)
    target = (x + row) * column * number
    wrt = [x, row, column, number]
    found = adjoint([target], [one(target)], wrt, manager=0)
    arrays = [np.ones((2, 3)), np.arange(3.0), np.array([[2.0], [3]]), np.float64(10)]
    values = compute([found[each] for each in wrt], arrays)
    assert values[0].tolist() == [[20] * 3, [30] * 3]
    assert values[1].tolist() == [50] * 3
    assert values[2].tolist() == [[60], [60]]
    assert values[3] == 6 * 2 + 6 * 3


def test_cotangents_take_the_type_of_their_value() -> None:
    x, y = leaf(0, (), float32), leaf(1, (), float64)
    found = adjoint([x * y], [one(y)], [x, y], manager=0)
    assert (found[x].dtype, found[y].dtype) == (float32, float64)


def test_adjoint_nodes_carry_the_origin_of_what_they_belong_to() -> None:
    x, seed = leaf(40, (7,)), leaf(41, (7,))
    made = e.cosh(x)
    found = adjoint([made], [seed], [x], manager=0)
    assert found[x].op is e.mul
    assert found[x].origin == made.origin


def test_second_adjoint_of_the_first() -> None:
    x = leaf(0)
    target = e.exp(2.0 * x)
    (first,) = adjoint([target], [one(x)], [x], manager=0).values()
    (second,) = adjoint([first], [one(x)], [x], manager=0).values()
    assert compute([second], [0.0])[0] == 4


def test_repeat_makes_no_new_nodes() -> None:
    x, y = leaf(0, (3,)), leaf(1, (3,))
    target = reduction.sum(e.tanh(x * y), (0,))
    once = adjoint([target], [one(target)], [x, y], manager=0)
    again = adjoint([target], [one(target)], [x, y], manager=0)
    assert {key: id(value) for key, value in once.items()} == {
        key: id(value) for key, value in again.items()
    }


def test_deep_chains() -> None:
    x = leaf(0)
    y = x
    for _ in range(3000):
        y = y + 1.0
    target = y * x
    found = adjoint([target], [one(target)], [x], manager=0)
    assert compute([found[x]], [2.0])[0] == 2 + 3002


def test_shared_nodes_are_visited_once() -> None:
    x = leaf(0)
    y = x
    for _ in range(60):
        y = 0.5 * (y + y)
    found = adjoint([y], [one(y)], [x], manager=0)
    assert compute([found[x]], [1.0])[0] == 1


@pytest.mark.parametrize(("given", "wanted"), [((3,), (2, 3)), ((2, 1), (2, 3)), ((2, 3), (2, 4))])
def test_cotangent_that_does_not_fit(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    with pytest.raises(DerivativeError, match="does not fit the value"):
        fitted(leaf(0, given), leaf(1, wanted))


def test_cotangent_that_is_summed_to_fit() -> None:
    assert fitted(leaf(0, (4, 2, 3)), leaf(1, (2, 1))).shape == (2, 1)
    assert fitted(leaf(0, (4, 2, 3)), leaf(1)).shape == ()
    assert fitted(leaf(0, (0, 3)), leaf(1, (1, 3))).shape == (1, 3)
