"""Order: what is read was written before, as a whole or in parts, and all is written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .kernel import Kernel, Memory, Program, Repeat, memories_of


def unordered(program: Program) -> Iterator[str]:
    """Each memory that is read before it is written, or written more than once."""
    written = set(program.inputs)
    wholes = _wholes(program)
    for whole, parts in wholes.items():
        if not _fill(whole, parts):
            yield f"{whole} is put together from {', '.join(map(str, parts))}"
    for number, launch in enumerate(program.launches):
        here = f"launch {number} ({launch.label})"
        read = {memory for memory, writes in memories_of(launch) if not writes}
        made = {memory for memory, writes in memories_of(launch) if writes}
        for memory in {each for each in read - written if each.size}:
            yield f"{here} reads {memory} before it is written"
        for memory in read & made if not isinstance(launch, Repeat) else ():
            yield f"{here} reads and writes {memory}, though its pointers are restricted"
        for memory in made & set(program.inputs):
            yield f"{here} writes the input {memory}"
        adds = isinstance(launch, Kernel) and launch.ordered
        for memory in made & written if not adds else made - written:
            if not memory.size:  # only its indices are checked
                continue
            yield f"{here} writes {memory}, which {'was not' if adds else 'was'} written before"
        for memory in made & wholes.keys():
            yield f"{here} writes {memory}, which is written in parts"
        written |= made
        while complete := {w for w, parts in wholes.items() if parts <= written} - written:
            written |= complete
    for number, memory in enumerate(program.outputs):
        if memory.size and memory not in written:
            yield f"output {number} is not written"


def _wholes(program: Program) -> dict[Memory, set[Memory]]:
    """What is written in parts, with these, the innermost first."""
    touched = [memory for launch in program.launches for memory, _ in memories_of(launch)]
    found: dict[Memory, set[Memory]] = {}
    while touched:
        for part in touched:
            if part.within is not None:
                found.setdefault(part.within[0], set()).add(part)
        touched = [part.within[0] for part in touched if part.within is not None]
    return found


def _fill(whole: Memory, parts: Iterable[Memory]) -> bool:
    """Whether `parts` lie one after another, from the begin of `whole` to its end."""
    end = 0
    for start, size in sorted((part.within[1], part.size) for part in parts if part.within):
        if start != end:
            return False
        end += size
    return end == whole.size
