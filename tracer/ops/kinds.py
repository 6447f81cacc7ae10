"""The kinds of operators: what the compiler knows of an operator beyond its name.

Lowering and templates belong to a kind, so that a new operator of a kind needs its record alone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from ..dtypes import DTYPES, DType, accumulator, bool_, default_float, int32, int64, promote
from ..errors import DTypeError, ShapeError, located
from ..ir import Attributes, Node, Op, Shape, TensorType, common_device, node

Types = tuple[TensorType, ...]

NO_IDENTITY = (None, "lowest", "highest")
"""The identities of reductions whose empty lines have no value."""


@dataclass(frozen=True, eq=False, repr=False)
class Source(Op):
    """A value made of static arguments alone: an outside buffer, a number, an index."""

    kind: ClassVar[str] = "source"
    typed: Callable[..., TensorType] | None = None

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The type is among the static arguments."""
        assert self.typed is not None and not types
        return self.typed(*attrs)


@dataclass(frozen=True, eq=False, repr=False)
class Marker(Op):
    """An identity that only the adjoint sees."""

    kind: ClassVar[str] = "marker"

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The type of what is marked."""
        return types[0]


DOMAINS: dict[str, Callable[[DType], DType | None]] = {
    "any": lambda dtype: dtype,
    "number": lambda dtype: int32 if dtype is bool_ else dtype,
    "float": lambda dtype: dtype if dtype.is_float else default_float(),
    "bool": lambda dtype: bool_,
    "bits": lambda dtype: None if dtype.is_float else dtype,
    "integer": lambda dtype: None if dtype.is_float else int32 if dtype is bool_ else dtype,
    "int64": lambda dtype: None if dtype.is_float else int64,
}
"""What operands of a type are brought to; None where an operator does not take the type."""

TAKEN_AS_THEY_ARE: dict[str, frozenset[DType]] = {
    domain: frozenset(dtype for dtype in DTYPES.values() if brought(dtype) is dtype)
    for domain, brought in DOMAINS.items()
}
"""The types whose operands stay as they are."""


def operand_type(name: str, domain: str, dtype: DType) -> DType:
    """The type to which the operator `name` brings operands of `dtype`."""
    found = DOMAINS[domain](dtype)
    if found is None:
        raise DTypeError(located(f"{name}: expected bool or integers, found {dtype.name}"))
    return found


def require_dtype(name: str, types: Types, dtype: DType) -> None:
    """Raise unless all of `types` have elements of `dtype`."""
    for each in types:
        if each.dtype is not dtype:
            found = f"expected operands of {dtype.name}, found {each.dtype.name}"
            raise DTypeError(located(f"{name}: {found}"))


def broadcast_shapes(name: str, shapes: tuple[Shape, ...]) -> Shape:
    """NumPy's common shape of `shapes`."""
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    rank = max(len(shape) for shape in shapes)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent == 1 or extent == result[axis]:
                continue
            if result[axis] != 1:
                listed = " and ".join(str(list(each)) for each in shapes)
                raise ShapeError(located(f"{name}: the shapes {listed} do not broadcast"))
            result[axis] = extent
    return tuple(result)


