"""Pointers of loops as text: what is written gives, in each step, the place that was meant."""

import pytest
from gradc.codegen.kernel import Kernel, Memory, Repeat
from gradc.codegen.spell_loop import Pointer, spelled_loop
from gradc.tracer.dtypes import float32

ARENA, INPUT = Memory(float32, 1000, "arena"), Memory(float32, 1000, "input")
POINTERS = {ARENA: Pointer("arena", 128), INPUT: Pointer("buffers[2]")}
BEGINS = {"arena": 1000, "buffers": 500_000}
SEQUENCES: dict[str, list[tuple[Memory, int]]] = {
    "rising": [(ARENA, 3 + 5 * step) for step in range(12)],
    "falling": [(INPUT, 300 - 7 * step) for step in range(12)],
    "in turn": [(ARENA, 20 * (step % 2)) for step in range(12)],
    "three in turn, from elsewhere": [
        (INPUT, 8),
        (INPUT, 100),
        *((ARENA, 20 * (step % 3)) for step in range(10)),
    ],
    "other ends": [
        (INPUT, 4),
        *((ARENA, 16 * step) for step in range(10)),
        (INPUT, 0),
        (ARENA, 999),
    ],
    "no order": [(ARENA, step * step % 37) for step in range(12)],
    "no order in an input": [(INPUT, step * step % 37) for step in range(12)],
    "two memories": [((ARENA, INPUT)[step // 2 % 2], step * step % 37) for step in range(12)],
    "the same": [(INPUT, 5)] * 12,
}


def value(text: str, step: int) -> int:
    """What a pointer is worth in a step, as a C compiler would have it."""
    *cases, last = text.split(" : ")
    for case in cases:
        condition, chosen = case.split(" ? ")
        if step == int(condition.removeprefix("t0 == ")):
            return value(chosen, step)
    plain = last.replace("(char *)", "").replace("buffers[2]", "buffers").replace("t0", str(step))
    for name, begin in BEGINS.items():
        plain = plain.replace(name, str(begin))
    made = eval(plain, {"__builtins__": {}})  # C and Python agree on + - * % of these
    assert isinstance(made, int)
    return made


@pytest.mark.parametrize("case", SEQUENCES)
def test_each_step_has_its_place(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places = SEQUENCES[case]
    inner = Memory(float32, 1, "input")
    monkeypatch.setattr("gradc.codegen.spell_loop.memories_of", lambda launch: ((inner, False),))
    body = (Kernel.__new__(Kernel),)
    loop = Repeat("loop", len(places), body, {inner: tuple(places)})
    view, inside = spelled_loop(loop, POINTERS, 0)
    names = dict(view.places)
    offsets, tables = dict(view.offsets), dict(view.tables)
    for step, (memory, start) in enumerate(places):
        base = BEGINS["arena"] + 128 if memory is ARENA else BEGINS["buffers"]
        text = names.get(inside[inner].base, inside[inner].text())
        if text.endswith("_table[t0]"):
            text = tables[text.removesuffix("[t0]")][step]
        if text.endswith("_offsets[t0]"):
            base_text, name = text.removesuffix("[t0]").split(" + ")
            text = f"{base_text} + {offsets[name][step]}"
        assert value(text, step) == base + 4 * start


def test_only_what_has_no_order_needs_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc.codegen.spell_loop.memories_of", lambda launch: ((inner, False),))
    inner = Memory(float32, 1, "input")
    for name, places in SEQUENCES.items():
        body = (Kernel.__new__(Kernel),)
        loop = Repeat("loop", len(places), body, {inner: tuple(places)})
        view = spelled_loop(loop, POINTERS, 0)[0]
        assert bool(view.offsets) is name.startswith("no order")
        assert bool(view.tables) is (name == "two memories")
