"""When recordings run, and how the program of what they ask for is found.

Programs are found by chained identity: under (the evaluation before, the nodes asked for) stands
the entry that ran last time. Nothing is walked there. Where that fails, the graph is numbered
canonically and looked up by its text, and only what is new there is prepared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from .buffer import give_back
from .collection import without_collection
from .errors import BoundsError
from .evaluator import Executable, current_evaluator
from .graph import Graph, canonical
from .ir import InternTable, Node
from .ledger import take_back
from .ops import elementwise, sources
from .recording import STATISTICS, THREAD, Recording
from .text import digest

if TYPE_CHECKING:
    from .buffer import Buffer
    from .tensor import Tensor

Moment = Literal["backward", "read", "step", "limit"]


def settle(recording: Recording, moment: Moment, wanted: Sequence[Tensor] = ()) -> None:
    """The policy of when things run; `wanted` are the tensors for which it must be now.

    Called after a backward, when a value is read, when an optimizer has stepped, and when many
    operators wait. While a manager of the thread records, only reading a value makes it run; else
    everything that is still held is computed at once, and the recording ends. While a function is
    traced, nothing runs before its end, unless a value is read.
    """
    with recording.lock:
        trace = recording.trace
        if trace is not None:
            if moment != "read":
                recording.limit *= 2 if moment == "limit" else 1
                return
            trace.abandon("reads the value of a tensor")
        recorded = bool(recording.recording_managers())
        if recorded and moment != "read":
            recording.limit *= 2 if moment == "limit" else 1
            return
        ends = recording is THREAD.recording and not recorded
        together = (recording is THREAD.recording or recording.closed) and not recording.failed
        try:
            _run(recording, together, wanted)
        finally:
            if ends:
                THREAD.renew()
        if together and not recording.failed:
            recording.pending.clear()
            recording.rebound = 0
            recording.ledger = []
            recording.places.clear()
            if recording.closed:
                recording.forget()


def _run(recording: Recording, together: bool, wanted: Sequence[Tensor]) -> None:
    """Compute all that is held, or, where that fails or must not be, what is wanted.

    Where that fails as well, gradients that wait for the same are what they were before.
    """
    try:
        if together:
            try:
                evaluate(recording, recording.live())
                return evaluate(recording, recording.waiting_of(wanted))  # none, as a rule
            except Exception:
                recording.failed = True  # from now on each tensor runs by itself
                if not wanted:
                    raise
        return evaluate(recording, recording.waiting_of(wanted))
    except Exception:
        take_back(recording, partial(_computes, recording))
        raise


def _computes(recording: Recording, nodes: tuple[Node, ...]) -> bool:
    """Whether the program of `nodes` can be run."""
    try:
        computed(recording, nodes)
    except Exception:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A program and how it is bound to a recording.

    `inputs` name slots (k) or earlier results (~k), `places` results (k) or slots (~k), one for
    each node that is asked for; `made` are the results by node, `nodes` is the size of the graph,
    `volume` the bytes of all their values, and `checks` are the nodes that may fail, by their
    numbers in the graph. `total` counts the results when it has run, so that one that is
    interrupted leaves no trace. One that is `larger` computes more than was asked for, and so may
    need leaves that another recording of the same nodes lacks.
    """

    run: Executable | None
    inputs: tuple[int, ...]
    leaves: tuple[Node, ...]
    floats: tuple[int, ...]
    ints: tuple[int, ...]
    places: tuple[int, ...]
    made: dict[Node, int]
    nodes: int
    volume: int
    checks: dict[int, Node]
    total: int
    larger: bool = False


KEPT_NODES = 500_000
"""How many nodes a generation of programs may have; a node needs some 350 bytes."""

ENTRIES = InternTable(KEPT_NODES, lambda entry: 250 + entry.nodes)
MOST_RECENT = 8
RECENT = InternTable(KEPT_NODES, lambda recent: 1_000 + sum(each.nodes for each in recent))
EXECUTABLES = InternTable(KEPT_NODES, lambda found: 1_000 + found[1])


def forget_programs() -> None:
    """Drop all programs and what is known of when they ran."""
    for table in (ENTRIES, RECENT, EXECUTABLES):
        table.clear()


def evaluate(recording: Recording, waiting: list[tuple[Tensor, Node]]) -> None:
    """Give the tensors that are `waiting` in `recording`, each for its node, their buffers.

    What another thread has bound anew meanwhile is left as it is.
    """
    if waiting:
        buffers = computed(recording, tuple([made for _, made in waiting]))
        for (tensor, made), buffer in zip(waiting, buffers, strict=True):
            if tensor._recording is recording and tensor._node is made:
                tensor._buffer = buffer


def computed(recording: Recording, nodes: tuple[Node, ...]) -> list[Buffer]:
    """The buffers of `nodes`, by one program."""
    before = recording.entry
    key = (before, nodes)
    entry: Entry | None = ENTRIES.get(key)
    is_new = entry is None
    STATISTICS.evaluations += 1
    if entry is not None and entry.larger and not _may_take(recording, entry):
        entry = ENTRIES.young[key] = _entry(recording, nodes)
    elif entry is None:
        entry = ENTRIES.put(key, _entry(recording, nodes))
    else:
        STATISTICS.identity_hits += 1
    results, slots = recording.results, recording.slots
    if entry.run is not None:
        buffers = [slots[k] if k >= 0 else results[~k] for k in entry.inputs]
        floats, ints = recording.floats, recording.ints
        numbers = [floats[k] for k in entry.floats], [ints[k] for k in entry.ints]
        try:
            try:
                made = entry.run(buffers, *numbers)
            except MemoryError:
                give_back()
                made = entry.run(buffers, *numbers)
        except BoundsError as error:
            raise _told(error, entry, recording) from None
        results[entry.total - len(made) :] = made
        if is_new and not entry.larger:  # one that fails is nobody's substitute
            _remember(before, entry)
    recording.entry = entry
    recording.entries.append(entry)
    return [results[k] if k >= 0 else slots[~k] for k in entry.places]