@dataclass(frozen=True, eq=False, repr=False)
class Elementwise(Op):
    """One value per element of the inputs, which are broadcast against each other.

    `scalar` is the expression for one element, shared by C and CUDA: {x}, {y}, {z} are the operands
    (names, or in brackets), {s} is the suffix of math functions ("f" or nothing), {t} the computing
    type, {k} its short name (i32, i64, f32, f64) and {attribute} a static argument. `integer` is
    used in place of `scalar` where the operands are integers or bool, `lanes` in C where more than
    one element is computed. `domain` names the types that
    operands are brought to, `result` that of the value ("same" or "bool"), `weight` the cost in
    additions. A leading operand that is a condition and takes no part in promotion is declared by
    `condition`. Integers wrap around, also where C leaves that undefined.
    """

    kind: ClassVar[str] = "elementwise"
    scalar: str = ""
    lanes: str | None = None
    integer: str | None = None
    domain: str = "any"
    result: str = "same"
    weight: int = 1
    condition: bool = False

    def __call__(self, *operands: Node, attrs: Attributes = ()) -> Node:
        """The node of this operator; operands of different types are cast to the common one."""
        last = operands[-1].type.dtype
        plain = not self.condition and last in TAKEN_AS_THEY_ARE[self.domain]
        if plain and len(operands) < 3 and operands[0].type.dtype is last:  # most are
            return node(self, operands, attrs)
        data = operands[self.condition :]
        common = reduce(promote, (each.dtype for each in data))
        dtype = operand_type(self.name, self.domain, common)
        cast_data = tuple(cast_to(each, dtype) for each in data)
        conditions = tuple(cast_to(each, bool_) for each in operands[: self.condition])
        return node(self, conditions + cast_data, attrs)

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """Broadcast shapes; the dtype of the operands, or bool."""
        first, operand = types[0], types[-1].dtype
        plain = not self.condition and types.count(first) == len(types)
        if plain and operand in TAKEN_AS_THEY_ARE[self.domain]:
            return first if self.result == "same" else first._replace(dtype=bool_)
        require_dtype(self.name, types[: self.condition], bool_)
        expected = operand_type(self.name, self.domain, operand)
        require_dtype(self.name, types[self.condition :], expected)
        shape = broadcast_shapes(self.name, tuple([each.shape for each in types]))
        dtype = bool_ if self.result == "bool" else operand
        made = TensorType(dtype, shape, common_device(types))
        return types[types.index(made)] if made in types else made  # nodes share them


@dataclass(frozen=True, eq=False, repr=False)
class Cast(Elementwise):
    """The change of an element type.

    `to_integer` is used in place of `scalar` where floats become integers ({d} is the short name of
    the result's type: u8, i8, i16, i32 or i64), `to_bool` where numbers become bool.
    """

    to_integer: str = ""
    to_bool: str = ""

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The same shape in the type that is asked for."""
        return types[0]._replace(dtype=attrs[0])


def _cast_vjp(g: Node, y: Node, x: Node, dtype: DType) -> tuple[Node | None]:
    differentiable = x.dtype.is_float and dtype.is_float
    return (cast_to(g, x.dtype) if differentiable else None,)


def _cast_reference(x: Any, dtype: DType) -> Any:
    if x.dtype.kind == "f" and dtype.kind in "iu":
        return clamped(x, dtype.storage)
    return x.astype(dtype.storage)


def clamped(x: Any, integer: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Floats without their fractions, inside the range of `integer`; NaN is 0.

    Both ends + 1 are exact in all floats but float16.
    """
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    low, high = int(np.iinfo(integer).min), int(np.iinfo(integer).max)
    above, below = x >= high + 1, x <= low - 1
    whole = np.where(above | below | np.isnan(x), 0, x).astype(integer)
    return np.where(above, integer.type(high), np.where(below, integer.type(low), whole))


cast = Cast(
    "cast",
    scalar="{x}",
    to_integer="gradc_to_{d}_{k}({x})",
    to_bool="{x} != 0",
    reference=_cast_reference,
    vjp=_cast_vjp,
    attributes=("dtype",),
    doc="x in another element type. Floats that become integers lose their fraction and are held "
    "within the range of the type; NaN gives 0. Integers that become narrower ones wrap. Gradients "
    "flow between floats only",
)


def cast_to(x: Node, dtype: DType) -> Node:
    """`x` as `dtype`; `x` itself where it has that type."""
    return x if x.dtype is dtype else node(cast, (x,), (dtype,))


def normalized_axis(name: str, axis: int, rank: int) -> int:
    """`axis` counted from the front; an error where there is none such."""
    if not -rank <= axis < rank:
        raise ShapeError(located(f"{name}: axis {axis} of {_with_axes(rank)}"))
    return axis % rank


def _with_axes(rank: int) -> str:
    return f"a tensor with {rank} axes" if rank else "a single number, which has no axes"


