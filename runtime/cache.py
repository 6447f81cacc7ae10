"""The build cache: one folder on disk for all processes of a user, or a private one if need be.

The folder is GRADC_CACHE_DIR, else $XDG_CACHE_HOME/gradc, else ~/.cache/gradc, else a folder of the
user's own in the temporary folder. Where it is not usable (read only, full, or others can write it)
this process goes on in a temporary folder of its own, with one warning and the same results. It is
tried again for each program: disks become free, and folders come back.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from .digest import key_of
from .faults import is_passing
from .locks import exclusive
from .store import LOCKS, Entry, Store, discard, keep_failed, own_folder, write_whole

FORMAT = 1  # of the layout in store.py; part of every key
Parts = Mapping[str, Any]
Make = Callable[[Path], Path]  # makes an artifact in the given folder and returns its path
T = TypeVar("T")


class CacheWarning(UserWarning):
    """The build cache is not usable; what is built now is forgotten when the process ends."""


def default_root() -> Path:
    """The folder of the cache, by the environment."""
    if named := os.environ.get("GRADC_CACHE_DIR"):
        return Path(named).absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "gradc"
    try:
        return Path.home() / ".cache" / "gradc"
    except RuntimeError:  # HOME is unset and the user is unknown
        from tempfile import gettempdir

        return Path(gettempdir()) / f"gradc-{os.getuid()}"


class Cache:
    """Finds artifacts by the named parts of their key, and makes what is missing once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._shared = Store(root)
        self._private: tuple[int, Store] | None = None  # with the process that made it
        self._warned = False

    def find(self, key: str) -> Path | None:
        """The artifact of a key, or None; damaged and untrusted ones don't count."""
        return self._first(lambda store: store.find(key))

    def fetch(self, parts: Parts, make: Make) -> Path:
        """The artifact of these parts; `make` makes it if no process has done so yet."""
        parts = {"format": FORMAT, **parts}
        key = key_of(parts)
        if found := self.find(key):
            return found
        with self._lock(key):
            return self.find(key) or self._write(lambda store: _build(store, parts, make))

    def read_document(self, kind: str, name: str) -> dict[str, Any] | None:
        """A small JSON document by the digest of what it is about, or None."""
        return self._first(lambda store: store.read_document(kind, name))

    def write_document(self, kind: str, name: str, content: Mapping[str, Any]) -> None:
        """Remember a small JSON document, where that can be done: nothing depends on it."""
        with suppress(OSError):
            self._write(lambda store: store.write_document(kind, name, content))

    def keep_failure(self, name: str, text: str) -> Path:
        """Write what has led to nothing into a file that people may read, in the shared store."""
        self._shared.prepare()
        stage = self._shared.stage()
        try:
            write_whole(stage / name, text)
            return keep_failed(stage) / name
        finally:
            self._shared.discard(stage)

    def documents(self, kind: str) -> list[dict[str, Any]]:
        """All documents of a kind, for people."""
        return list(self._shared.documents(kind))

    def entries(self) -> list[Entry]:
        """What the cache has, for people."""
        return list(self._shared.entries())

    def size(self) -> int:
        """Bytes on disk."""
        return self._shared.size()

    def clear(self) -> None:
        """Remove everything; programs that are loaded go on."""
        for store in self._stores():
            store.clear()

    def _first(self, look: Callable[[Store], T | None]) -> T | None:
        return next((found for store in self._stores() if (found := look(store))), None)

    def _stores(self) -> Iterator[Store]:
        yield self._shared
        if self._private and self._private[0] == os.getpid():
            yield self._private[1]

    def _write(self, write: Callable[[Store], T]) -> T:
        """What `write` gives for the shared store, or else for a private one.

        Where no process, memory or file is to be had, another folder does not help: that is raised.
        """
        try:
            self._shared.prepare()
            try:
                return write(self._shared)
            except FileNotFoundError:  # somebody has removed what was being made
                self._shared.prepare()
                return write(self._shared)
        except OSError as error:
            if is_passing(error):
                raise
            self._warn(error)
        return write(self._make_private())

    def _warn(self, error: OSError) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"the build cache {self.root} is not usable ({error}): programs are built in a"
            " temporary folder and forgotten when the process ends. Set GRADC_CACHE_DIR to a folder"
            " that only you can write.",
            CacheWarning,
            stacklevel=2,
        )

    def _make_private(self) -> Store:
        if self._private is None or self._private[0] != os.getpid():
            import atexit
            from tempfile import mkdtemp

            owner, folder = os.getpid(), Path(mkdtemp(prefix="gradc-"))
            atexit.register(_discard_own, owner, folder)
            self._private = owner, Store(folder)
        return self._private[1]

    @contextmanager
    def _lock(self, key: str) -> Iterator[None]:
        try:
            lock = own_folder(self._shared.prepare() / LOCKS) / f"{key}.lock"
        except OSError:  # the build meets the same obstacle, and says so
            lock = None
        with exclusive(lock) if lock else nullcontext():
            yield


def _build(store: Store, parts: Parts, make: Make) -> Path:
    stage = store.stage()
    try:
        return store.publish(parts, make(stage))
    finally:
        store.discard(stage)


def _discard_own(owner: int, folder: Path) -> None:
    if os.getpid() == owner:  # a forked child leaves its parent's folder alone
        discard(folder)


_caches: dict[Path, Cache] = {}


def open_cache() -> Cache:
    """The cache of this process, by the environment as it is now."""
    root = default_root()
    return _caches.setdefault(root, Cache(root))
