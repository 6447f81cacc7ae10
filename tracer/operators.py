"""Python's operators on tensors: one look-up in the memo of nodes, and a new tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import beside
from .dtypes import bool_, int64
from .errors import located
from .ir import Node
from .operand import NESTED, together
from .ops import contraction
from .ops import elementwise as e
from .ops.kinds import Elementwise
from .ops.sources import constant_like, constant_of
from .protocol import Answers
from .recording import THREAD, Numbers, Recording, takes
from .value import Value, waiting
from .weak import answered, compared, require_fit, wide_integers

if TYPE_CHECKING:
    from .tensor import Tensor

Binary = Callable[[Any, Any], "Tensor"]
Unary = Callable[[Any], "Tensor"]


def operand(recording: Recording, value: Any, like: Node) -> Node | None:
    """The node of a number, or of an array that `together` has seen, beside `like`; else None."""
    if isinstance(value, Numbers):
        return recording.number(value, like.type.dtype)
    if isinstance(value, NESTED):
        takes(value)
        return recording.array(*beside(value, like.type.dtype))
    return None


def declined(other: Any) -> Any:
    """NotImplemented: `other` is asked, unless it would read the tensor and so lose its gradient.

    Arrays of other libraries would, if they do not say by `__array_ufunc__ = None` that they know.
    """
    kind: Any = type(other)
    knows = getattr(kind, "__array_ufunc__", 0) is None
    if not knows and any(hasattr(kind, name) for name in FOREIGN):
        found = f"found {kind.__module__.partition('.')[0]}.{kind.__name__}"
        expected = "expected a tensor, an array or a number beside a tensor"
        raise TypeError(located(f"{expected}, {found}: write numpy.asarray(...) around it"))
    return NotImplemented


FOREIGN = ("__array__", "__array_ufunc__", "__array_interface__", "__array_priority__")


def binary(function: Callable[[Node, Node], Node]) -> Binary:
    """The method for `function(self, other)`."""

    def method(self: Tensor, other: Any) -> Any:
        recording = THREAD.recording
        x = self._node if self._recording is recording else recording.node_of(self)
        if isinstance(other, Value):
            y = other._node if other._recording is recording else recording.node_of(other)  # type: ignore[arg-type]
        elif isinstance(other, Numbers):
            y = recording.number(other, x.type.dtype)
        elif (joined := together(other)) is not other:
            return method(self, joined)
        elif (y := operand(recording, other, x)) is None:  # type: ignore[assignment]
            return declined(other)
        key = (function, x, y)
        made = recording.memo.young.get(key) or recording.first(key, function, (x, y))
        return waiting(made, recording)

    return method


def reflected(function: Callable[[Node, Node], Node]) -> Binary:
    """The method for `function(other, self)`, where `other` is no tensor."""
    forward = binary(function)

    def method(self: Tensor, other: Any) -> Any:
        joined = together(other)
        if joined is not other:
            return forward(joined, self)
        recording = THREAD.recording
        y = recording.node_of(self)
        x = operand(recording, other, y)
        if x is None:
            return declined(other)
        key = (function, x, y)
        made = recording.memo.young.get(key) or recording.first(key, function, (x, y))
        return waiting(made, recording)

    return method


def comparison(function: Elementwise) -> Binary:
    """The method for `function(self, other)`, of integers with any of Python's numbers too."""
    plain = binary(function)

    def method(self: Tensor, other: Any) -> Any:
        dtype = self._node.type.dtype
        if dtype.kind == "f" or not isinstance(other, Numbers):
            wide = wide_integers(other, dtype)
            return plain(self, other) if wide is None else plain(self.astype(int64), wide)
        value = other.item() if isinstance(other, np.generic) else other
        if isinstance(value, (complex, bytes, str)):
            return NotImplemented
        number = compared(function.name, value, dtype)
        if number.__class__ is int:
            return plain(self, number)
        recording = THREAD.recording
        x = recording.node_of(self)
        key = (answered, x, number)
        made = recording.memo.young.get(key) or recording.first(key, answered, key[1:])
        return waiting(made, recording)

    return method


def in_place(method: Binary) -> Binary:
    """The method that binds the box anew to what `method` gives; other boxes keep their values."""

    def assign(self: Tensor, other: Any) -> Any:
        made = method(self, other)
        if made is not NotImplemented:
            self.rebind(made)
        return self if made is not NotImplemented else made

    return assign


def unary(function: Callable[[Node], Node]) -> Unary:
    """The method for `function(self)`."""

    def method(self: Tensor) -> Tensor:
        recording = THREAD.recording
        x = recording.node_of(self)
        key = (function, x)
        made = recording.memo.young.get(key) or recording.first(key, function, (x,))
        return waiting(made, recording)

    return method


