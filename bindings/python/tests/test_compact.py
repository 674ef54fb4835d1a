"""Compacting a store while it is open."""

import os

import pytest

import objstore
from models import Person


def rows(count, start=0):
    return [{"id": i, "name": f"person {i} " + "x" * (i % 40)} for i in range(start, start + count)]


def test_the_file_shrinks_and_nothing_changes(tmp_path):
    path = tmp_path / "store"
    with objstore.open(path, models=[Person]) as store:
        with store.write():
            store.create_all(Person, rows(60_000))
        with store.write():
            store.objects(Person).where(Person.id >= 3_000).delete()
        store.checkpoint()
        held = list(store.objects(Person))
        before = [(p.id, p.name) for p in held]
        size = os.path.getsize(path)
        calls = []
        store.compact(lambda done, total: calls.append((done, total)))
        assert os.path.getsize(path) * 4 < size
        assert (
            calls[0][0] == 0
            and all(done <= total for done, total in calls)
            and calls == sorted(calls, key=lambda c: c[0])
        )
        assert [(p.id, p.name) for p in store.objects(Person)] == before == [(p.id, p.name) for p in held]
        assert store.get(Person, 2_999).name == before[-1][1] and store.get(Person, 3_000) is None
        store.verify()
        with store.write():
            store.create_all(Person, rows(1000, 100_000))
            store.get(Person, 5).name = "changed"
        store.verify()
    with objstore.open(path, models=[Person]) as store:
        assert len(store.objects(Person)) == 4000 and store.get(Person, 5).name == "changed"
        store.verify()


def test_a_frozen_version_stays_and_the_rest_is_done_later(tmp_path):
    path = tmp_path / "store"
    with objstore.open(path, models=[Person]) as store:
        with store.write():
            store.create_all(Person, rows(60_000))
        with store.freeze() as frozen:
            with store.write():
                store.delete_all(Person)
            store.compact()
            assert len(frozen.objects(Person)) == 60_000 and [p.id for p in frozen.objects(Person)] == list(
                range(60_000)
            )
            size = os.path.getsize(path)
        store.compact()
        assert os.path.getsize(path) * 4 < size
        store.verify()


def test_progress_ends_it(tmp_path):
    with objstore.open(tmp_path / "store", models=[Person]) as store:
        with store.write():
            store.create_all(Person, rows(30_000))
        with store.write():
            store.objects(Person).where(Person.id < 29_000).delete()

        def stop(done, total):
            raise InterruptedError

        with pytest.raises(InterruptedError):
            store.compact(stop)
        store.verify()
        with store.write():
            with pytest.raises(objstore.AlreadyInWrite):
                store.compact()
        store.compact()
        store.verify()
