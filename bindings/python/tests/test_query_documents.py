"""What the README says of conditions about links and collections: every line of it is asked."""

import pathlib
import re
import textwrap
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import Backlinks, EmbeddedModel, all_, any_, backlinks, desc, field, group, incoming, none_

README = pathlib.Path(__file__).parent.parent / "README.md"


class Address(EmbeddedModel):
    city: str = ""


class Dog(objstore.Model):
    name: str = field(default="", full_text=True)
    age: int = 0
    count: int = 0
    weight: float | None = None
    owner: "Person | None" = None
    friends: list["Dog"]
    tags: list[str]
    notes: dict[str, str]
    extra: Any = None


class Person(objstore.Model):
    id: int = field(primary_key=True)
    least: int = 0
    count: int = 0
    name: str = ""
    address: Address | None = None
    dogs: list[Dog]
    dogs_of: Backlinks["Dog"] = backlinks("owner")


store = store_of([Address, Dog, Person])
NAMES = {
    "Dog": Dog,
    "Person": Person,
    "any_": any_,
    "group": group,
    "all_": all_,
    "none_": none_,
    "desc": desc,
    "incoming": incoming,
    "objstore": objstore,
}


def queries() -> str:
    if not README.exists():
        pytest.skip("the README is not here")
    return README.read_text().partition("\n## Queries\n")[2].partition("\n## ")[0]


def test_the_lines_of_its_examples(store):
    with store.write():
        rex = Dog(name="Rex", age=9, tags=["big"], notes={"door": "locked"}, extra={"seen": [7]})
        ella = Dog(name="Ella", age=4, friends=[rex])
        dogs = [Dog(name=f"d{i}", age=4) for i in range(5)]
        ann = Person(id=1, least=3, name="Ann", address=Address(city="Bern"), dogs=[ella, *dogs])
        rex.owner = ella.owner = ann
        store.add_all([rex, ann])
    names = NAMES | {"store": store, "dogs": store.objects(Dog), "people": store.objects(Person)}
    found = {}
    for block in re.findall(r"^ *```python\n(.*?)^ *```", queries(), re.DOTALL | re.MULTILINE):
        for line in textwrap.dedent(block).splitlines():
            if line.startswith(("dogs.", "people.")):
                results = eval(line, names)
                found[line.partition("   ")[0]] = len(results)
    assert found['dogs.where(Dog.owner.address.city == "Bern")'] == 2
    people = [count for line, count in found.items() if line.startswith("people.")]
    assert people == [1] * 4 and len(found) > 9


def test_what_stands_in_its_sentences(store):
    """Each is an expression, or a condition, that the library takes."""
    names, asked = NAMES | {"ann": None, "rex": None}, 0
    with store.write():
        names["ann"], names["rex"] = store.add(Person(id=1)), store.add(Dog())
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", queries(), flags=re.DOTALL)):
        if "…" in code or not re.match(r"(any_\()?(Dog|Person)\.|incoming\(|\.filter\(\"", code) or "1 <" in code:
            continue
        if code.startswith(".filter"):
            eval(f"store.objects(Dog){code}", {"store": store, "Dog": Dog}).count()
        elif "< 2 & " in code or " in [" in code or "type_name" in code:
            with pytest.raises((TypeError, AttributeError)):
                eval(code, names)
        else:
            made = eval(code, names)
            if isinstance(made, objstore.Condition):
                (model,) = {root.model for root in made._properties}
                store.objects(model).where(made).count()
        asked += 1
    assert asked > 20
