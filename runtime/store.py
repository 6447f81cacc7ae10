"""A folder of build results, addressed by the digest of what made them.

    CACHEDIR.TAG          says that the folder is gradc's
    <first two>/<key>/    source.c library.so key.json checksum build.log [listing.c]
    manifests/<kind>/<first two>/<digest>.json
    building/build-*/     what is being made; complete things leave it by rename
    failed/<digest>/      sources that did not compile, kept for reading
    locks/<key>.lock

A key is the digest of key.json; `checksum` holds name and digest of the artifact, as sha256sum
writes them. Entries never change: a damaged one counts as missing and is replaced whole.

A folder that was empty or not there gets the tag. One that has other things in it stays what it is:
the store goes into a folder within it. Only what has the names above, in a folder with the tag, is
ever removed, and no link is followed.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from .digest import canonical, digest
from .trust import DamagedError, exposed_parent, is_own_folder, opened, read

KEY, CHECKSUM, TAG = "key.json", "checksum", "CACHEDIR.TAG"
BUILDING, MANIFESTS, FAILED, LOCKS = "building", "manifests", "failed", "locks"
WITHIN = "gradc-cache"  # the store's folder in one that has other things in it
MARK = b"""Signature: 8a477f597d28d172789f06886806bc55
# A build cache of gradc (https://bford.info/cachedir/): what gradc has made here, it may remove.
"""
PREFIX = "build-"
DIGEST = "[0-9a-f]{64}"
# What the store makes: patterns of names, from its folder down.
ENTRIES = ("[0-9a-f]{2}", DIGEST)
DOCUMENTS = (MANIFESTS, r"\w+", "[0-9a-f]{2}", r"[0-9a-f]{2,64}\.json")
STAGES = (BUILDING, PREFIX + r"\w{8}")
FAILURES = (FAILED, DIGEST)
LOCK_FILES = (LOCKS, DIGEST + r"\.lock")

PRIVATE, PRIVATE_FILE = 0o700, 0o600
ABANDONED = 86400.0  # seconds after which a folder in building/ belongs to a process that died
YOUNG = 60.0  # seconds in which it may not have its lock yet
TRIES = 10  # for what somebody removes while it is made


class Entry(NamedTuple):
    """What the store has under a key, and the named parts of that key, for people."""

    key: str
    folder: Path
    parts: dict[str, Any]
    size: int
    modified: float


class Store:
    """The raw store at one folder; what the disk refuses is raised as OSError."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: Path | None = None
        self._held: dict[Path, int] = {}  # the locks of what this process is making

    def prepare(self) -> Path:
        """Make the store's folder and return it; raise OSError where it can't be used."""
        self._known = None
        named = Path(os.path.realpath(self.root))
        if exposed := exposed_parent(named):
            raise PermissionError(f"others can write to {exposed}, or own it")
        _make_folders(named)
        for folder in (named, named / WITHIN):
            if folder != named:
                folder.mkdir(mode=PRIVATE, exist_ok=True)
            if not is_own_folder(folder):
                raise PermissionError(f"others can write to {folder}, or own it")
            if _is_marked(folder) or _mark(folder):
                self._known = folder
                return folder
        raise FileExistsError(f"{named / WITHIN} has things in it that gradc has not made")

    @property
    def home(self) -> Path | None:
        """The folder with the tag, or None where there is none that can be trusted."""
        if self._known is None:
            named = Path(os.path.realpath(self.root))
            marked = (each for each in (named, named / WITHIN) if _is_marked(each))
            found = next(marked, None)
            if found is None or exposed_parent(named):
                return None
            self._known = found
        return self._known if is_own_folder(self._known) else None

    def folder(self, key: str) -> Path:
        """Where the entry of a key is, or would be."""
        return (self.home or self.root) / key[:2] / key

    def find(self, key: str) -> Path | None:
        """The artifact of a sound entry, or None."""
        home = self.home
        if home is None:
            return None
        folder = home / key[:2] / key
        if not (is_own_folder(folder.parent) and is_own_folder(folder)):
            return None
        try:
            if digest(read(folder / KEY)) != key:
                return None
            artifact = folder / _recorded(folder)[1]
            with sound(artifact):
                return artifact
        except (OSError, ValueError):
            return None

    def stage(self) -> Path:
        """A fresh folder on the same file system, to make an entry in; `discard` it afterwards."""
        from tempfile import mkdtemp

        home = self.home or self.prepare()
        building = own_folder(home / BUILDING)
        self._sweep(home)
        stage = Path(mkdtemp(dir=building, prefix=PREFIX))
        if (descriptor := _locked(stage)) is not None:
            self._held[stage] = descriptor
        return stage

    def discard(self, stage: Path) -> None:
        """Remove what is left of a staged folder."""
        discard(stage)
        descriptor = self._held.pop(stage, None)
        if descriptor is not None:
            os.close(descriptor)

    def publish(self, parts: Mapping[str, Any], artifact: Path) -> Path:
        """Give a staged artifact and its folder their place; who loses the race takes the winner's.

        Returns the path of the artifact.
        """
        text = canonical(parts)
        key = digest(text)
        stage = artifact.parent
        artifact.chmod(PRIVATE_FILE)  # whatever the umask made of it
        (stage / KEY).write_bytes(text.encode())
        line = f"{digest(artifact.read_bytes())}  {artifact.name}\n"
        (stage / CHECKSUM).write_text(line, encoding="ascii")
        for name in (KEY, CHECKSUM):
            (stage / name).chmod(PRIVATE_FILE)
        target = self.folder(key)
        for _ in range(TRIES):  # another process may clear the cache at any moment
            own_folder(target.parent)
            try:
                stage.rename(target)
            except OSError:
                if winner := self.find(key):
                    return winner
                if not stage.exists():
                    raise
                self._remove_damaged(target)
            else:
                return target / artifact.name
        raise DamagedError(f"{target} cannot be replaced")

    def read_document(self, kind: str, name: str) -> dict[str, Any] | None:
        """A document as it was written, or None."""
        import json

        home = self.home
        if home is None:
            return None
        path = _document(home, kind, name)
        try:
            if not is_own_folder(path.parent):
                return None
            checksum, _, text = read(path).decode().partition("\n")
            content = json.loads(text) if checksum == digest(text) else None
        except (OSError, ValueError, RecursionError):
            return None
        return content if isinstance(content, dict) else None

    def write_document(self, kind: str, name: str, content: Mapping[str, Any]) -> None:
        """Write a small JSON document, at once or not at all."""
        text = canonical(content)
        home = self.home or self.prepare()
        path = _document(home, kind, name)
        for attempt in range(TRIES):  # another process may clear the cache at any moment
            try:
                for folder in (path.parents[2], path.parents[1], path.parent):
                    own_folder(folder)
                return write_whole(path, f"{digest(text)}\n{text}")
            except IsADirectoryError:
                self._remove_damaged(path)
            except FileNotFoundError:
                if attempt == TRIES - 1 or not home.exists():
                    raise

    def documents(self, kind: str) -> Iterator[dict[str, Any]]:
        """All sound documents of a kind."""
        for path in self._made(MANIFESTS, kind, *DOCUMENTS[2:]):
            content = self.read_document(kind, path.stem)
            if content is not None:
                yield content

    def entries(self) -> Iterator[Entry]:
        """All entries, whole or damaged."""
        for folder in self._made(*ENTRIES):
            with suppress(OSError):
                yield self._describe(folder)

    def size(self) -> int:
        """Bytes in all files that the store has made."""
        kinds = (ENTRIES, DOCUMENTS, FAILURES)
        return sum(_size(each) for kind in kinds for each in self._made(*kind))

    def clear(self) -> None:
        """Remove what the store made, and nothing else; what is loaded stays loaded.

        What another process is making now stays too, and finds its place.
        """
        home = self.home
        if home is None:
            return
        for kind in (ENTRIES, DOCUMENTS, FAILURES, STAGES, LOCK_FILES):
            for path in list(self._made(*kind)):
                if kind not in (STAGES, LOCK_FILES) or _is_free(path):
                    discard(path)
                for folder in path.parents[: len(kind) - 1]:
                    with suppress(OSError):  # not empty
                        folder.rmdir()
        for name in (BUILDING, LOCKS, FAILED, MANIFESTS):
            with suppress(OSError):
                (home / name).rmdir()

    def _made(self, *patterns: str) -> Iterator[Path]:
        home = self.home
        return iter(()) if home is None else below(home, *patterns)

    def _describe(self, folder: Path) -> Entry:
        import json

        try:
            parts = json.loads(read(folder / KEY))
        except (OSError, ValueError):
            parts = {}
        parts = parts if isinstance(parts, dict) else {}
        return Entry(folder.name, folder, parts, _size(folder), folder.lstat().st_mtime)

    def _remove_damaged(self, target: Path) -> None:
        """Remove an entry; by rename first, so that nobody meets half of it."""
        grave = self.stage()
        with suppress(FileNotFoundError):
            target.rename(grave / "damaged")
        self.discard(grave)

    def _sweep(self, home: Path) -> None:
        now = time.time()
        for folder in below(home, *STAGES):
            with suppress(OSError):
                age = now - folder.lstat().st_mtime
                if age > ABANDONED or (age > YOUNG and _is_free(folder)):
                    discard(folder)


