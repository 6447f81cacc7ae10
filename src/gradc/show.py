"""What the build cache holds, written for people."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from .runtime.cache import Cache
from .runtime.manifest import Manifest, read_manifest

SIZES = ("B", "kB", "MB", "GB")
AGES = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
SHORT = 10
HEADER = re.compile(r"/\* <<< (\S+) \*/\n.*?/\* >>> \1 \*/\n", re.DOTALL)


class ShowError(Exception):
    """A program that the cache does not have."""


@dataclass(frozen=True)
class Cached:
    """One entry of the cache; `manifest` is None where it is no program."""

    key: str
    folder: Path
    size: int
    modified: float
    manifest: Manifest | None


def cached_programs(cache: Cache) -> list[Cached]:
    """The entries of the cache, the newest first."""
    found = map(read_manifest, cache.documents("manifest"))
    manifests = {each.library: each for each in found if each is not None}
    entries = [
        Cached(each.key, each.folder, each.size, each.modified, manifests.get(each.key))
        for each in cache.entries()
    ]
    return sorted(entries, key=lambda each: (-each.modified, each.key))


def listed(entries: list[Cached], width: int) -> str:
    """A table of the entries, in lines of at most `width` columns."""
    now = time.time()
    rows = [("#", "key", "size", "age", "kernels")]
    for number, each in enumerate(entries, 1):
        size, age = shown_size(each.size), shown_age(now - each.modified)
        rows.append((str(number), each.key[:SHORT], size, age, _kernels(each)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = []
    for place, key, size, age, kernels in rows:
        aligned = (place.rjust(widths[0]), key.ljust(widths[1]))
        measured = (size.rjust(widths[2]), age.rjust(widths[3]))
        lines.append(_cut("  ".join((*aligned, *measured, kernels)), width))
    return "\n".join(lines)


def chosen(entries: list[Cached], wanted: str) -> Cached:
    """The entry with a number of the list, or with a key that begins so."""
    if wanted.isdecimal() and 1 <= int(wanted) <= len(entries):
        return entries[int(wanted) - 1]
    found = [each for each in entries if wanted and each.key.startswith(wanted.lower())]
    if len(found) == 1:
        return found[0]
    if found:
        raise ShowError(f"{len(found)} keys begin with {wanted}: give more of it")
    raise ShowError(f"no program {wanted} among the {len(entries)} that are cached")


def summary_of(cache: Cache, entry: Cached) -> str:
    """What the program is: its kernels, its memory and its graph."""
    lines = [f"key      {entry.key}", f"folder   {entry.folder}"]
    if entry.manifest is not None:
        names = ", ".join(entry.manifest.kernels)
        lines.append(fill(f"kernels  {names}", 100, subsequent_indent=" " * 9))
        lines.append(f"arena    {shown_size(entry.manifest.arena)}")
    document = cache.read_document("graph", entry.key)
    if document is not None:
        lines += ["", str(document.get("graph", "")).rstrip()]
    return "\n".join(lines)


def source_of(entry: Cached, full: bool) -> str:
    """The source text; headers, which are the same in all programs, only if it is to be `full`."""
    names = ("listing.c", "source.c", "source.cu")
    found = next((path for name in names if (path := entry.folder / name).exists()), None)
    if found is None:
        raise ShowError(f"the entry {entry.key[:SHORT]} has no source")
    text = found.read_text(encoding="utf-8")
    return text if full else HEADER.sub(r"/* \1 stands here: see --full. */\n", text)


def highlighted(text: str) -> str:
    """C with the colours of a terminal, where pygments is installed."""
    try:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import CLexer
    except ImportError:
        return text
    return str(highlight(text, CLexer(), TerminalFormatter()))


def shown_size(nbytes: int) -> str:
    """A size in the unit that fits."""
    size = float(nbytes)
    for unit in SIZES:
        if size < 1000 or unit == SIZES[-1]:
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"


def shown_age(seconds: float) -> str:
    """A duration in the largest unit that counts."""
    for unit, length in AGES:
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return "now"


def _kernels(entry: Cached) -> str:
    if entry.manifest is None:
        return "(support library)"
    names = entry.manifest.kernels
    return f"{len(names)}: {', '.join(names)}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(width - 3, 0)] + "..."
