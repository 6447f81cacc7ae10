"""Types, operators and interned nodes: the values that a recording is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from .dtypes import DType
from .errors import GradcError, Origin, ShapeError, located, users_frame

Shape = tuple[int, ...]
Attributes = tuple[Any, ...]

ANYWHERE = "any"
"""The device of constants, run-time scalars and what is made of them alone."""


class DeviceError(GradcError, ValueError):
    """Tensors of different devices in one operation."""


class TensorType(NamedTuple):
    """What is known of a value before it exists."""

    dtype: DType
    shape: Shape
    device: str = ANYWHERE

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements, laid out without gaps."""
        return self.size * self.dtype.itemsize

    def settled(self) -> TensorType:
        """The type of a value that has elements: on the host, where it could be anywhere."""
        return self._replace(device="cpu") if self.device == ANYWHERE else self

    def __str__(self) -> str:
        where = "" if self.device in ("cpu", ANYWHERE) else f"@{self.device}"
        return f"{self.dtype.name}{list(self.shape)}{where}"


@dataclass(frozen=True, eq=False)
class Op:
    """An operator: its name, its rules and, in the subclasses, how it is computed.

    `attributes` names the static arguments. `reference(*arrays, *attrs)` computes the operator with
    NumPy. `vjp(cotangent, result, *inputs, *attrs)` gives one cotangent (a Node, or None for zero)
    per input, written in operators, so that every order of derivative follows; `vjp=None` says that
    the operator has no derivative and cuts the path.
    """

    name: str
    reference: Callable[..., Any]
    vjp: Callable[..., Sequence[Node | None]] | None
    attributes: tuple[str, ...] = ()
    doc: str = ""
    kind: ClassVar[str]

    def infer(self, types: tuple[TensorType, ...], attrs: Attributes) -> TensorType:
        """The type of the result; raises where the inputs do not fit."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self


class Node:
    """One value: an operator on other values. Immutable, interned: equal nodes are one object."""

    __slots__ = ("__weakref__", "attrs", "inputs", "op", "origin", "type")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        attrs: Attributes,
        type: TensorType,
        origin: Origin | None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.type = type
        self.origin = origin

    @property
    def shape(self) -> Shape:
        """The extents of the value."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The element type of the value."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.type.shape)

    def attr(self, name: str) -> Any:
        """The static argument called `name`."""
        return self.attrs[self.op.attributes.index(name)]

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.type}>"

    def __add__(self, other: Operand) -> Node:
        return _arithmetic("add", self, other)

    def __radd__(self, other: Operand) -> Node:
        return _arithmetic("add", other, self)

    def __sub__(self, other: Operand) -> Node:
        return _arithmetic("sub", self, other)

    def __rsub__(self, other: Operand) -> Node:
        return _arithmetic("sub", other, self)

    def __mul__(self, other: Operand) -> Node:
        return _arithmetic("mul", self, other)

    def __rmul__(self, other: Operand) -> Node:
        return _arithmetic("mul", other, self)

    def __truediv__(self, other: Operand) -> Node:
        return _arithmetic("div", self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return _arithmetic("div", other, self)

    def __neg__(self) -> Node:
        return _arithmetic("neg", self)

    def __lt__(self, other: Operand) -> Node:
        return _arithmetic("lt", self, other)

    def __le__(self, other: Operand) -> Node:
        return _arithmetic("le", self, other)

    def __gt__(self, other: Operand) -> Node:
        return _arithmetic("gt", self, other)

    def __ge__(self, other: Operand) -> Node:
        return _arithmetic("ge", self, other)


Operand = Node | float | int


def _arithmetic(name: str, *operands: Operand) -> Node:
    """An operator on nodes, and on numbers that belong to a rule and take the type of a node."""
    operators, constant_like = _rules()
    for each in operands:
        if each.__class__ is not Node:
            like = next(each for each in operands if isinstance(each, Node))
            operands = tuple(
                [constant_like(x, like) if x.__class__ is not Node else x for x in operands]
            )
            break
    made: Node = operators[name](*operands)
    return made


@cache
def _rules() -> tuple[Any, Any]:
    """The elementwise operators, which build on this module, and how numbers become constants."""
    from .ops import elementwise, sources

    return vars(elementwise), sources.constant_like


class _Circumstance(threading.local):
    """What the nodes that a thread makes now are made for, and which of them may fail."""

    label = ""
    origin: Origin | None = None
    checks: list[Check] | None = None


class Check(NamedTuple):
    """A node that may fail when it runs, and the composed function (if any) that asks for it."""

    node: Node
    label: str


_circumstance = _Circumstance()


def checked(made: Node) -> Node:
    """Tell who gathers checks now that the function that it calls asks for `made`."""
    if _circumstance.checks is not None:
        _circumstance.checks.append(Check(made, _circumstance.label))
    return made


def with_checks(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, list[Check]]:
    """What `function` gives, and the checks that it asks for."""
    gathered: list[Check] = []
    _circumstance.checks = gathered
    try:
        return function(*arguments), gathered
    finally:
        _circumstance.checks = None


@contextmanager
def labelled(label: str) -> Iterator[None]:
    """Nodes made inside belong to the composed function `label` (the outermost one wins)."""
    if _circumstance.label:
        yield
        return
    _circumstance.label = label
    try:
        yield
    finally:
        _circumstance.label = ""


class on_behalf_of:  # used as a word, like contextlib.suppress
    """Nodes made inside carry this origin: an adjoint carries that of the node it belongs to."""

    __slots__ = ("_before", "_origin")

    def __init__(self, origin: Origin | None) -> None:
        self._origin = origin

    def __enter__(self) -> on_behalf_of:
        self._before = _circumstance.origin
        _circumstance.origin = self._origin
        return self

    def now_of(self, origin: Origin | None) -> None:
        """From now on the nodes made inside carry another origin."""
        _circumstance.origin = origin

    def __exit__(self, *_: object) -> None:
        _circumstance.origin = self._before


def _origin_now() -> Origin | None:
    if _circumstance.origin is not None:
        return _circumstance.origin
    return users_frame(_circumstance.label)


class InternTable:
    """Values by key, in two generations: what a generation did not ask for is forgotten.

    A generation ends when the weights of its values reach `limit`; each weighs 1 unless `weigh`
    tells more.
    """

    __slots__ = ("limit", "old", "weigh", "weight", "young")

    def __init__(self, limit: int = 200_000, weigh: Callable[[Any], int] | None = None) -> None:
        self.limit = limit
        self.weigh = weigh
        self.weight = 0
        self.young: dict[Any, Any] = {}
        self.old: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """What is kept under `key`, or None."""
        found = self.young.get(key)
        return self.kept_from_before(key) if found is None else found

    def kept_from_before(self, key: Any) -> Any:
        """What only the generation before kept under `key`, which stays from now on; or None."""
        found = self.old.get(key)
        if found is not None:
            self.young[key] = found
            self.weight += self.weigh(found) if self.weigh else 1
        return found

    def put(self, key: Any, value: Any) -> Any:
        """Keep `value` under `key`, unless another thread was first; give what is kept."""
        if self.weight >= self.limit:
            self.old, self.young, self.weight = self.young, {}, 0
        self.weight += self.weigh(value) if self.weigh else 1
        return self.young.setdefault(key, value)

    def replace(self, key: Any, value: Any) -> None:
        """Keep `value` under `key`, whatever was kept there."""
        self.put(key, value)
        self.young[key] = value

    def clear(self) -> None:
        """Forget everything."""
        self.young, self.old, self.weight = {}, {}, 0

    def __len__(self) -> int:
        return len(self.young) + len(self.old)


NODES = InternTable()
_type_of = attrgetter("type")


def node(op: Op, inputs: tuple[Node, ...], attrs: Attributes = ()) -> Node:
    """The node of `op` on `inputs`; its type is inferred, and checked, only when it is new."""
    key = (op, inputs, attrs)
    found: Node | None = NODES.young.get(key)
    if found is None and NODES.old:
        found = NODES.kept_from_before(key)
    if found is None:
        made = op.infer(tuple(map(_type_of, inputs)), attrs)
        if made.shape and min(made.shape) < 0:
            shape = list(made.shape)
            raise ShapeError(located(f"{op.name}: expected extents of at least 0, found {shape}"))
        found = NODES.put(key, Node(op, inputs, attrs, made, _origin_now()))
    return found


def with_inputs(like: Node, inputs: tuple[Node, ...]) -> Node:
    """The node that is `like`, on other inputs of the same types."""
    key = (like.op, inputs, like.attrs)
    found: Node | None = NODES.young.get(key)
    if found is None and NODES.old:
        found = NODES.kept_from_before(key)
    if found is None:
        found = NODES.put(key, Node(like.op, inputs, like.attrs, like.type, like.origin))
    return found


def common_device(types: Sequence[TensorType]) -> str:
    """The device that all of `types` live on."""
    devices = {each.device for each in types} - {ANYWHERE}
    if len(devices) > 1:
        found = " and ".join(sorted(devices))
        raise DeviceError(located(f"expected tensors of one device, found {found}"))
    return devices.pop() if devices else ANYWHERE


def topological(outputs: Sequence[Node], known: Any = ()) -> list[Node]:
    """`outputs` and all that they are made of, inputs first, stopping at the nodes in `known`."""
    order: list[Node] = []
    met: set[Node] = set()
    path: list[tuple[Node | None, Iterator[Node]]] = []
    top: Node | None = None
    left = iter(outputs)
    while True:
        for each in left:
            if each in met:
                continue
            met.add(each)
            if not each.inputs or each in known:
                order.append(each)
                continue
            path.append((top, left))
            top, left = each, iter(each.inputs)
            break
        else:
            if top is None:
                return order
            order.append(top)
            top, left = path.pop()
