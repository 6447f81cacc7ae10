"""The cache under faults: damage, races, killed processes, folders that cannot be used."""

import errno
import os
import stat
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gradc.runtime import cache as cache_module
from gradc.runtime.cache import Cache, CacheWarning, default_root, open_cache
from gradc.runtime.locks import exclusive
from gradc.runtime.store import Store, write_whole

PARTS = {"source": "42"}
CONTENT = b"a library"


class Maker:
    """Makes an artifact and counts how often it was asked to."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, stage: Path) -> Path:
        self.calls += 1
        (stage / "library.so").write_bytes(CONTENT)
        return stage / "library.so"


@pytest.fixture
def make() -> Maker:
    return Maker()


def test_second_fetch_makes_nothing(cache: Cache, make: Maker) -> None:
    first = cache.fetch(PARTS, make)
    again = Cache(cache.root).fetch(PARTS, make)
    assert first == again
    assert first.read_bytes() == CONTENT
    assert make.calls == 1


@pytest.mark.parametrize("parts", [{"source": "43"}, {"source": "42", "flags": "-O2"}, {}])
def test_other_parts_are_another_entry(cache: Cache, make: Maker, parts: dict[str, str]) -> None:
    assert cache.fetch(PARTS, make) != cache.fetch(parts, make)


def test_layout(cache: Cache, make: Maker) -> None:
    artifact = cache.fetch(PARTS, make)
    key = artifact.parent.name
    assert artifact.parent == cache.root / key[:2] / key
    assert {path.name for path in artifact.parent.iterdir()} == {
        "library.so",
        "key.json",
        "checksum",
    }
    assert list((cache.root / "building").iterdir()) == []
    assert list((cache.root / "locks").iterdir()) == []


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scramble(path: Path) -> None:
    path.write_bytes(b"\xff" * path.stat().st_size)


@pytest.mark.parametrize("damage", [truncate, scramble, Path.unlink])
@pytest.mark.parametrize("name", ["library.so", "key.json", "checksum"])
def test_damaged_entries_are_made_again(
    cache: Cache, make: Maker, name: str, damage: Callable[[Path], None]
) -> None:
    artifact = cache.fetch(PARTS, make)
    damage(artifact.with_name(name))
    assert cache.find(artifact.parent.name) is None
    assert cache.fetch(PARTS, make) == artifact
    assert artifact.read_bytes() == CONTENT
    assert make.calls == 2
    assert cache.find(artifact.parent.name) == artifact


def test_checksum_does_not_lead_out_of_the_entry(cache: Cache, make: Maker, tmp_path: Path) -> None:
    artifact = cache.fetch(PARTS, make)
    outside = tmp_path / "outside.so"
    outside.write_bytes(CONTENT)
    checksum = artifact.with_name("checksum")
    checksum.write_text(checksum.read_text().split()[0] + f"  ../../../{outside.name}\n")
    assert cache.find(artifact.parent.name) is None


def test_lost_race_takes_the_winners(cache: Cache, make: Maker) -> None:
    def lose(stage: Path) -> Path:
        Store(cache.root).publish({"format": cache_module.FORMAT, **PARTS}, make(rival))
        return make(stage)

    cache.root.mkdir(mode=0o700)
    rival = Store(cache.root).stage()
    artifact = cache.fetch(PARTS, lose)
    assert artifact.read_bytes() == CONTENT
    assert list((cache.root / "building").iterdir()) == []


def test_failing_make_leaves_nothing(cache: Cache, make: Maker) -> None:
    def fail(stage: Path) -> Path:
        make(stage)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        cache.fetch(PARTS, fail)
    assert list((cache.root / "building").iterdir()) == []
    assert cache.entries() == []
    assert cache.fetch(PARTS, make).read_bytes() == CONTENT


SLOW_BUILDER = """
    import sys, time
    from pathlib import Path
    from gradc.runtime.cache import Cache

    def make(stage):
        with open(sys.argv[2], "a") as log:
            log.write("made\\n")
        print("making", flush=True)
        time.sleep(float(sys.argv[3]))
        (stage / "library.so").write_bytes(b"a library")
        return stage / "library.so"

    print(Cache(Path(sys.argv[1])).fetch({"source": "42"}, make))
