"""The cache under faults: damage, races, killed processes, folders that cannot be used."""

import errno
import os
import socket
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
from gradc.runtime.store import Store, discard, write_whole

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


# ---- what is no regular file, what is not gradc's, and faults that pass


def put_fifo(path: Path) -> None:
    os.mkfifo(path)


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        before = os.getcwd()
        os.chdir(path.parent)  # names of sockets are short
        try:
            server.bind(path.name)
        finally:
            os.chdir(before)


def put_folder(path: Path) -> None:
    (path / "inside").mkdir(parents=True)


def put_loop(path: Path) -> None:
    path.symlink_to(path.name)


def put_link_to_a_copy(path: Path) -> None:
    copy = path.parent / f"{path.name}.copy"
    copy.write_bytes(CONTENT)
    path.symlink_to(copy)


def put_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def put_other_rights(path: Path) -> None:
    path.write_bytes(CONTENT)
    path.chmod(0o666)


IRREGULAR = [
    *(put_fifo, put_socket, put_folder, put_loop),
    *(put_link_to_a_copy, put_device, put_other_rights),
]
PLACES = {
    "library": lambda artifact: artifact,
    "key": lambda artifact: artifact.with_name("key.json"),
    "checksum": lambda artifact: artifact.with_name("checksum"),
    "entry": lambda artifact: artifact.parent,
    "folder of entries": lambda artifact: artifact.parents[1],
    "building": lambda artifact: artifact.parents[2] / "building",
    "locks": lambda artifact: artifact.parents[2] / "locks",
    "lock": lambda artifact: artifact.parents[2] / "locks" / f"{artifact.parent.name}.lock",
    "document": lambda artifact: artifact.parents[2] / "manifests" / "kind" / "ff" / "ff00.json",
    "documents": lambda artifact: artifact.parents[2] / "manifests",
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_regular_file_is_damage(tmp_path: Path, make: Maker, place: str) -> None:
    """Neither waited for nor followed; what was there is made again, in the same cache."""
    for number, put in enumerate(IRREGULAR):
        cache = Cache(tmp_path / str(number))
        cache.write_document("kind", "ff00", {"a": 1})
        artifact = cache.fetch(PARTS, make)
        if place == "lock":  # where somebody has to build
            discard(artifact.parent)
        path = PLACES[place](artifact)
        discard(path)
        path.parent.mkdir(exist_ok=True)
        put(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cache.fetch(PARTS, make) == artifact, put
            cache.write_document("kind", "ff00", {"a": 2})
        assert Cache(cache.root).find(artifact.parent.name) == artifact, put
        assert Cache(cache.root).read_document("kind", "ff00") == {"a": 2}, put


STRANGERS = {
    "building/house/plan.txt": "plan",
    "building/build-12345678.txt": "plan",
    "manifests/k8s.yaml": "mine",
    "manifests/kind/notes.json": "{}",
    "failed/notes": "a",
    "locks/list": "b",
    "ab/mine/thesis.tex": "c",
    "library.so": "d",
}


@pytest.mark.parametrize("before", [True, False])
def test_what_gradc_has_not_made_stays(tmp_path: Path, make: Maker, before: bool) -> None:
    """Neither sweeping nor clearing removes it, whether it was there before or came later."""
    root = tmp_path / "cache"
    cache = Cache(root)
    if not before:
        cache.fetch(PARTS, make)
    for name, text in STRANGERS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text)
        os.utime(path, (0, 0))
        os.utime(path.parent, (0, 0))
    artifact = cache.fetch({"source": "43"}, make)
    assert artifact.is_relative_to(root)
    assert Cache(root).find(artifact.parent.name) == artifact
    cache.clear()
    assert cache.find(artifact.parent.name) is None
    assert {name: (root / name).read_text() for name in STRANGERS} == STRANGERS
    assert cache.entries() == []
    assert Cache(root).fetch(PARTS, make).is_relative_to(root)


def test_links_are_not_followed_when_the_cache_is_cleared(
    cache: Cache, make: Maker, tmp_path: Path
) -> None:
    artifact = cache.fetch(PARTS, make)
    cache.write_document("kind", "ff00", {})
    outside = tmp_path / "outside"
    artifact.parents[1].rename(outside)
    artifact.parents[1].symlink_to(outside)
    (cache.root / "manifests").rename(tmp_path / "documents")
    (cache.root / "manifests").symlink_to(tmp_path / "documents")
    cache.clear()
    assert (outside / artifact.parent.name / artifact.name).read_bytes() == CONTENT
    assert list((tmp_path / "documents").rglob("ff00.json"))


def test_a_cache_may_be_a_link(tmp_path: Path, make: Maker) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    artifact = Cache(tmp_path / "link").fetch(PARTS, make)
    assert artifact.is_relative_to(tmp_path / "disk")
    assert Cache(tmp_path / "disk").find(artifact.parent.name) == artifact


@pytest.mark.parametrize(
    ("mode", "usable"), [(0o700, True), (0o755, True), (0o777, False), (0o1777, True)]
)
def test_a_folder_that_others_can_replace_is_refused(
    tmp_path: Path, make: Maker, mode: int, usable: bool
) -> None:
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(mode)
    root = parent / "between" / "cache"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        artifacts = [Cache(root).fetch(PARTS, make)]
        cache = Cache(root)
        artifacts += [cache.fetch(PARTS, make), cache.fetch({"source": "43"}, make)]
    assert all(each.is_relative_to(root) is usable for each in artifacts)
    assert len(told) == (0 if usable else 2)  # one of each cache
    assert all(str(parent) in str(each.message) for each in told)


def test_what_is_cached_is_not_used_once_others_can_replace_it(tmp_path: Path, make: Maker) -> None:
    root = tmp_path / "parent" / "cache"
    artifact = Cache(root).fetch(PARTS, make)
    (tmp_path / "parent").chmod(0o777)
    assert Cache(root).find(artifact.parent.name) is None


@pytest.mark.parametrize("name", ["x" * 300, "new\nline", "a/../b", "loop/inside"])
def test_names_of_folders(tmp_path: Path, make: Maker, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    usable = name in ("new\nline", "a/../b")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        artifact = Cache(tmp_path / name).fetch(PARTS, make)
    assert artifact.read_bytes() == CONTENT
    assert artifact.is_relative_to(tmp_path) is usable
    assert len(told) == (not usable)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_disk_that_is_free_again_is_used_again(
    cache: Cache, make: Maker, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    publish = Store.publish

    def refuse(store: Store, parts: Any, artifact: Path) -> Path:
        if store.root == cache.root:
            raise OSError(fault, os.strerror(fault))
        return publish(store, parts, artifact)

    with monkeypatch.context() as patch, pytest.warns(CacheWarning) as told:
        patch.setattr(Store, "publish", refuse)
        for source in ("1", "2"):
            assert not cache.fetch({"source": source}, make).is_relative_to(cache.root)
    assert len(told) == 1
    assert cache.fetch({"source": "3"}, make).is_relative_to(cache.root)


@pytest.mark.parametrize("fault", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN])
def test_a_limit_of_the_process_is_no_fault_of_the_folder(
    cache: Cache, make: Maker, fault: int
) -> None:
    """No other folder is tried and nothing is said: whoever asked for the program does that."""

    def refuse(stage: Path) -> Path:
        raise OSError(fault, os.strerror(fault))

    with pytest.raises(OSError, match=os.strerror(fault)):
        cache.fetch(PARTS, refuse)
    assert cache.fetch(PARTS, make).is_relative_to(cache.root)


@pytest.mark.parametrize("everything", [False, True], ids=["cleared", "removed"])
def test_a_cache_that_is_cleared_while_something_is_made(
    cache: Cache, make: Maker, everything: bool
) -> None:
    def clear(stage: Path) -> Path:
        if not make.calls:
            discard(cache.root) if everything else Cache(cache.root).clear()
            assert stage.exists() is not everything
        if not stage.exists():
            make.calls += 1
            raise FileNotFoundError(stage)
        return make(stage)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        artifact = cache.fetch(PARTS, clear)
        cache.write_document("kind", "ff00", {"a": 1})
    assert artifact.is_relative_to(cache.root)
    assert Cache(cache.root).find(artifact.parent.name) == artifact
    assert Cache(cache.root).read_document("kind", "ff00") == {"a": 1}
