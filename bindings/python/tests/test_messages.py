"""What messages say: what was given, what is expected, and nothing twice."""

import threading
from typing import Any

import numpy
import pytest

import objstore
from conftest import store_of
from objstore import EmbeddedModel, Float32, Model, field
from objstore.objects import state


class Place(EmbeddedModel):
    city: str = ""


class Note(Model):
    text: str = ""


class Trip(Model):
    id: int = field(primary_key=True)
    real: float = 0.0
    single: Float32 = 0.0
    photo: bytes = b""
    extra: Any = None


store = store_of([Place, Note, Trip])


@pytest.mark.parametrize(
    ("filter_", "arguments", "message"),
    [
        ("id == $0", (), 'the query asks for argument "$0", and 0 are given, at byte 6'),
        ("id == $1", (5,), 'the query asks for argument "$1", and 1 is given, at byte 6'),
        ("id == $2", (5, 6), 'the query asks for argument "$2", and 2 are given, at byte 6'),
    ],
)
def test_arguments_that_are_missing(store, filter_, arguments, message):
    with pytest.raises(objstore.InvalidQuery) as caught:
        store.objects(Trip).filter(filter_, *arguments)
    assert str(caught.value).splitlines()[0] == message


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("id", "an int"),
        ("real", "a float"),
        ("single", "a float"),
        ("photo", "a bytes object"),
        ("extra", "None, bool, int, "),
    ],
)
def test_a_duration_is_no_number(name, wanted):
    """Of NumPy it says that it is one."""
    given = numpy.timedelta64(5, "s")
    with pytest.raises(objstore.WrongType) as caught:
        Trip(**({"id": 1} | {name: given})).to_dict()
    assert str(caught.value).startswith(f"Trip.{name}: {wanted}") and str(caught.value).endswith(
        f" is wanted, not {given!r} (timedelta64)"
    )


def test_a_duration_is_no_number_of_seconds(store):
    with pytest.raises(
        objstore.InvalidArgument, match="timeout is a number of seconds, or None for ever, not .*timedelta64"
    ):
        store.wait(numpy.timedelta64(1, "s"))


def test_a_reason_is_said_once(tmp_path):
    with pytest.raises(objstore.StorageError) as caught:
        objstore.open(tmp_path, models=[Trip])
    assert str(caught.value).count("Is a directory") == 1


@pytest.mark.parametrize("version", [0, -1])
def test_the_version_of_a_schema(path, version):
    with pytest.raises(objstore.OutOfRange, match=f"schema_version is an int from 1 to [0-9,]*, not {version}$"):
        objstore.open(path, models=[Trip], schema_version=version)
    assert not path.exists()


@pytest.mark.parametrize(
    ("model", "text", "update"),
    [(Trip, "{", "error"), (Place, "{}", "error"), (Note, "{}", "modified"), (Trip, '{"id": 1, "id": 2}', "error")],
)
def test_parameters_of_c_are_not_named(store, model, text, update):
    with store.write():
        for create, json in ((store.create_from_json, text), (store.create_all_from_json, f"[{text}")):
            with pytest.raises(objstore.Error) as caught:
                create(model, json, update, relaxed=False)
            assert not str(caught.value).startswith(("class_id", "json"))
    with pytest.raises(objstore.InvalidJSON, match="^line 1, column 2, "):
        objstore.parse_json("[")


def test_a_property_comes_first(store):
    with store.write():
        trip = store.create(Trip, [1])
        with pytest.raises(objstore.KeyImmutable, match="^Trip.id is the primary key: it cannot be changed$"):
            trip.id = 2
    with pytest.raises(objstore.WrongType, match=r"^Trip.real is a double, and is compared with string \("):
        store.objects(Trip).where(Trip.real < "x").count()


def test_a_repr_of_what_cannot_be_asked(store):
    shown = repr(store.objects(Trip).where(Trip.real < "x"))
    assert shown == '<Results of Trip: Trip.real is a double, and is compared with string ("x")>'


def test_objects_are_shown_while_another_thread_deletes_them(store):
    """As they were, or that they are gone; and tables have as many rows as there were."""
    ends, problems = threading.Event(), []

    def fill():
        store.create_all(Trip, [[n] for n in range(4)])

    def write():
        try:
            while not ends.is_set():
                with store.write():
                    store.delete_all(Trip)
                with store.write():
                    fill()
        except Exception as error:
            problems.append(error)

    with store.write():
        fill()
    shown = {repr(trip) for trip in store.objects(Trip)}
    writer = threading.Thread(target=write)
    writer.start()
    try:
        gone = 0
        for _ in range(1500):
            for trip in store.objects(Trip):
                text = repr(trip)
                assert text in shown or text.endswith("deleted or closed>") or "was deleted" in text
                gone += text not in shown
                assert state.named(trip).startswith("<Trip ")
                assert trip._repr_html_().startswith(("<table>", "<p><b>Trip</b>: deleted"))
            assert store.objects(Trip)._repr_html_().count("<tr>") in (1, 5)
    finally:
        ends.set()
        writer.join()
    assert not problems
