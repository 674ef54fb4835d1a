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

from . import _ffi
from .bound import Bound
from .changes import Changes
from .checking import ClassReport, FileReport, salvage, verify_file
from .counters import Counter
from .default import default_store, set_default
from .dicts import Dict
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
    WrongStore,
    WrongType,
    WrongView,
)
from .frozen import Frozen
from .indexes import Index
from .info import Pin, Statistics
from .inverses import backlinks, links_to
from .json_default import json_default
from .jsons import parse_json
from .kinds import Float32
from .lists import List
from .migration import Migration
from .mixed import MixedDict, MixedList
from .models import EmbeddedModel, Model, fields
from .object_id import ObjectId
from .observing import Token
from .opening import delete_files, exists, open
from .outcomes import Counts
from .properties import Condition, Property, field
from .results import Backlinks, Results
from .savepoint import Savepoint
from .sets import Set
from .store import Store
from .streams import ChangeStream
from .transaction import Transaction

__version__: str = _ffi.bind("objstore_version")().decode()

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
    "Condition",
    "Corrupt",
    "Counter",
    "Counts",
    "Dict",
    "DuplicateKey",
    "Embedded",
    "EmbeddedModel",
    "Error",
    "FileReport",
    "Float32",
    "Forked",
    "Frozen",
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
    "KeyImmutable",
    "LibraryNotFound",
    "List",
    "Migration",
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
    "Poisoned",
    "Property",
    "ReadOnly",
    "Replaced",
    "Results",
    "Savepoint",
    "SchemaError",
    "Set",
    "Statistics",
    "Status",
    "StorageError",
    "Store",
    "Timeout",
    "Token",
    "TooLarge",
    "TooManyReaders",
    "Transaction",
    "WrongStore",
    "WrongType",
    "WrongView",
    "backlinks",
    "default_store",
    "delete_files",
    "exists",
    "field",
    "fields",
    "json_default",
    "links_to",
    "open",
    "parse_json",
    "salvage",
    "set_default",
    "verify_file",
]
