"""What is known of a model class before there are properties and models."""

from typing import TYPE_CHECKING

from ..errors import InvalidArgument, NoSuchProperty

if TYPE_CHECKING:
    from ..models.inverses import Inverse
    from ..models.properties import Property


class ModelType(type):
    """What is known of every model class; the metaclass that makes them derives from it."""

    _objstore_properties: tuple["Property", ...] = ()
    _objstore_by_name: dict[str, "Property"] = {}
    _objstore_inverses: tuple["Inverse", ...] = ()
    _objstore_key: tuple["Property", ...] = ()  # the primary key, which may be of several
    _objstore_embedded = False
    _objstore_number = 0  # of the class in this process, for queries
    _objstore_of_file = False  # was it made of a file's class?


def properties_of(model: type) -> tuple["Property", ...]:
    """The properties of a model class, in the order of their declaration."""
    if isinstance(model, ModelType) and "_objstore_is_base" not in vars(model):
        return model._objstore_properties
    raise InvalidArgument(f"a class derived from objstore.Model is wanted, not {model!r}")


def property_named(model: type, name: str) -> "Property":
    found = model._objstore_by_name.get(name) if isinstance(model, ModelType) else None
    if found is not None:
        return found
    raise NoSuchProperty(
        f"{model.__name__} has no property {name!r}; it has {', '.join(p.name for p in properties_of(model))}",
        class_name=model.__name__,
        property_name=name,
    )
