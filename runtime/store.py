"""A folder of build results, addressed by the digest of what made them.

    <first two>/<key>/    source.c library.so key.json checksum build.log [listing.c]
    manifests/<kind>/<first two>/<digest>.json
    building/             what is being made; complete things leave it by rename
    failed/<digest>/      sources that did not compile, kept for reading
    locks/

A key is the digest of key.json; `checksum` holds name and digest of the artifact, as sha256sum
writes them. Entries never change: a damaged one counts as missing and is replaced whole.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .digest import canonical, digest

KEY, CHECKSUM = "key.json", "checksum"
BUILDING, MANIFESTS, FAILED, LOCKS = "building", "manifests", "failed", "locks"
ENTRIES = "??/" + 64 * "[0-9a-f]"

PRIVATE, PRIVATE_FILE = 0o700, 0o600
WRITABLE_BY_OTHERS = 0o022
ABANDONED = 86400.0  # seconds after which a folder in building/ belongs to a process that died


class Entry(NamedTuple):
    """What the store has under a key, and the named parts of that key, for people."""

    key: str
    folder: Path
    parts: dict[str, Any]
    size: int
    modified: float


def is_trusted(path: Path) -> bool:
    """Whether nobody but this user (or root) can have written the file or folder."""
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid in (0, os.getuid()) and not status.st_mode & WRITABLE_BY_OTHERS


class Store:
    """The raw store at one folder; what the disk refuses is raised as OSError."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Make the folder; raise OSError where it can't be used."""
        self.root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if not is_trusted(self.root):
            raise PermissionError(f"others can write to {self.root}, or own it")

    def folder(self, key: str) -> Path:
        """Where the entry of a key is, or would be."""
        return self.root / key[:2] / key

    def find(self, key: str) -> Path | None:
        """The artifact of a sound entry, or None."""
        folder = self.folder(key)
        if not (is_trusted(self.root) and is_trusted(folder)):
            return None
        try:
            checksum, _, name = (folder / CHECKSUM).read_text(encoding="ascii").partition("  ")
            artifact = folder / name.strip()
            sound = (
                artifact.parent == folder
                and is_trusted(artifact)
                and digest(artifact.read_bytes()) == checksum
                and digest((folder / KEY).read_bytes()) == key
            )
        except (OSError, ValueError):
            return None
        return artifact if sound else None

    def stage(self) -> Path:
        """A fresh folder on the same file system, to make an entry in."""
        from tempfile import mkdtemp

        building = self.root / BUILDING
        building.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        self._sweep(building)
        return Path(mkdtemp(dir=building))

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
        target = self.folder(key)
        target.parent.mkdir(mode=PRIVATE, exist_ok=True)
        try:
            stage.rename(target)
        except OSError:
            if winner := self.find(key):
                discard(stage)
                return winner
            self._remove_damaged(target)
            stage.rename(target)
        return target / artifact.name

    def read_document(self, kind: str, name: str) -> dict[str, Any] | None:
        """A document as it was written, or None."""
        import json

        path = self._document(kind, name)
        if not (is_trusted(self.root) and is_trusted(path)):
            return None
        try:
            checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
            content = json.loads(text) if checksum == digest(text) else None
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def write_document(self, kind: str, name: str, content: Mapping[str, Any]) -> None:
        """Write a small JSON document, at once or not at all."""
        text = canonical(content)
        path = self._document(kind, name)
        path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        write_whole(path, f"{digest(text)}\n{text}")

    def documents(self, kind: str) -> Iterator[dict[str, Any]]:
        """All sound documents of a kind."""
        for path in sorted((self.root / MANIFESTS / kind).glob("??/*.json")):
            content = self.read_document(kind, path.stem)
            if content is not None:
                yield content

    def entries(self) -> Iterator[Entry]:
        """All entries, whole or damaged."""
        for folder in sorted(self.root.glob(ENTRIES)):
            with suppress(OSError):
                yield self._describe(folder)

    def size(self) -> int:
        """Bytes in all files."""
        return sum(path.lstat().st_size for path in self.root.rglob("*") if path.is_file())

    def clear(self) -> None:
        """Remove what the store made, and nothing else; what is loaded stays loaded."""
        for entry in list(self.root.glob(ENTRIES)):
            discard(entry)
            with suppress(OSError):  # not empty
                entry.parent.rmdir()
        for name in (BUILDING, MANIFESTS, FAILED, LOCKS):
            discard(self.root / name)

    def _document(self, kind: str, name: str) -> Path:
        return self.root / MANIFESTS / kind / name[:2] / f"{name}.json"

    def _describe(self, folder: Path) -> Entry:
        import json

        files = [file.stat() for file in folder.iterdir()]
        try:
            parts = json.loads((folder / KEY).read_bytes())
        except (OSError, ValueError):
            parts = {}
        size = sum(status.st_size for status in files)
        return Entry(folder.name, folder, parts, size, folder.stat().st_mtime)

    def _remove_damaged(self, target: Path) -> None:
        """Remove an entry; by rename first, so that nobody meets half of it."""
        grave = self.stage()
        with suppress(FileNotFoundError):
            target.rename(grave / "damaged")
        discard(grave)

    def _sweep(self, building: Path) -> None:
        limit = time.time() - ABANDONED
        for folder in building.iterdir():
            with suppress(OSError):
                if folder.stat().st_mtime < limit:
                    discard(folder)


def discard(folder: Path) -> None:
    """Remove a folder and what is in it, if it is still there."""
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def keep_failed(stage: Path) -> Path:
    """Move a staged folder that led to nothing to where people find it; returns its new path."""
    content = b"".join(path.read_bytes() for path in sorted(stage.glob("source.*")))
    target = stage.parents[1] / FAILED / digest(content)
    target.parent.mkdir(mode=PRIVATE, exist_ok=True)
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
