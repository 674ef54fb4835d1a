"""What is added to opening: the default store, seed, initial data, compaction, deleting what differs; and copies."""

import hashlib
import os
import threading

import pytest

import objstore
from models import Dog, Person, Turtle
from objstore.opening import default_store


def other_dog():
    """Another form of Dog."""

    class Dog(objstore.Model):
        name: str = ""
        age: float = 0.0

    return Dog


def test_a12_default_store(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(default_store, "_arguments", default_store._arguments)
    with objstore.default_store() as store:
        assert store.path == str(path.parent / "default.objstore")
    objstore.set_default(models=[Dog])
    with objstore.default_store() as first, objstore.default_store() as second:
        with first.write():
            first.add(Dog(name="Rex"))
        assert [dog.name for dog in second.objects(Dog)] == ["Rex"]
        objstore.set_default(path, models=[Dog], initial_data=lambda store: store.add(Dog(name="Fido")))
        with objstore.default_store() as third:
            assert third.path == str(path) and [dog.name for dog in third.objects(Dog)] == ["Fido"]
        assert first.objects(Dog).count() == 1
    objstore.set_default(memory="", models=[Dog])
    with objstore.default_store() as store:
        assert store.path == ""


def test_a13_subset_of_the_classes(path):
    with objstore.open(path, models=[Dog, Person]) as store, objstore.open(path, models=[Person]) as subset:
        with store.write():
            store.add(Dog(name="Rex"))
        with subset.write():
            dog = Dog(name="Fido")
            with pytest.raises(objstore.NoSuchClass, match="with Person, not with Dog"):
                subset.add(dog)
            with pytest.raises(objstore.NoSuchClass):
                subset.create(Dog, {"name": "Fido"})
            subset.add(Person(id=1, name="Ada"))
        assert not dog.is_managed and store.objects(Dog).count() == 1 and subset.objects(Person).count() == 1


def test_a101_in_memory_and_copies(path):
    inside, outside = path.with_name("inside"), path.with_name("outside")
    with objstore.open(memory="a101", models=[Dog]) as store:
        with store.write():
            store.add(Dog(name="Rex"))
            store.copy_to(inside)
        store.copy_to(outside)
        with store.write():
            for other in (inside, outside):
                with pytest.raises(objstore.AlreadyExists):
                    store.copy_to(other)
            store.add(Dog(name="Fido"))
            counts = []
            store.copy_to(path, lambda done, total: counts.append(store.objects(Dog).count()))
            assert set(counts) == {2}
            with pytest.raises(objstore.InCallback):
                store.copy_to(path.with_name("third"), lambda done, total: store.add(Dog()))
    with objstore.open(memory="a101", models=[Dog]) as store:
        assert store.objects(Dog).count() == 0
    for copy, count in ((inside, 1), (outside, 1), (path, 2)):
        with objstore.open(copy, models=[Dog]) as store:
            store.verify()
            assert store.objects(Dog).count() == count
            with pytest.raises(objstore.Busy):
                objstore.delete_files(copy)
        assert objstore.delete_files(copy) and not objstore.delete_files(copy)
    assert os.listdir(path.parent) == []


def test_a101_delete_if_migration_needed(path):
    with objstore.open(path, models=[Dog], delete_if_migration_needed=True) as store:
        with store.write():
            store.add(Dog(name="Rex"))
        with pytest.raises(objstore.Busy):
            objstore.open(path, models=[other_dog()], delete_if_migration_needed=True)
    with objstore.open(path, models=[Dog, Turtle], schema_version=2, delete_if_migration_needed=True) as store:
        assert store.objects(Dog).count() == 1
    changed = other_dog()
    with objstore.open(path, models=[changed], delete_if_migration_needed=True) as store:
        assert store.objects(changed).count() == 0


def test_a101_compact_on_open(path):
    calls = []

    def compact(total, used):
        calls.append((total, used))
        return used < total / 2

    with objstore.open(path, models=[Dog]) as store:
        with store.write():
            store.add_all([Dog(name=f"a long name of a dog {i}") for i in range(20_000)])
        with store.write():
            for dog in list(store.objects(Dog))[10:]:
                store.delete(dog)
    before = path.stat().st_size
    with (
        objstore.open(path, models=[Dog], compact=compact) as store,
        objstore.open(path, models=[Dog], compact=compact),
    ):
        assert calls == [(before, calls[0][1])]
        assert store.objects(Dog).count() == 10
    assert path.stat().st_size < before / 2
    with pytest.raises(ZeroDivisionError):
        objstore.open(path, models=[Dog], compact=lambda total, used: 1 // 0)
    with pytest.raises(objstore.InvalidArgument):
        objstore.open(path, models=[Dog], compact=True)


def test_initial_data(path):
    kept = []

    def fill(store):
        kept.append(store.add(Dog(name="Rex")))
        assert store.objects(Dog).count() == 1
        with pytest.raises(objstore.AlreadyInWrite):
            store.write().__enter__()
        with pytest.raises(objstore.InCallback):
            store.close()

    with objstore.open(path, models=[Dog], initial_data=fill) as store:
        (dog,) = store.objects(Dog)
        assert dog.name == "Rex" and dog == kept[0] and kept[0].is_valid
        with store.write():
            dog.age = 3
        assert store.objects(Dog)[0].age == 3
    with objstore.open(path, models=[Dog], initial_data=fill) as store:
        assert store.objects(Dog)[0].age == 3
    assert len(kept) == 1


def test_initial_data_that_fail(path):
    kept = []

    def fill(store):
        kept.append((store, store.add(Dog(name="Rex"))))
        raise KeyError("not today")

    for place in ({"path": path}, {"memory": "fails"}):
        with pytest.raises(KeyError, match="not today"):
            objstore.open(models=[Dog], initial_data=fill, **place)
        store, dog = kept[-1]
        assert store.is_closed and not dog.is_managed
        with pytest.raises(objstore.Closed):
            store.objects(Dog).count()
    assert os.listdir(path.parent) == []
    with pytest.raises(objstore.InvalidArgument):
        objstore.open(path, models=[Dog], initial_data=5)


def test_models_that_are_none(path):
    for models in (5, "Dog", Dog, [5], ["Dog"], [Dog, None]):
        with pytest.raises(objstore.InvalidArgument, match="models is a list of model classes"):
            objstore.open(path, models=models)
    with pytest.raises(objstore.InvalidArgument, match="memory is a name, not 5"):
        objstore.open(memory=5, models=[Dog])
    assert os.listdir(path.parent) == []


def test_seed(path):
    seed = path.with_name("seed")
    with pytest.raises(objstore.NotFound, match="seed"):
        objstore.open(path, models=[Dog], seed=seed)
    with objstore.open(seed, models=[Dog]) as store:
        with store.write():
            store.add(Dog(name="Rex"))
        with pytest.raises(objstore.Error):
            objstore.open(path, models=[Dog], seed=seed)
    with objstore.open(path, models=[Dog], seed=seed) as store:
        with store.write():
            store.add(Dog(name="Fido"))
    seed.unlink()
    with objstore.open(path, models=[Dog], seed=seed) as store:
        assert [dog.name for dog in store.objects(Dog)] == ["Rex", "Fido"]
    assert os.listdir(path.parent) == [path.name]


def test_seed_of_a_sha256(path):
    """D81: the seed is the very file that was meant, or nothing comes of it."""
    seed = path.with_name("seed")
    with objstore.open(seed, models=[Dog]) as store, store.write():
        store.add_all(Dog(name=f"dog {n}") for n in range(20_000))  # more than is read at once
    content = seed.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    for memory in (None, ""):
        place = {"path": path} if memory is None else {"memory": memory}
        with objstore.open(**place, models=[Dog], seed=seed, seed_sha256=digest.upper()) as store:
            assert len(store.objects(Dog)) == 20_000
            # It was its seed once; what it is now is its own.
            with store.write():
                store.add(Dog(name="Fido"))
        changed = bytearray(content)
        changed[-1] ^= 1
        for other in (bytes(changed), content[:-1], content + b"\0", b"", b"no store at all"):
            seed.write_bytes(other)
            if memory is None:
                with objstore.open(path, models=[Dog], seed=seed, seed_sha256=digest) as store:
                    assert len(store.objects(Dog)) == 20_001
                path.unlink()
            with pytest.raises(objstore.Corrupt, match=f"{hashlib.sha256(other).hexdigest()}, not {digest}"):
                objstore.open(**place, models=[Dog], seed=seed, seed_sha256=digest)
            assert os.listdir(path.parent) == ["seed"]
            if memory is None:
                seed.write_bytes(content)
                with objstore.open(path, models=[Dog], seed=seed) as store, store.write():
                    store.add(Dog(name="Fido"))
        path.unlink(missing_ok=True)
        seed.write_bytes(content)
    seed.unlink()
    with pytest.raises(objstore.NotFound, match="seed"):
        objstore.open(path, models=[Dog], seed=seed, seed_sha256=digest)
    for wrong in ("", digest[:-1], digest + "0", "g" + digest[1:], "é" * 32, digest.encode(), 5):
        with pytest.raises(objstore.InvalidArgument, match="hexadecimal digits"):
            objstore.open(path, models=[Dog], seed=seed, seed_sha256=wrong)
    with pytest.raises(objstore.InvalidArgument, match="no seed"):
        objstore.open(path, models=[Dog], seed_sha256=digest)
    assert os.listdir(path.parent) == []


def test_a_slow_machine_lets_go_of_nothing_while_opening(path, monkeypatch):
    """What the idle thread does after two pauses happens before each class is bound."""
    from objstore.schema import bindings
    from objstore.stores import idle_stores, open_store

    bound = []

    class Slow(bindings.Binding):
        def __init__(self, model, *arguments):
            for watched in list(idle_stores._keeper._stores):
                opening = watched()
                if opening is not None:
                    opening._let_go_if_idle()
                    assert opening._let_go_if_idle()
            bound.append(model)
            super().__init__(model, *arguments)

    monkeypatch.setattr(open_store, "Binding", Slow)
    with objstore.open(path, models=[Dog, Person]) as opened:
        assert bound == [Dog, Person]
        with opened.write():
            opened.add(Dog(name="Rex"))
        assert [dog.name for dog in opened.objects(Dog)] == ["Rex"]
        while not opened._let_go_if_idle():
            pass
        assert not opened._holds() and opened.objects(Dog).count() == 1


def left(folder):
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("beside", ["", "-log", "-lock", "-log.new", "text", "long"])
def test_a_failed_open_leaves_no_file(tmp_path, beside):
    """Whatever it fails on: what it has made goes, what another program has put there stays."""
    path, seed = tmp_path / "new", tmp_path / "seed"
    objstore.open(seed, models=[Dog]).close()
    if beside == "text":
        (tmp_path / "new-lock").write_text("precious")
    elif beside == "long":
        path = tmp_path / ("x" * 252)
    elif beside:
        (tmp_path / f"new{beside}").mkdir()
    before = left(tmp_path)

    def fails(*args):
        raise ValueError("no")

    ways = [
        {"models": [other_dog()], "seed": seed},
        {"models": [Dog], "initial_data": fails},
        {"models": [Dog], "compact": fails},
    ]
    for way in [*ways, {"models": [Dog], "seed": seed, "compact": fails}] + [{"models": [Dog]}] * (
        beside != "" and beside != "-log.new"
    ):
        with pytest.raises((objstore.Error, OSError, ValueError)):
            objstore.open(path, **way)
        assert left(tmp_path) == before, way
    if beside == "text":
        assert (tmp_path / "new-lock").read_text() == "precious"


def test_a_failed_open_leaves_what_others_have_made(tmp_path):
    path, seed = tmp_path / "new", tmp_path / "seed"
    objstore.open(seed, models=[Dog]).close()

    def meanwhile(total, used):
        assert os.system(f"cp {seed} {tmp_path}/other") == 0
        with objstore.open(path, models=[Dog]) as store, store.write():
            store.add(Dog(name="Rex"))
        raise ValueError("no")

    with pytest.raises(ValueError):
        objstore.open(path, models=[Dog], compact=meanwhile)
    with objstore.open(path, models=[Dog]) as store:
        assert [dog.name for dog in store.objects(Dog)] == ["Rex"]


def test_a_lock_file_that_got_the_inode_of_the_last_one(tmp_path):
    """What is no lock file stays, whichever inode it has."""
    path, lock = tmp_path / "store", tmp_path / "store-lock"
    objstore.open(path, models=[Dog]).close()
    files = [tmp_path / str(i) for i in range(20)]
    for file in files:
        file.write_text("precious")
    for file in files:
        file.rename(lock)
        with pytest.raises(objstore.StorageError, match="not the lock file"):
            objstore.open(path, models=[Dog])
        assert lock.read_text() == "precious"
        lock.unlink()


def test_closing_after_the_folder_was_moved(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with objstore.open(folder / "store", models=[Dog]) as store:
        with store.write():
            store.add(Dog(name="Rex"))
        folder.rename(tmp_path / "moved")
    with objstore.open(tmp_path / "moved" / "store", models=[Dog]) as store:
        assert [dog.name for dog in store.objects(Dog)] == ["Rex"]
        store.verify()


def test_immutable_beside_another_mode(path):
    objstore.open(path, models=[Dog]).close()
    for first, second in [
        ("read-write", "immutable"),
        ("immutable", "read-write"),
        ("immutable", "read-only"),
        ("read-only", "immutable"),
    ]:
        with objstore.open(path, models=[Dog], mode=first):
            with pytest.raises(objstore.InvalidArgument, match="immutable"):
                objstore.open(path, models=[Dog], mode=second)


@pytest.mark.parametrize("same_process", [True, False])
def test_what_is_read_in_the_mode_immutable_is_open(path, same_process):
    """It is not deleted, created again or opened exclusively."""
    objstore.open(path, models=[Dog]).close()

    def uses(expected):
        for use in (
            lambda: objstore.delete_files(path),
            lambda: objstore.open(path, models=[other_dog()], delete_if_migration_needed=True),
            lambda: objstore.open(path, models=[Dog], exclusive=True),
        ):
            with pytest.raises(expected):
                use()

    with objstore.open(path, models=[Dog], mode="immutable") as reader:
        if same_process:
            uses(objstore.Error)
        elif (child := os.fork()) == 0:
            try:
                uses(objstore.Busy)
                os._exit(0)
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(1)
        else:
            assert os.waitpid(child, 0)[1] == 0
        assert path.exists() and reader.objects(Dog).count() == 0
    objstore.open(path, models=[Dog], exclusive=True).close()
    assert objstore.delete_files(path)


def test_a_recreated_file_keeps_its_access_rights(path):
    objstore.open(path, models=[Dog]).close()
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 1000, 1001)
    before = path.stat()
    umask = os.umask(0)
    try:
        with objstore.open(path, models=[other_dog()], delete_if_migration_needed=True) as store, store.write():
            for name in (path, f"{path}-lock", f"{path}-log"):
                after = os.stat(name)
                assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid), (
                    name
                )
    finally:
        os.umask(umask)
    assert path.stat().st_ino != before.st_ino or path.stat().st_mode == before.st_mode


def test_many_that_delete_what_differs(tmp_path):
    """All want the same: whoever is first makes it."""
    for attempt in range(10):
        path = tmp_path / f"store{attempt}"
        objstore.open(path, models=[Dog]).close()
        children, (read, write) = [], os.pipe()
        for _ in range(4):
            if (child := os.fork()) == 0:
                try:
                    os.close(write)
                    os.read(read, 1)
                    objstore.open(path, models=[other_dog()], delete_if_migration_needed=True).close()
                    os._exit(0)
                except BaseException as error:
                    print(repr(error), flush=True)
                    os._exit(1)
            children.append(child)
        os.close(write)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
        os.close(read)
    with objstore.open(path, models=[other_dog()]), pytest.raises(objstore.Busy):
        objstore.open(path, models=[Dog], delete_if_migration_needed=True)


def test_closing_wakes_calls_that_wait_to_write(path):
    with objstore.open(path, models=[Dog]) as other, other.write():
        held = threading.Event()
        store = objstore.open(path, models=[Dog])
        told = []

        def waits():
            held.set()
            try:
                store.write(lambda tx: told.append("written"))
            except objstore.Closed as error:
                told.append(error)

        thread = threading.Thread(target=waits)
        thread.start()
        held.wait()
        store.close()
        thread.join(60)
        assert not thread.is_alive() and isinstance(told[0], objstore.Closed)


def test_a_null_key_where_keys_are_required(path):
    class Compound(objstore.Model):
        a: int = 0
        b: str = ""
        __indexes__ = [objstore.Index("a", "b", primary_key=True)]

    class Unique(objstore.Model):
        id: int | None = objstore.field(primary_key=True)
        code: str = objstore.field(unique=True)
        nick: str | None = objstore.field(default=None, unique=True)

    with objstore.open(path, models=[Compound, Unique]) as store:
        for key in ({"a": 1, "b": None}, {"a": None, "b": "x"}):
            with pytest.raises(objstore.Error, match=r"Compound\.[ab]"):
                store.find_by(Compound, **key)
        with pytest.raises(objstore.Error, match=r"Unique\.code"):
            store.find_by(Unique, code=None)
        assert store.find_by(Unique, nick=None) is None and store.find_by(Unique, id=None) is None
