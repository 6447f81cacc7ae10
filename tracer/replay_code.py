"""The code of a replay, written for it: one line for each thing that is looked at or done.

`b3` is the fourth box, `i0` the first buffer that is read and `o0` the first that is made, `t1` the
second of the new tensors, `n0` what the first action gives, `m0` the first container of the result
that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .action import undo
from .errors import BoundsError
from .locks import WRITING
from .straight import Straight, target
from .structure import Again, Fixed, Given, Packed
from .tensor import Tensor

if TYPE_CHECKING:
    from .replay import Replay

STALE = object()
"""What a replay gives where something is not as it was: nothing was done."""

ABSENT, OWN, SAME = range(3)
"""What must be in `.grad`: nothing, a tensor of its own, a certain box."""


def replay_code(replay: Replay) -> Callable[..., Any]:
    """What makes the call of `replay` again; see Replay.run."""
    return _ReplayCode(replay).function()


def _boxes(numbers: Any) -> list[str]:
    return [f"b{each}" for each in numbers]


class _ReplayCode:
    """The lines of one replay.

    Nothing is written before the program has run; then all is, and where an interrupt comes in
    between, once more.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._code = Straight("replay", "arguments", "closed", "containers", "typed")
        self._stale = f"return {self._code.constant(STALE)}"
        self._reads = list(enumerate(replay.read))
        self._made = [f"o{k}" for k in range(replay.made)]
        self._inputs = [f"i{k}" for k, _ in self._reads]
        self._values = [*self._made, *self._inputs]
        self._count = 0

    def function(self) -> Callable[..., Any]:
        replay, code = self._replay, self._code
        closed = len(replay.closed)
        found = len([kind for _, kind, _ in replay.looks if kind == OWN])
        given = len(replay.types) - closed - found
        if closed:
            listed = code.constant(replay.closed)
            code.add([f"{target(_boxes(range(closed)))}= closed or {listed}"])
        if given:
            code.add([f"{target(_boxes(range(closed, closed + given)))}= arguments"])
        code.add(self._looks(closed + given))
        # before the types are looked at: another thread may bind a box anew, but not unseen
        code.add(f"i{k} = b{each}._buffer or b{each}.settled()" for k, each in self._reads)
        code.add(self._checks(found > 0))
        if replay.stateful:
            self._add_doing()
        else:
            self._add_computing()
        return code.made()

    # ---- what must be as it was

    def _looks(self, number: int) -> Iterator[str]:
        """Gradients are looked up; those that are read become boxes, from `number` on."""
        for owner, kind, place in self._replay.looks:
            if kind == ABSENT:
                yield f"if b{owner}.grad is not None: {self._stale}"
            elif kind == SAME:
                yield f"if b{owner}.grad is not b{place}: {self._stale}"
            else:
                yield f"b{number} = b{owner}.grad"
                yield f"if not isinstance(b{number}, {self._name(Tensor)}): {self._stale}"
                number += 1

    def _checks(self, found: bool) -> Iterator[str]:
        replay, name = self._replay, self._code.constant
        boxes = _boxes(range(len(replay.types)))
        listed = ", ".join(boxes)
        if boxes:
            others = " or ".join(
                f"{box}._node.type is not {name(kind)}"
                for box, kind in zip(boxes, replay.types, strict=True)
            )
            unless = "not typed and " if replay.alone else ""
            yield f"if {unless}({others}) and not {name(replay.typed)}([{listed}]): {self._stale}"
        if len(boxes) > 1:  # tensors hash by identity
            unless = "" if replay.varying else "closed and "
            yield f"if {unless}len({{{listed}}}) != {len(boxes)}: {self._stale}"
        for each in replay.managers:
            manager, mine = name(each.manager), name(each)
            same = f"{manager}._session is None and {manager}._version == {mine}.version"
            unless = "" if each.looked_up else f"({same} and not closed) or "
            yield f"if not ({unless}{mine}.fits([{listed}], closed is not None)): {self._stale}"
        for action in replay.numbers.actions:
            for check in action.checks(self._code):
                yield f"if not ({check}): {self._stale}"

    # ---- what is done

    def _add_computing(self) -> None:
        """Nothing is done but computing new tensors."""
        code = self._code
        code.add(["try:"])
        code.add([*self._run(), *self._fresh()], 2)
        code.add([f"except {self._name(BoundsError)} as error:"])
        code.add(["error.undone = True", "raise"], 2)
        code.add([f"return {self._result(self._replay.form)}"])

    def _add_doing(self) -> None:
        """What the call did is done again, or, where the program fails, nothing."""
        code, actions = self._code, self._replay.numbers.actions
        written = [*self._written()]
        code.add(f"{code.constant(each)}.acted = False" for each in actions)
        code.add(["done = False", "try:"])
        code.add([*self._run(), *self._fresh(), *self._attached(), "done = True", *written], 2)
        code.add(["except BaseException as error:", "    if done:"])
        code.add(written or ["pass"], 3)
        code.add(["else:", f"    {self._name(undo)}({code.constant(actions)})"], 2)
        code.add([f"if isinstance(error, {self._name(BoundsError)}): error.undone = True"], 2)
        code.add(["raise"], 2)
        code.add([f"return {self._result(self._replay.form)}"])

    def _run(self) -> Iterator[str]:
        """The actions and the program."""
        replay, name = self._replay, self._code.constant
        given = [f"n{k}" for k, _ in enumerate(replay.numbers.actions)]
        for number, each in zip(given, replay.numbers.actions, strict=True):
            yield f"{number} = {name(each.act)}()"
        if replay.program is not None:
            numbers = name(replay.numbers)
            if given:
                new = " or ".join(f"{each} is not {numbers}.given[{each[1:]}]" for each in given)
                yield f"if {new}: {numbers}.of({', '.join(given)})"
            listed = ", ".join(self._inputs[: replay.inputs])
            yield f"{target(self._made)}= {name(replay.program)}([{listed}], *{numbers}.last)"

    def _fresh(self) -> Iterator[str]:
        """The new tensors around their buffers."""
        for number, (cls, leaf, value, label) in enumerate(self._replay.fresh):
            tensor = f"t{number}"
            yield f"{tensor} = {self._name(cls.__new__)}({self._name(cls)})"
            yield from self._filled(tensor, leaf, value)
            if label:
                yield f"{tensor}.name = {self._name(label)}"

    def _attached(self) -> Iterator[str]:
        """The callbacks that boxes of managers will have."""
        attachments = self._replay.attachments
        if attachments:
            listed = ", ".join(f"b{number}" for _, number, _ in attachments)
            yield f"attached = {self._name(self._replay.attached)}([{listed}])"

    def _written(self) -> Iterator[str]:
        """What is changed; all of this may be done twice."""
        replay = self._replay
        if replay.writes or replay.grads:
            yield f"with {self._name(WRITING)}:"
        for box, leaf, value in replay.writes:
            yield from (f"    {line}" for line in self._filled(f"b{box}", leaf, value))
        for owner, grad in replay.grads:
            made = "None" if grad is None else self._tensor(grad)
            yield f"    {self._tensor(owner)}.grad = {made}"
        if replay.attachments:
            yield "for (manager, box), callbacks in attached.items():"
            yield "    manager.attach_with(box, callbacks)"

    def _filled(self, tensor: str, leaf: Any, value: int) -> Iterator[str]:
        """In the order in which a thread that comes in between sees the old value or the new."""
        yield f"{tensor}._recording = None"
        yield f"{tensor}._node = {self._name(leaf)}"
        yield f"{tensor}._buffer = {self._values[value]}"

    # ---- what is given

    def _result(self, form: Packed) -> str:
        """An expression for the result."""
        if isinstance(form, int):
            return self._tensor(form)
        if isinstance(form, Fixed):
            return self._name(form.value)
        if isinstance(form, Given):
            return f"containers[{form.place}]"
        if isinstance(form, Again):
            return f"m{form.place}"
        parts = ", ".join([self._result(each) for each in form.parts])
        made = f"m{self._count}"
        self._count += 1
        return f"({made} := {self._name(form.make)}([{parts}]))"

    def _tensor(self, number: int) -> str:
        return f"t{number}" if number >= 0 else f"b{~number}"

    def _name(self, value: Any) -> str:
        return self._code.constant(value)