"""


def test_processes_that_race_make_it_once(
    cache: Cache, start: Callable[..., Any], finish: Callable[..., str], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    racers = [start(SLOW_BUILDER, cache.root, log, 0.5) for _ in range(3)]
    paths = {finish(racer).splitlines()[-1] for racer in racers}
    assert len(paths) == 1
    assert log.read_text() == "made\n"


def test_killed_builder_blocks_nobody(
    cache: Cache, make: Maker, start: Callable[..., Any], tmp_path: Path
) -> None:
    victim = start(SLOW_BUILDER, cache.root, tmp_path / "log", 600)
    assert victim.stdout.readline() == "making\n"
    victim.kill()
    victim.communicate()
    assert len(list((cache.root / "locks").iterdir())) == 1  # it stays, and means nothing
    before = time.monotonic()
    assert cache.fetch(PARTS, make).read_bytes() == CONTENT
    assert time.monotonic() - before < 5


def test_leftovers_of_the_dead_are_swept(cache: Cache, make: Maker) -> None:
    store = Store(cache.root)
    cache.root.mkdir(mode=0o700)
    old, young = store.stage(), store.stage()
    os.utime(old, (0, 0))
    cache.fetch(PARTS, make)
    assert not old.exists()
    assert young.exists()


def test_lock_gives_up_on_a_stopped_holder(tmp_path: Path) -> None:
    with exclusive(tmp_path / "lock") as first, exclusive(tmp_path / "lock", 0.05) as second:
        assert first
        assert not second


def test_lock_is_free_again(tmp_path: Path) -> None:
    for _ in range(2):
        with exclusive(tmp_path / "lock", 0.05) as held:
            assert held
    assert list(tmp_path.iterdir()) == []


def test_lock_without_a_folder_is_no_lock(tmp_path: Path) -> None:
    with exclusive(tmp_path / "missing" / "lock") as held:
        assert not held


def test_lock_where_the_file_system_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with exclusive(tmp_path / "lock") as held:
        assert not held


def use_a_file(root: Path) -> None:
    root.write_text("in the way")


def put_below_a_file(root: Path) -> None:
    root.parent.rmdir()
    root.parent.write_text("in the way")


def open_to_all(root: Path) -> None:
    root.mkdir()
    root.chmod(0o777)


@pytest.mark.parametrize("spoil", [use_a_file, put_below_a_file, open_to_all])
def test_unusable_folder_warns_once_and_works(
    tmp_path: Path, make: Maker, spoil: Callable[[Path], None]
) -> None:
    root = tmp_path / "parent" / "cache"
    root.parent.mkdir()
    spoil(root)
    cache = Cache(root)
    with pytest.warns(CacheWarning, match="GRADC_CACHE_DIR") as caught:
        artifact = cache.fetch(PARTS, make)
        other = cache.fetch({"source": "43"}, make)
        cache.write_document("kind", "name", {"a": 1})
    assert len(caught) == 1
    assert artifact.read_bytes() == other.read_bytes() == CONTENT
    assert cache.fetch(PARTS, make) == artifact
    assert cache.read_document("kind", "name") == {"a": 1}
    assert make.calls == 2
    assert not artifact.is_relative_to(root)
    assert stat.S_IMODE(artifact.parents[2].stat().st_mode) == 0o700


def test_full_disk(cache: Cache, make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = Store.publish

    def refuse(store: Store, parts: Any, artifact: Path) -> Path:
        if store.root == cache.root:
            raise OSError(errno.ENOSPC, "No space left on device")
        return publish(store, parts, artifact)

    monkeypatch.setattr(Store, "publish", refuse)
    with pytest.warns(CacheWarning, match="No space left"):
        assert cache.fetch(PARTS, make).read_bytes() == CONTENT


def test_entries_of_a_folder_that_became_read_only_are_used(
    cache: Cache, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(store: Store) -> Path:
        raise OSError(errno.EROFS, "Read-only file system")

    artifact = cache.fetch(PARTS, make)
    monkeypatch.setattr(Store, "stage", refuse)
    assert Cache(cache.root).fetch(PARTS, make) == artifact


def test_private_folder_vanishes_with_the_process(
    start: Callable[..., Any], finish: Callable[..., str]
) -> None:
    script = """
        import warnings
        from pathlib import Path
        from gradc.runtime.cache import Cache
        warnings.simplefilter("ignore")

        def make(stage):
            (stage / "library.so").write_bytes(b"")
            return stage / "library.so"

        print(Cache(Path("/dev/null/cache")).fetch({}, make))
    """
    artifact = Path(finish(start(script)).strip())
    assert artifact.name == "library.so"
    assert not artifact.parents[2].exists()


@pytest.mark.parametrize("depth", [0, 1, 3], ids=["artifact", "entry", "root"])
def test_what_others_can_write_is_not_used(cache: Cache, make: Maker, depth: int) -> None:
    artifact = cache.fetch(PARTS, make)
    exposed = [artifact, *artifact.parents][depth]
    exposed.chmod(exposed.stat().st_mode | 0o002)
    assert cache.find(artifact.parent.name) is None


def test_what_others_own_is_not_used(
    cache: Cache, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = cache.fetch(PARTS, make)
    if os.getuid() == 0:
        os.chown(artifact, 65534, -1)
    else:
        stranger = os.getuid() + 1
        monkeypatch.setattr("os.getuid", lambda: stranger)
    assert cache.find(artifact.parent.name) is None


def test_group_writable_umask_makes_private_entries(cache: Cache, make: Maker) -> None:
    before = os.umask(0o002)
    try:
        artifact = cache.fetch(PARTS, make)
    finally:
        os.umask(before)
    assert cache.find(artifact.parent.name) == artifact


@pytest.mark.parametrize("name", ["with space", "Größe—中文", 'it\'s "quoted" $HOME'])
def test_paths_with_odd_characters(tmp_path: Path, make: Maker, name: str) -> None:
    cache = Cache(tmp_path / name)
    assert cache.fetch(PARTS, make) == cache.fetch(PARTS, make)


def test_documents_return_as_written(cache: Cache) -> None:
    content = {"library": "ab12", "sizes": [1, 2], "name": "Größe", "peak": 1.5}
    cache.write_document("manifest", "ff00", content)
    assert Cache(cache.root).read_document("manifest", "ff00") == content
    assert cache.read_document("manifest", "ff01") is None
    assert cache.read_document("other", "ff00") is None


@pytest.mark.parametrize("damage", [truncate, scramble, Path.unlink])
def test_damaged_documents_are_missing(cache: Cache, damage: Callable[[Path], None]) -> None:
    cache.write_document("manifest", "ff00", {"a": 1})
    (path,) = cache.root.glob("manifests/manifest/ff/*.json")
    damage(path)
    assert cache.read_document("manifest", "ff00") is None
    cache.write_document("manifest", "ff00", {"a": 2})
    assert cache.read_document("manifest", "ff00") == {"a": 2}


def test_listing_beside_an_artifact(cache: Cache, make: Maker) -> None:
    artifact = cache.fetch(PARTS, make)
    write_whole(artifact.with_name("listing.c"), "/* loss */")
    assert artifact.with_name("listing.c").read_text() == "/* loss */"
    assert cache.find(artifact.parent.name) == artifact


def test_entries_size_and_clear(cache: Cache, make: Maker) -> None:
    assert cache.entries() == []
    cache.clear()
    artifact = cache.fetch(PARTS, make)
    cache.write_document("manifest", "ff00", {})
    (entry,) = cache.entries()
    assert entry.key == artifact.parent.name
    assert entry.folder == artifact.parent
    assert entry.parts["source"] == "42"
    assert len(CONTENT) < entry.size < cache.size()
    strangers = [cache.root / "go", cache.root / "a file"]
    strangers[0].mkdir()
    strangers[1].write_text("kept")
    cache.clear()
    assert cache.find(entry.key) is None
    assert set(cache.root.iterdir()) == {*strangers, cache.root / "CACHEDIR.TAG"}


def test_root_by_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "own"))
    assert default_root() == tmp_path / "own"
    assert open_cache() is open_cache()
    monkeypatch.delenv("GRADC_CACHE_DIR")
    assert default_root() == tmp_path / "xdg" / "gradc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_root() == tmp_path / "home" / ".cache" / "gradc"


def test_root_without_home_and_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make: Maker
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "GRADC_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert default_root() == tmp_path / f"gradc-{os.getuid()}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_cache().fetch(PARTS, make).is_relative_to(tmp_path)
    assert stat.S_IMODE(default_root().stat().st_mode) == 0o700