def normalized_axes(name: str, axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """The axes meant by `axis` (None: all), counted from the front, in order, each once."""
    if axis is None:
        return tuple(range(rank))
    try:
        given = tuple(map(operator.index, axis if isinstance(axis, (tuple, list)) else (axis,)))
    except TypeError:
        message = f"{name}: expected an integer or a tuple of integers as axis, found {axis!r}"
        raise TypeError(located(message)) from None
    axes = sorted(normalized_axis(name, each, rank) for each in given)
    if len(set(axes)) < len(axes):
        raise ShapeError(located(f"{name}: axis {given} names an axis twice"))
    return tuple(axes)


LARGEST_POSITION = 2**31 - 1


def require_positions(name: str, count: int) -> None:
    """Raise unless the positions of `count` elements are numbers of int32, in which they are given.

    Raises:
        OverflowError: naming how many there are.
    """
    if count > LARGEST_POSITION + 1:
        expected = f"expected at most {LARGEST_POSITION + 1} elements, whose positions int32 holds"
        raise OverflowError(located(f"{name}: {expected}, found {count}"))


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(Op):
    """One value per line of the input along `axes`, which stay in the result with extent 1.

    `combine` is the C text that joins two partial results {a} and {x}, `identity` its neutral value
    ("lowest" and "highest" stand for the ends of the type). `result` is "accumulator" (sums of
    small integers widen), "same" or "index" (the position of the winner).
    """

    kind: ClassVar[str] = "reduction"
    combine: str = ""
    identity: str | None = None
    result: str = "same"
    domain: str = "any"

    def __call__(self, x: Node, axes: tuple[int, ...]) -> Node:
        """The node of this operator over `axes`, counted from the front."""
        many = self.result == "accumulator" and x.dtype is bool_ and x.type.size > LARGEST_POSITION
        x = cast_to(x, int64 if many else self.operand(x.dtype))
        return x if not axes and self.result != "index" else node(self, (x,), (axes,))

    def operand(self, dtype: DType) -> DType:
        """The type in which elements of `dtype` are reduced."""
        dtype = operand_type(self.name, self.domain, dtype)
        return accumulator(dtype) if self.result == "accumulator" else dtype

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The axes shrink to 1; an empty line is an error where there is no neutral value."""
        (x,), (axes,) = types, attrs
        require_dtype(self.name, types, self.operand(x.dtype))
        empty = any(x.shape[axis] == 0 for axis in axes)
        if empty and not self.has_identity(x.dtype):
            shape = list(x.shape)
            raise ShapeError(located(f"{self.name}: no elements along axes {axes} of {shape}"))
        kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
        if self.result == "index":
            require_positions(self.name, math.prod(x.shape[axis] for axis in axes))
            return TensorType(int32, kept, x.device)
        return TensorType(x.dtype, kept, x.device)

    def has_identity(self, dtype: DType) -> bool:
        """Whether an empty line has a value; False and True are the ends of bool, as in NumPy."""
        ends = self.identity in ("lowest", "highest") and dtype is bool_
        return ends or self.identity not in NO_IDENTITY


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Op):
    """The running result of a reduction along one axis: element i joins all up to i.

    `combine` is the C text that joins the result so far {a} and an element {x}; `identity` is where
    it begins.
    """

    kind: ClassVar[str] = "scan"
    combine: str = ""
    identity: str = "0"

    def __call__(self, x: Node, axis: int) -> Node:
        """The node of this operator along `axis`; small integers widen as in sums."""
        axis = normalized_axis(self.name, axis, len(x.shape))
        many = x.dtype is bool_ and x.shape[axis] > LARGEST_POSITION
        return node(self, (cast_to(x, int64 if many else self.operand(x.dtype)),), (axis,))

    def operand(self, dtype: DType) -> DType:
        """The type in which elements of `dtype` are joined."""
        return accumulator(operand_type(self.name, "number", dtype))

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The type of the input."""
        (x,), (axis,) = types, attrs
        require_dtype(self.name, types, self.operand(x.dtype))
        require_axis(self.name, axis, x)
        return x


@dataclass(frozen=True, eq=False, repr=False)
class Sort(Op):
    """The order of each line along the last axis, as positions (int32); equal elements keep theirs.

    NaN counts as larger than all numbers.
    """

    kind: ClassVar[str] = "sort"

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The shape of the input with `count` places in each line, in int32."""
        (x,), (_, count) = types, attrs
        require_axis(self.name, len(x.shape) - 1, x)
        require_positions(self.name, x.shape[-1])
        return x._replace(shape=(*x.shape[:-1], count), dtype=int32)


@dataclass(frozen=True, eq=False, repr=False)
class Movement(Op):
    """Elements of the input in another place: an index map, never a computation."""

    kind: ClassVar[str] = "movement"
    shaped: Callable[..., Shape] | None = None

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The shape that the static arguments make of the inputs' shapes."""
        assert self.shaped is not None
        require_dtype(self.name, types, types[0].dtype)
        shape = self.shaped(*(each.shape for each in types), *attrs)
        return TensorType(types[0].dtype, shape, common_device(types))


@dataclass(frozen=True, eq=False, repr=False)
class Contraction(Op):
    """A product of matrices, batched over the leading axes."""

    kind: ClassVar[str] = "contraction"

    def __call__(self, a: Node, b: Node) -> Node:
        """The node of this operator on operands of one type."""
        return node(self, (a, b))

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """(..., m, k) and (..., k, n) give (..., m, n); leading axes broadcast."""
        a, b = types
        require_dtype(self.name, types, accumulator(operand_type(self.name, "number", a.dtype)))
        assert len(a.shape) >= 2 <= len(b.shape)
        if a.shape[-1] != b.shape[-2]:
            expected = "expected as many columns on the left as rows on the right"
            found = f"found {a.shape[-1]} and {b.shape[-2]}"
            raise ShapeError(located(f"{self.name}: {expected}, {found}"))
        batch = broadcast_shapes(self.name, (a.shape[:-2], b.shape[:-2]))
        return TensorType(a.dtype, (*batch, a.shape[-2], b.shape[-1]), common_device(types))


def require_axis(name: str, axis: int, x: TensorType) -> None:
    """Raise unless `axis` is one of `x`, counted from the front."""
    if not 0 <= axis < len(x.shape):
        raise ShapeError(located(f"{name}: axis {axis} of a tensor with {len(x.shape)} axes"))


def require_places(name: str, indices: TensorType, axis: int, x: TensorType) -> None:
    """Raise unless `indices` are integers and `axis` is one of `x`, counted from the front."""
    if indices.dtype.kind not in "iu":
        found = f"expected integers as indices, found {indices.dtype.name}"
        raise DTypeError(located(f"{name}: {found}"))
    require_axis(name, axis, x)


@dataclass(frozen=True, eq=False, repr=False)
class Gather(Op):
    """Lines of the input at places that are known only at run time."""

    kind: ClassVar[str] = "gather"

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The axis of `x` is replaced by the axes of the indices."""
        (x, indices), (axis,) = types, attrs
        require_places(self.name, indices, axis, x)
        shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
        return TensorType(x.dtype, shape, common_device(types))


@dataclass(frozen=True, eq=False, repr=False)
class Scatter(Op):
    """Lines written to places that are known only at run time: (base, indices, updates).

    `accumulate` adds to what is there; otherwise the last line written to a place stays.
    """

    kind: ClassVar[str] = "scatter"
    accumulate: bool = False

    def infer(self, types: Types, attrs: Attributes) -> TensorType:
        """The type of the base, with which the updates must agree."""
        (base, indices, updates), (axis,) = types, attrs
        require_places(self.name, indices, axis, base)
        require_dtype(self.name, (updates,), base.dtype)
        expected = base.shape[:axis] + indices.shape + base.shape[axis + 1 :]
        if updates.shape != expected:
            found = f"expected updates of shape {list(expected)}, found {list(updates.shape)}"
            raise ShapeError(located(f"{self.name}: {found}"))
        return base._replace(device=common_device(types))
