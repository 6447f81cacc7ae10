"""Runs the Python of one page of the documentation, and compares what it prints with the page.

    python tests/run_page.py docs/training.md

The blocks of a page are one program. Behind `# →` stands what the line prints; further lines of
output follow as comments of that kind. A print without it is not compared.
"""

import ast
import io
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"# → (.*)$")

GIVEN = {
    "README.md": """
import gradc, gradc.module as M, gradc.optimizer as optim
network = M.Linear(3, 2)
batches = [(gradc.tensor([[1.0, 2.0, 3.0]]), gradc.tensor([1]))] * 2
"""
}
"""What a page takes for granted."""


def program(text: str) -> str:
    """The blocks of a page, each line at its place in the page."""
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines) + "\n"


def expected(code: str) -> dict[int, list[str]]:
    """What the statement that begins at each line prints, by the comments behind and below it."""
    begins = beginnings(code)
    found: dict[int, list[str]] = {}
    last = 0
    for number, line in enumerate(code.splitlines(), 1):
        last = begins.get(number, last)
        if arrow := ARROW.search(line):
            found.setdefault(last, []).append(arrow[1].rstrip())
    return found


def beginnings(code: str) -> dict[int, int]:
    """For each line that belongs to a statement, where that statement begins."""
    found: dict[int, int] = {}
    for each in ast.walk(ast.parse(code)):  # what is inside comes later
        if isinstance(each, ast.stmt):
            last = each.lineno if hasattr(each, "body") else each.end_lineno or each.lineno
            found.update(dict.fromkeys(range(each.lineno, last + 1), each.lineno))
    return found


class Printed(io.TextIOBase):
    """A standard output that knows which statement of the page writes to it."""

    def __init__(self, page: str, begins: dict[int, int]) -> None:
        self._page = page
        self._begins = begins
        self._texts: dict[int, str] = {}

    def write(self, text: str) -> int:
        """Keep the text under the statement of the page that is being run."""
        frame = sys._getframe(1)
        while frame.f_code.co_filename != self._page:
            assert frame.f_back is not None
            frame = frame.f_back
        line = self._begins.get(frame.f_lineno, frame.f_lineno)
        self._texts[line] = self._texts.get(line, "") + text
        return len(text)

    def by(self, line: int) -> list[str]:
        """What the statement that begins at this line printed, line by line."""
        return [each.rstrip() for each in self._texts.get(line, "").splitlines()]


def differences(page: Path) -> Iterator[str]:
    """Run the page; yield what it prints otherwise than it says."""
    text = page.read_text(encoding="utf-8")
    code = program(text)
    linecache.cache[page.name] = (len(code), None, code.splitlines(keepends=True), page.name)
    names = {"__name__": page.stem}
    exec(GIVEN.get(page.name, ""), names)
    with redirect_stdout(Printed(page.name, beginnings(code))) as printed:
        exec(compile(code, page.name, "exec"), names)
    for line, values in expected(code).items():
        if (found := printed.by(line)) != values:
            yield f"{page.name}:{line} prints {found}, the page says {values}"


if __name__ == "__main__":
    different = list(differences(Path(sys.argv[1])))
    sys.exit("\n".join(different) if different else 0)
