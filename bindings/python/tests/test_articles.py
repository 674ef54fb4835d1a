"""Names in messages have the article that one says."""

import pytest

import objstore
from objstore import Model, field
from objstore.messages import a


class Item(Model):
    id: int = field(primary_key=True)
    items: "list[Item]"


@pytest.mark.parametrize(
    "name",
    [
        "a Dog",
        "an Item",
        "an int",
        "an object",
        "a UUID",
        "an ObjectId",
        "a User",
        "an Apple",
        "an Hour",
        "a House",
        "an Umbrella",
        "a list[int]",
        "a Unit",
    ],
)
def test_articles(name: str) -> None:
    assert a(name.split(" ", 1)[1]) == name


def test_messages() -> None:
    with objstore.open(memory="", models=[Item]) as store, store.write():
        item = Item(id=1)
        with pytest.raises(objstore.InvalidArgument, match="an Item is there twice"):
            store.add_all([item, item], update="all")
        values: dict[str, object] = {"id": 1}
        values["items"] = [values]
        with pytest.raises(objstore.InvalidArgument, match="from an Item back to it"):
            store.create(Item, values)
        with pytest.raises(objstore.WrongType, match="an int is wanted"):
            Item(id="x")  # type: ignore[arg-type]