def _told(error: BoundsError, entry: Entry, recording: Recording) -> BoundsError:
    """The error of a program, with the line that asked for what failed, and the one that runs it.

    Where the line is not known, it is the first one that ever recorded an equal node.
    """
    check = entry.checks.get(error.place)
    if check is None:
        return error
    label, place = recording.places.get(check, ("", None))
    if place is not None:
        return error.told(label, f"at {place.origin()}")
    origin = check.origin
    return error.told(origin.label, f"first recorded at {origin}") if origin else error


def _entry(recording: Recording, nodes: tuple[Node, ...]) -> Entry:
    """The entry for `nodes`, after the evaluations that `recording` has seen."""
    known = recording.known
    for each in recording.entries:
        known.update(each.made)
    recording.entries.clear()
    bare = [without_markers(each, known) for each in nodes]
    asked = [each for each in dict.fromkeys(bare) if not _exists(each, known)]
    if not asked:
        places = tuple(_place(each, known) for each in bare)
        return Entry(None, (), (), (), (), places, {}, 0, 0, {}, _count(recording))
    with without_collection():
        return _computed(recording, nodes, bare, asked)


def _computed(
    recording: Recording, nodes: tuple[Node, ...], bare: list[Node], asked: list[Node]
) -> Entry:
    known, base = recording.known, _count(recording)
    graph, binding = canonical(asked, known)
    outputs = {each: base + k for k, each in enumerate(dict.fromkeys(graph.outputs))}
    made = {each: outputs[image] for each, image in zip(asked, graph.outputs, strict=True)}
    made.update(zip(nodes, [made.get(each, -1) for each in bare], strict=True))
    made = {each: place for each, place in made.items() if place >= base}
    within = graph.nodes()
    volume = sum([each.type.nbytes for each in within])
    graph = Graph(graph.inputs, graph.floats, graph.ints, tuple(outputs)).with_order(within)
    evaluator = current_evaluator()
    key = (evaluator, digest(graph))
    run, _ = EXECUTABLES.get(key) or (None, 0)
    if run is not None:
        STATISTICS.digest_hits += 1
    elif larger := _superset(recording, asked, len(within), volume):
        STATISTICS.superset_hits += 1
        places = tuple(_place(e, {**known, **larger.made}) for e in bare)
        return replace(larger, places=places, larger=True)
    else:
        STATISTICS.prepared += 1
        run, _ = EXECUTABLES.put(key, (evaluator.prepare(graph), len(within)))
    graph.known.pop("text", None)  # whoever wanted it has taken it
    return Entry(
        run,
        tuple(~known[each] if each in known else each.attrs[0] for each in binding.inputs),
        tuple(each for each in binding.inputs if each not in known),
        binding.floats,
        binding.ints,
        tuple(_place(each, {**known, **made}) for each in bare),
        made,
        len(within),
        volume,
        _checks(within, binding.image),
        base + len(outputs),
    )


def _checks(within: list[Node], image: dict[Node, Node]) -> dict[int, Node]:
    """The recording's nodes that may fail, by number in the graph `within`."""
    recorded = {made: e for e, made in image.items() if e.op is elementwise.checked_index}
    return {place: recorded[each] for place, each in enumerate(within) if each in recorded}


def _count(recording: Recording) -> int:
    """How many results `recording` has."""
    return recording.entry.total if recording.entry else 0


SPARE_NODES, SPARE_BYTES = 8, 1 << 16
"""What a program may compute beside what is asked for, and a quarter more. 64 KiB of exponentials
take as long as the call of a program (15 us); to build one takes 300 ms."""


def _superset(recording: Recording, asked: list[Node], size: int, volume: int) -> Entry | None:
    """A recent entry that gives all that is asked for, and not much more.

    One that checks indices is not taken: what fails there may be no part of this recording.
    """
    for each in RECENT.get(recording.entry or RECENT) or ():
        enough = all(node in each.made for node in asked) and _may_take(recording, each)
        small = each.nodes <= SPARE_NODES + size * 5 // 4
        if enough and small and each.volume <= SPARE_BYTES + volume * 5 // 4 and not each.checks:
            found: Entry = each
            return found
    return None


def _may_take(recording: Recording, entry: Entry) -> bool:
    """Whether `recording` has all that the program of `entry`, a larger one, reads.

    What is traced will be replayed often: it gets a program that computes nothing else.
    """
    if recording.trace is not None:
        return False
    floats = all(k < len(recording.floats) for k in entry.floats)
    ints = all(k < len(recording.ints) for k in entry.ints)
    return floats and ints and set(recording.leaves.values()).issuperset(entry.leaves)


def _remember(before: Entry | None, entry: Entry) -> None:
    """Let `entry`, which has run after `before`, be taken where less is asked for."""
    key = before or RECENT
    recent: tuple[Entry, ...] = RECENT.get(key) or ()
    RECENT.replace(key, (entry, *recent[: MOST_RECENT - 1]))


def without_markers(each: Node, known: dict[Node, int]) -> Node:
    """What `each` is an identity of."""
    while each.op.kind == "marker" and each not in known:
        each = each.inputs[0]
    return each


def _exists(each: Node, known: dict[Node, int]) -> bool:
    return each in known or each.op is sources.input_


def _place(each: Node, known: dict[Node, int]) -> int:
    found = known.get(each)
    return ~each.attrs[0] if found is None else found
