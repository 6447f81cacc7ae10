"""Reductions, softmax, products of matrices, and Einstein's summation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from peers.draft import LARGEST, Draft, Row, Unfit, Words, with_exact

LINES = range(1, 6)
SPREAD = 0.05
"""What variances and norms are at least: at 0 their roots have no derivative in PyTorch."""


def over_axes(
    low: float = -LARGEST, high: float = LARGEST, some: bool = False
) -> Callable[[Draft], Words]:
    """A value, some of its axes, and whether they stay."""

    def draw(draft: Draft) -> Words:
        x = draft.value(low, high, ranks=LINES, some=some)
        return {"x": x, "axes": draft.axes(x), "kept": draft.yes()}

    return draw


def _spread(draft: Draft) -> Words:
    words = over_axes(some=True)(draft)
    variance = draft.values[words["x"]].var(words["axes"], correction=0)
    count = 1
    for axis in words["axes"]:
        count *= draft.shape_of(words["x"])[axis]
    if count < 2 or not bool((variance > SPREAD).all()):
        raise Unfit
    return {**words, "ddof": draft.whole(0, 1)}


def _long(draft: Draft) -> Words:
    words = over_axes(some=True)(draft)
    length = torch.linalg.vector_norm(draft.values[words["x"]], dim=words["axes"])
    if not bool((length > SPREAD).all()):
        raise Unfit
    return {**words, "p": draft.one_of([1, 2, 3, 1.5])}


def _along(draft: Draft) -> Words:
    x = draft.value(ranks=LINES, some=True)
    return {"x": x, "axis": draft.axis(x)}


def _all(draft: Draft) -> Words:
    return {"x": draft.value(some=True)}


def reduction(name: str, theirs: str, draw: Callable[[Draft], Words] | None = None) -> Row:
    """A reduction over some axes."""
    text = f"F.{name}({{x}}, axis={{axes}}, keepdims={{kept}})"
    return Row(name, draw or over_axes(), text, theirs)


REDUCTIONS = (
    reduction("sum", "torch.sum({x}, {axes}, {kept})"),
    reduction("mean", "torch.mean({x}, {axes}, {kept})", over_axes(some=True)),
    # Ties share the derivative in both (torch.max(x, dim) would give it to one).
    reduction("max", "torch.amax({x}, {axes}, {kept})", over_axes(some=True)),
    reduction("min", "torch.amin({x}, {axes}, {kept})", over_axes(some=True)),
    reduction("logsumexp", "torch.logsumexp({x}, {axes}, {kept})", over_axes(some=True)),
    Row("var", _spread, "F.var({x}, {axes}, {kept}, ddof={ddof})",
        "torch.var({x}, {axes}, correction={ddof}, keepdim={kept})"),
    Row("std", _spread, "F.std({x}, {axes}, {kept}, ddof={ddof})",
        "torch.std({x}, {axes}, correction={ddof}, keepdim={kept})"),
    Row("norm", _long, "F.norm({x}, {p}, {axes}, {kept})",
        "torch.linalg.vector_norm({x}, {p}, {axes}, {kept})"),
    Row("normalize", lambda draft: {**_long(draft), "p": 2}, "F.normalize({x}, {p}, {axes})",
        "{x} / torch.linalg.vector_norm({x}, {p}, {axes}, True)"),
    Row("prod", lambda draft: {**_along(draft), "kept": draft.yes()},
        "F.prod({x}, {axis}, {kept})", "torch.prod({x}, {axis}, {kept})"),
    Row("sum_all", _all, "{x}.sum()", "{x}.sum()"),
    Row("mean_all", _all, "{x}.mean()", "{x}.mean()"),
    Row("max_all", _all, "{x}.max()", "{x}.amax()"),
    Row("softmax", _along, "F.softmax({x}, {axis})", "torch.softmax({x}, {axis})"),
    Row("softmin", _along, "F.softmin({x}, {axis})", "T.softmin({x}, {axis})"),
    Row("log_softmax", _along, "F.log_softmax({x}, {axis})", "torch.log_softmax({x}, {axis})"),
    Row("argmax", _along, "F.one_hot(F.argmax({x}, {axis}), 9).astype({x}.dtype) + F.sum({x})",
        "T.one_hot(torch.argmax({x}, {axis}), 9).to({x}.dtype) + torch.sum({x})"),
)  # fmt: skip


# ---- products


def _product(draft: Draft) -> Words:
    """Factors of a product in any of the ranks that are allowed."""
    x = draft.value(-5, 5, ranks=LINES)
    shape = draft.shape_of(x)
    columns = draft.one_of([(), (1,), (2,), (3,), (5,)])
    lead: tuple[int, ...] = ()
    if columns:
        lead = draft.one_of(
            [(), shape[:-2], tuple(1 for _ in shape[:-2]), shape[1:-2], (2, *shape[:-2])]
        )
    return {"x": x, "y": draft.sized((*lead, shape[-1], *columns))}


def _transposed_product(draft: Draft) -> Words:
    x = draft.value(-5, 5, ranks=(2, 3))
    shape = draft.shape_of(x)
    turned = draft.yes()
    summed = shape[-2] if turned else shape[-1]
    rows = draft.whole(1, 4)
    other = draft.yes()
    y = draft.sized((rows, summed) if other else (summed, rows))
    axes = "-1, -2"
    return {
        "x": x, "y": y, "a": turned, "b": other,
        "left": f"{x}.swapaxes({axes})" if turned else x,
        "right": f"{y}.swapaxes({axes})" if other else y,
    }  # fmt: skip


def _linear(draft: Draft) -> Words:
    x = draft.value(-5, 5, ranks=range(1, 4))
    width, out = draft.shape_of(x)[-1], draft.whole(1, 6)
    return {"x": x, "w": draft.sized((out, width)), "b": draft.sized((out,))}


def _vectors(draft: Draft) -> Words:
    x = draft.value(-5, 5, ranks=(1,))
    return {"x": x, "y": draft.sized(draft.shape_of(x))}


def _outer(draft: Draft) -> Words:
    return {"x": draft.value(-5, 5, ranks=(1,)), "y": draft.value(-5, 5, ranks=(1,))}


def _kron(draft: Draft) -> Words:
    x = draft.value(-5, 5, ranks=(1, 2), some=True)
    return {"x": x, "y": draft.sized((2, 3)[: len(draft.shape_of(x))])}


def _tensordot(draft: Draft) -> Words:
    x = draft.value(-5, 5, ranks=(2, 3))
    shape = draft.shape_of(x)
    count = draft.whole(0, 2)
    return {"x": x, "n": count, "y": draft.sized((*shape[len(shape) - count :], draft.whole(1, 3)))}


EQUATIONS = (
    "ij,jk->ik", "ij,kj->ki", "ij,ij->", "ij,ij->i", "ij->ji", "ij->j", "ii->i", "ii->", "i,j->ij",
    "bij,bjk->bik", "bij,jk->bki", "bij,bkj->bik", "ijk,k->ij", "i,ij,j->", "ij,jk,kl->il",
    "...ij,...jk->...ik", "abc,cd,b->ad", "abcd,bd->ca", "iij->ij", "ij,ik,il->jkl",
)  # fmt: skip


def _einsum(draft: Draft) -> Words:
    equation = draft.one_of(EQUATIONS)
    terms = [term.replace("...", "z") for term in equation.split("->")[0].split(",")]
    rank = len(terms[0])
    repeated = len({*terms[0]}) < rank
    if repeated:
        first = draft.sized({2: (3, 3), 3: (2, 2, 4)}[rank])
    else:
        first = draft.value(-5, 5, ranks=(rank,))
    sizes = dict(zip(terms[0], draft.shape_of(first), strict=True))
    names = [first]
    for term in terms[1:]:
        shape = tuple(sizes.setdefault(letter, draft.whole(1, 4)) for letter in term)
        names.append(draft.sized(shape))
    words = dict(zip("xyz", names, strict=False))
    return {"equation": equation, "operands": ", ".join(names), **words}


PRODUCTS = (
    Row("matmul", _product, "{x} @ {y}", "{x} @ {y}"),
    Row("matmul_transposed", _transposed_product, "F.matmul({x}, {y}, {a}, {b})",
        "{left} @ {right}"),
    Row("linear", _linear, "F.linear({x}, {w}, {b})", "T.linear({x}, {w}, {b})"),
    Row("dot", _vectors, "F.dot({x}, {y})", "torch.dot({x}, {y})"),
    Row("outer", _outer, "F.outer({x}, {y})", "torch.outer({x}, {y})"),
    Row("inner", _vectors, "F.inner({x}, {y})", "torch.inner({x}, {y})"),
    Row("kron", _kron, "F.kron({x}, {y})", "torch.kron({x}, {y})"),
    Row("tensordot", _tensordot, "F.tensordot({x}, {y}, {n})", "torch.tensordot({x}, {y}, {n})"),
    Row("einsum", _einsum, "F.einsum({equation!r}, {operands})",
        "torch.einsum({equation!r}, {operands})"),
)  # fmt: skip


# ---- attention


def _attention(draft: Draft) -> Words:
    x = draft.value(-5, 5, ranks=range(2, 5), some=True)
    *lead, queries, width = draft.shape_of(x)
    keys, out = draft.whole(1, 5), draft.whole(1, 4)
    causal = draft.yes()
    # A query that may look at nothing gets 0 in gradc, NaN in PyTorch: each sees the first key.
    seed, rows = draft.whole(0, 999), (queries, keys)
    mask = f"(np.random.default_rng({seed}).integers(0, 2, {rows}) + np.eye(1, {keys}) > 0)"
    masked = not causal and draft.yes()
    return {
        "x": x, "y": draft.sized((*lead, keys, width)), "z": draft.sized((*lead, keys, out)),
        "mask": mask if masked else None,
        "theirs": f"torch.tensor({mask})" if masked else None,
        "causal": causal,
    }  # fmt: skip


ATTENTION = (
    Row("attention", _attention,
        "F.scaled_dot_product_attention({x}, {y}, {z}, {mask}, is_causal={causal})",
        "T.scaled_dot_product_attention({x}, {y}, {z}, {theirs}, is_causal={causal})"),
)  # fmt: skip

EXACT = {
    *("sum", "max", "min", "sum_all", "max_all", "prod"),
    *(row.name for row in PRODUCTS),
}
"""Those that round nothing where numbers have few binary digits."""

ROWS = with_exact(EXACT, *REDUCTIONS, *PRODUCTS, *ATTENTION)
