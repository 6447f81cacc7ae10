"""Work that crashes, for the test of what survives it; a process imports it by name."""

from multiprocessing.connection import Connection

from peers.batch import Batch, Report
from peers.chain import EXP, chain
from peers.compare import compared
from peers.supervise import AGAIN

ABORT = "[{x}, __import__('os').abort()][0]"
BROKEN = chain(v0=(EXP[0], ABORT)), chain(v0=(ABORT, EXP[1]))


def crashing(batch: Batch, to: Connection) -> None:
    """A good program each time, then one that ends PyTorch, then one that ends gradc."""
    crash = batch.seed // AGAIN
    for program in [chain(v0=EXP), *BROKEN[crash : crash + 1]]:
        to.send((program, Report(programs=1)))
        compared(program)
    to.send((None, Report(programs=batch.programs)))
