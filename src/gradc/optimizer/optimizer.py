"""What optimizers share: groups of parameters, what is kept for each, and the step."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..tracer.accumulation import ADDING, busy, keep_while_tracing
from ..tracer.arguments import NUMBER
from ..tracer.buffer import Buffer
from ..tracer.composite import static
from ..tracer.dtypes import DType
from ..tracer.errors import GradcError, located
from ..tracer.ir import TensorType
from ..tracer.no_grad import no_grad
from ..tracer.recording import THREAD, Recording
from ..tracer.tensor import Parameter, Tensor
from ..tracer.unreached import warn_of_parameters
from ..tracer.value import concrete
from .again import GroupAgain, StepAgain
from .update import (
    Change,
    Rule,
    commit,
    gradient_of,
    numbers_in,
    recorded,
    state_dtype,
    updated,
)

Group = dict[str, Any]


class HyperparameterError(GradcError, ValueError, AssertionError):
    """A hyper-parameter outside its range, or a parameter that is in a group already."""


@dataclass(slots=True)
class State:
    """What is kept for one parameter: how often it was updated, and tensors by name."""

    step: int = 0
    tensors: dict[str, Tensor] = field(default_factory=dict)


class Optimizer:
    """The base of all optimizers.

    `params` are parameters, or groups of them: dicts with "params" and hyper-parameters of their
    own. `param_groups` lists the groups; their hyper-parameters may be changed between steps, and
    nothing is built anew.
    """

    param_groups: list[Group]
    _looked = False  # whether a step without gradients was looked at

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Say with the user's line what is wrong with the arguments of a call."""
        if args or kwargs:  # copies are made without
            expected = inspect.signature(cls.__init__)
            try:
                expected.bind(None, *args, **kwargs)
            except TypeError as error:
                names = ", ".join(list(expected.parameters)[1:])
                found = f"{error}; it is {cls.__name__}({names})"
                raise TypeError(located(f"{cls.__name__}: {found}")) from None
        return super().__new__(cls)

    def __init__(self, params: Any, defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups = []
        self._states: dict[Tensor, State] = {}
        single = isinstance(params, (Parameter, dict))
        groups: list[Any] = [params] if single else _listed(params)
        if not groups:
            expected = f"{type(self).__name__}: expected parameters to optimize"
            raise ValueError(located(f"{expected}, found an empty list"))
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for each in groups:
            self.add_param_group(each)

    # ---- what an optimizer is made of

    def _check(self, group: Group) -> None:
        """Raise where a hyper-parameter of `group` is out of range."""
        raise NotImplementedError

    def _rule(self, group: Group) -> Rule:
        """How the parameters of `group` are updated, by its hyper-parameters of this moment."""
        raise NotImplementedError

    def ruled(self, group: Group) -> Rule:
        """The rule of `group`; where its hyper-parameters give none, an error that says which."""
        try:
            rule = self._rule(group)
        except (TypeError, ValueError):
            self._check(group)
            raise
        if not all(map(_is_plain, group.values())):
            self._check(group)
        return rule

    # ---- groups

    def add_param_group(self, param_group: Group) -> None:
        """Optimize more parameters; hyper-parameters that are not given are the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(located(f"expected a group as a dict, found {param_group!r}"))
        given = param_group.get("params", ())
        parameters = [given] if isinstance(given, Parameter) else _listed(given)
        if not parameters:
            raise ValueError(located("expected parameters in a group, found an empty list"))
        for each in parameters:
            if not isinstance(each, Parameter):
                raise TypeError(located(f"expected a Parameter to optimize, found {each!r}"))
            if not each._node.dtype.is_float:
                raise TypeError(located(f"expected floating parameters, found {each._node.type}"))
        group = {**self.defaults, **param_group, "params": list(dict.fromkeys(parameters))}
        self._check(group)
        known = {id(each) for other in self.param_groups for each in other["params"]}
        if any(id(each) in known for each in parameters):
            raise HyperparameterError(located("a parameter is in another group already"))
        self.param_groups.append(group)

    # ---- the step

    def step(self) -> Self:
        """Update each parameter that has a gradient, all by one program; gives the optimizer."""
        keep_while_tracing()
        with ADDING, busy:
            self._step()
        return self

    def _step(self) -> None:
        plan = [(group["params"], self.ruled(group)) for group in self.param_groups]
        states: list[State] = []
        changes: list[Change] = []
        recording = THREAD.recording
        trace = recording.trace
        notes = [None] * len(plan) if trace is None else StepAgain(self, plan, trace).groups
        with no_grad():
            for (parameters, rule), note in zip(plan, notes, strict=True):
                for state, each in self._updates(recording, parameters, rule, note):
                    states.append(state)
                    changes.extend(each)
        if changes:
            commit(recording, changes)
        elif not self._looked:
            self._looked = True
            warn_of_parameters(type(self).__name__, self._numbers())
        for state in states:
            state.step += 1

    def _updates(
        self,
        recording: Recording,
        parameters: list[Tensor],
        rule: Rule,
        note: GroupAgain | None,
    ) -> Iterator[tuple[State, list[Change]]]:
        """The state of each parameter that has a gradient, and the changes of its update."""
        numbers: dict[DType, tuple[Any, ...]] = {}
        source = None if note is None else note.source
        for parameter in parameters:
            if parameter.grad is None:
                continue
            dtype = state_dtype(parameter._node.dtype)
            if dtype not in numbers:
                numbers[dtype] = numbers_in(recording, rule.numbers, dtype, source)
                if note is not None:
                    note.shared()
            state = self._state(parameter, rule.states, dtype)
            own = numbers_in(recording, rule.own_numbers(state.step + 1), dtype, source)
            if note is not None:
                note.own(state)
            kept = [state.tensors[name] for name in rule.states]
            made = recorded(
                recording,
                updated,
                rule.function,
                recording.node_of(parameter),
                gradient_of(recording, parameter),
                tuple([recording.node_of(each) for each in kept]),
                numbers[dtype],
                own,
            )
            pairs = zip((parameter, *kept), made, strict=True)
            yield state, [Change(tensor, node) for tensor, node in pairs]

    def _state(self, parameter: Tensor, names: tuple[str, ...], dtype: DType) -> State:
        """What is kept for `parameter`; what is missing begins with zeros."""
        state = self._states.get(parameter)
        if state is None:
            state = self._states[parameter] = State()
        for name in names:
            if name not in state.tensors:
                zeros = Buffer.copied(np.zeros(parameter.shape, dtype.storage))
                made = concrete(zeros, TensorType(dtype, parameter.shape, "cpu"))
                state.tensors[name] = made.to(parameter.device)
                if THREAD.recording.trace is not None:
                    THREAD.recording.trace.adopt(state.tensors[name])
        return state

    def clear_grad(self) -> None:
        """Set `.grad` of all parameters to None."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    # ---- saving and loading

    def state_dict(self, keep_var: bool = False) -> dict[str, Any]:
        """Hyper-parameters and states; parameters are numbered through all groups.

        States are arrays, or with `keep_var` the tensors themselves.
        """
        numbers = self._numbers()
        groups = [
            {**group, "params": [numbers[each] for each in group["params"]]}
            for group in self.param_groups
        ]
        with ADDING:  # between two steps
            kept = self._states.items()
            states = {numbers[each]: _saved(state, keep_var) for each, state in kept}
        return {"param_groups": groups, "state": states}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over hyper-parameters and states that `state_dict` gave; all of them or none.

        What `numpy.load` gives of it, saved by `numpy.savez`, is taken as well.
        """
        state = _unwrapped(state)
        groups = _groups_in(state)
        _check_groups(self.param_groups, groups, self.defaults)
        for group, saved in zip(self.param_groups, groups, strict=True):
            self._check({**group, **saved})
        numbers = self._numbers()
        numbered = {
            number: parameter
            for group, saved in zip(self.param_groups, groups, strict=True)
            for parameter, number in zip(group["params"], saved["params"], strict=True)
        }
        unknown = sorted(set(state["state"]) - set(numbered))
        if unknown:
            raise ValueError(located(f"load_state_dict: states of unknown parameters {unknown}"))
        loaded = {
            numbered[number]: _loaded(numbered[number], numbers[numbered[number]], saved)
            for number, saved in state["state"].items()
        }
        with ADDING:
            for group, saved in zip(self.param_groups, groups, strict=True):
                group.update({name: value for name, value in saved.items() if name != "params"})
            self._states = loaded

    def _numbers(self) -> dict[Tensor, int]:
        parameters = (each for group in self.param_groups for each in group["params"])
        return {each: number for number, each in enumerate(dict.fromkeys(parameters))}

    def __repr__(self) -> str:
        shown = [
            ", ".join(
                [f"{len(group['params'])} parameters"]
                + [f"{name}={value}" for name, value in group.items() if name != "params"]
            )
            for group in self.param_groups
        ]
        return f"{type(self).__name__}({'; '.join(shown)})"


def _is_plain(value: Any) -> bool:
    """Whether an entry of a group needs no second look, as numbers from 0 on do not."""
    kind = value.__class__
    if kind is float or kind is int:
        return bool(0 <= value < float("inf"))
    if kind is tuple:
        return all(map(_is_plain, value))
    return kind is bool or kind is list or value is None


def check_range(
    group: Group, name: str, below: float = float("inf"), value: float | None = None
) -> None:
    """Raise unless the hyper-parameter `name` (or `value`, a part of it) is in [0, below)."""
    found = static(group[name] if value is None else value)
    NUMBER.check("optimizer", name, found)
    if not 0 <= found < below:
        expected = "at least 0" if below == float("inf") else f"at least 0 and below {below}"
        raise HyperparameterError(located(f"expected {name} to be {expected}, found {found}"))


def check_betas(group: Group) -> None:
    """Raise unless "betas" are two numbers in [0, 1)."""
    betas = static(group["betas"])
    if not isinstance(betas, tuple) or len(betas) != 2:
        raise TypeError(located(f"optimizer: expected two numbers as betas, found {betas!r}"))
    for each in betas:
        check_range(group, "betas", 1.0, each)


def _listed(params: Any) -> list[Any]:
    if isinstance(params, (set, frozenset)):
        raise TypeError(located("expected parameters in a fixed order, found a set"))
    if isinstance(params, Tensor) or not isinstance(params, Iterable):
        raise TypeError(located(f"expected Parameters to optimize, found {params!r}"))
    return list(params)


def _saved(state: State, keep_var: bool) -> dict[str, Any]:
    tensors = state.tensors.items()
    kept = {name: each if keep_var else each.numpy().copy() for name, each in tensors}
    step = np.asarray(state.step)
    return {"step": Tensor(step) if keep_var else step, **kept}


def _loaded(parameter: Tensor, number: int, saved: Mapping[str, Any]) -> State:
    made = State(int(np.asarray(saved.get("step", 0))))
    for name, value in saved.items():
        if name == "step":
            continue
        array = np.asarray(value)
        if array.shape != parameter.shape:
            expected = f"expected {name} of parameter {number} with the shape {parameter.shape}"
            raise ValueError(located(f"load_state_dict: {expected}, found {array.shape}"))
        made.tensors[name] = Tensor(array, state_dtype(parameter._node.dtype))
    return made


def _unwrapped(state: Any) -> Any:
    """The state in what `numpy.savez` has made of it: an array with one object, or several."""
    if isinstance(state, np.ndarray) and state.dtype == object and not state.ndim:
        return _unwrapped(state.item())
    if isinstance(state, Mapping) and {"param_groups", "state"} <= state.keys():
        return {name: _unwrapped(state[name]) for name in ("param_groups", "state")}
    return state


def _groups_in(state: Any) -> list[Group]:
    """The groups of a saved state."""
    if not isinstance(state, Mapping) or {"param_groups", "state"} - state.keys():
        found = sorted(map(str, state)) if isinstance(state, Mapping) else repr(state)
        expected = "expected a dict with param_groups and state"
        raise ValueError(located(f"load_state_dict: {expected}, found {found}"))
    return list(state["param_groups"])


def _check_groups(groups: list[Group], saved: list[Group], needed: Group) -> None:
    if len(groups) != len(saved):
        found = f"expected {len(groups)} groups, found {len(saved)}"
        raise ValueError(located(f"load_state_dict: {found}"))
    for number, (mine, theirs) in enumerate(zip(groups, saved, strict=True)):
        if len(mine["params"]) != len(theirs["params"]):
            found = f"expected {len(mine['params'])} parameters, found {len(theirs['params'])}"
            raise ValueError(located(f"load_state_dict: group {number}: {found}"))
        if missing := sorted(needed.keys() - theirs.keys()):
            raise ValueError(located(f"load_state_dict: group {number} lacks {missing}"))
