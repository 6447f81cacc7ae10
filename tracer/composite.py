"""Functions of tensors, written as functions of nodes.

A parameter annotated `Node` (or `Node | None`) takes a tensor, an array or a number; one annotated
`Nodes` takes a list of them; one annotated `Number` (or by another name in `arguments.RANGES`)
takes a number that programs read when they run, so that it may change and nothing is built, or a
tensor of one element, which is an operand like others; all others are static arguments, part of the
program: a tensor among them is read, unless its gradient would be lost. What a function
gave for the same nodes and static arguments is remembered, so that a repeat costs one look-up,
however many operators it is composed of.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce, update_wrapper, wraps
from typing import Any, TypeAlias

import numpy as np

from .arguments import KINDS as STATIC_KINDS
from .arguments import RANGES
from .dtypes import DType, float64, promote
from .errors import DTypeError, GradcError, located
from .interpret import computing
from .ir import Node, labelled
from .operand import as_node, common_dtype, together
from .ops.kinds import cast_to
from .ops.markers import boundary
from .ops.movement import reshape
from .recording import THREAD, Fallible, Numbers, Recording, takes
from .value import Value, waiting, waiting_together
from .weak import Weak

Nodes = tuple[Node, ...]

Number: TypeAlias = Any
"""A number that is read when a program runs. The function gets a node, for `number_in`."""

NumberFrom0: TypeAlias = Number
NumberAbove0: TypeAlias = Number
NumberTo1: TypeAlias = Number

PLAIN_ERRORS = {TypeError: TypeError, ValueError: ValueError, AttributeError: TypeError}

STATIC, ONE, MANY, NUMBER = range(4)
_KINDS = {"Node": ONE, "Node | None": ONE, "Nodes": MANY, **dict.fromkeys(RANGES, NUMBER)}
PLAIN_NUMBERS = (float, int)
_EMPTY = inspect.Parameter.empty


def composite(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of nodes: it becomes a function of tensors."""
    parameters = inspect.signature(function).parameters.values()
    kinds = _kinds_of(parameters)
    plain = MANY not in kinds
    asked = (_is_operand, _is_whole, _may_be_float)
    ones, wholes, floats = (tuple(_places(parameters, each)) for each in asked)
    ranged = tuple(_ranged(parameters))
    general = _General(function, kinds)
    defaults, count = general.defaults, len(kinds)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = general.completed(args, kwargs)
        elif len(args) < count:
            args += defaults[len(args) :]
        recording = THREAD.recording
        key = [function, *args]
        numbers = False
        for place in ones:
            value = key[place]
            if isinstance(value, Value):
                known = value._recording is recording
                key[place] = value._node if known else recording.node_of(value)  # type: ignore[arg-type]
            elif isinstance(value, Numbers):
                numbers = True
            elif value is not None:
                return general(args)
        if numbers and not _settle_numbers(recording, key, ones, general.weak):
            return general(args)
        for place in wholes:
            if not _are_integers(key[place]):
                return general(args)
        for place, holds in ranged:
            value = key[place]
            if value.__class__ in PLAIN_NUMBERS and holds(value):
                key[place] = recording.number(value, float64)
            elif isinstance(value, Value) and not value._node.type.shape:
                key[place] = recording.node_of(value)  # type: ignore[arg-type]
            elif value is not None:
                return general(args)
        for place in floats:
            key[place] = _told_apart(key[place])
        try:
            made = recording.memo.young.get(tuple(key)) if plain else None
        except TypeError:  # a list among the static arguments
            made = None
        return general(args) if made is None else _tensors(made, recording)

    return update_wrapper(call, function)


def weakly(**rules: Weak | None) -> Callable[[Any], Any]:
    """Decorate a function of nodes: numbers of these parameters are brought to what they mean.

    A parameter with None in place of a rule is a condition: others take no type from it.
    """

    def note(function: Any) -> Any:
        function.weak_numbers = rules
        return function

    return note


def _weak_numbers(function: Any) -> dict[int, Weak | None]:
    """The rules of `weakly`, by place in a key."""
    rules = getattr(function, "weak_numbers", {})
    names = list(inspect.signature(function).parameters)
    return {names.index(name) + 1: rule for name, rule in rules.items()}


def _places(
    parameters: Iterable[inspect.Parameter], asked: Callable[[inspect.Parameter], bool]
) -> Iterator[int]:
    """The places in a key of the parameters of which something holds."""
    return (place for place, each in enumerate(parameters, 1) if asked(each))


def _is_operand(parameter: inspect.Parameter) -> bool:
    return _KINDS.get(str(parameter.annotation)) == ONE


def _is_whole(parameter: inspect.Parameter) -> bool:
    """Whether it is a static argument of integers alone: 1.0 is an equal key, and yet refused."""
    kind = STATIC_KINDS.get(str(parameter.annotation))
    return kind is not None and kind.whole


