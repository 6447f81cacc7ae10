"""Failures of gradc's own passes: what is kept of them, so that they can be seen again.

A pass that raises must not stop the user, who cannot mend it: the graph is interpreted. It is kept,
with all that is needed to see the failure again, where people and the next developer find it.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from pathlib import Path

from ..tracer.errors import GradcError
from ..tracer.graph import Graph
from ..tracer.text import show
from .store import write_whole

PROGRAM = "source.py"
MOST_LINES = 40
"""Lines of a traceback that are kept, from its end: that of a recursion has thousands."""

TEMPLATE = '''\
"""A graph that gradc could not compile, and the call that fails: python {name}

{trace}
"""

from gradc.codegen.pipeline import translate
from gradc.codegen.target import C
from gradc.tracer.text import parse

GRAPH = """
{graph}"""

print(translate(parse(GRAPH.lstrip()), C, verify=True).source.text)
'''


class TranslationError(GradcError, RuntimeError):
    """A pass that fails, or makes a program that may not be run: an error in gradc."""

    def __init__(self, graph: Graph, error: Exception) -> None:
        super().__init__()
        self.graph = graph
        self.error = error

    @property
    def place(self) -> str:
        """Where the error was raised, in gradc's code."""
        frames = [each for each, _ in traceback.walk_tb(self.error.__traceback__)]
        last = frames[-1].f_code if frames else None
        return f"{Path(last.co_filename).name}, {last.co_name}" if last else "?"

    def __str__(self) -> str:
        """What has happened, without where it is kept."""
        what = f"{type(self.error).__name__}: {self.error}".rstrip(": ")
        return (
            "gradc could not make a program that may be run, which is an error in gradc: "
            f"{what} ({self.place})"
        )

    def keep(self) -> Path | None:
        """Write a program that fails again; its place, in the cache or a folder of its own.

        Nothing where neither can be written.
        """
        from .cache import open_cache

        with suppress(Exception):  # of the two, it is the failure that is to be told
            text = self._program()
            with suppress(Exception):
                return open_cache().keep_failure(PROGRAM, text)
            return _kept_apart(text)
        return None

    def _program(self) -> str:
        lines = "".join(traceback.format_exception(self.error)).rstrip().split("\n")
        cut = ["..."] if len(lines) > MOST_LINES else []
        trace = "\n".join([*cut, *lines[-MOST_LINES:]])
        return TEMPLATE.format(name=PROGRAM, trace=_quoted(trace), graph=_quoted(show(self.graph)))


def _quoted(text: str) -> str:
    """`text` as it stands between quotation marks in Python."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _kept_apart(text: str) -> Path:
    """Write `text` into a folder that stays when the process ends."""
    from tempfile import mkdtemp

    path = Path(mkdtemp(prefix="gradc-failed-")) / PROGRAM
    write_whole(path, text)
    return path