@contextmanager
def sound(artifact: Path) -> Iterator[tuple[int, bytes]]:
    """A descriptor of an artifact of an entry, and its content, which is as it was made.

    Raises OSError where it is not.
    """
    checksum, name = _recorded(artifact.parent)
    with opened(artifact) as (descriptor, content):
        if name != artifact.name or digest(content) != checksum:
            raise DamagedError(f"{artifact} is not as it was made")
        yield descriptor, content


def _recorded(folder: Path) -> tuple[str, str]:
    """Checksum and name of the artifact of an entry."""
    checksum, _, name = read(folder / CHECKSUM).decode("ascii", "replace").partition("  ")
    name = name.strip()
    if name in ("", os.curdir, os.pardir) or Path(name).name != name:
        raise DamagedError(f"{folder / CHECKSUM} names no file")
    return checksum, name


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """What changes with a file's content: its time can be set, but not the time of its change."""
    return (
        *(status.st_size, status.st_mtime_ns, status.st_ctime_ns),
        *(status.st_ino, status.st_dev),
    )


def below(folder: str | Path, pattern: str, *patterns: str) -> Iterator[Path]:
    """What has names like these, level by level, in a folder; links are not followed."""
    import re

    try:
        found = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError:
        return
    for each in found:
        if not re.fullmatch(pattern, each.name):
            continue
        if not patterns:
            yield Path(each.path)
        elif each.is_dir(follow_symlinks=False):
            yield from below(each.path, *patterns)


