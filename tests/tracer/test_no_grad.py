"""`no_grad` around generators and coroutines: their bodies are inside, and nothing else is."""

import asyncio
import inspect

import numpy as np
import pytest

from gradc import Parameter, no_grad
from gradc.autodiff import GradManager


def slope(function):
    """The gradient of `function(x)` at 3; None where nothing is reached."""
    x = Parameter(np.float32(3))
    manager = GradManager().attach(x)
    with manager:
        manager.backward(function(x))
    return None if x.grad is None else x.grad.item()


@no_grad()
def doubled(x):
    """Twice x, and what is sent times x."""
    sent = yield x * 2
    try:
        yield sent * x
    except KeyError:
        yield x * 7
    return x * 5


class TestGenerators:
    def test_it_stays_one(self):
        assert inspect.isgenerator(doubled(Parameter([1.0])))
        assert (doubled.__name__, doubled.__doc__) == (
            "doubled",
            "Twice x, and what is sent times x.",
        )

    def test_the_body_is_inside_and_its_caller_is_not(self):
        def function(x):
            total = x * 0
            for each in doubled_twice(x):
                total = total + each * x
            return total

        @no_grad()
        def doubled_twice(x):
            for _ in range(2):
                yield x * 2

        assert slope(function) == 12  # 2 (2 x) with 2 x as a constant

    def test_what_is_sent_thrown_and_returned(self):
        def function(x):
            steps = doubled(x)
            first = next(steps)
            second = steps.send(x * x)
            third = steps.throw(KeyError())
            with pytest.raises(StopIteration) as stop:
                next(steps)
            found = [first, second, third, stop.value.value]
            assert [each.item() for each in found] == [6, 27, 21, 15]
            return sum(found) + 4 * x

        assert slope(function) == 4

    def test_closing_and_errors_leave_the_block(self):
        steps = doubled(Parameter(np.float32(3)))
        next(steps)
        steps.close()

        @no_grad()
        def failing(x):
            yield x
            raise ZeroDivisionError

        def function(x):
            with pytest.raises(ZeroDivisionError):
                list(failing(x))
            return x * x

        assert slope(function) == 6


class TestCoroutines:
    def test_the_body_is_inside_and_others_that_run_meanwhile_are_not(self):
        @no_grad()
        async def inside(x):
            y = x * 2
            await asyncio.sleep(0)
            return y + x * 3

        async def outside(x):
            y = x * 4
            await asyncio.sleep(0)
            return y + x

        async def both(x):
            return await asyncio.gather(inside(x), outside(x), inside(x))

        def function(x):
            found = asyncio.run(both(x))
            assert [each.item() for each in found] == [15, 15, 15]
            return sum(found)

        assert asyncio.iscoroutinefunction(inside)
        assert slope(function) == 5

    def test_errors_pass_through(self):
        @no_grad()
        async def failing():
            await asyncio.sleep(0)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            asyncio.run(failing())
        assert slope(lambda x: x * x) == 6

    def test_an_asynchronous_generator_is_refused(self):
        with pytest.raises(TypeError, match="found an asynchronous generator function"):

            @no_grad()
            async def steps():
                yield 1


class TestWithoutParentheses:
    def test_a_function(self):
        @no_grad
        def cubed(x):
            """x to the third."""
            return x * x * x

        assert (cubed.__name__, cubed.__doc__) == ("cubed", "x to the third.")
        assert cubed(Parameter(np.float32(2))).item() == 8.0
        assert slope(cubed) is None
        assert slope(lambda x: cubed(x) * x) == 27.0

    def test_a_generator_function(self):
        @no_grad
        def powers(x):
            yield x * x

        assert slope(lambda x: next(powers(x)) * x) == 9.0

    def test_what_is_no_function(self):
        with pytest.raises(TypeError, match=r"no_grad: expected a function, found 3 \(at .*:\d+\)"):
            no_grad(3)
