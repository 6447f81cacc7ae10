"""Reads that are looked at again: the written-out look agrees with reading and comparing."""

from types import SimpleNamespace

from gradc.tracer.straight import Straight
from walk import walk

from gradc.reads import MANY, Attributes, Cells, Elements, Keys, Names, Other, Read


class Text(str):
    """A text of a class of its own."""


def cell_of(value):
    return (lambda: value).__closure__[0]


def looks_unchanged(read: Read, then):
    code = Straight("look")
    lines = " and ".join(read.unchanged(code, then))
    code.add(["try:", f"    return {lines or 'True'}"])
    code.add(["except (LookupError, ValueError, AttributeError):", "    return False"])
    return code.made()


A, B, C = object(), object(), object()


def put(key, value):
    return lambda held: held.__setitem__(key, value)


def rotated(held):
    held[next(iter(held))] = held.pop(next(iter(held)))


def set_y(held, value):
    held.y = value


LONG = {f"k{number}": object() for number in range(MANY + 5)}

CASES = [
    # what is read, how, a change that is seen
    (lambda: {"a": A, "b": B}, lambda d: Names(d, ("a", "b")), put("b", C)),
    (lambda: {"a": A}, lambda d: Names(d, ("a",)), put("a", C)),
    (lambda: {"a": A}, lambda d: Names(d, ("a",)), lambda d: d.clear()),
    (lambda: SimpleNamespace(x=A, y=B), lambda o: Attributes(o, ("x", "y")), lambda o: set_y(o, A)),
    (lambda: SimpleNamespace(x=A), lambda o: Attributes(o, ("x",)), lambda o: delattr(o, "x")),
    (lambda: cell_of(A), lambda c: Cells([c]), lambda c: setattr(c, "cell_contents", B)),
    (lambda: cell_of(A), lambda c: Cells([c]), lambda c: delattr(c, "cell_contents")),
    (lambda: {"a": A, "b": B}, Keys, rotated),
    (lambda: {"a": A}, Keys, put("c", C)),
    (lambda: {}, Keys, put("c", C)),
    (lambda: {1: A, "b": B}, Keys, lambda d: (d.pop(1), d.__setitem__(True, A))),
    (lambda: {Text("a"): A}, Keys, lambda d: d.clear()),
    (lambda: dict(LONG), Keys, rotated),
    (lambda: {"a": A, "b": B}, Elements, put("b", C)),
    (lambda: {"a": A, "b": B}, Elements, lambda d: d.pop("b")),
    (lambda: {"a": A}, Elements, put("c", C)),
    (lambda: {}, Elements, put("c", C)),
    (lambda: {(1, 2): A}, Elements, put((1, 2), C)),
    (lambda: dict(LONG), Elements, put("k3", C)),
    (lambda: [A, B], Elements, put(0, B)),
    (lambda: [A, B], Elements, lambda each: each.append(C)),
    (lambda: [A, B], Elements, lambda each: each.pop()),
    (lambda: [], Elements, lambda each: each.append(C)),
    (lambda: [*LONG.values()], Elements, put(3, C)),
    (lambda: {A}, Elements, lambda each: each.clear()),
    (lambda: [A], lambda each: Other(lambda: each), put(0, C)),
]  # fmt: skip


@walk("case", range(len(CASES)))
def test_changes_are_seen_and_nothing_else(case):
    make, reading, change = CASES[case]
    held = make()
    read = reading(held)
    then = tuple(read())
    look = looks_unchanged(read, then)
    assert look() is True
    assert look() is True
    change(held)
    assert look() is False


def test_an_equal_object_is_another_one():
    held = [1000.5]
    read = Elements(held)
    look = looks_unchanged(read, tuple(read()))
    held[0] = float("1000.5")
    assert look() is False


def test_code_that_is_written_belongs_to_gradc():
    code = Straight("half", "x")
    code.add([f"return x / {code.constant(2)}"])
    half = code.made()
    assert half(3) == 1.5
    assert half.__code__.co_filename == "<gradc half>"
    assert half.__globals__["__name__"].startswith("gradc.")


def test_a_constant_has_one_name():
    code = Straight("same")
    assert code.constant(A) == code.constant(A) != code.constant(B)