def _are_integers(value: Any) -> bool:
    if value is None or value.__class__ is int or value.__class__ is bool:
        return True
    return value.__class__ is tuple and all(map(_are_integers, value))


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of nodes, below `composite`: half operands are computed in float32.

    The result alone is rounded, and the gradients of the operands: a step on the way, or one of a
    derivative, may be more than a half type holds, or cancel to nothing in it.
    """
    kinds = _kinds_of(inspect.signature(function).parameters.values())
    operands = [place for place, kind in enumerate(kinds) if kind == ONE]

    @wraps(function)
    def wide(*args: Any) -> Any:
        given = [args[place] for place in operands if args[place] is not None]
        kind = reduce(promote, [each.dtype for each in given])
        halves = {id(each) for each in given if computing(each.dtype) is not each.dtype}
        if not halves:
            return function(*args)
        made = function(*[_computed(each) if id(each) in halves else each for each in args])
        narrow = computing(kind) is not kind and made.dtype is computing(kind)
        return cast_to(made, kind) if narrow else made

    return wide


def _computed(x: Node) -> Node:
    return cast_to(x, computing(x.dtype))


def _kinds_of(parameters: Iterable[inspect.Parameter]) -> tuple[int, ...]:
    return tuple(_KINDS.get(str(each.annotation), STATIC) for each in parameters)


def _settle_numbers(
    recording: Recording, key: list[Any], ones: Sequence[int], weak: dict[int, Weak | None]
) -> bool:
    """Put nodes in place of the numbers of a key; False where nothing else says of which type."""
    found = {
        key[place].type.dtype
        for place in ones
        if key[place].__class__ is Node and weak.get(place, weak) is not None
    }
    if not found:
        return False
    like = found.pop() if len(found) == 1 else reduce(promote, found)
    for place in ones:
        if key[place].__class__ is not Node and key[place] is not None:
            rule = weak.get(place)
            value, beside = rule(key[place], like) if rule else (key[place], like)
            key[place] = recording.number(value, beside)
    return True


def _ranged(
    parameters: Iterable[inspect.Parameter],
) -> Iterator[tuple[int, Callable[[Any], bool]]]:
    """The places of run-time numbers in a key, and which numbers they may be."""
    for place, each in enumerate(parameters, 1):
        if str(each.annotation) in RANGES:
            yield place, RANGES[str(each.annotation)].holds


def _may_be_float(parameter: inspect.Parameter) -> bool:
    text = str(parameter.annotation)
    return "float" in text or "Any" in text


class _General:
    """A composed function on any arguments: numbers beside tensors, lists, arrays, what is new."""

    def __init__(self, function: Callable[..., Any], kinds: tuple[int, ...]) -> None:
        self.function = function
        self.name = function.__name__.strip("_")
        self.kinds = kinds
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters
        self.names = tuple(parameters)
        self.annotations = tuple(str(each.annotation) for each in parameters.values())
        self.optional = tuple(each.endswith(" | None") for each in self.annotations)
        self.weak = _weak_numbers(function)
        self.defaults = tuple(each.default for each in parameters.values())
        self.places = {name: place for place, name in enumerate(parameters)}
        self.static = tuple(
            (place, name, STATIC_KINDS[str(parameters[name].annotation)])
            for name, place in self.places.items()
            if kinds[place] == STATIC
        )

    def completed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, defaults among them."""
        given = len(args)
        values = [*args, *self.defaults[given:]]
        for name, value in kwargs.items():
            place = self.places.get(name, -1)
            if place < given:
                self._refuse(args, kwargs)
            values[place] = value
        return tuple(values)

    def _refuse(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Say what is wrong with arguments that are not those of the function."""
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError as error:
            expected = f"{self.name}{tuple(self.places)}".replace("'", "").replace(",)", ")")
            raise TypeError(located(f"{self.name}: {error}; it is {expected}")) from None

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """The result for all arguments, in the order of the parameters."""
        if len(args) > len(self.kinds):
            self._refuse(args, {})
        if any(each is _EMPTY for each in args):
            named = zip(self.places, args, strict=True)
            self._refuse((), {name: each for name, each in named if each is not _EMPTY})
        settled = [
            self._settled(kind, place, each)
            for place, (kind, each) in enumerate(zip(self.kinds, args, strict=True))
        ]  # may read values, and so end a recording
        recording, name = THREAD.recording, self.name
        like = common_dtype(self._operands(settled))
        nodes: list[Any] = []
        for place, parameter, expected in self.static:
            settled[place] = expected.brought(name, parameter, settled[place])
        for kind, optional, value in zip(self.kinds, self.optional, settled, strict=True):
            if kind == MANY:
                nodes.append(tuple([as_node(recording, each, like, name) for each in value]))
            elif kind == STATIC or (optional and value is None):
                nodes.append(value)
            elif kind == NUMBER:
                nodes.append(self._number(recording, len(nodes), value))
            else:
                nodes.append(self._operand(recording, len(nodes) + 1, value, like))
        key = (self.function, *[_told_apart(each) for each in nodes])
        try:
            made = recording.memo.young.get(key)
        except TypeError:  # no part of a program can change
            odd = next((each for each in nodes if type(each).__hash__ is None), nodes)
            beside = f"{name}: expected numbers, texts and types beside tensors"
            raise TypeError(located(f"{beside}, found {odd!r:.60}")) from None
        if made is None:
            made = recording.first(key, self._labelled, nodes)
        return _tensors(made, recording)

    def _settled(self, kind: int, place: int, value: Any) -> Any:
        if kind == ONE:
            return together(value)
        if kind == MANY:
            return self._several(place, value)
        if kind == NUMBER and isinstance(value, Value):
            return value
        return static(value, f"{self.name}: {self.names[place]}: ")

    def _several(self, place: int, value: Any) -> list[Any]:
        try:
            return [together(each) for each in value]
        except TypeError:
            if isinstance(value, Iterable):
                raise
        expected = f"expected a list or tuple of tensors as {self.names[place]}"
        raise TypeError(located(f"{self.name}: {expected}, found {value!r:.60}"))

    def _number(self, recording: Recording, place: int, value: Any) -> Node:
        """The node of a number, or of a tensor of one element in place of one."""
        if not isinstance(value, Value):
            RANGES[self.annotations[place]].check(self.name, self.names[place], value)
            return recording.number(value, float64)
        made = recording.node_of(value)  # type: ignore[arg-type]  # all are tensors
        if made.type.size != 1:
            expected = f"expected a number as {self.names[place]}"
            found = f"found a tensor of the shape {list(made.shape)}"
            raise TypeError(located(f"{self.name}: {expected}, {found}"))
        return made if not made.shape else reshape(made, ())

    def _operand(self, recording: Recording, place: int, value: Any, like: DType | None) -> Node:
        rule = self.weak.get(place)
        if rule is not None and like is not None and isinstance(value, Numbers):
            value, like = rule(value, like)
        elif self.weak.get(place, self) is None:  # a condition
            like = None
        return as_node(recording, value, like, self.name)

    def _operands(self, args: Sequence[Any]) -> list[Any]:
        flat: list[Any] = []
        for place, (kind, each) in enumerate(zip(self.kinds, args, strict=True), 1):
            if kind in (ONE, MANY) and self.weak.get(place, self) is not None:
                flat.extend(each if kind == MANY else (each,))
        return flat

    def _labelled(self, *arguments: Any) -> Any:
        with labelled(self.name):
            try:
                return self.function(*arguments)
            except GradcError as error:  # the operator inside has named itself alone
                told = self.function.__name__.startswith("_") or str(error).startswith(self.name)
                if error.args and not told:
                    error.args = (f"{self.name}: {error}",)
                raise
            except (TypeError, ValueError, AttributeError) as error:
                # what Python says of a static argument of a wrong kind names no line
                if type(error) not in PLAIN_ERRORS or " (at " in str(error):
                    raise
                raise PLAIN_ERRORS[type(error)](located(f"{self.name}: {error}")) from error


def _tensors(made: Any, recording: Recording) -> Any:
    if made.__class__ is Node:
        return waiting(made, recording)
    if made.__class__ is Fallible:
        return _tensors(recording.met(made), recording)
    return waiting_together(made, recording)


def static(value: Any, parameter: str = "") -> Any:
    """A static argument in plain Python types; a tensor among them is read.

    One with a gradient is refused: `parameter` says where.
    """
    if isinstance(value, (list, tuple)):
        return tuple([static(each, parameter) for each in value])
    if isinstance(value, (np.ndarray, Value)):
        if isinstance(value, np.ndarray):
            takes(value)
        elif is_followed(value):
            found = "expected a number, found a tensor with a gradient, which would be lost"
            raise DTypeError(located(f"{parameter}{found}: use item() or detach()"))
        return static(value.tolist(), parameter)
    return value.item() if isinstance(value, np.generic) else value


def is_followed(value: Value) -> bool:
    """Whether a manager that records has a tensor on which `value` depends."""
    recording = THREAD.recording
    if not recording.managers or not value._node.type.dtype.is_float:
        return False
    sessions = [each._session for each in recording.recording_managers()]
    tracked = {made for each in sessions if each for _, made in each.tracked.values()}
    seen: set[Node] = set()
    stack = [recording.node_of(value)]  # type: ignore[arg-type]  # all are tensors
    while stack:
        each = stack.pop()
        if each in tracked:
            return True
        if each not in seen:
            seen.add(each)
            stack.extend(each.inputs if each.op.vjp or each.op is boundary else ())
    return False


def _told_apart(value: Any) -> Any:
    """What keeps -0.0 from 0.0 and 2.0 from 2 in a key."""
    if value.__class__ is tuple and float in map(type, value):
        return tuple(map(_told_apart, value))
    return (float, repr(value)) if value.__class__ is float else value
