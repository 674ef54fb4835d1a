"""objstore: an embedded object database.

import objstore
from objstore import field

class Dog(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    age: int = 0

with objstore.open("dogs.objstore", models=[Dog]) as store:
    with store.write():
        store.add(Dog(id=1, name="Rex", age=1), update="modified")
    print(store.objects(Dog).where(Dog.age < 2).count())

    with store.objects(Dog).observe(print):     # what this and other processes change
        store.wait(timeout=1.0)
"""

from . import pickled_names as pickled_names
from .building.outcomes import Counts
from .collections.dicts import Dict
from .collections.json_default import json_default
from .collections.lists import List
from .collections.mixed import MixedDict, MixedList
from .collections.sets import Set
from .errors import (
    AlreadyExists,
    AlreadyInWrite,
    Busy,
    Cancelled,
    Closed,
    Corrupt,
    DuplicateKey,
    Embedded,
    Error,
    Forked,
    HandlerFailed,
    InCallback,
    IndexOutOfRange,
    InternalError,
    InvalidArgument,
    InvalidJSON,
    InvalidQuery,
    InvalidSignature,
    InvalidText,
    KeyImmutable,
    LibraryNotFound,
    MissingArrow,
    MissingNumpy,
    MissingValue,
    NoPrimaryKey,
    NoSuchClass,
    NoSuchIndex,
    NoSuchObject,
    NoSuchProperty,
    NotAStore,
    NotFound,
    NotInWrite,
    NotNullable,
    NotPermitted,
    NotSupported,
    NullValue,
    OutcomeUnknown,
    OutOfMemory,
    OutOfRange,
    OutOfSpace,
    Poisoned,
    ReadOnly,
    Replaced,
    SchemaError,
    Status,
    StorageError,
    Timeout,
    TooLarge,
    TooManyReaders,
    TooManyVersions,
    VersionGone,
    WrongStore,
    WrongType,
    WrongView,
)
from .json.json_text import parse_json
from .models.calls import call
from .models.custom_types import register_type
from .models.element import value
from .models.expressions import Condition, Expression, all_, any_, expression, none_
from .models.groups import group
from .models.indexes import Index
from .models.inverses import backlinks, incoming, links_to
from .models.model import EmbeddedModel, Model, fields
from .models.properties import Property, field
from .models.steps import SortKey, asc, desc
from .native import ffi
from .observing.changes import Changes
from .observing.commits import Commits
from .observing.element_changes import ElementChanges
from .observing.row_changes import TableChanges, ValueChanges
from .observing.row_streams import TableStream, ValueStream
from .observing.section_changes import SectionChanges
from .observing.section_tokens import SectionStream
from .observing.streams import ChangeStream, CommitStream, ElementStream
from .observing.tokens import Token
from .opening.default_store import default_store, set_default
from .opening.file_checks import ClassReport, FileReport, salvage, verify_file
from .opening.migration import Migration
from .opening.open import delete_files, exists, open
from .projections.changes import ProjectedChanges, ProjectedStream
from .projections.lists import ProjectedList
from .projections.projection import Projection, projected
from .projections.results import ProjectedResults
from .queries.live_tables import LiveTable
from .queries.plans import Plan
from .queries.results import Backlinks, Results
from .queries.sections import Section, Sections
from .queries.tables import Groups, Table
from .queries.value_results import ValueResults
from .stores.bound_functions import Bound
from .stores.frozen import Frozen
from .stores.kept_versions import KeptVersion
from .stores.references import Reference
from .stores.store import Store
from .stores.store_info import Pin, Statistics
from .values.counters import Counter
from .values.kinds import Float32
from .values.object_id import ObjectId
from .values.places import GeoShape, geo_box, geo_circle, geo_polygon
from .writing.savepoint import Savepoint
from .writing.transaction import Transaction

__version__: str = ffi.bind("objstore_version")().decode()

__all__ = [
    "AlreadyExists",
    "AlreadyInWrite",
    "Backlinks",
    "Bound",
    "Busy",
    "Cancelled",
    "ChangeStream",
    "Changes",
    "ClassReport",
    "Closed",
    "CommitStream",
    "Commits",
    "Condition",
    "Corrupt",
    "Counter",
    "Counts",
    "Dict",
    "DuplicateKey",
    "ElementChanges",
    "ElementStream",
    "Embedded",
    "EmbeddedModel",
    "Error",
    "Expression",
    "FileReport",
    "Float32",
    "Forked",
    "Frozen",
    "GeoShape",
    "Groups",
    "HandlerFailed",
    "InCallback",
    "Index",
    "IndexOutOfRange",
    "InternalError",
    "InvalidArgument",
    "InvalidJSON",
    "InvalidQuery",
    "InvalidSignature",
    "InvalidText",
    "KeptVersion",
    "KeyImmutable",
    "LibraryNotFound",
    "List",
    "LiveTable",
    "Migration",
    "MissingArrow",
    "MissingNumpy",
    "MissingValue",
    "MixedDict",
    "MixedList",
    "Model",
    "NoPrimaryKey",
    "NoSuchClass",
    "NoSuchIndex",
    "NoSuchObject",
    "NoSuchProperty",
    "NotAStore",
    "NotFound",
    "NotInWrite",
    "NotNullable",
    "NotPermitted",
    "NotSupported",
    "NullValue",
    "ObjectId",
    "OutOfMemory",
    "OutOfRange",
    "OutOfSpace",
    "OutcomeUnknown",
    "Pin",
    "Plan",
    "Poisoned",
    "ProjectedChanges",
    "ProjectedList",
    "ProjectedResults",
    "ProjectedStream",
    "Projection",
    "Property",
    "ReadOnly",
    "Reference",
    "Replaced",
    "Results",
    "Savepoint",
    "SchemaError",
    "Section",
    "SectionChanges",
    "SectionStream",
    "Sections",
    "Set",
    "SortKey",
    "Statistics",
    "Status",
    "StorageError",
    "Store",
    "Table",
    "TableChanges",
    "TableStream",
    "Timeout",
    "Token",
    "TooLarge",
    "TooManyReaders",
    "TooManyVersions",
    "Transaction",
    "ValueChanges",
    "ValueResults",
    "ValueStream",
    "VersionGone",
    "WrongStore",
    "WrongType",
    "WrongView",
    "all_",
    "any_",
    "asc",
    "backlinks",
    "call",
    "default_store",
    "delete_files",
    "desc",
    "exists",
    "expression",
    "field",
    "fields",
    "geo_box",
    "geo_circle",
    "geo_polygon",
    "group",
    "incoming",
    "json_default",
    "links_to",
    "none_",
    "open",
    "parse_json",
    "projected",
    "register_type",
    "salvage",
    "set_default",
    "value",
    "verify_file",
]
