"""Functions of each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from peers.draft import LARGEST, Draft, Row, Words, with_exact


def one(
    low: float = -LARGEST, high: float = LARGEST, away: Sequence[float] = ()
) -> Callable[[Draft], Words]:
    """A value within bounds."""
    return lambda draft: {"x": draft.value(low, high, away=away)}


def unary(
    name: str,
    low: float = -LARGEST,
    high: float = LARGEST,
    away: Sequence[float] = (),
    theirs: str | None = None,
    ours: str | None = None,
) -> Row:
    """A function of one value under the same name in both."""
    return Row(
        name, one(low, high, away), ours or f"F.{name}({{x}})", theirs or f"torch.{name}({{x}})"
    )


def pair(
    low: float = -LARGEST,
    high: float = LARGEST,
    away: Sequence[float] = (),
    low_x: float = -LARGEST,
    high_x: float = LARGEST,
) -> Callable[[Draft], Words]:
    """A value, and one that is broadcast with it; the bounds are those of the second."""

    def draw(draft: Draft) -> Words:
        x = draft.value(low_x, high_x)
        y = draft.beside(x, low, high, away)
        return {"x": x, "y": y}

    return draw


def apart(draft: Draft) -> Words:
    """A value, and one that is nowhere 0 where it is divided by."""
    x = draft.value()
    return {"x": x, "y": draft.beside(x, 0.3)}


def with_number(
    least: float, most: float, low: float = -LARGEST, high: float = LARGEST
) -> Callable[[Draft], Words]:
    """A value within bounds, and a number from `least` to `most`."""

    def draw(draft: Draft) -> Words:
        return {"x": draft.value(low, high), "a": draft.number(least, most)}

    return draw


def _clip(draft: Draft) -> Words:
    low = draft.number(-1.5, 0)
    return {"x": draft.value(), "a": low, "b": round(low + draft.number(0.1, 2), 3)}


def _chosen(draft: Draft) -> Words:
    x = draft.value()
    names = {key: draft.beside(x) for key in "yab"}
    sign = draft.one_of(["<", "<=", ">", ">=", "==", "!="])
    return {"x": x, "sign": sign, **names}


def _powers(draft: Draft) -> Words:
    return {"x": draft.value(-3, 3), "n": draft.one_of([0, 1, 2, 3, 4])}


def _fractions(draft: Draft) -> Words:
    return {"x": draft.value(0.2, 5), "a": draft.one_of([-2, -1, -0.5, 0.5, 1.5, 2.5, 0.333])}


def _apart_from_axes(draft: Draft) -> Words:
    x = draft.value(0.2)
    return {"x": x, "y": draft.beside(x, away=(0,))}


def _remainders(draft: Draft) -> Words:
    x = draft.value()
    return {"x": x, "y": draft.beside(x, 0.5)}


ARITHMETIC = (
    Row("add", pair(), "{x} + {y}", "{x} + {y}"),
    Row("sub", pair(), "{x} - {y}", "{x} - {y}"),
    Row("rsub", pair(), "{y} - {x}", "{y} - {x}"),
    Row("mul", pair(), "{x} * {y}", "{x} * {y}"),
    Row("div", apart, "{x} / {y}", "{x} / {y}"),
    Row("add_number", with_number(-2, 2), "{x} + {a}", "{x} + {a}"),
    Row("number_sub", with_number(-2, 2), "{a} - {x}", "{a} - {x}"),
    Row("mul_number", with_number(-2, 2), "{a} * {x}", "{a} * {x}"),
    Row("div_number", with_number(0.5, 3), "{x} / {a}", "{x} / {a}"),
    Row("number_div", with_number(-2, 2, low=0.3), "{a} / {x}", "{a} / {x}"),
    Row(
        "in_place",
        pair(),
        "{out} = +{x}\n{out} += {y}\n{out} *= 0.5",
        "{out} = {x} + {y}\n{out} = {out} * 0.5",
    ),
    Row("neg", one(), "-{x}", "-{x}"),
    Row("abs", one(), "abs({x})", "abs({x})"),
    unary("square", -4, 4),
    Row("power_whole", _powers, "{x} ** {n}", "{x} ** {n}"),
    Row("power_fraction", _fractions, "F.pow({x}, {a})", "torch.pow({x}, {a})"),
    Row("number_power", with_number(0.3, 2.5, low=-3, high=3), "{a} ** {x}", "{a} ** {x}"),
    # PyTorch's power lacks its mixed derivative where the exponent is 0.
    Row("power", pair(-2, 2, low_x=0.3, high_x=3), "{x} ** {y}", "torch.exp({y} * torch.log({x}))"),
    Row("mod", _remainders, "{x} % {y}", "torch.remainder({x}, {y})"),
    Row("floordiv", _remainders, "{x} // {y}", "torch.floor_divide({x}.detach(), {y}.detach())"),
    Row("detach", one(), "{x}.detach()", "{x}.detach()"),
    Row("maximum", pair(), "F.maximum({x}, {y})", "torch.maximum({x}, {y})"),
    Row("minimum", pair(), "F.minimum({x}, {y})", "torch.minimum({x}, {y})"),
    # On the bounds themselves the derivative is 1 in gradc, 0 or 1 in PyTorch, by its version.
    Row(
        "clip",
        _clip,
        "F.clip({x}, {a}, {b})",
        "torch.where({x} < {a}, {a}, torch.where({x} > {b}, {b}, {x}))",
    ),
    Row(
        "where",
        _chosen,
        "F.where({x} {sign} {y}, {a}, {b})",
        "torch.where({x} {sign} {y}, {a}, {b})",
    ),
    Row(
        "masked_fill",
        _chosen,
        "F.masked_fill({x}, {x} {sign} {y}, 0.5)",
        "{x}.masked_fill({x} {sign} {y}, 0.5)",
    ),
    Row(
        "comparison",
        _chosen,
        "({x} {sign} {y}).astype({a}.dtype) * {a}",
        "({x} {sign} {y}).to({a}.dtype) * {a}",
    ),
    Row(
        "logic",
        _chosen,
        "F.where(F.logical_and({x} {sign} {y}, ~({a} > {b})), {a}, {b})",
        "torch.where(torch.logical_and({x} {sign} {y}, ~({a} > {b})), {a}, {b})",
    ),
)

FUNCTIONS = (
    unary("exp", high=2.5), unary("exp2", high=3.5), unary("expm1", high=2.5),
    unary("log", 0.1), unary("log2", 0.1), unary("log10", 0.1), unary("log1p", -0.8),
    Row("logaddexp", pair(), "F.logaddexp({x}, {y})", "torch.logaddexp({x}, {y})"),
    unary("sqrt", 0.1), unary("rsqrt", 0.2), unary("erf"),
    # The derivative at 0 is infinite, and PyTorch has no cube root: its own text is the power.
    unary("cbrt", away=(0,), theirs="torch.sign({x}) * torch.abs({x}) ** (1 / 3)"),
    unary("reciprocal", 0.3),
    unary("sin"), unary("cos"), unary("tan", -1.2, 1.2),
    unary("asin", -0.9, 0.9), unary("acos", -0.9, 0.9), unary("atan"),
    unary("sinh", -3, 3), unary("cosh", -3, 3), unary("tanh"),
    unary("asinh"), unary("acosh", 1.2), unary("atanh", -0.9, 0.9),
    # At the origin the derivatives are 0 in gradc, NaN in PyTorch.
    Row("hypot", _apart_from_axes, "F.hypot({x}, {y})", "torch.hypot({x}, {y})"),
    Row("atan2", _apart_from_axes, "F.atan2({y}, {x})", "torch.atan2({y}, {x})"),
    Row("xlogy", pair(0.2), "F.xlogy({x}, {y})", "torch.xlogy({x}, {y})"),
    unary("floor"), unary("ceil"), unary("round"), unary("trunc"), unary("sign"),
    unary("nan_to_num"),
)  # fmt: skip


def _at_kinks(name: str, *kinks: float, theirs: str | None = None) -> Row:
    """An activation whose derivative at `kinks` is another number in PyTorch."""
    return unary(name, away=kinks, theirs=theirs or f"T.{name}({{x}})")


def _prelu(draft: Draft) -> Words:
    x = draft.value(away=(0,), ranks=range(2, 6))
    return {"x": x, "y": draft.sized((draft.one_of([1, draft.shape_of(x)[1]]),))}


def _halves(draft: Draft) -> Words:
    x = draft.value(ranks=range(1, 6))
    axis = draft.axis(x)
    if draft.shape_of(x)[axis] % 2:
        return {"x": draft.add_input((3, 4)), "axis": draft.one_of([1, -1])}
    return {"x": x, "axis": axis}


ACTIVATIONS = (
    unary("relu", theirs="T.relu({x})"),
    unary("relu6", theirs="T.relu6({x})"),
    unary("hardtanh", theirs="T.hardtanh({x})"),
    # At 0 gradc takes the slope of the positive side, PyTorch that of the negative one.
    _at_kinks("leaky_relu", 0),
    Row("prelu", _prelu, "F.prelu({x}, {y})", "T.prelu({x}, {y})"),
    _at_kinks("elu", 0), _at_kinks("celu", 0), _at_kinks("selu", 0),
    unary("sigmoid"),
    # T.hardsigmoid has no second derivative.
    unary("hsigmoid", theirs="T.relu6({x} + 3) / 6"),
    # At the ends of the slope gradc takes 0, PyTorch either side.
    _at_kinks("hswish", -3, 3, theirs="T.hardswish({x})"),
    unary("softplus", theirs="T.softplus({x}, threshold=100)"),
    unary("logsigmoid", theirs="T.logsigmoid({x})"),
    unary("silu", theirs="T.silu({x})"),
    unary("mish", theirs="T.mish({x})"),
    unary("gelu", theirs="T.gelu({x})"),
    unary("gelu_tanh", -4, 4, ours='F.gelu({x}, "tanh")', theirs='T.gelu({x}, approximate="tanh")'),
    # The second derivative at 0 is -2 or 2 in PyTorch's formula, 0 in gradc's.
    _at_kinks("softsign", 0),
    unary("tanhshrink", theirs="T.tanhshrink({x})"),
    _at_kinks("softshrink", -0.5, 0.5), _at_kinks("hardshrink", -0.5, 0.5),
    Row("glu", _halves, "F.glu({x}, axis={axis})", "T.glu({x}, dim={axis})"),
)  # fmt: skip

EXACT = {
    *("add", "sub", "rsub", "mul", "add_number", "number_sub", "mul_number", "in_place", "neg"),
    *("abs", "square", "power_whole", "mod", "floordiv", "detach", "maximum", "minimum", "clip"),
    *("where", "masked_fill", "comparison", "logic", "floor", "ceil", "round", "trunc", "sign"),
    *("nan_to_num", "relu", "relu6", "hardtanh", "hardshrink"),
}
"""Those that round nothing where numbers have few binary digits."""

ROWS = with_exact(EXACT, *ARITHMETIC, *FUNCTIONS, *ACTIVATIONS)