def _is_marked(folder: Path) -> bool:
    """Whether the folder has gradc's tag, which others may be writing at this moment."""
    for _ in range(TRIES):
        try:
            found = read(folder / TAG)
        except OSError:
            return False
        if found == MARK or not MARK.startswith(found):
            break
        time.sleep(0.005)
    return found == MARK and is_own_folder(folder)


def _mark(folder: Path) -> bool:
    """Give an empty folder the tag."""
    with os.scandir(folder) as entries:
        names = [each.name for each in entries]
    if names and names != [TAG]:
        return False
    if names and not MARK.startswith(read(folder / TAG)):
        return False
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(folder / TAG, flags, PRIVATE_FILE)
    try:
        os.write(descriptor, MARK)
    finally:
        os.close(descriptor)
    return True


def _make_folders(path: Path) -> None:
    """Make a folder and those above it, each private."""
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for folder in missing[::-1]:
        folder.mkdir(mode=PRIVATE, exist_ok=True)


def own_folder(path: Path) -> Path:
    """Make a folder in the store; what is there but no folder is removed, and others shut out."""
    try:
        path.mkdir(mode=PRIVATE)
    except FileExistsError:
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            path.mkdir(mode=PRIVATE)
        elif not is_own_folder(path):
            path.chmod(PRIVATE)
    return path


def _document(home: Path, kind: str, name: str) -> Path:
    return home / MANIFESTS / kind / name[:2] / f"{name}.json"


def _size(path: Path) -> int:
    """Bytes in a file, or in all files of a folder."""
    inside = [Path(at, name) for at, _, names in os.walk(path) for name in names]
    total = 0
    for each in inside or [path]:
        with suppress(OSError):
            total += each.lstat().st_size
    return total


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a file or folder; None where locks don't work.

    Raises BlockingIOError where somebody else holds it.
    """
    import fcntl

    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    descriptor = None
    try:
        descriptor = os.open(path, flags)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if descriptor is not None:
            os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor


def _is_free(path: Path) -> bool:
    """Whether nobody holds the lock of a file or folder."""
    try:
        descriptor = _locked(path)
    except BlockingIOError:
        return False
    if descriptor is not None:
        os.close(descriptor)
    return True


def discard(folder: Path) -> None:
    """Remove a folder and what is in it, or what is in its place; links are not followed."""
    from shutil import rmtree

    if folder.is_symlink() or not folder.is_dir():
        with suppress(OSError):
            folder.unlink()
    else:
        rmtree(folder, ignore_errors=True)


def keep_failed(stage: Path) -> Path:
    """Move a staged folder that led to nothing to where people find it; returns its new path."""
    sources = sorted(stage.glob("source.*"))
    content = b"".join(path.read_bytes() for path in sources if path.is_file())
    target = own_folder(stage.parents[1] / FAILED) / digest(content)
    discard(target)
    with suppress(OSError):  # another process keeps the same source at this moment
        stage.rename(target)
    return target


def write_whole(path: Path, text: str) -> None:
    """Write a private file at once or not at all."""
    from tempfile import mkstemp

    descriptor, name = mkstemp(dir=path.parent)
    staged = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
        staged.replace(path)
    except OSError:
        staged.unlink(missing_ok=True)
        raise
