"""The command line: what is cached, as people read it."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from . import show
from ._version import __version__
from .runtime.cache import Cache, open_cache


def main(arguments: list[str] | None = None) -> int:
    """Run one command; gives the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read this has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (show.ShowError, OSError) as error:
        print(f"gradc: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gradc", description="What gradc has built and cached.")
    parser.add_argument("--version", action="version", version=f"gradc {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    showing = commands.add_parser("show", help="list the cached programs, or print one")
    showing.add_argument("program", nargs="?", help="a number of the list, or how a key begins")
    showing.add_argument("--full", action="store_true", help="with the headers in the source")
    showing.set_defaults(run=_show)
    caching = commands.add_parser("cache", help="tell where the cache is, or empty it")
    caching.add_argument("action", nargs="?", choices=["clear"], help="remove all that is cached")
    caching.set_defaults(run=_cache)
    return parser


def _show(options: argparse.Namespace) -> int:
    cache = open_cache()
    entries = show.cached_programs(cache)
    if options.program is not None:
        entry = show.chosen(entries, options.program)
        text = show.source_of(entry, options.full)
        coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(show.summary_of(cache, entry), end="\n\n")
        print((show.highlighted(text) if coloured else text).rstrip())
    elif entries:
        wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
        print(show.listed(entries, wide))
    else:
        print(f"nothing is cached in {cache.root}")
    return 0


def _cache(options: argparse.Namespace) -> int:
    cache = open_cache()
    if options.action == "clear":
        freed = cache.size()
        cache.clear()
        print(f"removed {show.shown_size(freed)} from {cache.root}")
    else:
        print(_described(cache))
    return 0


def _described(cache: Cache) -> str:
    count = len(cache.entries())
    size = show.shown_size(cache.size()) if count else "empty"
    return f"path     {cache.root}\nentries  {count}\nsize     {size}"


if __name__ == "__main__":
    sys.exit(main())