def raised(x: Node, exponent: float, kind: type) -> Node:
    """`x ** exponent` for a number; integers stay integers only under whole positive powers."""
    if exponent == 0 and x.dtype.is_float:  # one, and yet made of x: the derivative is 0, not None
        return e.where(constant_of(1, bool_), constant_like(1, x), x)
    if x.dtype.is_float or (kind is int and -5 < exponent < 9):
        return e.to_power(x, exponent)
    if kind is int and exponent >= 0:
        return e.pow(x, constant_of(exponent, x.dtype))
    return e.to_power(e.to_float(x), exponent)


def _power(self: Tensor, other: Any) -> Any:
    """`self ** other`; of numbers, those that need no `pow` are part of the program."""
    if not isinstance(other, Numbers):
        return _tensor_power(self, other)
    exponent = other.item() if isinstance(other, np.generic) else other
    recording = THREAD.recording
    x = recording.node_of(self)
    kind = x.type.dtype
    if kind.is_float and kind.bits >= 32 and not e.is_short_power(exponent):
        return _tensor_power(self, float(exponent))
    if exponent.__class__ is int and not kind.is_float and exponent > 8:
        require_fit(exponent, kind)
    key = (raised, x, exponent, exponent.__class__)
    made = recording.memo.young.get(key) or recording.first(key, raised, key[1:])
    return waiting(made, recording)


def inverted(x: Node) -> Node:
    """Not x for bool, all bits turned for integers."""
    return e.logical_not(x) if x.dtype is bool_ else e.bit_xor(x, constant_like(-1, x))


def same(x: Node) -> Node:
    """`x` itself."""
    return x


_tensor_power = binary(e.pow)
_rounded = unary(e.round)


class Operators(Value):
    """The operators. Those in place bind the box anew, and never touch what others hold."""

    __slots__ = ()

    __array_priority__ = 1000
    __pandas_priority__ = 1_000_000
    """Series and frames on the left ask the tensor, which says what to write."""

    @property
    def _mask(self) -> Any:
        """NumPy's masked arrays ask every operand for it, when they have read its elements."""
        expected = "expected a tensor or an array beside a tensor, found a masked array"
        raise TypeError(located(f"{expected}: write its filled(...)"))

    def __array_ufunc__(self, *asked: Any, **options: Any) -> Any:
        return Answers.ufunc(*asked, **options)

    def __array_function__(self, *asked: Any) -> Any:
        return Answers.function(*asked)

    __add__ = binary(e.add)
    __sub__ = binary(e.sub)
    __mul__ = binary(e.mul)
    __truediv__ = binary(e.div)
    __floordiv__ = binary(e.floordiv)
    __mod__ = binary(e.mod)
    __pow__ = _power
    __matmul__ = binary(contraction.matmul)
    __and__ = binary(e.bit_and)
    __or__ = binary(e.bit_or)
    __xor__ = binary(e.bit_xor)
    __lshift__ = binary(e.shift_left)
    __rshift__ = binary(e.shift_right)

    __radd__ = reflected(e.add)
    __rsub__ = reflected(e.sub)
    __rmul__ = reflected(e.mul)
    __rtruediv__ = reflected(e.div)
    __rfloordiv__ = reflected(e.floordiv)
    __rmod__ = reflected(e.mod)
    __rpow__ = reflected(e.pow)
    __rmatmul__ = reflected(contraction.matmul)
    __rand__ = reflected(e.bit_and)
    __ror__ = reflected(e.bit_or)
    __rxor__ = reflected(e.bit_xor)
    __rlshift__ = reflected(e.shift_left)
    __rrshift__ = reflected(e.shift_right)

    __iadd__ = in_place(__add__)
    __isub__ = in_place(__sub__)
    __imul__ = in_place(__mul__)
    __itruediv__ = in_place(__truediv__)
    __ifloordiv__ = in_place(__floordiv__)
    __imod__ = in_place(__mod__)
    __ipow__ = in_place(_power)
    __imatmul__ = in_place(__matmul__)
    __iand__ = in_place(__and__)
    __ior__ = in_place(__or__)
    __ixor__ = in_place(__xor__)
    __ilshift__ = in_place(__lshift__)
    __irshift__ = in_place(__rshift__)

    __neg__ = unary(e.neg)
    __pos__ = unary(same)
    __abs__ = unary(e.abs)
    __invert__ = unary(inverted)

    __lt__ = comparison(e.lt)
    __le__ = comparison(e.le)
    __gt__ = comparison(e.gt)
    __ge__ = comparison(e.ge)
    __eq__ = comparison(e.eq)  # type: ignore[assignment]  # elementwise
    __ne__ = comparison(e.ne)  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Any:
        if not digits:
            return _rounded(self)
        scale = 10.0 ** abs(digits)
        return _rounded(self * scale) / scale if digits > 0 else _rounded(self / scale) * scale

    def __contains__(self, item: object) -> bool:
        message = "`in` is not defined for tensors: write (x == item).any()"
        raise NotImplementedError(located(message))
